"""The tables of lessons in the READMEs, in lesson 00 and on the site, made from the lessons.

A lesson's notebook says its title and how long it runs; its minutes follow from what stands in it.
``notebooks/lessons.yaml`` says what it is about, and which lessons it needs.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import nbformat
import yaml
from nbformat import NotebookNode

from course_kit.publishing.lessons import CORPUS_TEXT, LESSONS, lesson_paths
from course_kit.publishing.students import find_exercises, student_copy, title_of
from course_lib.files import REPOSITORY, atomic_path, write_text

ABOUT = LESSONS / "lessons.yaml"
SYLLABI = LESSONS / "teaching" / "syllabi.yaml"
ROUTES = (
    ("Two days", ("00", "02", "03", "07"), "what attention is, and how far to trust it"),
    ("A course", (), "everything, in this order"),
    ("A replication seminar", ("03", "04", "05", "06", "07", "08", "09"), "one paper a session"),
)
START, END = "<!-- lessons -->", "<!-- end of lessons -->"
_ROWS = re.compile(r"^(?:- \*\*\[\d\d [^\n]*\n)+", re.MULTILINE)  # a line a lesson, in the README
_PART = re.compile(rf"{re.escape(START)}\n.*?{re.escape(END)}", re.DOTALL)
_MINUTES = re.compile(r"(?<=\babout )\d+(?= minutes,\s+reading\s+and\s+doing)")
_RUNNING = re.compile(r"\*\*running\*\*\s+(.*?)\s+on\s+two\s+cores", re.DOTALL)
_PRACTICE = re.compile(r"^### Exercise [^\n]*?· (\d+) minutes", re.MULTILINE)
_PLAN = "| session | lesson | in class | to talk | of | at home |\n|---:|---|---:|---:|---:|---|"
_ASKED_IN = re.compile(r"\]\(\.\./(\d\d)_")  # a side note's link to its lesson
_NOT_PROSE = re.compile(
    rf"{START}.*?{END}|```.*?```|`[^`]*`|\$\$.*?\$\$|\$[^$]*\$|<!--.*?-->|<[^>]*>|\]\([^)]*\)",
    re.DOTALL,
)


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
        size_of(notebook, path.stem).minutes,
        len(find_exercises(notebook, path.stem)),
        running[1] if running else "",
        about.get("short", ""),
        about.get("question", sentence),
        sentence[:1].lower() + sentence[1:].removesuffix("."),
        _builds_on(*([each[:2] for each in about.get(k, [])] for k in ("needs", "helps"))),
    )


def _builds_on(needs: list[str], helps: list[str]) -> str:
    helping = f"{', '.join(helps)} {'help' if len(helps) > 1 else 'helps'}" if helps else ""
    return "; ".join(filter(None, (", ".join(needs), helping))) or "–"


@dataclass(frozen=True)
class Size:
    """What a learner has before them: ``words`` of prose, folded ones too, without formulas; lines
    of ``code`` without imports and solutions; ``pictures``; the minutes of ``practice`` that the
    exercises name."""

    words: int
    code: int
    pictures: int
    practice: int

    @property
    def minutes(self) -> int:
        """To read and to do it all. The factor, the one fitted number, is the least-squares fit to
        what readers of ten earlier lessons needed (see CONTRIBUTING.md)."""
        minutes = 1.2 * (self.words / 200 + self.code / 6 + 2 * self.pictures + self.practice)
        return 5 * round(minutes / 5)


def size_of(notebook: NotebookNode, name: str) -> Size:
    """How much there is in a source notebook with its outputs."""
    seen, prose = student_copy(notebook, name, outputs=True), _prose(notebook)
    code = [cell for cell in seen.cells if cell.cell_type == "code"]
    lines = [line for cell in code for line in cell.source.splitlines() if line.strip()]
    return Size(
        len(re.findall(r"\b\w[\w’'-]*", _NOT_PROSE.sub(" ", prose))),
        sum(" import " not in line and not line.startswith("import ") for line in lines),
        sum(_pictures(cell) for cell in code),
        sum(map(int, _PRACTICE.findall(prose))),
    )


def _pictures(cell: NotebookNode) -> int:
    """How many pictures a cell shows; one where it shows what may not be committed."""
    drawn = sum("image/png" in output.get("data", {}) for output in cell.outputs)
    return drawn + (CORPUS_TEXT in cell.metadata.get("tags", []))


def _prose(notebook: NotebookNode) -> str:
    return "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def readme_rows(lessons: Sequence[Entry]) -> str:
    """The README's list of lessons: what one will do, and the minutes."""
    row = "- **[{0.number} {0.title}](notebooks/{0.stem}.ipynb)**, {0.minutes} min: {0.you_will}\n"
    return "".join(map(row.format, lessons))


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
    notebook = nbformat.read(path, as_version=4)
    size, practice = size_of(notebook, path.stem), _PRACTICE.findall(_prose(notebook))
    out = sum(int(practice[number - 1]) for number in home)
    return replace(size, practice=size.practice - out).minutes, Size(0, 0, 0, out).minutes


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
    _rewrite(root / "README.md", _ROWS, readme_rows(lessons))
    _rewrite(root / "notebooks/README.md", _PART, f"{START}\n{teachers_table(lessons)}\n{END}")
    plans = f"{START}\n{syllabi_tables()}\n{END}"
    _rewrite(root / "notebooks/teaching/README.md", _PART, plans)
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


def _rewrite(path: Path, part: re.Pattern[str], table: str) -> None:
    text = path.read_text(encoding="utf-8")
    if not part.search(text):
        raise ValueError(f"{path.name} has no table of lessons to replace: {part.pattern!r}")
    write_text(path, part.sub(lambda _: table, text, count=1))
