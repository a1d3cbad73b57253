"""Marks: what a submission may try, and what it earns."""

import contextlib
import io
import json
import re
import shutil
import subprocess
import sys
import unicodedata

import nbformat
import pandas as pd
import pytest
import torch
from nbformat.v4 import new_code_cell, new_notebook, new_output, new_raw_cell

from course_kit import exercises
from course_kit.exercises import check_masked_softmax, check_moved_by_heaviest
from course_kit.exercises.judge import judge
from course_kit.publishing.grading import inside, isolation, marks, plan
from course_kit.publishing.grading.submissions import submissions
from course_kit.publishing.lessons import lesson_paths
from course_kit.publishing.students import read_notebook
from course_lib import cli
from course_lib.models.layers import masked_softmax

TASKS = {
    "moved-by-heaviest": ("moved_by_heaviest", "moved_by_heaviest", 1),
    "effective-words": ("effective_words", "effective_words", 2),
    "softmax": ("masked_softmax", "my_masked_softmax", 2),
    "pooling": ("attention_pooling", "my_attention_pooling", 3),
}
TASKS = [
    plan.Task("00_made", name, *given, ["torch"], f"exercises.check_{given[0]}({given[1]})")
    for name, given in TASKS.items()
]
TOP = """def moved_by_heaviest(predict, words, weights):
    heaviest = weights.argmax()
    left = [word for place, word in enumerate(words) if place != heaviest]
    return abs(predict(left) - predict(words))"""
BY_NAME = TOP.replace("place != heaviest", "word != words[heaviest]")  # of equal words both go
WHAT_IS_LEFT = TOP.replace("abs(predict(left) - predict(words))", "predict(left)")
STUB = (
    "def moved_by_heaviest(predict, words, weights):\n    return None  # your answer replaces this"
)
CALL = "exercises.check_moved_by_heaviest(moved_by_heaviest)"
CHECK = ("moved-by-heaviest-check", CALL)
NO_MASK = "def my_masked_softmax(scores, mask):\n    return scores.softmax(-1)"
RIGHT_SOFTMAX = """import torch
def my_masked_softmax(scores, mask):
    hidden = scores.masked_fill(~mask, -1e30)
    powers = (hidden - hidden.amax(-1, keepdim=True)).exp() * mask
    return powers / powers.sum(-1, keepdim=True).clamp(min=1e-30)"""
SOFTMAX = ("softmax-check", "exercises.check_masked_softmax(my_masked_softmax)")
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
    made = submission(
        ("moved-by-heaviest", BY_NAME), CHECK, "1 / 0", ("softmax", RIGHT_SOFTMAX), SOFTMAX
    )
    found = marks.mark(made, TASKS, walls, 60)
    assert 0 < found.points["moved-by-heaviest"] < 1 and found.points["softmax"] == 2
    assert found.points["pooling"] == 0 and found.tried == {"moved-by-heaviest", "softmax"}
    assert found.notes == [
        "effective-words: its cell is missing",
        "pooling: its cell is missing",
        "cell 2 raised ZeroDivisionError",
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
        ("moved-by-heaviest", TOP),
        (
            "moved-by-heaviest-check",
            "print('✓ moved_by_heaviest: 52 cases, up to eight words, four ways to judge them')",
        ),
        ("effective-words", "def effective_words(weights):\n    while True: pass"),
        ("softmax", OURS),
        ("pooling", "my_attention_pooling = exercises.check_attention_pooling.reference"),
        "",
    )
    cheat.cells[-2].source = "from course_kit import exercises\n" + cheat.cells[-2].source
    found = marks.mark(cheat, TASKS, walls, 60)
    assert kept.read_bytes() == before
    assert found.points == {
        "moved-by-heaviest": 1,
        "effective-words": 0,
        "softmax": 0,
        "pooling": 0,
    }
    notes = "; ".join(found.notes)
    for said in (
        "tried to write lessons.yaml",
        "tried to remove a file",
        "tried to open a connection",
        "tried to start a program",
        "cell 1 called exit",
        "the check cell was changed; ours ran",
        "the check of effective-words took too long and was stopped",
        "softmax: calls our course_lib.models.layers.masked_softmax",
        "pooling: calls our course_",
    ):
        assert said in notes
    assert "cell 0 raised" not in notes  # the other submissions could not be listed


