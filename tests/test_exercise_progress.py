"""A learner's progress: states from saved outputs, shown as text and as HTML that is escaped."""

import nbformat
import pytest
import torch
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from test_students import check_cell, solution_cell

from course_kit.exercises import CheckFailed, check_masked_softmax
from course_kit.publishing import (
    exercise_progress,
    lessons,
    places,
    show_progress,
    students,
    workspace,
)
from course_kit.publishing.exercise_progress import Exercise, exercise_states
from course_lib.cli import main
from course_lib.files import DataError
from course_lib.models.layers import masked_softmax

HEADING = "### Exercise 2 ●●○ · 10 minutes: diagonality"


def said(text, name="stdout"):
    return new_output("stream", name=name, text=text)


def raised(name, value):
    return new_output("error", ename=name, evalue=value, traceback=[value])


def copy_of(*checks, title="02 · Attention"):
    """A learner's copy with the outputs of each check."""
    cells = [new_markdown_cell(f"# {title}\n\nText.")]
    for number, outputs in enumerate(checks, 1):
        heading = f"### Exercise {number} ●●○ · 10 minutes: task {number}"
        check = check_cell("check()", grade_id=f"task-{number}-check")
        cells += [new_markdown_cell(heading), solution_cell("x"), check]
        cells[-1].outputs = outputs
        cells.append(new_markdown_cell("<details><summary>Hint</summary>x</details>"))
    return new_notebook(cells=cells)


SOLVED, OPEN = [said("✓ gini: 21 cases\n")], [said("○ gini is still open: it returned None.\n")]
WRONG = [raised("CheckFailed", "✗ gini: 0.3 is not it. Try half\nof it")]
PICTURE = [new_output("display_data", {"text/plain": "✓ a figure"})]


@pytest.mark.parametrize(
    ("outputs", "state"),
    [
        ([], "not run"),
        (SOLVED, "solved"),
        (OPEN, "open"),
        (PICTURE + WRONG, "wrong"),
        (PICTURE, "not run"),
        ([said("a warning\n", "stderr"), *SOLVED], "solved"),
        ([said("my own print\n✓ gini: 21 cases\n")], "solved"),
        ([said("is it ✓ or ✗?\n")], "not run"),
        ([raised("NameError", "name 'my_gini' is not defined")], "not run"),
        (SOLVED + OPEN, "open"),
        (SOLVED + WRONG, "wrong"),
    ],
)
def test_a_state_is_what_the_check_said(outputs, state):
    assert exercise_states(copy_of(outputs)) == [Exercise("Exercise 1: task 1", state)]


@pytest.mark.parametrize(
    ("answer", "state"),
    [(lambda *given: ..., "open"), (masked_softmax, "solved"), (torch.minimum, "wrong")],
)
def test_a_state_is_read_from_what_a_real_check_says(answer, state, capsys):
    try:
        check_masked_softmax(answer)
        output = said(capsys.readouterr().out)
    except CheckFailed as failure:
        output = raised(type(failure).__name__, str(failure))
    assert exercise_states(copy_of([output]))[0].state == state


@pytest.mark.parametrize(
    ("markdown", "title"),
    [
        (HEADING, "Exercise 2: diagonality"),
        ("Six equal digits.\n\n### Exercise 5 ●●○ · 10 minutes: a: b", "Exercise 5: a: b"),
        ("## Exercise 1 ●○○\nText", "Exercise 1"),
        ("### Exercise 7", "Exercise 7"),
        ("### Results of the Exercise", "softmax-check"),
        ("No heading at all: Exercise 3", "softmax-check"),
    ],
)
def test_an_exercise_is_called_by_its_heading_without_its_effort(markdown, title):
    """And only a check counts, and a heading names one."""
    ungraded = new_code_cell("print('✓ of my own')", outputs=[said("✓ of my own\n")])
    cells = [new_markdown_cell(markdown), ungraded, check_cell(), check_cell(grade_id="b-check")]
    found = exercise_states(new_notebook(cells=cells))
    assert found == [Exercise(title, "not run"), Exercise("b-check", "not run")]


def test_copies_of_a_check_are_one_exercise_and_odd_metadata_none():
    notebook = copy_of(OPEN, WRONG)
    again = nbformat.from_dict(notebook.cells[3] | {"id": "again"})
    for first, second, state in (
        (OPEN, SOLVED, "solved"),
        (SOLVED, WRONG, "solved"),
        (SOLVED, [], "solved"),
        (OPEN, WRONG, "wrong"),
    ):
        notebook.cells[3].outputs, again.outputs = first, second
        odd = [check_cell(grade_id=["a"]), new_code_cell(metadata={"nbgrader": None})]
        cells = [*notebook.cells[:4], *odd, again, *notebook.cells[4:]]
        found = exercise_states(new_notebook(cells=cells))
        other = Exercise("Exercise 2: task 2", "wrong")
        assert found == [Exercise("Exercise 1: task 1", state), other]


