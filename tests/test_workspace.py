"""A learner's copies are made, renewed, mended and never overwritten; nothing tracked changes."""

import json
import re
import shutil
import subprocess
import sys

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from course_kit.publishing import lessons, students, workspace
from course_kit.publishing.workspace import RECORD, Copy, WorkspaceError
from course_lib.cli import main
from course_lib.files import REPOSITORY

NAME, NEW = "02_attention.ipynb", "02_attention.new.ipynb"


def lesson(*sources):
    made = new_notebook(cells=[new_markdown_cell("# Lesson"), *map(new_code_cell, sources)])
    made.metadata["kernelspec"] = {"display_name": "x", "language": "python", "name": "python3"}
    return made


def read(folder, name=NAME):
    return nbformat.read(folder / name, as_version=4)


def sources(folder, name=NAME):
    return [cell.source for cell in read(folder, name).cells]


def edit(folder, place, source, name=NAME):
    copy = read(folder, name)
    copy.cells[place].source = source
    nbformat.write(copy, folder / name)


def run_all(folder, name=NAME):
    """As after running every cell in JupyterLab, which also adds an empty cell and metadata."""
    copy = read(folder, name)
    for number, cell in enumerate(copy.cells[1:], 1):
        cell.outputs, cell.execution_count = [new_output("stream", text=f"ran {number}\n")], number
        cell.metadata["collapsed"] = False
    copy.metadata["widgets"] = {"state": {}}
    copy.cells.append(new_code_cell(""))
    nbformat.write(copy, folder / name)


def write(folder, *code):
    (copy,) = workspace.write_copies({NAME: lesson(*code)}, folder)
    assert copy.path == folder / NAME
    return copy.written.name if copy.written else None


def everything(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_an_untouched_copy_is_renewed(tmp_path):
    assert write(tmp_path, "a = 1") == NAME
    assert write(tmp_path, "a = 1") is None
    assert write(tmp_path, "a = 2") == NAME
    assert sources(tmp_path) == ["# Lesson", "a = 2"]
    assert set(everything(tmp_path)) == {NAME, RECORD}


def test_running_and_saving_is_no_change(tmp_path):
    write(tmp_path, "a = 1", "b = 1")
    run_all(tmp_path)
    before = everything(tmp_path)
    assert write(tmp_path, "a = 1", "b = 1") is None
    assert everything(tmp_path) == before
    assert write(tmp_path, "a = 2") == NAME
    assert sources(tmp_path) == ["# Lesson", "a = 2"]


@pytest.mark.parametrize("place", [0, 1])
def test_work_stays_and_the_newer_lesson_is_offered_once(place, tmp_path):
    write(tmp_path, "a = 1")
    edit(tmp_path, place, "mine")
    before = everything(tmp_path)
    assert write(tmp_path, "a = 1") is None
    assert everything(tmp_path) == before
    assert write(tmp_path, "a = 2") == NEW
    assert (tmp_path / NAME).read_bytes() == before[NAME]
    assert sources(tmp_path, NEW) == ["# Lesson", "a = 2"]
    assert write(tmp_path, "a = 2") is None
    (tmp_path / NEW).unlink()
    assert write(tmp_path, "a = 2") is None


def test_an_offer_nobody_worked_in_is_replaced_and_one_with_work_stays(tmp_path):
    write(tmp_path, "a = 1")
    edit(tmp_path, 1, "mine")
    assert [write(tmp_path, "a = 2"), write(tmp_path, "a = 3")] == [NEW, NEW]
    edit(tmp_path, 1, "mine, too", NEW)
    assert write(tmp_path, "a = 4") == "02_attention.new2.ipynb"
    assert sources(tmp_path, NEW) == ["# Lesson", "mine, too"]
    run_all(tmp_path, "02_attention.new2.ipynb")
    assert write(tmp_path, "a = 5") == "02_attention.new3.ipynb"


def test_an_offer_that_takes_the_copy_s_place_is_renewed_again(tmp_path):
    write(tmp_path, "a = 1")
    edit(tmp_path, 1, "mine")
    write(tmp_path, "a = 2")
    (tmp_path / NEW).replace(tmp_path / NAME)
    assert write(tmp_path, "a = 2") is None
    assert write(tmp_path, "a = 3") == NAME


def test_a_copy_that_was_removed_is_made_again(tmp_path):
    write(tmp_path, "a = 1")
    edit(tmp_path, 1, "mine")
    (tmp_path / NAME).unlink()
    assert write(tmp_path, "a = 1") == NAME
    assert sources(tmp_path) == ["# Lesson", "a = 1"]


def test_writing_some_copies_forgets_no_other(tmp_path):
    write(tmp_path, "a = 1")
    workspace.write_copies({"01_gru.ipynb": lesson("1")}, tmp_path)
    assert list(map(list, workspace.read_copies(tmp_path))) == [["01_gru.ipynb"], [NAME]]
    assert write(tmp_path, "a = 2") == NAME


def test_copies_made_without_a_record_lose_nothing(tmp_path):
    write(tmp_path, "a = 1")
    (tmp_path / RECORD).unlink()
    assert write(tmp_path, "a = 2") == NEW
    assert sources(tmp_path) == ["# Lesson", "a = 1"]
    assert write(tmp_path, "a = 2") is None


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "3", '{"02_attention.ipynb": 1}', "\x80"],
)  # fmt: skip
def test_a_damaged_record_is_named_and_nothing_changes(text, tmp_path):
    write(tmp_path, "a = 1")
    edit(tmp_path, 1, "mine")
    (tmp_path / RECORD).write_text(text, encoding="latin-1")
    before = everything(tmp_path)
    with pytest.raises(
        WorkspaceError, match=r"\.copies\.json is damaged\. Nothing was changed\. Del"
    ):
        write(tmp_path, "a = 2")
    assert everything(tmp_path) == before
    (tmp_path / RECORD).unlink()  # the advice of the message
    assert write(tmp_path, "a = 2") == NEW