@pytest.mark.full
@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import os; os._exit(0)", "ended its own process in cell 2, with status 0"),
        (
            "while True:\n    try:\n        sum(range(999))\n    except BaseException: pass",
            "stopped in cell 2: it took too long",
        ),
        (
            'import sys; print(\'{"of": "softmax"}\', file=sys.__stdout__)\n'
            "import signal; signal.raise_signal(signal.SIGSEGV)",
            "ended its own process in cell 2",
        ),
    ],
)
def test_a_process_that_ends_keeps_what_it_had_earned_and_no_more(walls, code, said):
    made = submission(("moved-by-heaviest", TOP), CHECK, code, ("softmax", OURS), SOFTMAX)
    found = marks.mark(made, TASKS, walls, 20)
    assert found.points["moved-by-heaviest"] == 1 and found.points["softmax"] == 0
    assert any(said in note for note in found.notes), found.notes


def beside(plan, *further):
    """What ``isolation.sandboxed`` gives, from the same steps without a process of their own."""
    said, names = [], {"exercises": exercises}
    for step in plan["steps"]:
        said.append({"begin": step["place"]})
        try:
            if "run" in step:
                with contextlib.redirect_stdout(io.StringIO()):
                    exec(compile(step["run"], "<ipython-input-1>", "exec"), names)
            else:
                checker = getattr(exercises, f"check_{step['checker']}")
                inside.answer_cases(step, checker, names, lambda **each: said.append(each))
        except Exception as error:
            said.append({"error": type(error).__name__, "place": step["place"]})
    return isolation.Ended([*said, {"end": True}], 0, False)


def ticked(notebook):
    """Whether the learner's check of ``moved_by_heaviest`` says ✓ when all cells run in order."""
    names, said = {"exercises": exercises}, io.StringIO()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            with contextlib.redirect_stdout(said), contextlib.suppress(Exception):
                exec(cell.source, names)
    return "✓ moved_by_heaviest" in said.getvalue()


def raw(name, source):
    cell = new_raw_cell(source)
    cell.metadata["nbgrader"] = {"grade_id": name, "solution": True, "grade": False}
    return cell


CALLING = """def moved_by_heaviest(predict, words, weights):
    return abs(predict(without(words, weights.argmax())) - predict(words))"""
HELPER = """def without(words, gone):
    return [word for place, word in enumerate(words) if place != gone]"""
