"""A learner's progress: states from saved outputs, shown as text and as HTML that is escaped."""

import nbformat
import pytest
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from course_kit.exercises import CheckFailed, check_number
from course_kit.publishing import exercise_progress, lessons, show_progress, students, workspace
from course_kit.publishing.exercise_progress import Exercise, exercise_states
from course_kit.publishing.site.cleaning import clean_html
from course_kit.publishing.workspace import WorkspaceError
from course_lib.cli import main

HEADING = "### Exercise 2 ●●○ · 10 minutes: diagonality"


def said(text, name="stdout"):
    return new_output("stream", name=name, text=text)


def raised(name, value):
    return new_output("error", ename=name, evalue=value, traceback=[value])


def check_cell(*outputs, grade_id="gini-check"):
    graded = {"grade": True, "grade_id": grade_id, "locked": True, "solution": False, "points": 1}
    return new_code_cell("check()", metadata={"nbgrader": graded}, outputs=list(outputs))


def copy_of(*checks, title="02 · Attention"):
    cells = [new_markdown_cell(f"# {title}\n\nText.")]
    for number, check in enumerate(checks, 1):
        answer = {"grade": False, "grade_id": "x", "locked": False, "solution": True}
        heading = f"### Exercise {number} ●●○ · 10 minutes: task {number}"
        cells += [new_markdown_cell(heading), new_code_cell("x", metadata={"nbgrader": answer})]
        cells += [check, new_markdown_cell("<details><summary>Hint</summary>x</details>")]
    return new_notebook(cells=cells)


SOLVED, OPEN = said("✓ gini: 21 cases\n"), said("○ gini is still open: it returned None.\n")
WRONG = raised("CheckFailed", "✗ gini: 0.3 is not it. Try half\nof it")
PICTURE = new_output("display_data", {"text/plain": "✓ a figure"})


@pytest.mark.parametrize(
    ("outputs", "state"),
    [
        ([], "not run"),
        ([SOLVED], "solved"),
        ([OPEN], "open"),
        ([WRONG], "wrong"),
        ([PICTURE, WRONG], "wrong"),
        ([PICTURE], "not run"),
        ([said("a warning\n", "stderr"), SOLVED], "solved"),
        ([said("my own print\n✓ gini: 21 cases\n")], "solved"),
        ([said("is it ✓ or ✗?\n")], "not run"),
        ([raised("NameError", "name 'my_gini' is not defined")], "not run"),
        ([SOLVED, OPEN], "open"),
        ([said("✓ one: 1\n"), WRONG], "wrong"),
    ],
)
def test_a_state_is_what_the_check_said(outputs, state):
    assert exercise_states(copy_of(check_cell(*outputs))) == [Exercise("Exercise 1: task 1", state)]


@pytest.mark.parametrize(("answer", "state"), [(..., "open"), (0.5, "solved"), (0.3, "wrong")])
def test_a_state_is_read_from_what_a_real_check_says(answer, state, capsys):
    try:
        check_number("half", answer, 0.5, "a whole over two")
        output = said(capsys.readouterr().out)
    except CheckFailed as failure:
        output = raised(type(failure).__name__, str(failure))
    assert exercise_states(copy_of(check_cell(output)))[0].state == state


@pytest.mark.parametrize(
    ("markdown", "title"),
    [
        (HEADING, "Exercise 2: diagonality"),
        ("Six equal digits.\n\n### Exercise 5 ●●○ · 10 minutes: a: b", "Exercise 5: a: b"),
        ("## Exercise 1 ●○○\nText", "Exercise 1"),
        ("### Exercise 7", "Exercise 7"),
        ("### Results of the Exercise", "gini-check"),
        ("No heading at all: Exercise 3", "gini-check"),
    ],
)
def test_an_exercise_is_called_by_its_heading_without_its_effort(markdown, title):
    notebook = new_notebook(cells=[new_markdown_cell(markdown), check_cell(SOLVED)])
    assert exercise_states(notebook) == [Exercise(title, "solved")]


