"""The tables of lessons in the READMEs, in lesson 00 and on the site, made from the lessons.

A lesson's notebook says its title, its exercises and their minutes, and how long it runs; the
minutes to read it are its words at an ordinary reading speed. ``notebooks/lessons.yaml`` says what
it is about, and which lessons it needs.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import nbformat
import yaml
from nbformat import NotebookNode

from course_kit.publishing.lessons import LESSONS, lesson_paths
from course_kit.publishing.students import find_exercises, title_of
from course_lib.files import REPOSITORY, atomic_path

ABOUT = LESSONS / "lessons.yaml"
WORDS_A_MINUTE, STEP = 200, 5  # minutes are rounded up to steps of five
ROUTES = (
    ("An evening", ("00", "02", "07"), "what attention is, and how far to trust it"),
    ("A course", (), "everything, in this order"),
    ("A replication seminar", ("03", "04", "05", "06", "07", "08"), "one paper a session"),
)
START, END = "<!-- lessons -->", "<!-- end of lessons -->"
_ROWS = re.compile(r"^(?:\| \[\d\d [^\n]*\n)+", re.MULTILINE)  # one row a lesson, as in the README
_PART = re.compile(rf"{re.escape(START)}\n.*?{re.escape(END)}", re.DOTALL)
_RUNNING = re.compile(r"\*\*running\*\*\s+(.*?)\s+on\s+two\s+cores", re.DOTALL)
_PRACTICE = re.compile(r"^### Exercise [^\n]*?· (\d+) minutes", re.MULTILINE)
_NOT_PROSE = re.compile(
    r"```.*?```|`[^`]*`|\$\$.*?\$\$|\$[^$]*\$|<details>.*?</details>|<!--.*?-->|<[^>]*>|\]\([^)]*\)",
    re.DOTALL,
)


@dataclass(frozen=True)
class Entry:
    """A lesson in a table: ``minutes`` to read it, ``exercises`` and their minutes of ``practice``,
    how long it is ``running``, and what ``lessons.yaml`` says of it."""

    stem: str
    number: str
    title: str
    minutes: int
    exercises: int
    practice: int
    running: str
    short: str
    question: str
    you_will: str
    builds_on: str


def read_entry(path: Path) -> Entry:
    """What a lesson says of itself, and ``lessons.yaml`` of it."""
    notebook = nbformat.read(path, as_version=4)
    prose = _prose(notebook)
    running = _RUNNING.search(prose)
    about = yaml.safe_load(ABOUT.read_text(encoding="utf-8")).get(path.stem, {})
    sentence = about.get("sentence", "")
    return Entry(
        path.stem,
        path.stem[:2],
        title_of(notebook, path.stem).partition(" · ")[2],
        STEP * math.ceil(words_of(notebook) / WORDS_A_MINUTE / STEP),
        len(find_exercises(notebook, path.stem)),
        sum(map(int, _PRACTICE.findall(prose))),
        running[1] if running else "",
        about.get("short", ""),
        about.get("question", sentence),
        sentence[:1].lower() + sentence[1:].removesuffix("."),
        _builds_on(*([each[:2] for each in about.get(k, [])] for k in ("needs", "helps"))),
    )


def _builds_on(needs: list[str], helps: list[str]) -> str:
    helping = f"{', '.join(helps)} {'help' if len(helps) > 1 else 'helps'}" if helps else ""
    return "; ".join(filter(None, (", ".join(needs), helping))) or "–"


def words_of(notebook: NotebookNode) -> int:
    """How many words of prose a lesson has, without formulas, code and folded hints."""
    return len(re.findall(r"\b\w[\w’'-]*", _NOT_PROSE.sub(" ", _prose(notebook))))


def _prose(notebook: NotebookNode) -> str:
    return "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def readme_rows(lessons: Sequence[Entry]) -> str:
    """The rows of the README's table: what one will do, and the minutes to read."""
    row = "| [{0.number} {0.title}](notebooks/{0.stem}.ipynb) | {0.you_will} | {0.minutes} min |\n"
    return "".join(map(row.format, lessons))


def teachers_table(lessons: Sequence[Entry]) -> str:
    """What each lesson needs and teaches, and the minutes to read, to practise and to run it."""
    head = "| lesson | builds on | teaches to | read | exercises | runs (two cores) |"
    row = (
        "| {0.number} {0.short} | {0.builds_on} | {0.you_will} | {0.minutes} min "
        "| {0.exercises}, {0.practice} min | {0.running} |"
    )
    return "\n".join([head, "|---|---|---|---|---|---|", *map(row.format, lessons)])


def learners_table(lessons: Sequence[Entry]) -> str:
    """The question of each lesson with a link to it, and ways through those that there are."""
    head = "| lesson | question | builds on | minutes to read + for exercises |\n|---|---|---|---|"
    row = (
        "| [{0.number} {0.short}]({0.stem}.ipynb) | {0.question} | {0.builds_on} "
        "| {0.minutes} + {0.practice} |"
    )
    links = {each.number: f"[{each.number}]({each.stem}.ipynb)" for each in lessons}
    ways = [
        f"- **{name}**: {', '.join(links[n] for n in numbers or links if n in links)} ({what})."
        for name, numbers, what in ROUTES
    ]
    return "\n".join([head, *map(row.format, lessons), "", "Three ways through them:", "", *ways])


def write_tables(root: Path = REPOSITORY) -> None:
    """Put the current tables into ``README.md``, ``notebooks/README.md`` and lesson 00 under a
    root; ``ValueError`` if one of them has no place for its table."""
    lessons = [read_entry(path) for path in lesson_paths()]
    _rewrite(root / "README.md", _ROWS, readme_rows(lessons))
    _rewrite(root / "notebooks/README.md", _PART, f"{START}\n{teachers_table(lessons)}\n{END}")
    start = root / "notebooks/00_start_here.ipynb"
    notebook = nbformat.read(start, as_version=4)
    table = f"{START}\n{learners_table(lessons)}\n{END}"
    for cell in notebook.cells:
        cell.source = _PART.sub(lambda _: table, cell.source)
    with atomic_path(start) as temporary:
        nbformat.write(notebook, temporary)


def _rewrite(path: Path, part: re.Pattern[str], table: str) -> None:
    text = path.read_text(encoding="utf-8")
    if not part.search(text):
        raise ValueError(f"{path.name} has no table of lessons to replace: {part.pattern!r}")
    with atomic_path(path) as temporary:
        temporary.write_text(part.sub(lambda _: table, text, count=1), encoding="utf-8")