@pytest.mark.parametrize("name", [NAME, NEW])
def test_a_damaged_copy_is_named_and_nothing_changes(name, tmp_path):
    write(tmp_path, "a = 1")
    edit(tmp_path, 1, "mine")
    (tmp_path / name).write_text('{"cells": [', encoding="utf-8")
    before = everything(tmp_path)
    with pytest.raises(
        WorkspaceError, match=rf"{name} is no notebook \(.*\)\. Nothing was changed\. M"
    ):
        workspace.write_copies({"01_gru.ipynb": lesson("1"), NAME: lesson("a = 2")}, tmp_path)
    assert everything(tmp_path) == before


def stored(folder, name, *cells):
    folder.mkdir(parents=True, exist_ok=True)
    nbformat.write(new_notebook(cells=list(cells)), folder / name)
    return folder / name


def test_links_lead_to_the_same_files_from_the_copies(tmp_path):
    source = tmp_path / "notebooks"
    text = (
        "[next](02_attention.ipynb) [one](#part) [web](https://example.org/a.png) [none](gone.md)\n"
        "![a](pictures/a%20b.png) [report](experiments/report.ipynb#end) [up](../README.md)\n"
        '<img src="pictures/a%20b.png"> ![c](attachment:c.png)'
    )
    for name in ("pictures/a b.png", "experiments/report.ipynb", "../README.md"):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text("x")
    code = new_code_cell("open('pictures/a%20b.png')  # ![](pictures/a%20b.png)")
    first = stored(source, "01_gru.ipynb", new_markdown_cell(text), code)
    second = stored(source, "02_attention.ipynb", new_markdown_cell("x"))
    copies = workspace.learner_copies([first, second], tmp_path / "students")
    assert copies["01_gru.ipynb"].cells[0].source == (
        "[next](02_attention.ipynb) [one](#part) [web](https://example.org/a.png) [none](gone.md)\n"
        "![a](../notebooks/pictures/a%20b.png) [report](../notebooks/experiments/report.ipynb#end) "
        "[up](../README.md)\n"
        '<img src="../notebooks/pictures/a%20b.png"> ![c](attachment:c.png)'
    )
    assert copies["01_gru.ipynb"].cells[1].source == code.source


def test_a_single_copy_links_no_lesson_with_its_solutions(tmp_path):
    cell = new_markdown_cell("[lesson 02](02_attention.ipynb#part)")
    first = stored(tmp_path / "notebooks", "01_gru.ipynb", cell)
    stored(tmp_path / "notebooks", "02_attention.ipynb", new_markdown_cell("x"))
    (copy,) = workspace.learner_copies([first], tmp_path / "handout").values()
    assert copy.cells[0].source == cell.source