def test_only_checks_count_and_a_heading_names_one():
    ungraded = new_code_cell("print('✓ of my own')", outputs=[said("✓ of my own\n")])
    cells = [new_markdown_cell(HEADING), ungraded, check_cell(OPEN), check_cell(grade_id="b-check")]
    assert exercise_states(new_notebook(cells=cells)) == [
        Exercise("Exercise 2: diagonality", "open"), Exercise("b-check", "not run"),
    ]  # fmt: skip


@pytest.mark.parametrize("path", lessons.lesson_paths(), ids=lambda path: path.stem)
def test_every_exercise_of_a_lesson_has_a_title_and_its_stored_check_is_solved(path):
    notebook = nbformat.read(path, as_version=4)
    found = exercise_states(notebook)
    assert len(found) == len(students.find_exercises(notebook, path.name))
    for number, exercise in enumerate(found, 1):
        assert exercise.title.startswith(f"Exercise {number}: ") and exercise.state == "solved"
        assert not set(exercise.title) & set("●○·")


def folder_with(tmp_path, **copies):
    folder = tmp_path / "students"
    workspace.write_copies({f"{name}.ipynb": copy for name, copy in copies.items()}, folder)
    return folder


def two_lessons(tmp_path):
    first = copy_of(check_cell(SOLVED), check_cell(WRONG), check_cell(), title="01 · GRU")
    second = copy_of(check_cell(SOLVED))
    return folder_with(tmp_path, **{"02_attention": second, "01_gru": first})


def test_the_table_names_the_next_exercise(tmp_path):
    course = exercise_progress.read_progress(two_lessons(tmp_path))
    head, first, second, _, total = exercise_progress.as_text(course).splitlines()
    assert head.split() == ["lesson", "solved", "next", "exercise"]
    assert first.split(maxsplit=4) == ["01_gru", "1", "of", "3", "Exercise 2: task 2 (wrong)"]
    assert second.split() == ["02_attention", "1", "of", "1"]
    assert total == "2 of 4 exercises solved, as your copies were last saved"


@pytest.mark.parametrize(
    ("newer", "counts"),
    [
        ({"new": 2}, "02_attention.new"),
        ({"new": 1}, "02_attention"),  # of equal ones the copy
        ({"new": 0, "new2": 3, "new10": 2}, "02_attention.new2"),
        ({"new3": 2, "new10": 2}, "02_attention.new3"),  # the others were removed
        ({"newer": 2, "mine": 2}, "02_attention"),
    ],
)
def test_of_a_copy_and_the_newer_lessons_the_one_with_more_solved_counts(newer, counts, tmp_path):
    folder = folder_with(tmp_path, **{"02_attention": copy_of(check_cell(SOLVED), check_cell())})
    for kind, solved in newer.items():
        checks = [check_cell(SOLVED) for _ in range(solved)]
        notebook = copy_of(*checks, check_cell(OPEN), title=f"02 · {kind}")
        nbformat.write(notebook, folder / f"02_attention.{kind}.ipynb")
    (lesson,) = exercise_progress.read_progress(folder)
    assert lesson.name == f"{counts}.ipynb"
    kind = counts.rpartition(".")[2]
    assert (lesson.solved, lesson.title) == (
        (newer[kind], f"02 · {kind}") if kind in newer else (1, "02 · Attention")
    )


def test_work_in_an_offered_lesson_counts_where_the_copy_was_removed(tmp_path):
    folder = two_lessons(tmp_path)
    (folder / "01_gru.ipynb").replace(folder / "01_gru.new.ipynb")
    assert [(lesson.name, lesson.solved) for lesson in exercise_progress.read_progress(folder)] == [
        ("01_gru.new.ipynb", 1), ("02_attention.ipynb", 1),
    ]  # fmt: skip