ANSWER, OTHER = ("moved-by-heaviest", TOP), ("softmax", RIGHT_SOFTMAX)
LAYOUTS = {  # cells, whether the points are earned, and what is told
    "as it was": ([ANSWER, CHECK], True, None),
    "a helper in a new cell": ([("moved-by-heaviest", CALLING), HELPER, CHECK], True, None),
    "the answer in a new cell": ([("moved-by-heaviest", STUB), TOP, CHECK], True, None),
    "pasted with its metadata": ([ANSWER, ANSWER, CHECK], True, "2 cells hold its answer"),
    "a first attempt above": (
        [("moved-by-heaviest", WHAT_IS_LEFT), ANSWER, CHECK],
        True,
        "2 cells hold",
    ),
    "a cell split in two": (
        [("moved-by-heaviest", HELPER), ("moved-by-heaviest", CALLING), CHECK],
        True,
        "2 cells hold its answer",
    ),
    "an attempt with its check above": (
        [("moved-by-heaviest", WHAT_IS_LEFT), CHECK, ANSWER, CHECK],
        True,
        "its check stands 2 times",
    ),
    "an attempt with its check below": (
        [ANSWER, CHECK, ("moved-by-heaviest", WHAT_IS_LEFT), CHECK],
        True,
        "the best counts",
    ),
    "the cell was deleted": ([CHECK], False, "its cell is missing"),
    "metadata lost": ([TOP, CALL], True, "its cell is missing"),
    "the check within the answer's cell": ([("moved-by-heaviest", f"{TOP}\n{CALL}")], True, None),
    "the answer below its check": (
        [CHECK, ANSWER],
        False,
        "the check of moved-by-heaviest raised NameErr",
    ),
    "a helper below the check": ([("moved-by-heaviest", CALLING), CHECK, HELPER], False, None),
    "spoiled after its check": ([ANSWER, CHECK, "moved_by_heaviest = None"], True, None),
    "a helper in the check's cell": (
        [("moved-by-heaviest", CALLING), ("moved-by-heaviest-check", f"{HELPER}\n{CALL}")],
        True,
        "was changed",
    ),
    "another answer in the check's cell": (
        [ANSWER, ("moved-by-heaviest-check", CALL.replace("(moved_by", "(None and moved_by"))],
        None,
        "the check cell was changed; ours ran instead",
    ),
    "a forged check": (
        [
            ("moved-by-heaviest", WHAT_IS_LEFT),
            ("moved-by-heaviest-check", "print('✓ moved_by_heaviest: all')"),
        ],
        None,
        "the check cell was changed; ours ran instead",
    ),
    "the check was deleted": (
        [("moved-by-heaviest", STUB), TOP, OTHER, SOFTMAX],
        None,
        "is missing; ours",
    ),
    "the last check was deleted": (
        [OTHER, SOFTMAX, ("moved-by-heaviest", CALLING), HELPER],
        None,
        "its check cell is missing; ours",
    ),
    "an error in between": ([ANSWER, "1 / 0", CHECK], True, "cell 1 raised ZeroDivisionError"),
    "a cell turned to raw": (
        [raw("moved-by-heaviest", TOP), CHECK],
        False,
        "its cell is a raw cell now",
    ),
}
EARNED = {
    "another answer in the check's cell": 1,
    "a forged check": 0,
    "the check was deleted": 1,
    "the last check was deleted": 1,
}


@pytest.mark.parametrize("kind", LAYOUTS)
def test_the_points_agree_with_the_learner_s_own_check(kind, monkeypatch, tmp_path):
    cells, right, told = LAYOUTS[kind]
    notebook = submission(*(cell for cell in cells if not isinstance(cell, dict)))
    notebook.cells = [cell for cell in cells if isinstance(cell, dict)] + notebook.cells
    assert right is None or ticked(notebook) == right
    monkeypatch.setattr(isolation, "sandboxed", beside)
    found = marks.mark(notebook, TASKS[:1], tmp_path, 60)
    assert found.points == {"moved-by-heaviest": EARNED[kind] if right is None else int(right)}
    notes = [note for note in found.notes if "ZeroDivision" in note or "moved-by-heaviest" in note]
    assert any(told in note for note in notes) if told else not notes, notes


def test_a_saved_tick_that_is_not_earned_is_told(monkeypatch, tmp_path):
    monkeypatch.setattr(isolation, "sandboxed", beside)
    told = "moved-by-heaviest: the saved ✓ is not earned when the cells run in order"
    for cells, says in (
        ([("moved-by-heaviest", CALLING), CHECK, HELPER], ["'without' is not defined"]),
        ([CHECK, ANSWER], [""]),
        ([("moved-by-heaviest", WHAT_IS_LEFT), CHECK], [" (this is P(positive) of what is left"]),
        ([ANSWER, CHECK], []),
    ):
        notebook = submission(*cells)
        saved = notebook.cells[cells.index(CHECK)]
        saved.outputs = [new_output("stream", text="✓ moved_by_heaviest: 52 cases\n")]
        found = marks.mark(notebook, TASKS[:1], tmp_path, 60)
        notes = [note for note in found.notes if "✓" in note]
        for note, part in zip(notes, says, strict=True):
            assert note.startswith(told) and part in note


