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

import pandas as pd
from IPython.display import display
from nbformat import NotebookNode

from course_kit.publishing.students import title_of
from course_kit.publishing.workspace import RECORD, read_copies

SOLVED, NOT_RUN = "solved", "not run"
MARKS = {"✗": "wrong", "○": "open", "✓": SOLVED}  # the first that is found decides
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


def read_progress(folder: Path) -> list[Lesson]:
    """The learner's lessons in ``folder``, as last saved; raises ``WorkspaceError``."""
    return [_furthest(versions) for versions in read_copies(folder)]


def as_text(course: list[Lesson]) -> str:
    """A table for the terminal: the lessons, how much of each is solved, what comes next."""
    rows = [
        (lesson.name.removesuffix(".ipynb"), _count(lesson), _next(lesson)) for lesson in course
    ]
    table = pd.DataFrame(rows, columns=["lesson", "solved", "next exercise"]).set_index("lesson")
    return f"{table.to_markdown(tablefmt='plain')}\n\n{_total(course)}"


def as_html(course: list[Lesson]) -> str:
    """The same as a table in HTML, with the state of every exercise; text is escaped."""
    marks = {state: f"{mark} " for mark, state in MARKS.items()} | {NOT_RUN: ""}
    rows = [
        (
            f'<a href="{quote(lesson.name)}">{escape(lesson.title)}</a>',
            _count(lesson),
            "<br>".join(
                f"<b>{marks[each.state]}{each.state}</b> · {escape(each.title)}"
                for each in lesson.exercises
            ),
        )
        for lesson in course
    ]
    table = pd.DataFrame(rows, columns=["lesson", "solved", "exercises"]).set_index("lesson")
    with pd.option_context("display.max_colwidth", None):
        return f"<p>{_total(course)}</p>\n{table.reset_index().to_html(escape=False, index=False)}"


def show_progress(folder: Path | None = None) -> None:
    """Display in a learner's notebook which exercises are solved in all copies of its folder."""
    folder = folder or Path.cwd()
    if not (folder / RECORD).exists():
        print(ELSEWHERE)
        return
    course = read_progress(folder)
    display({"text/html": as_html(course), "text/plain": as_text(course)}, raw=True)


def _furthest(versions: dict[str, NotebookNode]) -> Lesson:
    lessons = [
        Lesson(name, title_of(notebook, name), exercise_states(notebook))
        for name, notebook in versions.items()
    ]
    return max(lessons, key=lambda lesson: lesson.solved)  # the first of equal ones


def _state(check: NotebookNode) -> str:
    """What the outputs of a check say; an error that is not the check's own says nothing."""
    said = [
        output.get("text", "") if output.output_type == "stream" else output.get("evalue", "")
        for output in check.get("outputs", [])
    ]
    marks = {line[0] for text in said for line in text.splitlines() if line}
    return next((state for mark, state in MARKS.items() if mark in marks), NOT_RUN)


def _count(lesson: Lesson) -> str:
    return f"{lesson.solved} of {len(lesson.exercises)}"


def _next(lesson: Lesson) -> str:
    """The first exercise that is not solved."""
    following = (
        f"{each.title} ({each.state})" for each in lesson.exercises if each.state != SOLVED
    )
    return next(following, "")


def _total(course: list[Lesson]) -> str:
    solved, count = (
        sum(each.solved for each in course),
        sum(len(each.exercises) for each in course),
    )
    return f"{solved} of {count} exercises solved, as your copies were last saved"
