"""Exercises: copies without solutions run, say what is missing, and pass with solutions pasted."""

import re

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from course_kit.publishing import lessons, students
from course_kit.publishing.students import BEGIN, END, ExerciseError
from course_lib.cli import main

SOLUTION = {
    "grade": False,
    "grade_id": "softmax",
    "locked": False,
    "schema_version": 3,
    "solution": True,
    "task": False,
}
CHECK = SOLUTION | {
    "grade": True,
    "grade_id": "softmax-check",
    "locked": True,
    "points": 2,
    "solution": False,
}
FUNCTION = f"""import torch

def my_softmax(scores, mask):
    {BEGIN}
    scores = scores.masked_fill(~mask, -torch.inf)
    top = scores.amax(-1, keepdim=True).clamp(min=-1e30)
    weights = (scores - top).exp()
    return weights / weights.sum(-1, keepdim=True).clamp(min=1e-30)
    {END}
"""
HINT = (
    "<details><summary>Hint</summary>What is exp(−inf)?</details>\n"
    "<details><summary>Solution</summary>\n\nIt is 0, since nothing\nis less.\n</details>"
)


def solution_cell(source=FUNCTION, **changes):
    return new_code_cell(source, metadata={"nbgrader": SOLUTION | changes})


def check_cell(source="", **changes):
    source = source or (
        "from course_kit import exercises\nexercises.check_masked_softmax(my_softmax)"
    )
    return new_code_cell(source, metadata={"nbgrader": CHECK | changes})


def small_lesson():
    parameters = new_code_cell("profile = 'lesson'", metadata={"tags": ["parameters"]})
    number = f"{BEGIN}\nhalf = 1 / 2\n{END}\nprint('half is', half)"
    check_number = (
        "from course_kit.exercises import check_number\n"
        "check_number('half', half, 0.5, 'a whole over two')"
    )
    made = new_notebook(
        cells=[
            parameters,
            new_markdown_cell("Exercise 1 ●○○ · 5 minutes: softmax"),
            solution_cell(),
            check_cell(),
            new_markdown_cell(HINT),
            solution_cell(number, grade_id="half"),
            check_cell(check_number, grade_id="half-check", points=1),
        ]
    )
    made.metadata["kernelspec"] = {"display_name": "x", "language": "python", "name": "python3"}
    made.cells[3].outputs = [new_output("stream", text="✓ masked_softmax")]
    made.cells[3].execution_count = 3
    return made


def trivial(line):
    """A line that says nothing of a solution, and may well stand elsewhere."""
    return len(re.sub(r"\W", "", line)) < 8


def pasted(copy, source):
    """The copy with the solutions of its source in place."""
    made = nbformat.from_dict(copy)
    for exercise in students.find_exercises(source, "source"):
        made.cells[exercise.solution].source = source.cells[exercise.solution].source
    return made


def printed(notebook, index):
    outputs = notebook.cells[index].outputs
    return "".join(output.text for output in outputs if output.output_type == "stream")


def run(notebook, path):
    nbformat.write(notebook, path)
    outcome = lessons.execute(path, path.with_suffix(".out.ipynb"), "smoke")
    assert outcome.errors == []
    return nbformat.read(path.with_suffix(".out.ipynb"), as_version=4)


def assert_learners_can_work(source, tmp_path):
    exercises = students.find_exercises(source, "source")
    copy = students.student_copy(source, "source")
    code = "\n".join(cell.source for cell in copy.cells)
    for exercise in exercises:
        for line in students.solution_lines(source.cells[exercise.solution]):
            assert trivial(line) or line.strip() not in code, line
    assert BEGIN not in code and "<summary>Solution" not in code
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in copy.cells)

    executed = run(copy, tmp_path / "copy.ipynb")
    for exercise in exercises:
        assert "is still open" in printed(executed, exercise.check + 1), exercise.grade_id
    if exercises:
        executed = run(pasted(copy, source), tmp_path / "pasted.ipynb")
        for exercise in exercises:
            said = printed(executed, exercise.check + 1)  # papermill puts its parameters first
            assert "✓" in said and "is still open" not in said, exercise.grade_id


def test_a_small_lesson_from_copy_to_solved(tmp_path):
    assert_learners_can_work(small_lesson(), tmp_path)


def test_an_open_copy_of_a_lesson_runs_to_its_end(tmp_path):
    """Of the cheapest lesson; what lets the others run on is read from their cells."""
    path = next(path for path in lessons.lesson_paths() if path.stem.startswith("01"))
    source = nbformat.read(path, as_version=4)
    executed = run(students.student_copy(source, path.name), tmp_path / "copy.ipynb")
    for exercise in students.find_exercises(source, path.name):
        assert "is still open" in printed(executed, exercise.check + 1), exercise.grade_id


def test_a_copy_keeps_all_but_the_solution():
    source = small_lesson()
    copy = students.student_copy(source, "source")
    assert [cell.metadata for cell in copy.cells] == [cell.metadata for cell in source.cells]
    assert copy.cells[2].source == (
        "import torch\n\ndef my_softmax(scores, mask):\n"
        "    # YOUR CODE HERE\n    return None  # your answer replaces this"
    )
    assert copy.cells[5].source == (
        "# YOUR CODE HERE\nhalf = ...  # your answer replaces this\nprint('half is', half)"
    )
    assert copy.cells[4].source == "<details><summary>Hint</summary>What is exp(−inf)?</details>"
    untouched = [cell.source for cell in small_lesson().cells]
    assert [cell.source for cell in source.cells] == untouched