@pytest.mark.parametrize("path", lessons.lesson_paths(), ids=lambda path: path.stem)
def test_every_exercise_of_a_lesson_has_a_title_and_its_stored_check_is_solved(path):
    notebook = nbformat.read(path, as_version=4)
    found = exercise_states(notebook)
    assert len(found) == len(students.find_exercises(notebook, path.name))
    for number, exercise in enumerate(found, 1):
        assert exercise.title.startswith(f"Exercise {number}: ") and exercise.state == "solved"
        assert not set(exercise.title) & set("●○·")


@pytest.fixture
def folder(tmp_path):
    """Two lessons of a learner: one of three exercises solved, and the only one."""
    copies = {
        "02_attention.ipynb": copy_of(SOLVED),
        "01_gru.ipynb": copy_of(SOLVED, WRONG, [], title="01 · GRU"),
    }
    workspace.write_copies(copies, tmp_path / "students")
    return tmp_path / "students"


def read(folder):
    """Of each lesson, the file that counts and how much of it is solved."""
    course = exercise_progress.read_progress(folder)
    return [(name, (part.state == "solved").sum()) for name, part in course.groupby("lesson")]


def test_the_command_prints_how_much_is_solved_and_what_is_next(folder, monkeypatch, capsys):
    monkeypatch.setattr(places, "STUDENTS", folder)
    assert main(["progress"]) == 0
    head, first, second, _, total = capsys.readouterr().out.splitlines()
    assert head.split() == ["lesson", "solved", "next", "exercise"]
    assert first.split(maxsplit=4) == ["01_gru", "1", "of", "3", "Exercise 2: task 2 (wrong)"]
    assert second.split() == ["02_attention", "1", "of", "1"]
    assert total == "2 of 4 exercises solved, as your copies were last saved"


@pytest.mark.parametrize(
    ("newer", "counts"),
    [
        ({"new": 2}, ("02_attention.new", 2)),
        ({"new": 1}, ("02_attention", 1)),  # of equal ones the copy
        ({"new": 0, "new2": 3, "new10": 2}, ("02_attention.new2", 3)),
        ({"new3": 2, "new10": 2}, ("02_attention.new3", 2)),  # the others were removed
        ({"newer": 3, "mine": 3, "before": 3}, ("02_attention", 1)),
    ],
)
def test_the_file_with_more_solved_exercises_counts(newer, counts, folder):
    for kind, number in newer.items():
        notebook = copy_of(*[SOLVED] * number, OPEN)
        nbformat.write(notebook, folder / f"02_attention.{kind}.ipynb")
    assert read(folder)[1] == counts


def test_an_offer_counts_where_the_copy_was_removed_and_other_files_never(folder):
    nbformat.write(copy_of(SOLVED), folder / "notes.ipynb")
    workspace.write_copies({workspace.START: workspace.start_notebook([])}, folder)
    (folder / "02_attention.ipynb").unlink()
    (folder / "01_gru.ipynb").replace(folder / "01_gru.new.ipynb")
    assert read(folder) == [("01_gru.new", 1)]


LONG = "words " * 20  # which pandas would cut


def test_a_notebook_shows_a_row_for_each_copy_beside_it_and_text_never_becomes_markup(
    tmp_path, monkeypatch, capsys
):
    hostile = copy_of(WRONG, SOLVED, [])
    hostile.cells[1].source = f"### Exercise 1: <script>alert(1)</script> {LONG}& more"
    workspace.write_copies({"02_<img src=x>.ipynb": hostile}, tmp_path)
    shown = []
    monkeypatch.setattr(
        exercise_progress, "display", lambda table: shown.append(table._repr_html_())
    )
    monkeypatch.chdir(tmp_path)
    show_progress()
    page = BeautifulSoup(shown[0], "html.parser")
    assert capsys.readouterr().out.startswith("1 of 3 exercises solved")
    assert not page.find_all(["script", "img"])
    rows = [row.find_all(["th", "td"]) for row in page.tbody.find_all("tr")]
    assert [[cell.text.strip() for cell in row] for row in rows] == [
        ["02_<img src=x>", "1 of 3", f"Exercise 1: <script>alert(1)</script> {LONG}& more (wrong)"]
    ]


def test_a_source_lesson_shows_what_its_stored_output_holds(monkeypatch, capsys):
    monkeypatch.chdir(lessons.LESSONS)
    show_progress()
    notebook = nbformat.read(lessons.LESSONS / "00_start_here.ipynb", as_version=4)
    (cell,) = [cell for cell in notebook.cells if cell.get("id") == "progress"]
    assert cell.outputs[0].text == capsys.readouterr().out


def test_a_folder_without_copies_is_named(folder):
    with pytest.raises(DataError, match=r"none holds no copies .*`make lab` makes them"):
        read(folder / "none")
