"""What of a submission is run, in order, and where its exercises are judged.

All code cells run from top to bottom. An exercise is judged where its check stands, so with
everything that the cells up to there define: a helper in a cell of its own, an answer in two cells,
a second attempt below the first. Our check runs in the place of the learner's; of several copies
of a check the best counts. Where a check was deleted, ours runs before the next exercise begins.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from nbformat import NotebookNode

from course_kit.publishing.lessons import lesson_paths
from course_kit.publishing.students import find_exercises, grading_of, read_notebook

CHECK = re.compile(r"exercises\.check_(\w+)\((.+)\)")
SETTINGS = 'profile, seed = "smoke", 0'  # after the parameters: nothing trains for long


@dataclass(frozen=True)
class Task:
    """An exercise of a lesson: what checks it, on which ``answer`` of the notebook, for how many
    ``points``, the words of the cells of our solution and of those before it, which it may use, and
    the source of its check cell."""

    lesson: str
    id: str
    checker: str
    answer: str
    points: float
    words: list[str]
    check: str

    @property
    def column(self) -> str:
        """Its name in the table."""
        return f"{self.lesson[:2]} {self.id}"


def all_tasks() -> list[Task]:
    """The exercises of all lessons."""
    found = []
    for path in lesson_paths():
        notebook, words = read_notebook(path), set()
        for each in find_exercises(notebook, path.name):
            cell, check = notebook.cells[each.solution], notebook.cells[each.check]
            name, answer = CHECK.fullmatch(check.source).groups()
            words |= set(re.findall(r"\w+", cell.source))
            points = check.metadata.nbgrader.points
            given = (path.stem, each.grade_id, name, answer, points, sorted(words), check.source)
            found.append(Task(*given))
    return found


class Places(NamedTuple):
    """The cells of a notebook that belong to a task: those to answer in, those that check it, and
    those to answer in that are no code any more."""

    answers: list[int]
    checks: list[int]
    turned: list[int]


def places(notebook: NotebookNode, task: Task) -> Places:
    """Where a task stands in a notebook; a cell that makes the course's call is a check, too."""
    found = Places([], [], [])
    for place, cell in enumerate(notebook.cells):
        graded, is_code = grading_of(cell), cell.cell_type == "code"
        called = is_code and _bare(task.check) in map(_bare, cell.source.splitlines())
        if called or (graded.get("grade") and graded["grade_id"] == f"{task.id}-check"):
            found.checks.append(place)
        if graded.get("grade_id") == task.id and graded.get("solution"):
            (found.answers if is_code else found.turned).append(place)
    return found


def steps(notebook: NotebookNode, tasks: list[Task]) -> tuple[list[dict], list[str]]:
    """The steps of a run, and what a teacher should know of the notebook's cells. A step runs a
    cell (``run``) or asks for the answer to a task (``checker``); its number is ``of``."""
    standing = {task.id: places(notebook, task) for task in tasks}
    checks: dict[int, list[Task]] = {}  # by the cell behind which they are judged
    notes = []
    for task in tasks:
        own = standing[task.id]
        notes += [f"{task.id}: {note}" for note in _told(notebook, task, own)]
        for place in own.checks or _instead(notebook, task, own):
            checks.setdefault(place, []).append(task)
    made = []
    for place in range(max(checks, default=-1) + 1):  # nothing further down earns anything
        here = checks.get(place, [])
        made += _cell(notebook.cells[place], place, here)
        for task in here:
            asked = {"checker": task.checker, "answer": task.answer, "words": task.words}
            about = {"place": f"the check of {task.id}", "of": len(made), "id": task.id}
            made.append(about | asked)
    return made, notes


def _cell(cell: NotebookNode, place: int, checked: list[Task]) -> Iterator[dict]:
    """What of a cell is run: the learner's code, but no check that ours takes the place of."""
    replaced = any(_bare(cell.source) == _bare(task.check) for task in checked)
    if cell.cell_type == "code" and not replaced:
        yield {"place": f"cell {place}", "run": cell.source}
        if "parameters" in cell.metadata.get("tags", []):
            yield {"place": f"cell {place}", "run": SETTINGS}


def _instead(notebook: NotebookNode, task: Task, own: Places) -> list[int]:
    """The cell behind which a task without a check is judged: the last before another exercise."""
    if not own.answers:
        return []
    for place in range(own.answers[-1] + 1, len(notebook.cells)):
        other = grading_of(notebook.cells[place]).get("grade_id", task.id)
        if other != task.id:
            return [place - 1]
    return [len(notebook.cells) - 1]


def _told(notebook: NotebookNode, task: Task, own: Places) -> Iterator[str]:
    """What is unusual about a task's cells."""
    kinds = [notebook.cells[place].cell_type for place in own.turned]
    if kinds:
        yield f"its cell is a {kinds[0]} cell now, which does not run"
    elif not own.answers:
        yield "its cell is missing"
    if len(own.answers) > 1:
        yield f"{len(own.answers)} cells hold its answer; all ran in order"
    if len(own.checks) > 1:
        yield f"its check stands {len(own.checks)} times; the best counts"
    if own.answers and not own.checks:
        yield "its check cell is missing; ours ran before the next exercise"
    for place in own.checks:
        cell = notebook.cells[place]
        if grading_of(cell).get("grade") and _bare(cell.source) != _bare(task.check):
            yield "the check cell was changed; ours ran instead"


def _bare(source: str) -> str:
    """Code without white space."""
    return "".join(source.split())