def test_the_landing_notebook_links_every_lesson_by_its_title():
    text = workspace.start_notebook(lessons.lesson_paths()).cells[0].source
    for path in lessons.lesson_paths():
        title = students.title_of(students.read_notebook(path), "none")
        assert title.startswith(path.name[:2]) and f"- [{title}]({path.name})\n" in text


def test_the_landing_notebook_says_how_to_go_on_with_a_newer_lesson():
    text = " ".join(workspace.start_notebook([]).cells[0].source.split())
    assert "to go on with it, rename it to `02_attention.ipynb`, after giving your own" in text


def exercise(grade_id="half"):
    graded = {"grade": False, "grade_id": grade_id, "locked": False, "schema_version": 3}
    solution = new_code_cell("### BEGIN SOLUTION\nhalf = 1 / 2\n### END SOLUTION")
    solution.metadata["nbgrader"] = graded | {"solution": True}
    check = new_code_cell("1", metadata={"nbgrader": graded | {
        "grade": True, "grade_id": f"{grade_id}-check", "locked": True, "solution": False,
        "points": 1}})  # fmt: skip
    return solution, check


def test_nothing_is_written_unless_all_lessons_are_well_formed(tmp_path, capsys):
    good = stored(tmp_path, "01_good.ipynb", *exercise())
    bad = stored(tmp_path, "02_bad.ipynb", exercise()[1])
    out = tmp_path / "out"
    assert main(["students", "--to", str(out), str(good), str(bad)]) == 2
    assert not out.exists() and "error: 02_bad.ipynb, cell 0" in capsys.readouterr().err


def test_the_instructor_s_command_keeps_work_too(tmp_path, capsys):
    good, out = stored(tmp_path, NAME, *exercise()), tmp_path / "out"
    call = ["students", "--to", str(out), str(good)]
    assert main(call) == 0
    assert capsys.readouterr().out == f"{out / NAME}\n"
    assert "BEGIN SOLUTION" not in (out / NAME).read_text(encoding="utf-8")
    edit(out, 0, "half = 0.5")
    stored(tmp_path, NAME, new_markdown_cell("Newer."), *exercise())
    assert main(call) == 0
    assert capsys.readouterr().out == (
        f"out/{NAME} holds your work and stays; the newer lesson is {NEW}: to go on with it, "
        f"rename it to {NAME}, after giving your own another name\n"
    )
    assert sources(out)[0] == "half = 0.5" and sources(out, NEW)[0] == "Newer."
    assert workspace.write_copies(workspace.learner_copies([good], out), out) == [
        Copy(out / NAME, None)
    ]


OLD_IMPORTS = """import torch
from course_lib import data, experiments, explore, teaching, views
from course_lib.experiments import report
from course_lib.experiments.scheduler import note_progress

print(torch, data, explore, views, report, note_progress)"""
OLD_CALLS = """run = experiments.load_recorded(f"han-imdb-room-s{seed}")
systems = experiments.SYSTEMS["han"], experiments.report.imdb_table
mine = "teaching"  # my teaching experiments
words = teaching.readers.load_words, my.teaching.check
def unfinished(: teaching.check_gini"""
CALLS = """run = runs.load_recorded(f"han-imdb-compact-s{seed}")
systems = runs.known_systems()["han"], report.imdb_table
mine = "teaching"  # my teaching experiments
words = exercises.readers.load_words, my.teaching.check
def unfinished(: exercises.check_gini"""


def test_old_names_in_a_copy_with_work_are_mended_once_and_the_copy_as_it_was_is_kept(tmp_path):
    write(tmp_path, OLD_IMPORTS, OLD_CALLS)
    edit(tmp_path, 0, "My notes: `teaching.check_gini`")
    run_all(tmp_path)
    before = (tmp_path / NAME).read_bytes()
    (copy,) = workspace.write_copies({NAME: lesson("newer")}, tmp_path)
    assert copy.backup.name == "02_attention.before.ipynb" and copy.written.name == NEW
    assert nbformat.read(copy.backup, as_version=4) == nbformat.reads(before, as_version=4)
    notes, imports, calls, *_ = sources(tmp_path)
    assert notes == "My notes: `teaching.check_gini`" and calls == CALLS
    assert {line for line in imports.splitlines() if "import" in line} == {
        "import torch", "from course_kit import exercises", "from course_lib import runs",
        "from course_lib import data, explore, views", "from course_kit.research import report",
        "from course_kit.research.grid.scheduler import note_progress",
    }  # fmt: skip
    assert read(tmp_path).cells[1].outputs[0].text == "ran 1\n"
    (again,) = workspace.write_copies({NAME: lesson("newer")}, tmp_path)
    assert (again.written, again.backup, again.messages) == (None, None, [])
    assert len(copy.messages) == 2 and copy.backup.name in copy.messages[0]


