"""What a learner is asked to predict is not told by the cells that have to be run to see it."""

import ast
import re

import nbformat
import pytest

from course_kit.publishing import lessons, students

READ = ("00", "01", "02")  # lessons whose predictions were gone through
PREDICTION, ANSWER = "**Before you ", "<details><summary>Answer</summary>"
FOUND = re.compile(r"\d+\.\d+|\d+(?= ?%)")  # what a result looks like: 0.67, 83 %


def predictions(path):
    """Each prediction of a lesson as a learner has it: the cells to run, and the folded answer."""
    cells = students.student_copy(nbformat.read(path, as_version=4), path.name).cells
    for place, cell in enumerate(cells):
        if cell.cell_type == "markdown" and PREDICTION in cell.source:
            after = next(
                at for at in range(place + 1, len(cells)) if cells[at].cell_type == "markdown"
            )
            answer = cells[after].source.partition(ANSWER)[2].partition("</details>")[0]
            yield cell.source, cells[place + 1 : after], answer


def texts(cells):
    """The strings of code cells, docstrings and parts of f-strings included."""
    for cell in cells:
        for node in ast.walk(ast.parse(cell.source)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


@pytest.mark.parametrize(
    "path",
    [path for path in lessons.lesson_paths() if path.stem[:2] in READ],
    ids=lambda path: path.stem,
)
def test_no_title_and_no_description_tells_a_number_of_the_answer(path):
    asked = list(predictions(path))
    assert asked and all(answer for _, _, answer in asked)
    for question, cells, answer in asked:
        told = set(FOUND.findall(" ".join(texts(cells))))
        assert not told & set(FOUND.findall(answer)), question
