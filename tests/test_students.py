"""Exercises: copies without solutions run, say what is missing, and pass with solutions pasted."""

import re

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from course_kit.publishing import lessons, students
from course_kit.publishing.students import BEGIN, END
from course_lib.cli import main
from course_lib.files import DataError

SOLUTION = dict(grade=False, grade_id="softmax", locked=False, schema_version=3, solution=True)
OF_CHECK = dict(grade=True, grade_id="softmax-check", locked=True, points=2, solution=False)
FUNCTION = f"""import torch

def my_softmax(scores, mask):
    {BEGIN}
    scores = scores.masked_fill(~mask, -torch.inf)
    top = scores.amax(-1, keepdim=True).clamp(min=-1e30)
    weights = (scores - top).exp()
    return weights / weights.sum(-1, keepdim=True).clamp(min=1e-30)
    {END}"""
HINT = (
    "<details><summary>Hint</summary>What is exp(−inf)?</details>\n"
    "<details><summary>Solution</summary>\n\nIt is 0, since nothing\nis less.\n</details>"
)
CALLED = "from course_kit import exercises\nexercises.check_masked_softmax(my_softmax)"


def solution_cell(source=FUNCTION, **changes):
    return new_code_cell(source, metadata={"nbgrader": SOLUTION | changes})


def check_cell(source=CALLED, **changes):
    return new_code_cell(source, metadata={"nbgrader": SOLUTION | OF_CHECK | changes})


def small_lesson():
    cells = [
        new_code_cell("profile = 'lesson'", metadata={"tags": ["parameters"]}),
        new_markdown_cell("Exercise 1 ●○○ · 5 minutes: softmax"),
        solution_cell(),
        check_cell(),
        new_markdown_cell(HINT),
    ]
    cells[3].outputs, cells[3].execution_count = [new_output("stream", text="✓ masked_softmax")], 3
    return new_notebook(cells=cells)


def hidden_lines(source, exercise):
    """The lines of a solution that say something, and stand nowhere in its stub."""
    solved = source.cells[exercise.solution].source
    stub = students.without_solution(solved, "source", 0)
    lines = {line.strip() for line in solved.splitlines()} - set(map(str.strip, stub.splitlines()))
    return [line for line in lines if len(re.sub(r"\W", "", line)) >= 8 or line in (BEGIN, END)]


def test_a_check_of_a_copy_is_open_until_the_solution_is_pasted(capsys):
    source, kernel = small_lesson(), {}
    copy = students.student_copy(source, "source")
    for notebook, is_open in ((copy, True), (source, False)):
        for cell in notebook.cells:
            if cell.cell_type == "code":
                exec(cell.source, kernel)
        said = capsys.readouterr().out
        assert ("is still open" in said, "✓" in said) == (is_open, not is_open)


def test_a_copy_keeps_all_but_solutions_and_outputs():
    source, untouched = small_lesson(), small_lesson()
    claimed = new_code_cell("assert True", metadata={"tags": ["claim"]})
    copy = students.student_copy(new_notebook(cells=[*source.cells, claimed]), "source")
    assert [cell.metadata for cell in copy.cells] == [cell.metadata for cell in source.cells]
    assert copy.cells[2].source == (
        "import torch\n\ndef my_softmax(scores, mask):\n"
        "    # YOUR CODE HERE\n    return None  # your answer replaces this"
    )
    assert copy.cells[4].source == "<details><summary>Hint</summary>What is exp(−inf)?</details>"
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in copy.cells)
    assert [cell.source for cell in source.cells] == [cell.source for cell in untouched.cells]


@pytest.mark.parametrize("path", lessons.lesson_paths(), ids=lambda path: path.stem)
def test_no_copy_of_a_lesson_holds_a_line_of_a_solution(path):
    source = nbformat.read(path, as_version=4)
    code = "\n".join(cell.source for cell in students.student_copy(source, path.name).cells)
    assert BEGIN not in code and "<summary>Solution" not in code
    for exercise in students.find_exercises(source, path.name):
        lines = hidden_lines(source, exercise)
        assert len(lines) > 2 and not any(line in code for line in lines)


