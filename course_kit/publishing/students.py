"""Exercises: what makes one in a source notebook, and the copies without solutions for learners.

An exercise is a code cell that solves it, with nbgrader metadata (``solution``), and a check cell
(``grade``, ``locked``) whose ``grade_id`` is the solution's with ``-check`` behind. The lines to be
found stand between ``### BEGIN SOLUTION`` and ``### END SOLUTION``, inside a function or as plain
assignments. A solution told in words stands in ``<details><summary>Solution</summary>``.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
CHECK = "-check"
STUB = "# your answer replaces this"
TOLD = re.compile(r"\n*<details>\s*<summary>\s*Solution\b.*?</details>", re.DOTALL | re.IGNORECASE)
TITLE = re.compile(r"^# +(.+?)\s*$", re.MULTILINE)
MARKUP = re.compile(r"</?[a-z][^>]*>|[`$]", re.IGNORECASE)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
FIELDS = {"grade", "grade_id", "locked", "schema_version", "solution"}


class ExerciseError(ValueError):
    """An exercise that is not one; the message names notebook and cell."""


@dataclass(frozen=True)
class Exercise:
    """Where an exercise stands in its notebook: the cells of its solution and of its check."""

    grade_id: str
    solution: int
    check: int
    points: float


def find_exercises(notebook: NotebookNode, name: str) -> list[Exercise]:
    """The exercises of a source notebook, in order; raises ``ExerciseError`` for a malformed one.

    ``name`` is the notebook's, for the message.
    """
    solutions: dict[str, int] = {}
    checks: dict[str, int] = {}
    for index, cell in enumerate(notebook.cells):
        has_markers = any(line.strip() in (BEGIN, END) for line in cell.source.splitlines())
        graded = cell.metadata.get("nbgrader")
        if has_markers and not (graded and graded.get("solution")):
            raise _error(name, index, "solution markers, but no nbgrader metadata of a solution")
        if not graded:
            continue
        grade_id = _grade_id(graded, name, index)
        if grade_id in solutions or grade_id in checks:
            raise _error(name, index, f"grade_id {grade_id!r} is taken by an earlier cell")
        if graded["solution"]:
            _solution_span(cell.source, name, index)
            solutions[grade_id] = index
        elif graded["grade"]:
            if not grade_id.endswith(CHECK) or grade_id.removesuffix(CHECK) not in solutions:
                raise _error(
                    name, index,
                    f"check {grade_id!r} has no exercise before it: its grade_id is that of the "
                    f"solution with {CHECK!r} behind",
                )  # fmt: skip
            if not graded["locked"] or "points" not in graded:
                raise _error(name, index, f"check {grade_id!r} must be locked and have points")
            checks[grade_id] = index
    for grade_id, index in solutions.items():
        if grade_id + CHECK not in checks:
            raise _error(name, index, f"exercise {grade_id!r} has no check cell after it")
    return [
        Exercise(grade_id, index, at := checks[grade_id + CHECK],
                 notebook.cells[at].metadata.nbgrader["points"])
        for grade_id, index in solutions.items()
    ]  # fmt: skip


def solution_lines(cell: NotebookNode) -> list[str]:
    """The lines between the markers of a solution cell."""
    begin, end = _solution_span(cell.source, "notebook", 0)
    return cell.source.splitlines()[begin + 1 : end]


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


def read_notebook(path: Path) -> NotebookNode:
    """The notebook in a file; ``ExerciseError`` where there is none in it."""
    try:
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook, relax_add_props=True)  # reading only logs what is missing
    except (ValueError, AttributeError, nbformat.ValidationError) as error:
        raise ExerciseError(f"{path} is no notebook ({type(error).__name__})") from error
    return notebook


def title_of(notebook: NotebookNode, otherwise: str) -> str:
    """The first heading of a notebook as plain text: without tags, backticks and dollars."""
    sources = (cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    headings = (TITLE.search(source) for source in sources)
    titles = (MARKUP.sub("", heading[1]).strip() for heading in headings if heading)
    return next(filter(None, titles), otherwise)


def _error(name: str, index: int, what: str) -> ExerciseError:
    return ExerciseError(f"{name}, cell {index}: {what}")


def _grade_id(graded: NotebookNode, name: str, index: int) -> str:
    missing = sorted(FIELDS - set(graded))
    if missing:
        raise _error(name, index, f"nbgrader metadata without {', '.join(missing)}")
    if graded["solution"] and graded["grade"]:
        raise _error(name, index, "a cell is a solution or a check, not both")
    return graded["grade_id"]


def _solution_span(source: str, name: str, index: int) -> tuple[int, int]:
    """The lines of the two markers; raises ``ExerciseError`` unless there is one pair around
    code."""
    lines = [line.strip() for line in source.splitlines()]
    if lines.count(BEGIN) != 1 or lines.count(END) != 1:
        raise _error(
            name, index,
            f"a solution has one {BEGIN!r} and one {END!r}, found {lines.count(BEGIN)} and "
            f"{lines.count(END)}",
        )  # fmt: skip
    begin, end = lines.index(BEGIN), lines.index(END)
    if not any(lines[begin + 1 : end]):
        raise _error(name, index, f"no line between {BEGIN!r} and {END!r}")
    return begin, end


def without_solution(source: str, name: str, index: int) -> str:
    """A solution cell as learners find it: a stub in the solution's place."""
    begin, end = _solution_span(source, name, index)
    lines = source.splitlines()
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        raise _error(name, index, f"the solution is not Python: {error}") from error
    indent = lines[begin][: len(lines[begin]) - len(lines[begin].lstrip())]
    stub = _placeholder(tree, begin + 1, end + 1)
    replacement = [f"{indent}# YOUR CODE HERE", f"{indent}{stub}  {STUB}"]
    return "\n".join([*lines[:begin], *replacement, *lines[end + 1 :]])


def _placeholder(tree: ast.Module, begin: int, end: int) -> str:
    """What keeps the copy running: an early return, or the names that the solution would set;
    ``pass`` where it sets none."""
    for node in ast.walk(tree):
        if isinstance(node, FUNCTIONS) and node.lineno < begin and end - 1 <= node.end_lineno:
            return "return None"
    names = [
        name
        for statement in _statements(tree.body)
        if isinstance(statement, (ast.Assign, ast.AnnAssign)) and begin < statement.lineno < end
        for name in _names_set(statement)
    ]
    return " = ".join([*dict.fromkeys(names), "..."]) if names else "pass"


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, those in its loops and conditions included, but nothing inside
    functions and classes, whose names are their own."""
    for statement in body:
        yield statement
        if not isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
            inner = [node for node in ast.iter_child_nodes(statement) if isinstance(node, ast.stmt)]
            yield from _statements(inner)


def _names_set(statement: ast.Assign | ast.AnnAssign) -> list[str]:
    """The names that an assignment makes; ``weights[i] = 0`` and ``model.bias = 0`` make none."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return [
        node.id
        for target in targets
        for node in ast.walk(target)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
