"""Exercises: what makes one in a source notebook, and the copies without solutions for learners.

An exercise is a code cell with a function that solves it, with nbgrader metadata (``solution``),
and behind it a check cell (``grade``) whose ``grade_id`` is the solution's with ``-check`` behind.
The lines to be found stand between ``### BEGIN SOLUTION`` and ``### END SOLUTION``. A solution told
in words stands in ``<details><summary>Solution</summary>``.
"""

import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from course_lib.files import DataError

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
MARKED = re.compile(rf"^( +){BEGIN}\n.*\S.*\n +{END}$", re.MULTILINE | re.DOTALL)
CLAIM = "claim"  # the tag of cells that assert what the prose says: for the tests alone
# What exercises were called that a lesson no longer has. Copies hold answers to them, so no new
# exercise takes such a name: its cell would get the answer to another question.
RETIRED = {
    "areas",
    "divergence",
    "encoder",
    "gini",
    "iram",
    "low-rank",
    "phrase-lengths",
    "power",
    "price",
    "rollout",
    "sanet",
    "top-words",
    "training-step",
}
STUB = "# your answer replaces this"
TOLD = re.compile(r"\n*<details>\s*<summary>\s*Solution\b.*?</details>", re.DOTALL | re.IGNORECASE)
TITLE = re.compile(r"^# +(.+?)\s*$", re.MULTILINE)
# what nbformat raises for JSON that is no notebook, or no JSON at all
UNREADABLE = (ValueError, TypeError, AttributeError, KeyError, IndexError, RecursionError)
UNREADABLE += (nbformat.ValidationError,)
MARKUP = re.compile(r"</?[a-z][^>]*>|[`$]", re.IGNORECASE)


@dataclass(frozen=True)
class Exercise:
    """Where an exercise stands in its notebook: the cells of its solution and of its check."""

    grade_id: str
    solution: int
    check: int


def find_exercises(notebook: NotebookNode, name: str) -> list[Exercise]:
    """The exercises of a source notebook, in order; ``DataError`` for a malformed one names the
    notebook, by ``name``, and the cell."""
    found: dict[str, Exercise] = {}
    for index, (cell, following) in enumerate(pairwise([*notebook.cells, NotebookNode()])):
        graded = grading_of(cell)
        grade_id = graded.get("grade_id")
        if graded.get("solution"):
            without_solution(cell.source, name, index)
            check = grading_of(following)
            if not check.get("grade") or check.get("grade_id") != f"{grade_id}-check":
                raise _error(name, index, f"no check with grade_id '{grade_id}-check' follows")
            if grade_id in RETIRED:
                raise _error(name, index, f"grade_id {grade_id!r} belonged to an earlier exercise")
            if grade_id in found:
                raise _error(name, index, f"grade_id {grade_id!r} is taken")
            found[grade_id] = Exercise(grade_id, index, index + 1)
        elif BEGIN in cell.source or END in cell.source:
            raise _error(name, index, "solution markers, but no nbgrader metadata of a solution")
        elif graded.get("grade") and index not in {exercise.check for exercise in found.values()}:
            raise _error(name, index, f"no solution right before the check {grade_id!r}")
    return list(found.values())


def grading_of(cell: NotebookNode) -> dict[str, Any]:
    """What a cell's metadata for nbgrader say; nothing where they name no exercise."""
    found = cell.get("metadata", {}).get("nbgrader")
    named = isinstance(found, dict) and isinstance(found.get("grade_id"), str)
    return dict(found) if named else {}


def student_copy(notebook: NotebookNode, name: str, outputs: bool = False) -> NotebookNode:
    """The notebook without solutions, claims and, unless asked for, ``outputs``; it still runs from
    top to bottom."""
    copy = nbformat.from_dict(notebook)
    for exercise in find_exercises(copy, name):
        cell = copy.cells[exercise.solution]
        cell.source = without_solution(cell.source, name, exercise.solution)
    copy.cells = [cell for cell in copy.cells if CLAIM not in cell.metadata.get("tags", [])]
    for cell in copy.cells:
        if cell.cell_type == "code" and not outputs:
            cell.outputs, cell.execution_count = [], None
        elif cell.cell_type == "markdown":
            cell.source = TOLD.sub("", cell.source)
    return copy


def without_solution(source: str, name: str, index: int) -> str:
    """A solution cell as learners find it: the function returns early, so that the copy runs on."""
    stub, count = MARKED.subn(rf"\1# YOUR CODE HERE\n\1return None  {STUB}", source)
    if not count == source.count(BEGIN) == source.count(END) == 1:
        raise _error(name, index, f"no lines of a function between {BEGIN!r} and {END!r}")
    return stub


def read_notebook(path: Path) -> NotebookNode:
    """The notebook in a file; ``DataError`` where there is none in it."""
    try:
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook, relax_add_props=True)  # reading only logs what is missing
    except UNREADABLE as error:
        raise DataError(f"{path} is no notebook ({type(error).__name__})") from error
    return notebook


def title_of(notebook: NotebookNode, otherwise: str) -> str:
    """The first heading of a notebook as plain text: without tags, backticks and dollars."""
    sources = (cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    headings = (TITLE.search(source) for source in sources)
    titles = (MARKUP.sub("", heading[1]).strip() for heading in headings if heading)
    return next(filter(None, titles), otherwise)


def _error(name: str, index: int, what: str) -> DataError:
    return DataError(f"{name}, cell {index}: {what}")