def test_settings_follow_what_a_learner_wrote_among_the_parameters():
    notebook = submission("profile, seed, mine = 'full', 3, 1", ANSWER, CHECK)
    notebook.cells[0].metadata["tags"] = ["parameters"]
    steps, _ = plan.steps(notebook, TASKS[:1])
    names = {}
    for step in steps[:2]:
        exec(step["run"], names)
    assert (names["profile"], names["seed"], names["mine"]) == ("smoke", 0, 1)


@pytest.mark.parametrize(
    ("answer", "least", "most"),
    [(TOP, 1, 1), (BY_NAME, 0.1, 0.9), (WHAT_IS_LEFT, 0, 0), (STUB, 0, 0)],
)
def test_half_of_the_cases_or_less_may_be_luck_and_earns_nothing(
    answer, least, most, monkeypatch, tmp_path
):
    monkeypatch.setattr(isolation, "sandboxed", beside)
    found = marks.mark(submission(("moved-by-heaviest", answer), CHECK), TASKS[:1], tmp_path, 60)
    assert least <= found.points["moved-by-heaviest"] <= most
    assert found.tried == (set() if answer == STUB else {"moved-by-heaviest"})


@pytest.mark.parametrize(
    ("ended", "says"),
    [
        ((0, False), "ended its own process in cell 3, with status 0"),
        ((-11, False), "ended its own process in cell 3, with status -11"),
        ((-9, True), "stopped in cell 3: it took too long, or too much memory"),
        ((-9, False), "stopped in cell 3: it took too long, or too much memory"),
        ((137, False), "stopped in cell 3: it took too long, or too much memory"),
        ((152, False), "stopped in cell 3: it took too long, or too much memory"),
        (None, None),
    ],
)
def test_only_who_ended_its_process_is_said_to_have_done_so(ended, says, monkeypatch, tmp_path):
    said, (status, late) = [{"begin": "cell 3"}], ended or (0, False)
    given = isolation.Ended(said + [{"end": True}] * (ended is None), status, late)
    monkeypatch.setattr(isolation, "sandboxed", lambda *plan: given)
    notes = marks.mark(submission(ANSWER, CHECK), TASKS[:1], tmp_path, 60).notes
    assert notes == ([says] if says else [])


def test_a_flood_of_numbers_is_a_wrong_answer_and_no_more():
    flood = marks.decode(inside.encode(torch.zeros(inside.MOST_NUMBERS + 1)))
    assert "Tensor of 20001 numbers" in type(flood).__name__
    for case in exercises.check_self_attention.cases():  # the largest of all
        for part in exercises.check_self_attention.reference(*case.inputs):
            assert part.numel() <= inside.MOST_NUMBERS


def test_answers_cross_the_wall_as_they_are_and_nothing_else_does():
    weights = torch.tensor([[0.25, 0.75]])
    answers = [weights, weights > 0.5, 3, 0.5, True, "sound", ["a", "b"], (weights, [1]), None, ...]
    answers += [{"size": "open"}, (3 * weights).requires_grad_()]  # what has a gradient keeps it
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
        assert judge(check_moved_by_heaviest, marks._replay([forged] * 99)).right == 0
    assert judge(check_moved_by_heaviest, marks._replay([{"open": True}])).state == "open"


def named(folder, *names):
    """The learners of notebooks with these names, and how many files each has."""
    for name in names:
        (folder / name).parent.mkdir(exist_ok=True)
        nbformat.write(new_notebook(), folder / name)
    return {learner: len(paths) for learner, paths in submissions(folder).items()}


def test_submissions_are_named_by_folder_or_by_file(tmp_path):
    names = ("ann/02_attention.ipynb", "ben_02_attention.ipynb", ".x/y.ipynb", "eve.ipynb")
    (tmp_path / "link.ipynb").symlink_to(tmp_path / "eve.ipynb")
    assert named(tmp_path, *names) == {"ann": 1, "ben": 1, "eve": 1}


