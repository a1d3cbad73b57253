"""A learner's copies are made, renewed and never overwritten; nothing tracked changes."""

import json
import re
import shutil
import subprocess
import sys

import nbformat
import pytest
from ipykernel.ipkernel import IPythonKernel
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from test_students import check_cell, solution_cell

from course_kit.publishing import lessons, students, workspace
from course_kit.publishing.places import RECORD
from course_kit.publishing.students import BEGIN, END
from course_lib.cli import main
from course_lib.files import REPOSITORY, DataError

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


def everything(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def write(folder, *code):
    """Renew the copy; which notebooks that has written."""
    before = everything(folder)
    workspace.write_copies({NAME: lesson(*code)}, folder)
    after = everything(folder)
    return [name for name in sorted(after) if name != RECORD and before.get(name) != after[name]]


@pytest.fixture
def folder(tmp_path):
    """A copy of a lesson."""
    assert write(tmp_path, "a = 1") == [NAME]
    return tmp_path


@pytest.fixture
def worked_in(folder):
    """And a learner has worked in it."""
    edit(folder, 1, "mine")
    return folder


@pytest.mark.parametrize("run", [False, True])
def test_a_copy_that_was_only_run_and_saved_is_renewed(run, folder):
    if run:
        run_all(folder)
    assert write(folder, "a = 1") == []
    assert write(folder, "a = 2") == [NAME]
    assert sources(folder) == ["# Lesson", "a = 2"]
    assert set(everything(folder)) == {NAME, RECORD}


@pytest.mark.parametrize("place", [0, 1])
def test_work_stays_and_the_newer_lesson_is_offered_once(place, folder):
    edit(folder, place, "mine")
    assert write(folder, "a = 1") == []
    assert write(folder, "a = 2") == [NEW]
    assert sources(folder, NEW) == ["# Lesson", "a = 2"] and sources(folder)[place] == "mine"
    assert write(folder, "a = 2") == []
    (folder / NEW).unlink()
    assert write(folder, "a = 2") == []


def test_a_copy_that_was_removed_or_replaced_by_its_offer_is_made_anew(worked_in):
    write(worked_in, "a = 2")
    (worked_in / NEW).replace(worked_in / NAME)
    assert write(worked_in, "a = 2") == []
    assert write(worked_in, "a = 3") == [NAME]
    (worked_in / NAME).unlink()
    assert write(worked_in, "a = 3") == [NAME]


def test_an_offer_nobody_worked_in_is_replaced_and_one_with_work_stays(worked_in):
    assert write(worked_in, "a = 2") == write(worked_in, "a = 3") == [NEW]
    edit(worked_in, 1, "mine, too", NEW)
    assert write(worked_in, "a = 4") == ["02_attention.new2.ipynb"]
    run_all(worked_in, "02_attention.new2.ipynb")
    assert write(worked_in, "a = 5") == ["02_attention.new3.ipynb"]


def test_writing_some_copies_forgets_no_other(folder):
    workspace.write_copies({"01_gru.ipynb": lesson("1")}, folder)
    assert list(map(list, workspace.read_copies(folder))) == [["01_gru.ipynb"], [NAME]]
    assert write(folder, "a = 2") == [NAME]


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '{"02_attention.ipynb": 1}', "\x80", None])
def test_a_damaged_record_is_named_and_without_one_nothing_is_lost(text, worked_in):
    if text is not None:
        (worked_in / RECORD).write_text(text, encoding="latin-1")
        before = everything(worked_in)
        with pytest.raises(DataError, match=r"\.copies\.json is damaged\. Nothing was .* Delete"):
            write(worked_in, "a = 2")
        assert everything(worked_in) == before
    (worked_in / RECORD).unlink()  # the advice of the message
    assert write(worked_in, "a = 2") == [NEW]
    assert write(worked_in, "a = 2") == []


