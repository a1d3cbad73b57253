"""How far a learner is: which exercises are solved, as the saved outputs of the checks say.

Of a lesson's copy and the newer lessons beside it (``02_attention.new.ipynb``), the file counts in
which more exercises are solved, and of equal ones the copy. Files are not added up, because their
exercises may differ; files of other names do not count.
"""

import re
from dataclasses import dataclass
from html import escape
from pathlib import Path
from urllib.parse import quote

from IPython.display import display
from nbformat import NotebookNode

from course_kit.publishing.students import title_of
from course_kit.publishing.workspace import RECORD, read_copies

SOLVED, NOT_RUN = "solved", "not run"
STATES = {"✗": "wrong", "○": "open", "✓": SOLVED}  # the first that is found decides
MARKS = {state: f"{mark} {state}" for mark, state in STATES.items()} | {NOT_RUN: NOT_RUN}
HEADING = re.compile(r"^#+ +(Exercise\b.*?)\s*$", re.MULTILINE)
EFFORT = re.compile(r"\s*[●○]+\s*(?:·[^:]*)?(?=:|$)")  # ●●○ · 10 minutes
ELSEWHERE = (
    "This is not one of your own copies. `make lab` opens them, and there this cell shows which "
    "exercises you have solved."
)


@dataclass(frozen=True)
class Exercise:
    """An exercise of a copy and its state: ``solved``, ``open``, ``wrong`` or ``not run``."""

    title: str
    state: str


@dataclass(frozen=True)
class Lesson:
    """The copy of a lesson that counts: its file name, its title and its exercises in order."""

    name: str
    title: str
    exercises: list[Exercise]

    @property
    def solved(self) -> int:
        """How many exercises are solved."""
        return sum(exercise.state == SOLVED for exercise in self.exercises)


def exercise_states(notebook: NotebookNode) -> list[Exercise]:
    """The exercises of a notebook, in order, each with what its check said when it last ran."""
    found, title = [], None
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and (headings := HEADING.findall(cell.source)):
            title = EFFORT.sub("", headings[-1])
        graded = cell.metadata.get("nbgrader", {})
        if cell.cell_type == "code" and graded.get("grade"):
            found.append(Exercise(title or str(graded.get("grade_id")), _state(cell)))
            title = None
    return found


def _state(check: NotebookNode) -> str:
    """What the outputs of a check say; an error that is not the check's own says nothing."""
    said = [output.get("text", output.get("evalue", "")) for output in check.get("outputs", [])]
    marks = {line[0] for text in said for line in text.splitlines() if line}
    return next((state for mark, state in STATES.items() if mark in marks), NOT_RUN)


def read_progress(folder: Path) -> list[Lesson]:
    """The learner's lessons in ``folder``, as last saved; raises what ``read_copies`` does."""
    versions = (
        [Lesson(name, title_of(made, name), exercise_states(made)) for name, made in files.items()]
        for files in read_copies(folder)
    )
    return [max(files, key=lambda lesson: lesson.solved) for files in versions]  # the first of such


def as_text(course: list[Lesson]) -> str:
    """A table for the terminal: the lessons, how much of each is solved, what comes next."""
    rows = [("lesson", "solved", "next exercise")]
    for each in course:
        following = (f"{one.title} ({one.state})" for one in each.exercises if one.state != SOLVED)
        rows.append((Path(each.name).stem, _count([each]), next(following, "")))
    width = max(len(name) for name, *_ in rows)
    table = "\n".join(f"{row[0]:<{width}}  {row[1]:<8}  {row[2]}".rstrip() for row in rows)
    return f"{table}\n\n{_total(course)}"


def as_html(course: list[Lesson]) -> str:
    """The same as a table in HTML, with the state of every exercise; text is escaped."""
    rows = [
        f'<td><a href="{quote(lesson.name)}">{escape(lesson.title)}</a></td>'
        f"<td>{_count([lesson])}</td><td>"
        + "<br>".join(f"<b>{MARKS[e.state]}</b> · {escape(e.title)}" for e in lesson.exercises)
        + "</td>"
        for lesson in course
    ]
    head = "<th>lesson</th><th>solved</th><th>exercises</th>"
    table = "\n".join(f"<tr>{row}</tr>" for row in [head, *rows])
    return f"<p>{_total(course)}</p>\n<table>{table}</table>"


def show_progress() -> None:
    """Display in a learner's notebook which exercises are solved in all copies of its folder."""
    if not Path(RECORD).exists():
        print(ELSEWHERE)
        return
    course = read_progress(Path.cwd())
    display({"text/html": as_html(course), "text/plain": as_text(course)}, raw=True)


def _count(course: list[Lesson]) -> str:
    count = sum(len(each.exercises) for each in course)
    return f"{sum(each.solved for each in course)} of {count}"


def _total(course: list[Lesson]) -> str:
    return f"{_count(course)} exercises solved, as your copies were last saved"
