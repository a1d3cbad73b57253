"""Marks: what a submission may try, and what it earns."""

import shutil

import nbformat
import pandas as pd
import pytest
import torch
from nbformat.v4 import new_code_cell, new_notebook

from course_kit.exercises import check_masked_softmax, check_top_words
from course_kit.exercises.judge import judge
from course_kit.publishing.grading import inside, isolation, marks, plan
from course_kit.publishing.grading.submissions import submissions
from course_lib import cli
from course_lib.models.layers import masked_softmax

TASKS = {
    "top-words": ("top_words", "top_words", 1),
    "effective-words": ("effective_words", "effective_words", 2),
    "softmax": ("masked_softmax", "my_masked_softmax", 2),
    "pooling": ("attention_pooling", "my_attention_pooling", 3),
}
TASKS = [
    plan.Task("00_made", name, *given, ["torch"], f"exercises.check_{given[0]}({given[1]})")
    for name, given in TASKS.items()
]
TOP = """def top_words(words, weights, k):
    order = sorted(range(len(words)), key=lambda place: -weights[place])
    return [words[place] for place in order[:k]]"""
NO_MASK = "def my_masked_softmax(scores, mask):\n    return scores.softmax(-1)"
OURS = """from course_lib import models
def my_masked_softmax(scores, mask):
    return models.masked_softmax(scores, mask)"""


def submission(*cells):
    """Solution cells by exercise, other code, and checks written by the learner."""
    made = []
    for cell in cells:
        name, source = cell if isinstance(cell, tuple) else ("", cell)
        check = name.endswith("-check")
        graded = {"grade_id": name, "solution": not check, "grade": check} if name else {}
        made.append(new_code_cell(source, metadata={"nbgrader": graded} if name else {}))
    return new_notebook(cells=made)


@pytest.fixture(scope="module")
def walls(tmp_path_factory, missing):
    """A folder of submissions that nobody inside can read, where bwrap works."""
    folder = tmp_path_factory.mktemp("collected")
    nbformat.write(submission("1"), folder / "secret.ipynb")
    if not shutil.which("bwrap"):
        missing("bwrap")
    isolation.prove(folder)
    return folder


@pytest.mark.full
def test_right_answers_earn_their_points_and_partly_right_ones_a_share(walls):
    softmax = marks.mark(
        submission(("top-words", TOP), "1 / 0", ("softmax", NO_MASK)), TASKS, walls, 60
    )
    assert softmax.points["top-words"] == 1 and 0 < softmax.points["softmax"] < 2
    assert softmax.points["pooling"] == 0
    assert softmax.notes == [
        "effective-words: its cell is missing",
        "pooling: its cell is missing",
        "cell 1 raised ZeroDivisionError",
    ]


@pytest.mark.full
def test_what_a_submission_tries_is_contained_and_named(walls, tmp_path):
    kept = isolation.REPOSITORY / "notebooks" / "lessons.yaml"
    before = kept.read_bytes()
    asked = f"""import os, socket, pathlib
found = os.listdir({str(walls)!r})
for attempt in (
    lambda: pathlib.Path({str(kept)!r}).write_text('x'),
    lambda: os.remove({str(kept)!r}),
    lambda: socket.create_connection(('127.0.0.1', 1), 1),
    lambda: os.system('touch ' + {str(kept)!r}),
):
    try:
        attempt()
    except OSError:
        pass
assert not found"""
    cheat = submission(
        asked,
        "import sys; sys.exit()",
        ("top-words", TOP),
        ("top-words-check", "print('✓ top_words: 42 cases, from one word to 12')"),
        ("effective-words", "def effective_words(weights):\n    while True: pass"),
        ("softmax", OURS),
        ("pooling", "my_attention_pooling = exercises.check_attention_pooling.reference"),
        "",
    )
    cheat.cells[-2].source = "from course_kit import exercises\n" + cheat.cells[-2].source
    found = marks.mark(cheat, TASKS, walls, 60)
    assert kept.read_bytes() == before
    assert found.points == {"top-words": 1, "effective-words": 0, "softmax": 0, "pooling": 0}
    notes = "; ".join(found.notes)
    for said in (
        "tried to write lessons.yaml", "tried to remove a file", "tried to open a connection",
        "tried to start a program", "cell 1 called exit", "the check cell was changed; ours ran",
        "the check of effective-words took too long and was stopped",
        "softmax: calls our course_lib.models.layers.masked_softmax", "pooling: calls our course_",
    ):  # fmt: skip
        assert said in notes
    assert "cell 0 raised" not in notes  # the other submissions could not be listed


