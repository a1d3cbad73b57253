"""The tables of lessons in the READMEs and in lesson 00, made from the lessons themselves."""

import re
from collections.abc import Sequence
from pathlib import Path

import nbformat

from course_kit.publishing.contents import Entry, entries
from course_kit.publishing.lessons import LESSONS
from course_lib.files import REPOSITORY, atomic_path

START, END = "<!-- lessons -->", "<!-- end of lessons -->"
ROUTES = (
    ("An evening", ("00", "02", "07"), "what attention is, and how far to trust it"),
    ("A course", (), "everything, in this order"),
    ("A replication seminar", ("03", "04", "05", "06", "07", "08"), "one paper a session"),
)
_ROWS = re.compile(r"^(?:\| \[\d\d [^\n]*\n)+", re.MULTILINE)  # one row a lesson, as in the README
_PART = re.compile(rf"{re.escape(START)}\n.*?{re.escape(END)}", re.DOTALL)


def teachers_table(lessons: Sequence[Entry]) -> str:
    """What each lesson needs and teaches, and the minutes to read, to practise and to run it."""
    rows = [
        f"| {entry.number} {entry.about.short} | {_builds_on(entry)} | {_lower(entry)} "
        f"| {entry.minutes} min | {entry.exercises}, {entry.practice} min | {entry.running} |"
        for entry in lessons
    ]
    head = (
        "| lesson | builds on | teaches to | read | exercises | runs (two cores) |\n"
        "|---|---|---|---|---|---|"
    )
    return "\n".join([head, *rows])


def learners_table(lessons: Sequence[Entry]) -> str:
    """The question of each lesson with a link to it, and three ways through them."""
    rows = [
        f"| [{entry.number} {entry.about.short}]({entry.stem}.ipynb) "
        f"| {entry.about.question or entry.about.sentence} | {_builds_on(entry)} "
        f"| {entry.minutes} + {entry.practice} |"
        for entry in lessons
    ]
    head = "| lesson | question | builds on | minutes to read + for exercises |\n|---|---|---|---|"
    return "\n".join([head, *rows, "", "Three ways through them:", "", *_routes(lessons)])


def write_tables(start: Path = LESSONS / "00_start_here.ipynb") -> None:
    """Put the current tables into ``README.md``, ``notebooks/README.md`` and lesson 00.

    ``ValueError`` if one of them has no place for its table.
    """
    lessons = entries()
    rows = "".join(
        f"| [{entry.number} {entry.title}](notebooks/{entry.stem}.ipynb) | {_lower(entry)} "
        f"| {entry.minutes} min |\n"
        for entry in lessons
    )
    _rewrite(REPOSITORY / "README.md", _ROWS, rows)
    _rewrite(LESSONS / "README.md", _PART, f"{START}\n{teachers_table(lessons)}\n{END}")
    notebook = nbformat.read(start, as_version=4)
    for cell in notebook.cells:
        if START in cell.source:
            cell.source = _replaced(
                cell.source, _PART, f"{START}\n{learners_table(lessons)}\n{END}", start
            )
    with atomic_path(start) as temporary:
        nbformat.write(notebook, temporary)


def _rewrite(path: Path, part: re.Pattern[str], table: str) -> None:
    text = _replaced(path.read_text(encoding="utf-8"), part, table, path)
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _replaced(text: str, part: re.Pattern[str], table: str, path: Path) -> str:
    found = part.search(text)
    if not found:
        raise ValueError(f"{path.name} has no table of lessons to replace: {part.pattern!r}")
    return text[: found.start()] + table + text[found.end() :]


def _routes(lessons: Sequence[Entry]) -> list[str]:
    """A line a route, of the lessons that there are."""
    links = {entry.number: f"[{entry.number}]({entry.stem}.ipynb)" for entry in lessons}
    return [
        f"- **{name}**: {', '.join(links[n] for n in numbers or links if n in links)} ({what})."
        for name, numbers, what in ROUTES
    ]


def _builds_on(entry: Entry) -> str:
    needs = [stem[:2] for stem in entry.about.needs]
    helps = [stem[:2] for stem in entry.about.helps]
    parts = [", ".join(needs)] if needs else []
    parts += [f"{', '.join(helps)} {'help' if len(helps) > 1 else 'helps'}"] if helps else []
    return "; ".join(parts) or "–"


def _lower(entry: Entry) -> str:
    """The sentence of a lesson as it goes on after "you"."""
    sentence = entry.about.sentence
    return sentence[0].lower() + sentence[1:].removesuffix(".")