def test_a_package_keeps_its_old_name_where_a_variable_has_the_new_one(tmp_path):
    write(tmp_path, OLD_IMPORTS, "runs = []\nspec = experiments.RunSpec()")
    edit(tmp_path, 0, "mine")
    write(tmp_path, "newer")
    assert sources(tmp_path)[2] == "runs = []\nspec = experiments.RunSpec()"
    assert "from course_lib import runs as experiments" in sources(tmp_path)[1]


def test_the_newer_lesson_has_the_answers_and_is_replaced_while_nobody_works_in_it(tmp_path):
    def newer(text):
        cells = [new_markdown_cell(text), *exercise(), *exercise("other")]
        cells[3].source += f"\nafter = {text!r}"
        return students.student_copy(new_notebook(cells=cells), NAME)

    workspace.write_copies({NAME: newer("one")}, tmp_path)
    edit(tmp_path, 1, "half = 0.5")
    for text in ("two", "three"):
        (copy,) = workspace.write_copies({NAME: newer(text)}, tmp_path)
        assert copy.written.name == NEW
        assert sources(tmp_path, NEW)[:2] == [text, "half = 0.5"]
        assert sources(tmp_path, NEW)[3].endswith(f"after = {text!r}")  # still open, so renewed
    assert sources(tmp_path)[0] == "one"


def test_a_copy_without_work_is_replaced_and_not_mended(tmp_path):
    write(tmp_path, OLD_IMPORTS)
    (copy,) = workspace.write_copies({NAME: lesson("newer")}, tmp_path)
    assert copy.backup is None and sources(tmp_path) == ["# Lesson", "newer"]


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """A repository of its own with what a learner needs, all of it tracked."""
    folder = tmp_path_factory.mktemp("clone")
    for name in ("course_lib", "course_kit", "notebooks", "data/README.md", ".gitignore",
                 "pyproject.toml", "results"):  # fmt: skip
        source, target = REPOSITORY / name, folder / name
        target.parent.mkdir(exist_ok=True, parents=True)
        if source.is_dir():
            leave = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints")
            shutil.copytree(source, target, ignore=leave)
        else:
            shutil.copy(source, target)
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-qm", "all")
    return folder


def git(folder, *arguments):
    call = ["git", "-C", str(folder), *arguments]
    return subprocess.run(call, capture_output=True, text=True, check=True).stdout


@pytest.mark.full
def test_learning_touches_no_tracked_file(repository, monkeypatch):
    """Copies, one of them solved and executed where it stands, and the progress of it all."""
    monkeypatch.setenv("PYTHONPATH", str(repository))
    monkeypatch.setenv("COURSE_PROFILE", "smoke")
    monkeypatch.delenv("COURSE_DATA_DIR", raising=False)

    def call(*arguments):
        command = [sys.executable, "-m", "course_lib", *arguments]
        done = subprocess.run(command, cwd=repository, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    call("students")
    folder = repository / "students"
    name = "00_start_here.ipynb"
    copy, source = read(folder, name), read(repository / "notebooks", name)
    first = students.find_exercises(source, name)[0]
    copy.cells[first.solution].source = source.cells[first.solution].source
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(copy, timeout=300, kernel_name="python3", resources=resources).execute()
    assert lessons.errors_in(copy) == []
    nbformat.write(copy, folder / name)
    (shown,) = [cell for cell in copy.cells if cell.source == "publishing.show_progress()"]
    assert "exercises solved" in shown.outputs[0].data["text/plain"]
    following = "Exercise 2: the effective number of words (open)"
    assert re.search(rf"^00_start_here +1 of 3 +{re.escape(following)}$", call("progress"), re.M)
    assert json.loads((folder / RECORD).read_text(encoding="utf-8")).keys() == {
        path.name for path in lessons.lesson_paths()
    }
    assert git(repository, "status", "--porcelain") == ""
