"""A cell that a reader runs after a prediction holds no number of the folded answer in its text."""

import ast
import re

import pytest

from course_kit.publishing import lessons, students

CHECKED = ("07", "08")
ANSWER = re.compile(r"<details><summary>Answer</summary>(.*?)</details>", re.DOTALL)
NUMBER = re.compile(r"\d+\.\d+|\d+ %")


def spoilers(cells):
    """Titles, descriptions and other texts of code behind a question that name its answer."""
    found, asked, waits = [], [], False
    for cell in cells:
        if cell.cell_type == "markdown":
            answer = ANSWER.search(cell.source)
            numbers = set(NUMBER.findall(answer[1])) if answer else set()
            found += [text for text in asked if numbers & set(NUMBER.findall(text))]
            asked = []
            waits = "**Before you " in cell.source
        elif waits:
            asked += texts(cell.source)
    return found


def texts(code):
    """All pieces of text in a cell's code."""
    nodes = ast.walk(ast.parse(code))
    return [n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)]


@pytest.mark.parametrize("number", CHECKED)
def test_a_question_is_not_answered_by_the_cell_that_one_has_to_run(number):
    (path,) = (path for path in lessons.lesson_paths() if path.stem.startswith(number))
    cells = students.student_copy(students.read_notebook(path), path.name).cells
    assert not spoilers(cells)
    told = next(place for place, cell in enumerate(cells) if "**Before you " in cell.source)
    code = next(cell for cell in cells[told:] if cell.cell_type == "code")
    answer = next(cell for cell in cells[told + 1 :] if cell.cell_type == "markdown")
    code.source += f"\ntitle = 'It falls to {NUMBER.search(ANSWER.search(answer.source)[1])[0]}'"
    assert len(spoilers(cells)) == 1