@pytest.mark.parametrize("name", [NAME, NEW])
def test_a_damaged_copy_is_named_and_nothing_changes(name, worked_in):
    (worked_in / name).write_text('{"cells": [', encoding="utf-8")
    before = everything(worked_in)
    with pytest.raises(DataError, match=rf"{name} is no notebook \(.*\)\. Nothing was changed\. M"):
        workspace.write_copies({"01_gru.ipynb": lesson("1"), NAME: lesson("a = 2")}, worked_in)
    assert everything(worked_in) == before


def stored(folder, name, *cells):
    folder.mkdir(parents=True, exist_ok=True)
    nbformat.write(new_notebook(cells=list(cells)), folder / name)
    return folder / name


def test_links_lead_to_the_same_files_and_never_to_solutions(tmp_path):
    source = tmp_path / "notebooks"
    text = (
        "[next](02_attention.ipynb#x) [one](#part) [web](https://example.org/a.png) [no](gone.md)\n"
        "![a]({0}pictures/a%20b.png) [report]({0}experiments/report.ipynb#end) [up](../README.md)\n"
        '<img src="{0}pictures/a%20b.png"> ![c](attachment:c.png)'
    )
    for name in ("pictures/a b.png", "experiments/report.ipynb", "../README.md"):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text("x")
    code = "open('pictures/a%20b.png')  # ![](pictures/a%20b.png)"
    cells = new_markdown_cell(text.format("")), new_code_cell(code)
    first = stored(source, "01_gru.ipynb", *cells)
    second = stored(source, NAME, new_markdown_cell("x"))
    for made in ([first, second], [first]):
        copies = workspace.learner_copies(made, tmp_path / "students")
        moved = [cell.source for cell in copies["01_gru.ipynb"].cells]
        assert moved == [text.format("../notebooks/"), code]


def test_a_side_note_and_its_lesson_lead_to_each_other_s_copies(tmp_path):
    source, folder = tmp_path / "notebooks", tmp_path / "students"
    (tmp_path / "README.md").write_text("x")
    asked, back = "[why?](further/why.ipynb)", "[lesson](../01_gru.ipynb#x) [up]({}README.md)"
    made = [
        stored(source, "01_gru.ipynb", new_markdown_cell(asked)),
        stored(source / "further", "why.ipynb", new_markdown_cell(back.format("../../"))),
    ]
    copies = workspace.learner_copies(made, folder)
    sources_of = {name: copy.cells[0].source for name, copy in copies.items()}
    assert sources_of == {"01_gru.ipynb": asked, "further/why.ipynb": back.format("../../")}
    assert workspace.write_copies(copies, folder) == []
    edit(folder / "further", 0, "mine", "why.ipynb")
    copies["further/why.ipynb"] = lesson("newer")
    (told,) = workspace.write_copies(copies, folder)
    assert "why.new.ipynb" in told and sources(folder / "further", "why.ipynb") == ["mine"]


def test_the_landing_notebook_links_every_lesson_and_says_how_to_go_on_with_a_newer_one(tmp_path):
    made = workspace.start_notebook(lessons.lesson_paths(), lessons.side_notes())
    text = made.cells[0].source
    for path in lessons.lesson_paths():
        number, _, title = students.title_of(students.read_notebook(path), "").partition(" · ")
        assert f"\n{int(number)}. [{title}]({path.name})\n" in text
    assert all(f"](further/{path.name})" in text for path in lessons.side_notes())
    workspace.write_copies({"start.ipynb": made}, tmp_path)
    kept = students.read_notebook(tmp_path / "start.ipynb").metadata
    assert kept.language_info == IPythonKernel.language_info  # as JupyterLab would write it
    assert kept.kernelspec.display_name == "Python 3 (ipykernel)"
    assert "rename it to `02_attention.ipynb`, after giving" in " ".join(text.split())


def exercise(grade_id="half"):
    solution = solution_cell(
        f"def half():\n    {BEGIN}\n    return 1 / 2\n    {END}", grade_id=grade_id
    )
    return solution, check_cell("1", grade_id=f"{grade_id}-check")


