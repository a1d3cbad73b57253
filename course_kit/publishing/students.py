"""Exercises: what makes one in a source notebook, and the copies without solutions for learners.

An exercise is a code cell that solves it, with nbgrader metadata (``solution``), and a check cell
(``grade``, ``locked``) whose ``grade_id`` is the solution's with ``-check`` behind. The lines to be
found stand between ``### BEGIN SOLUTION`` and ``### END SOLUTION``, inside a function or as plain
assignments. A solution told in words stands in ``<details><summary>Solution</summary>``.
"""

import ast
import re
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from course_lib.files import DataError

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
CHECK = "-check"
STUB = "# your answer replaces this"
TOLD = re.compile(r"\n*<details>\s*<summary>\s*Solution\b.*?</details>", re.DOTALL | re.IGNORECASE)
TITLE = re.compile(r"^# +(.+?)\s*$", re.MULTILINE)
MARKUP = re.compile(r"</?[a-z][^>]*>|[`$]", re.IGNORECASE)
FIELDS = {"grade", "grade_id", "locked", "schema_version", "solution"}


@dataclass(frozen=True)
class Exercise:
    """Where an exercise stands in its notebook: the cells of its solution and of its check."""

    grade_id: str
    solution: int
    check: int


def find_exercises(notebook: NotebookNode, name: str) -> list[Exercise]:
    """The exercises of a source notebook, in order; ``DataError`` for a malformed one names the
    notebook, by ``name``, and the cell."""
    solutions: dict[str, int] = {}
    checks: dict[str, int] = {}
    for index, cell in enumerate(notebook.cells):
        graded = cell.metadata.get("nbgrader", {})
        marked = {BEGIN, END} & set(map(str.strip, cell.source.splitlines()))
        if marked and not graded.get("solution"):
            raise _error(name, index, "solution markers, but no nbgrader metadata of a solution")
        if graded and not graded.keys() >= FIELDS:
            raise _error(name, index, f"nbgrader metadata takes {', '.join(sorted(FIELDS))}")
        if graded.get("solution"):
            _solution_span(cell.source, name, index)
            of, found = graded["grade_id"], solutions
        elif graded.get("grade"):
            of, found = graded["grade_id"].removesuffix(CHECK), checks
            if graded["grade_id"] != f"{of}{CHECK}" or of not in solutions:
                raise _error(name, index, f"no solution before has this grade_id without {CHECK!r}")
            if not graded["locked"] or "points" not in graded:
                raise _error(name, index, "a check must be locked and have points")
        else:
            continue
        if of in found:
            raise _error(name, index, f"grade_id {graded['grade_id']!r} is taken")
        found[of] = index
    for grade_id, place in solutions.items():
        if grade_id not in checks:
            raise _error(name, place, f"exercise {grade_id!r} has no check after it")
    return [Exercise(grade_id, place, checks[grade_id]) for grade_id, place in solutions.items()]


def student_copy(notebook: NotebookNode, name: str) -> NotebookNode:
    """The notebook without solutions and outputs; it still runs from top to bottom."""
    copy = nbformat.from_dict(notebook)
    for exercise in find_exercises(copy, name):
        cell = copy.cells[exercise.solution]
        cell.source = without_solution(cell.source, name, exercise.solution)
    for cell in copy.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
        elif cell.cell_type == "markdown":
            cell.source = TOLD.sub("", cell.source)
    return copy


def without_solution(source: str, name: str, index: int) -> str:
    """A solution cell as learners find it: in the solution's place an early return or, outside a
    function, the names that it assigns, so that the copy runs on."""
    begin, end = _solution_span(source, name, index)
    lines = source.splitlines()
    indent = lines[begin].partition(BEGIN)[0]
    stub = "return None" if indent else _unset(lines[begin + 1 : end], name, index)
    lines[begin : end + 1] = [f"{indent}# YOUR CODE HERE", f"{indent}{stub}  {STUB}"]
    return "\n".join(lines)


def read_notebook(path: Path) -> NotebookNode:
    """The notebook in a file; ``DataError`` where there is none in it."""
    try:
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook, relax_add_props=True)  # reading only logs what is missing
    except (ValueError, AttributeError, nbformat.ValidationError) as error:
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


def _solution_span(source: str, name: str, index: int) -> tuple[int, int]:
    """The lines of the two markers around at least one line of code."""
    lines = [line.strip() for line in source.splitlines()]
    if lines.count(BEGIN) != 1 or lines.count(END) != 1:
        raise _error(name, index, f"a solution has one {BEGIN!r} and one {END!r}")
    begin, end = lines.index(BEGIN), lines.index(END)
    if not any(lines[begin + 1 : end]):
        raise _error(name, index, f"no line between {BEGIN!r} and {END!r}")
    return begin, end


def _unset(lines: list[str], name: str, index: int) -> str:
    """``name = ...`` for the names that these lines assign; ``weights[i] = 0`` assigns none."""
    try:
        statements = ast.parse("\n".join(lines)).body
    except SyntaxError as error:
        raise _error(name, index, f"the solution is not Python: {error}") from error
    names = [
        node.id
        for statement in statements
        for target in getattr(statement, "targets", [])
        for node in ast.walk(target)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
    return " = ".join([*dict.fromkeys(names), "..."]) if names else "pass"
