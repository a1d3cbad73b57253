"""The exercises of every lesson, read from the source of its cells; nothing is run here.

The solved lessons are run elsewhere, where a wrong solution raises; here is what lets an open copy
run to its end.
"""

import ast
import re

import nbformat
import pytest

from course_kit import exercises
from course_kit.publishing import lessons, students

every_lesson = pytest.mark.parametrize("path", lessons.lesson_paths(), ids=lambda path: path.stem)
CHECK = re.compile(r"exercises\.(check_\w+)\((\w+)\)")
OR_OURS = re.compile(r"(?<=\.or_ours\()\w+")


def learners_copy(path):
    source = nbformat.read(path, as_version=4)
    tags = [cell.metadata.get("tags", []) for cell in source.cells]
    source.cells = [cell for cell, names in zip(source.cells, tags) if students.CLAIM not in names]
    return students.student_copy(source, path.name), students.find_exercises(source, path.name)


def checker_and_answer(cell):
    called = CHECK.fullmatch(cell.source.strip())
    assert called, f"a check cell holds nothing but the check: {cell.source!r}"
    return called.groups()


def read_in(source):
    """The names that a cell reads, without those that it sets itself."""
    code = "\n".join(line for line in source.splitlines() if not line.startswith(("%", "!")))
    found = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)]
    kept = {node.id for node in found if isinstance(node.ctx, ast.Store)}
    return {node.id for node in found if isinstance(node.ctx, ast.Load)} - kept


@every_lesson
def test_a_check_calls_its_checker_with_the_function_above(path):
    copy, found = learners_copy(path)
    for exercise in found:
        name, answer = checker_and_answer(copy.cells[exercise.check])
        assert getattr(exercises, name).name == name.removeprefix("check_")
        (written,) = ast.parse(copy.cells[exercise.solution].source).body
        assert written.name == answer
        stub = ast.unparse(written)  # a function, or a class with one function to be written
        assert stub.count("return None") == 1 and (
            not isinstance(written, ast.FunctionDef) or stub.endswith("return None")
        )


@every_lesson
def test_no_later_cell_needs_the_learners_answer(path):
    """But another exercise may, and what takes it through ``or_ours``."""
    copy, found = learners_copy(path)
    own = {place for exercise in found for place in (exercise.solution, exercise.check)}
    others = [
        OR_OURS.sub("", cell.source)
        for place, cell in enumerate(copy.cells)
        if cell.cell_type == "code" and place not in own
    ]
    for exercise in found:
        _, answer = checker_and_answer(copy.cells[exercise.check])
        assert not [source for source in others if answer in read_in(source)], answer


def test_every_checker_belongs_to_one_exercise():
    used = []
    for path in lessons.lesson_paths():
        copy, found = learners_copy(path)
        used += [checker_and_answer(copy.cells[exercise.check])[0] for exercise in found]
    public = {name for name in exercises.__all__ if name.startswith("check_")}
    assert len(used) == len(set(used)) and set(used) == public