NOT_A_SOLUTION = "cell 0: no lines of a function between '### BEGIN SOLUTION' and"
UNMARKED = "cell 0: solution markers, but no nbgrader metadata"
ALONE = "cell 0: no check with grade_id 'softmax-check' follows"


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        ([solution_cell(FUNCTION.replace(END, "")), check_cell()], NOT_A_SOLUTION),
        ([solution_cell("x = 1"), check_cell()], NOT_A_SOLUTION),
        ([solution_cell(f"    {BEGIN}\n    \n    {END}"), check_cell()], NOT_A_SOLUTION),
        ([solution_cell(f"    {END}\n    x = 1\n    {BEGIN}"), check_cell()], NOT_A_SOLUTION),
        ([solution_cell(f"{FUNCTION}\n\n{FUNCTION}"), check_cell()], NOT_A_SOLUTION),
        ([new_code_cell(FUNCTION)], UNMARKED),
        ([new_markdown_cell(FUNCTION)], UNMARKED),
        ([solution_cell(), check_cell(), solution_cell(), check_cell()], "cell 2: grade_id 'soft"),
        ([solution_cell(), check_cell(), check_cell()], "cell 2: no solution right before the"),
        ([check_cell(), solution_cell()], "cell 0: no solution right before the check"),
        ([solution_cell(), check_cell(grade_id="softmax")], ALONE),
        ([solution_cell(), new_markdown_cell("Hint"), check_cell()], ALONE),
        ([solution_cell()], ALONE),
        (
            [solution_cell(grade_id="top-words"), check_cell(grade_id="top-words-check")],
            "cell 0: grade_id 'top-words' belonged to an earlier exercise",
        ),
    ],
)
def test_a_malformed_exercise_is_named(cells, says):
    with pytest.raises(DataError, match=f"^04_x.ipynb, {says}"):
        students.student_copy(new_notebook(cells=cells), "04_x.ipynb")


@pytest.mark.parametrize(
    "text",
    [
        "# Lesson",
        "[1]",
        '{"nbformat": 4, "metadata": {}}',
        '{"cells": [{"cell_type": "code"}], "nbformat": 4, "nbformat_minor": 5, "metadata": {}}',
    ],
)
def test_a_file_that_is_no_notebook_is_named(text, tmp_path):
    (tmp_path / "README.md").write_text(text)
    with pytest.raises(DataError, match=r"README\.md is no notebook"):
        students.read_notebook(tmp_path / "README.md")


@pytest.mark.parametrize(
    ("headings", "title"),
    [
        (["Text.\n\n# 02 · Attention  \n## Part"], "02 · Attention"),
        (["## Part", "# `nn.GRU` and $h_t$: <b>why</b>"], "nn.GRU and h_t: why"),
        (["# 1 < 2 and 3 > 2"], "1 < 2 and 3 > 2"),
        (["# ``", "# Next"], "Next"),
        (["#hashtag", ""], "otherwise"),
    ],
)
def test_a_title_is_the_first_heading_as_plain_text(headings, title):
    cells = [new_code_cell("# no heading"), *map(new_markdown_cell, headings)]
    assert students.title_of(new_notebook(cells=cells), "otherwise") == title


def test_the_command_names_a_malformed_lesson_and_writes_nothing(tmp_path, capsys):
    for name, cells in {
        "01_good": [solution_cell(), check_cell()],
        "02_bad": [check_cell()],
    }.items():
        nbformat.write(new_notebook(cells=cells), tmp_path / f"{name}.ipynb")
    out, made = tmp_path / "out", [str(path) for path in sorted(tmp_path.glob("*.ipynb"))]
    assert main(["students", "--to", str(out), *made]) == 2
    assert not out.exists() and "error: 02_bad.ipynb, cell 0" in capsys.readouterr().err