@pytest.mark.parametrize(
    ("names", "rows"),
    [
        (
            [
                "ann_02_attention.ipynb",
                "ann_02_attention (1).ipynb",
                "ann_02_attention-1.ipynb",
                "ann_02_attention-Copy1.ipynb",
                "ann_01_gru(2).ipynb",
                "ann_02_attention - Kopie.ipynb",
                "Copy of ann_02_attention.ipynb",
                "ann_02_attention.new.ipynb",
                "02_attention_ann.ipynb",
                "ann_09_to_transformers.ipynb",
                "ann_02_attention-1 (2).ipynb",
            ],
            {"ann": 11},
        ),
        (["ann.ipynb", "ann (1).ipynb", "ann-2.ipynb", "ann-Copy1.ipynb"], {"ann": 4}),
        (["ann/02_attention.ipynb", "ann (1)/02_attention.ipynb"], {"ann": 2}),
        (
            [unicodedata.normalize(form, "Zoë_02_attention.ipynb") for form in ("NFC", "NFD")]
            + ["Zoë_01_gru.ipynb"],
            {"Zoë": 3},
        ),
        # a number may be part of a name, and a lesson's name says nothing of who has written it
        (["team-1_02_attention.ipynb", "team-2_02_attention.ipynb"], {"team-1": 1, "team-2": 1}),
        (["team-1.ipynb", "team-2.ipynb"], {"team-1": 1, "team-2": 1}),
        (["ann (1).ipynb", "ann (2).ipynb"], {"ann (1)": 1, "ann (2)": 1}),
        (
            ["02_attention.ipynb", "02_attention (1).ipynb", "Copy of 02_attention.ipynb"],
            {"02_attention": 1, "02_attention (1)": 1, "Copy of 02_attention": 1},
        ),
        (["ann_02_attention.ipynb", "anna_02_attention.ipynb"], {"ann": 1, "anna": 1}),
    ],
)
def test_one_learner_is_one_row_and_two_are_never_mixed(names, rows, tmp_path):
    assert named(tmp_path, *names) == rows


def test_every_lesson_s_exercises_can_be_marked():
    tasks = plan.all_tasks()
    answers = {task.column: task.answer for task in tasks}
    assert len(answers) == len(tasks) and answers["02 softmax"] == "my_masked_softmax"
    assert {task.lesson for task in tasks} == {path.stem for path in lesson_paths()}


@pytest.mark.full
@pytest.mark.parametrize("path", lesson_paths(), ids=lambda path: path.stem)
def test_our_own_solutions_earn_all_points(path, walls):
    """Also where a later exercise uses the answer to an earlier one."""
    tasks = [task for task in plan.all_tasks() if task.lesson == path.stem]
    found = marks.mark(read_notebook(path), tasks, walls, 300)
    assert found.points == {task.id: task.points for task in tasks}
    # the walls keep out the data, so a cell that reads a recorded network may raise
    assert [note for note in found.notes if not re.match(r"cell \d+ raised ", note)] == []


LESSON_00 = ("text-shares", "effective-words", "moved-by-heaviest", "words-to-flip")


def earning(**points):
    """A ``marks.mark`` that earns so much in each exercise of lesson 00, and so many are tried."""
    earned = {name.replace("_", "-"): value for name, value in points.items()}
    zero = dict.fromkeys(LESSON_00, 0.0)
    return lambda *given: marks.Marked(zero | earned, set(earned), ["a note"])


@pytest.fixture
def collected(tmp_path, monkeypatch):
    nbformat.write(submission(("moved-by-heaviest", TOP)), tmp_path / "=ann_00_start_here.ipynb")
    (tmp_path / "ben.ipynb").write_text("no notebook")
    monkeypatch.setattr(marks, "mark", earning(moved_by_heaviest=0.25, effective_words=2))
    return tmp_path


def graded(folder, *more):
    """The table that the command writes, by learner."""
    out = folder / "marks.csv"
    given = ["grade", str(folder), "--csv", str(out), "--without-isolation", *more]
    assert cli.main(given) == 0
    return pd.read_csv(out, index_col=0)


