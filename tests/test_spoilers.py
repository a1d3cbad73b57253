"""A cell that a reader runs after a prediction holds no number of the folded answer in its text."""

import ast
import re

import pytest
from nbformat import v4

from course_kit.publishing import lessons, students

ANSWER = re.compile(r"<details><summary>Answer</summary>(.*?)</details>", re.DOTALL)
NUMBER = re.compile(r"\d+\.\d+|\d+ %")


def spoilers(cells):
    """Titles, descriptions and other texts of code behind a question that name its answer, by a
    number that the reader has not seen before."""
    found, asked, waits, seen = [], [], False, {"95 %"}  # of intervals
    for cell in cells:
        if cell.cell_type == "markdown":
            answer = ANSWER.search(cell.source)
            numbers = set(NUMBER.findall(answer[1])) - seen if answer else set()
            seen |= set(NUMBER.findall(cell.source))
            found += [text for text in asked if numbers & set(NUMBER.findall(text))]
            asked = []
            waits = "**Before you " in cell.source
        elif waits:
            asked += texts(cell.source)
        else:
            seen |= {number for text in texts(cell.source) for number in NUMBER.findall(text)}
    return found


def texts(code):
    """All pieces of text in a cell's code that hold a word: a bare number is a setting."""
    found = [node.value for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Constant)]
    return [text for text in found if isinstance(text, str) and re.search("[A-Za-z]{3}", text)]


@pytest.mark.parametrize("path", lessons.lesson_paths(), ids=lambda path: path.stem[:2])
def test_a_question_is_not_answered_by_the_cell_that_one_has_to_run(path):
    cells = students.student_copy(students.read_notebook(path), path.name).cells
    assert any("**Before you " in cell.source for cell in cells)
    assert not spoilers(cells)


def test_a_title_that_names_the_answer_is_found():
    asked = v4.new_markdown_cell("**Before you run:** how far does it fall?")
    answer = v4.new_markdown_cell("<details><summary>Answer</summary>To 0.35.</details>")
    for title, found in (("It falls to 0.35", 1), ("How far it falls", 0)):
        code = v4.new_code_cell(f"plot(curve, title='{title}')")
        assert len(spoilers([asked, code, answer])) == found
