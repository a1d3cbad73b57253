"""How far a learner is: which exercises are solved, as the saved outputs of the checks say.

Of a lesson's copy and the newer lessons beside it (``02_attention.new.ipynb``), the file counts in
which more exercises are solved, and of equal ones the copy. Files are not added up, because their
exercises may differ; files of other names do not count.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from IPython.display import display
from jinja2 import Environment
from nbformat import NotebookNode

from course_kit.publishing.desk import RECORD, read_copies
from course_kit.publishing.students import title_of
from course_lib.files import atomic_path

SOLVED, NOT_RUN = "solved", "not run"
MARKS = {"✗": "wrong", "○": "open", "✓": SOLVED}  # the first that is found decides
HEADING = re.compile(r"^#+ +(Exercise\b.*?)\s*$", re.MULTILINE)
EFFORT = re.compile(r"\s*[●○]+\s*(?:·[^:]*)?(?=:|$)")  # ●●○ · 10 minutes
PAGE = "progress.html"
ELSEWHERE = (
    "This is not one of your own copies. `make lab` opens them, and there this cell shows which "
    "exercises you have solved."
)
# text says all, colour nothing; a page in the reader's own colours is readable in light and dark
TEMPLATES = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
TABLE = TEMPLATES.from_string("""\
<table>
<caption>{{ solved }} of {{ count }} exercises solved, as your copies were last saved</caption>
<thead><tr><th scope="col" style="text-align:left">lesson</th><th scope="col">solved</th>
<th scope="col" style="text-align:left">exercises</th></tr></thead>
<tbody>
{% for lesson in course %}
<tr><th scope="row" style="text-align:left"><a href="{{ lesson.name | urlencode }}">\
{{ lesson.title }}</a></th>
<td>{{ lesson.solved }} of {{ lesson.exercises | length }}</td>
<td style="text-align:left">
<ul style="margin:0">
{% for exercise in lesson.exercises %}
<li><b>{{ marks[exercise.state] }}{{ exercise.state }}</b> · {{ exercise.title }}</li>
{% endfor %}
</ul></td></tr>
{% endfor %}
</tbody>
</table>
""")
DOCUMENT = TEMPLATES.from_string("""\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Your progress</title>
<style>
:root { color-scheme: light dark; }
body { font: 1rem/1.5 sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; }
caption { text-align: left; padding-bottom: 1rem; }
th, td { border-top: 1px solid; padding: 0.5rem; text-align: left; vertical-align: top; }
</style>
</head>
<body>
<main><h1>Your progress</h1>
<p>Written on <time datetime="{{ now.isoformat() }}">{{ now.strftime("%Y-%m-%d at %H:%M") }}</time>.
<code>make progress</code> renews it.</p>
{{ table | safe }}</main>
</body>
</html>
""")


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

    @property
    def next(self) -> Exercise | None:
        """The first exercise that is not solved."""
        return next((each for each in self.exercises if each.state != SOLVED), None)


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
    """The learner's lessons in ``folder``, as they were last saved; raises ``DeskError``."""
    return [_furthest(versions) for versions in read_copies(folder)]


def as_text(course: list[Lesson]) -> str:
    """A table for the terminal: the lessons, how much of each is solved, what comes next."""
    rows = [("lesson", "solved", "next exercise"), *map(_row, course)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return "\n".join([*lines, "", f"{_solved(course)} of {_count(course)} exercises solved"])


def as_html(course: list[Lesson]) -> str:
    """The same as a table in HTML, with the state of every exercise."""
    marks = {state: f"{mark} " for mark, state in MARKS.items()} | {NOT_RUN: ""}
    return TABLE.render(course=course, marks=marks, solved=_solved(course), count=_count(course))


def write_page(course: list[Lesson], folder: Path) -> Path:
    """``progress.html`` in ``folder``: the table as a page of its own, with the time of writing."""
    path = folder / PAGE
    now = datetime.now().astimezone().replace(microsecond=0)
    with atomic_path(path) as temporary:
        temporary.write_text(DOCUMENT.render(table=as_html(course), now=now), encoding="utf-8")
    return path


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


def _row(lesson: Lesson) -> tuple[str, str, str]:
    following = f"{lesson.next.title} ({lesson.next.state})" if lesson.next else ""
    name = lesson.name.removesuffix(".ipynb")
    return name, f"{lesson.solved} of {len(lesson.exercises)}", following


def _solved(course: list[Lesson]) -> int:
    return sum(lesson.solved for lesson in course)


def _count(course: list[Lesson]) -> int:
    return sum(len(lesson.exercises) for lesson in course)