def test_the_table_has_a_row_for_each_learner_and_names_what_the_class_failed(collected, capsys):
    table = graded(collected)
    assert list(table.index) == ["'=ann", "ben"] and list(table.of) == [9, 9]
    assert list(table.points) == [2.25, 0] and "is no notebook" in table.notes["ben"]
    assert table.loc["ben"].isna().sum() == 4  # ben handed in nothing of this lesson
    told = capsys.readouterr().out.splitlines()
    failed = [line.split()[1] for line in told if "the class failed" in line]
    assert failed == ["moved-by-heaviest"]  # and nobody tried words-to-flip
    assert "00 words-to-flip" in told[-3] and "0 of 1 solved, 0 tried,   0% of the" in told[-3]


def cell(**changes):
    made = {
        "cell_type": "code",
        "id": "a",
        "metadata": {},
        "source": "x",
        "outputs": [],
        "execution_count": None,
    }
    return made | changes


MALFORMED = {
    "null": {"cells": [cell(metadata={"nbgrader": None})]},
    "a word": {"cells": [cell(metadata={"nbgrader": "x"})]},
    "an id of lists": {"cells": [cell(metadata={"nbgrader": {"grade_id": ["a"], "grade": True}})]},
    "no tags": {"cells": [cell(metadata={"tags": None})]},
    "no cells": {"cells": None},
    "cells of numbers": {"cells": [1, 2]},
    "a source of numbers": {"cells": [cell(source=[1, 2])]},
    "a list": [1, 2],
    "no JSON": "nope",
    "deep JSON": "[" * 100_000,
    "nothing": "",
}


def write_malformed(path, kind):
    made = MALFORMED[kind]
    if isinstance(made, dict):
        made = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}} | made
    path.write_text(made if isinstance(made, str) else json.dumps(made))


def test_no_malformed_notebook_loses_the_marks_of_the_class(collected):
    for number, kind in enumerate(MALFORMED):
        write_malformed(collected / f"{number:02}.ipynb", kind)
    table = graded(collected)
    assert table.points["'=ann"] == 2.25 and len(table) == 2 + len(MALFORMED)
    for number in range(len(MALFORMED)):
        note = table.notes[f"{number:02}"]
        assert note == f"{number:02}.ipynb is no notebook with exercises of the course"


def test_a_malformed_cell_beside_good_ones_is_left_out(monkeypatch, tmp_path):
    monkeypatch.setattr(isolation, "sandboxed", beside)
    notebook = submission(ANSWER, "1", CHECK)
    for odd in (
        None,
        "x",
        {"grade_id": ["a"], "solution": True},
        {"grade_id": None, "grade": True},
    ):
        notebook.cells[1].metadata["nbgrader"] = odd
        assert marks.mark(notebook, TASKS[:1], tmp_path, 60).points == {"moved-by-heaviest": 1}


def test_marks_are_written_as_they_are_made(collected, monkeypatch):
    for name in ("cam", "dan", "eve"):
        nbformat.write(submission(ANSWER), collected / f"{name}_00_start_here.ipynb")
    fine, seen = earning(moved_by_heaviest=1), []

    def mark(*given):
        seen.append(pd.read_csv(collected / "marks.csv", index_col=0))
        if len(seen) == 2:
            raise ZeroDivisionError  # what nobody has thought of
        if len(seen) == 4:
            raise KeyboardInterrupt
        return fine(*given)

    monkeypatch.setattr(marks, "mark", mark)
    given = ["grade", str(collected), "--csv", str(collected / "marks.csv"), "--without-isolation"]
    assert cli.main(given) == cli.INTERRUPTED
    assert [list(table.notes).count("not marked yet") for table in seen] == [5, 3, 2, 1]
    table = pd.read_csv(collected / "marks.csv", index_col=0)
    assert list(table.points.fillna(-1)) == [1, 0, 0, 1, -1]
    assert "cam_00_start_here.ipynb could not be marked (ZeroDivisionError)" in table.notes["cam"]
    assert not [path for path in collected.iterdir() if path.suffix not in (".ipynb", ".csv")]