def test_only_the_copies_count(tmp_path):
    folder = two_lessons(tmp_path)
    nbformat.write(copy_of(check_cell(SOLVED)), folder / "02_attention.new.ipynb")
    nbformat.write(copy_of(check_cell(SOLVED)), folder / "notes.ipynb")
    workspace.write_copies({workspace.START: workspace.start_notebook([])}, folder)
    (folder / "01_gru.ipynb").unlink()
    assert [lesson.name for lesson in exercise_progress.read_progress(folder)] == [
        "02_attention.ipynb"
    ]


def test_the_table_says_every_state_in_words_and_links_each_lesson(tmp_path):
    folder = folder_with(
        tmp_path,
        **{"javascript:1 #?": copy_of(check_cell(SOLVED), check_cell(WRONG), check_cell())},
    )
    page = BeautifulSoup(
        exercise_progress.as_html(exercise_progress.read_progress(folder)), "html.parser"
    )
    assert page.find_all("td")[2].get_text("|") == (
        "✓ solved| · Exercise 1: task 1|✗ wrong| · Exercise 2: task 2|not run| · Exercise 3: task 3"
    )
    assert "1 of 3 exercises solved" in page.get_text()
    assert page.find("a")["href"] == "javascript%3A1%20%23%3F.ipynb"


def test_text_of_a_copy_never_becomes_markup(tmp_path):
    hostile = "<script>alert(1)</script><img src=x onerror='x'>{{ 7 * 7 }}"
    notebook = copy_of(check_cell(SOLVED), title="<<b>script>alert(2)</<b>script>")
    notebook.cells[1].source = f"### Exercise 1 ●○○ · 5 minutes: {hostile}"
    folder = folder_with(tmp_path, **{"02_attention": notebook})
    table = exercise_progress.as_html(exercise_progress.read_progress(folder))
    page = BeautifulSoup(table, "html.parser")
    assert page.get_text().count(hostile) == 1
    assert page.get_text().count("<script>alert(2)</script>") == 1  # put together from pieces
    assert not page.select("script, img")


def test_the_site_shows_the_table_as_it_is(tmp_path):
    table = exercise_progress.as_html(exercise_progress.read_progress(two_lessons(tmp_path)))
    assert "&lt;" not in clean_html(table) and clean_html(table).count("<td>") == table.count(
        "<td>"
    )


def test_a_notebook_shows_the_table_of_its_own_folder(tmp_path, monkeypatch, capsys):
    shown = []
    monkeypatch.setattr(exercise_progress, "display", lambda data, raw: shown.append(data))
    monkeypatch.chdir(two_lessons(tmp_path))
    show_progress()
    assert "2 of 4" in shown[0]["text/html"] and "01_gru" in shown[0]["text/plain"]
    assert capsys.readouterr().out == ""


def test_a_source_lesson_shows_what_its_stored_output_holds(monkeypatch, capsys):
    monkeypatch.chdir(lessons.LESSONS)
    show_progress()
    notebook = nbformat.read(lessons.LESSONS / "00_start_here.ipynb", as_version=4)
    (cell,) = [cell for cell in notebook.cells if cell.get("id") == "progress"]
    assert cell.outputs[0].text == capsys.readouterr().out


def test_a_folder_without_copies_and_a_damaged_copy_are_named(tmp_path):
    with pytest.raises(WorkspaceError, match=r"students holds no copies .*`make lab` makes them"):
        exercise_progress.read_progress(tmp_path / "students")
    folder = two_lessons(tmp_path)
    (folder / "02_attention.ipynb").write_text('{"cells": [')
    with pytest.raises(WorkspaceError, match=r"02_attention\.ipynb is no notebook"):
        exercise_progress.read_progress(folder)


def test_the_command_prints_the_table(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(lessons, "STUDENTS", two_lessons(tmp_path))
    assert main(["progress"]) == 0
    assert "Exercise 2: task 2 (wrong)" in capsys.readouterr().out
