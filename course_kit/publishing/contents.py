"""The tables of lessons in the READMEs, in lesson 00 and on the site, made from the lessons.

A lesson's notebook says its title and how long it runs. ``notebooks/lessons.yaml`` says what it is
about, how many minutes it takes and which lessons it needs.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import nbformat
import yaml
from nbformat import NotebookNode

from course_kit.publishing.lessons import LESSONS, lesson_paths
from course_kit.publishing.students import find_exercises, title_of
from course_lib.files import REPOSITORY, atomic_path, write_text

ABOUT = LESSONS / "lessons.yaml"
SYLLABI = LESSONS / "teaching" / "syllabi.yaml"
ROUTES = (
    ("Two days", ("00", "02", "03", "07"), "what attention is, and how far to trust it"),
    ("A course", (), "everything, in this order"),
    ("A replication seminar", ("03", "04", "05", "06", "07", "08", "09"), "one paper a session"),
)
START, END = "<!-- lessons -->", "<!-- end of lessons -->"
_PART = re.compile(rf"{re.escape(START)}\n.*?{re.escape(END)}", re.DOTALL)
_MINUTES = re.compile(r"(?<=\babout )\d+(?= minutes,\s+reading\s+and\s+doing)")
_RUNNING = re.compile(r"\*\*running\*\*\s+(.*?)\s+on\s+two\s+cores", re.DOTALL)
_PRACTICE = re.compile(r"^### Exercise [^\n]*?· (\d+) minutes", re.MULTILINE)
_PLAN = "| session | lesson | in class | to talk | of | at home |\n|---:|---|---:|---:|---:|---|"
_ASKED_IN = re.compile(r"\]\(\.\./(\d\d)_")  # a side note's link to its lesson


@dataclass(frozen=True)
class Entry:
    """A lesson in a table: ``minutes`` with all its ``exercises``, how long it is ``running``, and
    what ``lessons.yaml`` says of it."""

    stem: str
    number: str
    title: str
    minutes: int
    exercises: int
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
        about.get("minutes", 0),
        len(find_exercises(notebook, path.stem)),
        running[1] if running else "",
        about.get("short", ""),
        about.get("question", sentence),
        sentence[:1].lower() + sentence[1:].removesuffix("."),
        _builds_on(*([each[:2] for each in about.get(k, [])] for k in ("needs", "helps"))),
    )


def running_seconds(path: Path) -> float:
    """How long a lesson runs on one quiet core, as ``lessons.yaml`` says; 0 where it does not."""
    about = yaml.safe_load(ABOUT.read_text(encoding="utf-8"))
    return about.get(path.stem, {}).get("seconds", 0)


def _builds_on(needs: list[str], helps: list[str]) -> str:
    helping = f"{', '.join(helps)} {'help' if len(helps) > 1 else 'helps'}" if helps else ""
    return "; ".join(filter(None, (", ".join(needs), helping))) or "–"


def _prose(notebook: NotebookNode) -> str:
    return "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def readme_table(lessons: Sequence[Entry]) -> str:
    """A line a lesson: its question and its minutes."""
    row = "| [{0.number} {0.short}](notebooks/{0.stem}.ipynb) | {0.question} | {0.minutes} |".format
    return "\n".join(["| lesson | question | minutes |", "|---|---|---:|", *map(row, lessons)])


def teachers_table(lessons: Sequence[Entry]) -> str:
    """What each lesson needs and teaches, its minutes, and those to run it."""
    head = "| lesson | builds on | teaches to | minutes | exercises | runs (two cores) |"
    row = (
        "| {0.number} {0.short} | {0.builds_on} | {0.you_will} | {0.minutes} | {0.exercises} "
        "| {0.running} |"
    )
    return "\n".join([head, "|---|---|---|---|---|---|", *map(row.format, lessons)])


def learners_table(lessons: Sequence[Entry]) -> str:
    """The question of each lesson with a link to it, and ways through those that there are."""
    head = "| lesson | question | builds on | minutes |\n|---|---|---|---|"
    row = "| [{0.number} {0.short}]({0.stem}.ipynb) | {0.question} | {0.builds_on} | {0.minutes} |"
    links = {each.number: f"[{each.number}]({each.stem}.ipynb)" for each in lessons}
    ways = [
        f"- **{name}**: {', '.join(links[n] for n in numbers or links if n in links)} ({what})."
        for name, numbers, what in ROUTES
    ]
    return "\n".join([head, *map(row.format, lessons), "", "Three ways through them:", "", *ways])


def in_class(path: Path, home: Sequence[int]) -> tuple[int, int]:
    """The minutes of a lesson without the exercises that are done at home, and those at home."""
    practice = _PRACTICE.findall(_prose(nbformat.read(path, as_version=4)))
    solving = sum(int(practice[number - 1]) for number in home)
    at_home = 5 * round(1.2 * solving / 5)  # a fifth more: the headings do not count the reading
    return read_entry(path).minutes - at_home, at_home


def syllabi_tables() -> str:
    """What ``syllabi.yaml`` plans, a table for each, with minutes that follow from the lessons."""
    paths, parts = {path.stem[:2]: path for path in lesson_paths()}, []
    for plan in yaml.safe_load(SYLLABI.read_text(encoding="utf-8")):
        parts.append(f"**{plan['name']}**: {plan['what']}.\n\n{_PLAN}")
        for number, session in enumerate(plan["sessions"], 1):
            path, home = paths[session["lesson"]], session["home"]
            minutes, later = in_class(path, home)
            link = f"[{session['lesson']}](../{path.name})"
            left = f"Exercise {', '.join(map(str, home))} ({later} min)" if home else "–"
            row = (number, link, minutes, session["talk"], session["minutes"], left)
            parts[-1] += f"\n| {' | '.join(map(str, row))} |"
    return "\n\n".join(parts)


def notes_list(notes: Sequence[Path]) -> str:
    """The questions of the side notes with links, by the lesson in which they arise."""
    read = ((path.name, nbformat.read(path, as_version=4)) for path in notes)
    listed = [
        (_ASKED_IN.search(_prose(note))[1], title_of(note, name), name) for name, note in read
    ]
    return "\n".join(f"- [{title}]({name}) (lesson {n})" for n, title, name in sorted(listed))


def write_tables(root: Path = REPOSITORY) -> None:
    """Put the current tables into the READMEs, the teaching page and lesson 00 under a root, and
    its minutes into every lesson's head; ``ValueError`` where there is no table."""
    lessons = [read_entry(path) for path in lesson_paths()]
    for path, text in (
        ("README.md", readme_table(lessons)),
        ("notebooks/README.md", teachers_table(lessons)),
        ("notebooks/teaching/README.md", syllabi_tables()),
    ):
        _rewrite(root / path, f"{START}\n{text}\n{END}")
    table = f"{START}\n{learners_table(lessons)}\n{END}"
    for lesson in lessons:
        path = root / "notebooks" / f"{lesson.stem}.ipynb"
        notebook = nbformat.read(path, as_version=4)
        first, *others = [cell for cell in notebook.cells if cell.cell_type == "markdown"]
        first.source = _MINUTES.sub(str(lesson.minutes), first.source)
        for cell in others:
            cell.source = _PART.sub(lambda _: table, cell.source)
        with atomic_path(path) as temporary:
            nbformat.write(notebook, temporary)


def _rewrite(path: Path, table: str) -> None:
    text = path.read_text(encoding="utf-8")
    if not _PART.search(text):
        raise ValueError(f"{path.name} has no table of lessons to replace: {START} … {END}")
    write_text(path, _PART.sub(lambda _: table, text, count=1))