@pytest.mark.parametrize(
    ("solution", "stub"),
    [
        ("weights[i] = 0", "pass"),
        ("model.bias = 0", "pass"),
        ("total += 1", "pass"),
        ("for i in range(3):\n    weights[i] = i", "pass"),
        ("share, weights[i] = 1, 0", "share = ..."),
        ("first, *rest = weights", "first = rest = ..."),
        ("scale: float = 2.0", "scale = ..."),
        ("counts = {}\ncounts[i] = 1", "counts = ..."),
        ("if i:\n    heavy = 1", "heavy = ..."),
        ("square = (lambda x: [y := x, y])(i)", "square = ..."),
        ("def inner():\n    hidden = 1\nresult = inner()", "result = ..."),
    ],
)
def test_a_copy_sets_only_the_names_that_the_solution_makes(solution, stub):
    before = "weights, i, total = [1, 2, 3], 1, 0"
    source = f"{before}\n{BEGIN}\n{solution}\n{END}\nprint(weights, i, total)"
    made = new_notebook(cells=[solution_cell(source), check_cell()])
    assert students.student_copy(made, "source").cells[0].source == (
        f"{before}\n# YOUR CODE HERE\n{stub}  # your answer replaces this\nprint(weights, i, total)"
    )


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        ([solution_cell(f"{BEGIN}\nx = 1"), check_cell()], "cell 0: .*one .*BEGIN.*found 1 and 0"),
        ([solution_cell("x = 1"), check_cell()], "cell 0: .*found 0 and 0"),
        ([solution_cell(f"{BEGIN}\n\n{END}"), check_cell()], "cell 0: no line between"),
        ([solution_cell(f"{END}\nx = 1\n{BEGIN}"), check_cell()], "cell 0: no line between"),
        ([new_code_cell(FUNCTION)], "cell 0: solution markers, but no nbgrader metadata"),
        ([new_markdown_cell(FUNCTION)], "cell 0: solution markers, but no nbgrader metadata"),
        ([solution_cell(), solution_cell(), check_cell()], "cell 1: grade_id 'softmax' is taken"),
        ([solution_cell(), check_cell(), check_cell()], "cell 2: grade_id 'softmax-check' is t"),
        ([check_cell()], "cell 0: check 'softmax-check' has no exercise before it"),
        ([check_cell(), solution_cell()], "cell 0: check 'softmax-check' has no exercise before"),
        ([solution_cell()], "cell 0: exercise 'softmax' has no check cell after it"),
        ([solution_cell(), check_cell(locked=False)], "cell 1: .* must be locked and have points"),
        ([solution_cell(grade=True), check_cell()], "cell 0: a cell is a solution or a check"),
        ([new_code_cell("1", metadata={"nbgrader": {"solution": True}})], "without grade, grade_i"),
        ([solution_cell(f"{BEGIN}\n%time 1\n{END}"), check_cell()], "cell 0: .*is not Python"),
    ],
)
def test_a_malformed_exercise_is_named(cells, says):
    with pytest.raises(ExerciseError, match=f"^04_x.ipynb, {says}|^04_x.ipynb, cell 0: .*{says}"):
        students.student_copy(new_notebook(cells=cells), "04_x.ipynb")


@pytest.mark.parametrize(
    "text",
    [
        "# Lesson", "", "{}", "[1]", '{"nbformat": 4, "metadata": {}}',
        '{"cells": [{"cell_type": "code"}], "nbformat": 4, "nbformat_minor": 5, "metadata": {}}',
    ],
)  # fmt: skip
def test_a_file_that_is_no_notebook_is_named(text, tmp_path):
    (tmp_path / "README.md").write_text(text)
    with pytest.raises(ExerciseError, match=r"README\.md is no notebook"):
        students.read_notebook(tmp_path / "README.md")


@pytest.mark.parametrize(
    ("headings", "title"),
    [
        (["Text.\n\n# 02 · Attention  \n## Part"], "02 · Attention"),
        (["## Part", "# `nn.GRU` and $h_t$: <b>why</b>"], "nn.GRU and h_t: why"),
        (["# 1 < 2 and 3 > 2"], "1 < 2 and 3 > 2"),
        (["# ``", "# Next"], "Next"),
        (["#hashtag", ""], "otherwise"),
        ([], "otherwise"),
    ],
)
def test_a_title_is_the_first_heading_as_plain_text(headings, title):
    cells = [new_code_cell("# no heading"), *map(new_markdown_cell, headings)]
    assert students.title_of(new_notebook(cells=cells), "otherwise") == title


def test_the_command_names_a_malformed_lesson(tmp_path, capsys):
    bad = tmp_path / "02_bad.ipynb"
    nbformat.write(new_notebook(cells=[check_cell()]), bad)
    assert main(["students", str(bad)]) == 2
    assert "error: 02_bad.ipynb, cell 0" in capsys.readouterr().err