def test_the_instructor_s_command_keeps_work_too(tmp_path, capsys):
    good, out = stored(tmp_path, NAME, *exercise()), tmp_path / "out"
    call = ["students", "--to", str(out), str(good)]
    assert main(call) == 0
    assert str(out) in capsys.readouterr().out
    assert BEGIN not in (out / NAME).read_text(encoding="utf-8")
    edit(out, 0, "half = 0.5")
    stored(tmp_path, NAME, new_markdown_cell("Newer."), *exercise())
    assert main(call) == 0
    assert capsys.readouterr().out.startswith(
        f"out/{NAME} holds your work and stays; the newer lesson is {NEW}: to go on with it, "
        f"rename it to {NAME}, after giving your own another name\n"
    )
    assert sources(out)[0] == "half = 0.5" and sources(out, NEW)[:2] == ["Newer.", "half = 0.5"]


def test_a_copy_takes_the_name_that_its_lesson_has_today(tmp_path):
    old, new = "09_to_transformers.ipynb", "10_to_transformers.ipynb"
    workspace.write_copies({old: lesson("1")}, tmp_path)
    edit(tmp_path, 1, "my answer", old)
    told, offered = workspace.write_copies({new: lesson("2"), NAME: lesson("3")}, tmp_path)
    assert old in told and "10_to_transformers.new.ipynb" in offered
    assert not (tmp_path / old).exists() and sources(tmp_path, new)[1] == "my answer"
    (tmp_path / old).write_text("{}")  # a folder that has both keeps both
    assert workspace.write_copies({new: lesson("2")}, tmp_path) == []
    assert (tmp_path / old).read_text() == "{}"


def test_the_newer_lesson_has_the_answers_and_is_replaced_while_nobody_works_in_it(tmp_path):
    def renew(text):
        cells = [new_markdown_cell(text), *exercise(), *exercise("other")]
        cells[3].source += f"\nafter = {text!r}"
        copy = students.student_copy(new_notebook(cells=cells), NAME)
        return workspace.write_copies({NAME: copy}, tmp_path)

    assert renew("one") == []
    edit(tmp_path, 1, "half = 0.5")
    for text in ("two", "three"):
        assert NEW in renew(text)[0]
        assert sources(tmp_path, NEW)[:2] == [text, "half = 0.5"]
        assert sources(tmp_path, NEW)[3].endswith(f"after = {text!r}")  # still open, so renewed
    assert sources(tmp_path)[0] == "one"
    (tmp_path / NEW).replace(tmp_path / NAME)  # as the message says
    renew("four")
    assert sources(tmp_path)[:2] == ["three", "half = 0.5"]


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """A repository of its own with what a learner needs, all of it tracked."""
    folder = tmp_path_factory.mktemp("clone")
    leave = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints")
    for name in ("course_lib", "course_kit", "notebooks", "results"):
        shutil.copytree(REPOSITORY / name, folder / name, ignore=leave)
    (folder / "data").mkdir()
    for name in ("data/README.md", ".gitignore", "pyproject.toml"):
        shutil.copy(REPOSITORY / name, folder / name)
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
    first = source.cells[students.find_exercises(source, name)[0].solution]
    open_cells = {cell.metadata.get("nbgrader", {}).get("grade_id"): cell for cell in copy.cells}
    open_cells[first.metadata.nbgrader.grade_id].source = first.source
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(copy, timeout=None, kernel_name="python3", resources=resources).execute()
    assert lessons.errors_in(copy) == []
    nbformat.write(copy, folder / name)
    (shown,) = [cell for cell in copy.cells if cell.source == "publishing.show_progress()"]
    assert "exercises solved" in shown.outputs[0].text
    following = "Exercise 2: the effective number of words (open)"
    assert re.search(rf"^00_start_here +1 of 4 +{re.escape(following)}$", call("progress"), re.M)
    assert json.loads((folder / RECORD).read_text(encoding="utf-8")).keys() == {
        *(path.name for path in lessons.lesson_paths()),
        *(f"further/{path.name}" for path in lessons.side_notes()),
    }
    assert git(repository, "status", "--porcelain") == ""