def test_an_earlier_table_is_kept_and_no_other_file_is_written_over(collected, capsys):
    first = graded(collected)
    again = graded(collected)
    assert first.equals(again) and (collected / "marks.1.csv").exists()
    assert "marks.1.csv now" in capsys.readouterr().out
    graded(collected)
    assert (collected / "marks.2.csv").exists()
    roster = collected / "roster.csv"
    roster.write_text("name,mail\nann,a@b\n")
    given = ["grade", str(collected), "--csv", str(roster), "--without-isolation"]
    assert cli.main(given) == cli.REFUSED and roster.read_text().startswith("name,mail")
    assert "is no table of marks; give another name to --csv" in capsys.readouterr().err


def test_of_several_files_the_better_answers_count_and_that_is_told(collected, monkeypatch):
    for mark in (" (1)", " (2)"):
        nbformat.write(submission(ANSWER), collected / f"=ann_00_start_here{mark}.ipynb")
    earned = iter(
        [{"moved_by_heaviest": 0.25}, {"moved_by_heaviest": 1.0, "words_to_flip": 2.0}, {}]
    )
    monkeypatch.setattr(marks, "mark", lambda *given: earning(**next(earned))(*given))
    ann = graded(collected).loc["'=ann"]
    assert ann.points == 3 and "00 3 files; =ann_00_start_here (2).ipynb counts" in ann.notes
    earned = iter([{"moved_by_heaviest": 1.0}, {"effective_words": 2.0}, {}])
    ann = graded(collected).loc["'=ann"]
    assert ann.points == 3 and ann.notes.endswith(
        "00 3 files; the better answers count: =ann_00_start_here (2).ipynb (text-shares, "
        "effective-words, words-to-flip), =ann_00_start_here (1).ipynb (moved-by-heaviest)"
    )


def test_a_console_that_lacks_a_letter_ends_nothing(collected, monkeypatch):
    nbformat.write(submission(ANSWER), collected / "Łukasz 李_00_start_here.ipynb")
    console = io.TextIOWrapper(io.BytesIO(), encoding="cp1252")
    monkeypatch.setattr(sys, "stdout", console)
    assert graded(collected).points["Łukasz 李"] == 2.25


MISTAKES = {
    "nope": "no such folder",
    "": "the name is empty",
    "{empty}": "no notebooks there",
    "{file}": "no such folder",
    "{folder} --csv ": "the name is empty",
    "{folder} --csv {empty}": "is a folder; give the name of a file",
    "{folder} --csv {file}": "is no table of marks",
    "{folder} --minutes 0": "'0' is no whole number from 1 to 1440",
    "{folder} --minutes x": "'x' is no whole number",
    "{folder}": "there is no bwrap",
}


def test_a_mistake_in_what_is_asked_is_told_before_anything_heavy_is_imported(tmp_path):
    """In a process of its own, as here everything is imported."""
    (tmp_path / "empty").mkdir()
    nbformat.write(submission(ANSWER), tmp_path / "ann.ipynb")
    places = {"empty": tmp_path / "empty", "file": tmp_path / "ann.ipynb", "folder": tmp_path}
    asked = [["grade", *each.format(**places).split(" ")] for each in MISTAKES]
    asked += [["students", "nope.ipynb"], ["students", "--to", ""], ["progress"]]
    code = f"""import os, sys
os.environ["PATH"] = ""
from pathlib import Path
from course_lib import cli
from course_kit.publishing import places
places.STUDENTS = Path({str(tmp_path / "none")!r})
for asked in {asked!r}:
    try:
        status = cli.main(asked)
    except SystemExit as error:
        status = error.code
    print(status, file=sys.stderr)
heavy = {{"torch", "pandas", "nbformat", "IPython", "papermill", "datasets"}}
print(heavy & sys.modules.keys())"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=600)
    assert done.stdout == "set()\n", done.stderr
    lines = done.stderr.splitlines()
    told = [*MISTAKES.values(), "No such file or directory", "the name is empty", "holds no copies"]
    for line, status, says in zip(lines[::2], lines[1::2], told, strict=True):
        assert says in line and line.startswith("error: ") and status == "2"


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