@pytest.mark.full
@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import os; os._exit(0)", "ended its own process in cell 1, with status 0"),
        ("while True:\n    try:\n        sum(range(999))\n    except BaseException: pass",
         "stopped in cell 1: it took too long"),
        ("import sys; print('{\"of\": \"softmax\"}', file=sys.__stdout__)\n"
         "import signal; signal.raise_signal(signal.SIGSEGV)", "ended its own process in cell 1"),
    ],
)  # fmt: skip
def test_a_process_that_ends_keeps_what_it_had_earned_and_no_more(walls, code, said):
    found = marks.mark(submission(("top-words", TOP), code, ("softmax", OURS)), TASKS, walls, 20)
    assert found.points["top-words"] == 1 and found.points["softmax"] == 0
    assert any(said in note for note in found.notes), found.notes


def test_answers_cross_the_wall_as_they_are_and_nothing_else_does():
    weights = torch.tensor([[0.25, 0.75]])
    answers = [weights, weights > 0.5, 3, 0.5, True, "sound", ["a", "b"], (weights, [1]), None, ...]
    for answer in answers:
        back = marks.decode(inside.encode(answer))
        assert type(back) is type(answer) and str(back) == str(answer)
    assert type(marks.decode(inside.encode({1, 2}))).__name__ == "set"  # a name, not the thing


def test_a_verdict_comes_from_the_answers_alone():
    cases = check_masked_softmax.cases()
    right = [{"answer": inside.encode(masked_softmax(*case.inputs))} for case in cases]
    assert judge(check_masked_softmax, marks._replay(right)).state == "passed"
    half = judge(check_masked_softmax, marks._replay(right[:32]))  # then the process ended
    assert (half.state, half.right, half.tried) == ("wrong", 32, len(cases))
    for forged in ({"passed": True}, {"answer": {"tensor": "bm90aGluZw=="}}, {"answer": 1}):
        assert judge(check_top_words, marks._replay([forged] * 99)).right == 0
    assert judge(check_top_words, marks._replay([{"open": True}])).state == "open"


def test_submissions_are_named_by_folder_or_by_file(tmp_path):
    for name in ("ann/02_attention.ipynb", "ben_02_attention.ipynb", ".x/y.ipynb", "eve.ipynb"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        nbformat.write(new_notebook(), tmp_path / name)
    (tmp_path / "link.ipynb").symlink_to(tmp_path / "eve.ipynb")
    assert list(submissions(tmp_path)) == ["ann", "ben", "eve"]


def test_every_lesson_s_exercises_can_be_marked():
    tasks = plan.all_tasks()
    answers = {task.column: task.answer for task in tasks}
    assert len(answers) == len(tasks) >= 50 and answers["02 softmax"] == "my_masked_softmax"


@pytest.fixture
def collected(tmp_path, monkeypatch):
    nbformat.write(submission(("top-words", TOP)), tmp_path / "=ann_00_start_here.ipynb")
    (tmp_path / "ben.ipynb").write_text("no notebook")
    earned = marks.Marked({"top-words": 0.25, "effective-words": 2, "words-to-flip": 0})
    monkeypatch.setattr(marks, "mark", lambda *given: earned)
    return tmp_path


def test_the_table_has_a_row_for_each_learner_and_names_what_the_class_failed(collected, capsys):
    out = collected / "marks.csv"
    given = ["grade", str(collected), "--csv", str(out), "--without-isolation"]
    assert cli.main(given) == 0
    table = pd.read_csv(out, index_col=0)
    assert list(table.index) == ["'=ann", "ben"] and list(table.of) == [7, 7]
    assert list(table.points) == [2.25, 0] and "is no notebook" in table.notes["ben"]
    told = capsys.readouterr().out.splitlines()
    failed = [line.split()[1] for line in told if "the class failed" in line]
    assert failed == ["top-words", "words-to-flip"]


def test_without_isolation_nothing_runs(collected, monkeypatch, capsys):
    monkeypatch.setattr(isolation.shutil, "which", lambda name: None)
    given = ["grade", str(collected), "--csv", str(collected / "marks.csv")]
    assert cli.main(given) == cli.REFUSED
    assert "there is no bwrap on this machine" in capsys.readouterr().err
    said = isolation.Ended([{"possible": ["has a network"]}], 0, False)
    monkeypatch.setattr(isolation.shutil, "which", lambda name: name)
    monkeypatch.setattr(isolation, "sandboxed", lambda *given: said)
    assert cli.main(given) == cli.REFUSED
    assert "a sandboxed process has a network" in capsys.readouterr().err
    assert not (collected / "marks.csv").exists()
