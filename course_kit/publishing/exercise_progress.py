"""How far a learner is: which exercises are solved, as the saved outputs of the checks say.

Of a lesson's copy and the newer lessons beside it (``02_attention.new.ipynb``), the file counts in
which more exercises are solved, and of equal ones the copy. Files are not added up, because their
exercises may differ; files of other names do not count.
"""

import re
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from IPython.display import display
from nbformat import NotebookNode

from course_kit.publishing.places import RECORD
from course_kit.publishing.students import grading_of
from course_kit.publishing.workspace import read_copies

SOLVED, NOT_RUN = "solved", "not run"
STATES = {"✗": "wrong", "○": "open", "✓": SOLVED}  # the first that is found decides
HEADING = re.compile(r"^#+ +(Exercise\b.*?)\s*$", re.MULTILINE)
EFFORT = re.compile(r"\s*[●○]+\s*(?:·[^:]*)?(?=:|$)")  # ●●○ · 10 minutes
ELSEWHERE = (
    "This is not one of your own copies. `make lab` opens them, and there this cell shows which "
    "exercises you have solved."
)


class Exercise(NamedTuple):
    """An exercise of a copy and its state: ``solved``, ``open``, ``wrong`` or ``not run``."""

    title: str
    state: str


def exercise_states(notebook: NotebookNode) -> list[Exercise]:
    """The exercises of a notebook, in order, each with what its check said when it last ran; of
    several copies of a check, one that says solved counts, else the last."""
    found: dict[str, Exercise] = {}
    title = None
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and (headings := HEADING.findall(cell.source)):
            title = EFFORT.sub("", headings[-1])
        graded = grading_of(cell)
        if cell.cell_type == "code" and graded.get("grade"):
            name = graded["grade_id"]
            known = found.setdefault(name, Exercise(title or name, NOT_RUN))
            if known.state != SOLVED:
                found[name] = known._replace(state=state_of(cell))
            title = None
    return list(found.values())


def state_of(check: NotebookNode) -> str:
    """What the outputs of a check say; an error that is not the check's own says nothing."""
    said = [output.get("text", output.get("evalue", "")) for output in check.get("outputs", [])]
    marks = {line[0] for text in said for line in text.splitlines() if line}
    return next((state for mark, state in STATES.items() if mark in marks), NOT_RUN)


def read_progress(folder: Path) -> pd.DataFrame:
    """The learner's exercises in ``folder``, as last saved: a row for each, with ``lesson``,
    ``exercise`` and ``state``. Raises what ``read_copies`` does."""
    rows = []
    for files in read_copies(folder):
        versions = [(Path(name).stem, exercise_states(made)) for name, made in files.items()]
        lesson, exercises = max(versions, key=lambda version: _solved(version[1]))  # the first such
        rows += [(lesson, *exercise) for exercise in exercises]
    return pd.DataFrame(rows, columns=["lesson", "exercise", "state"])


def _solved(exercises: list[Exercise]) -> int:
    return sum(exercise.state == SOLVED for exercise in exercises)


def as_text(course: pd.DataFrame) -> str:
    """A table for the terminal: the lessons, how much of each is solved, what comes next."""
    return f"{by_lesson(course).to_markdown(tablefmt='plain')}\n\n{_total(course)}"


def by_lesson(course: pd.DataFrame) -> pd.DataFrame:
    """The lessons, how much of each is solved, and what comes next."""
    rows = []
    for lesson, exercises in course.groupby("lesson", sort=False):
        left = exercises[exercises.state != SOLVED]
        following = (f"{each.exercise} ({each.state})" for each in left.itertuples())
        rows.append((lesson, _count(exercises), next(following, "")))
    return pd.DataFrame(rows, columns=["lesson", "solved", "next exercise"]).set_index("lesson")


def show_progress() -> None:
    """Display in a learner's notebook how far all copies of its folder are solved; pandas escapes
    their texts."""
    if not Path(RECORD).exists():
        print(ELSEWHERE)
        return
    course = read_progress(Path.cwd())
    print(_total(course))
    with pd.option_context("display.max_colwidth", None):
        display(by_lesson(course))


def _count(exercises: pd.DataFrame) -> str:
    return f"{(exercises.state == SOLVED).sum()} of {len(exercises)}"


def _total(course: pd.DataFrame) -> str:
    return f"{_count(course)} exercises solved, as your copies were last saved"
