"""A learner's desk: a folder with copies of the lessons, made once and renewed without loss.

A hidden record in the folder, ``.copies.json``, holds a digest of every copy as it was made. The
digest is of the cells' sources: running or saving a notebook does not change it, an answer or a
note does. A copy that still has its digest is the learner's unchanged one and is renewed when the
lesson is newer, with the outputs it holds. Any other copy stays, and so does an unchanged one whose
outputs would be lost; the newer lesson is then put beside it, once, as ``02_attention.new.ipynb``.
"""

import hashlib
import json
import os
import re
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from course_lib.files import atomic_path
from course_lib.teaching.students import ExerciseError, read_notebook, student_copy, title_of

RECORD = ".copies.json"
START = "start.ipynb"
MADE, OFFERED = "made", "offered"
KEPT = "Nothing was changed."
LINK = re.compile(r"""(?<=\]\()[^)\s]+|(?<=\bsrc=["'])[^"']+|(?<=\bhref=["'])[^"']+""")
WELCOME = """# Your lessons

These are your own copies; write your answers in them. An update of the course does not replace
what you have written. It puts the newer lesson beside yours, in a file that ends in `.new.ipynb`.
Read the lessons in this order:

{lessons}

An exercise is solved when its check prints ✓. Run the next cell (Shift+Enter) to see how far you
have come. It reads the saved copies, so save a lesson first."""


class DeskError(ValueError):
    """A folder of copies in which something is missing or damaged; the message names the file."""


@dataclass(frozen=True)
class Copy:
    """A learner's copy and the file that was written for it: itself, one beside it, or none."""

    path: Path
    written: Path | None

    @property
    def offer(self) -> str | None:
        """One line for the learner, where the newer lesson was put beside their work."""
        if self.written in (None, self.path):
            return None
        name = f"{self.path.parent.name}/{self.path.name}"
        return f"{name} holds your work and stays; the newer lesson is {self.written.name}"


def learner_copies(lessons: list[Path], folder: Path) -> dict[str, NotebookNode]:
    """The lessons without solutions, by file name; their links work from ``folder``."""
    names = {lesson.name for lesson in lessons}
    copies = {lesson.name: student_copy(read_notebook(lesson), lesson.name) for lesson in lessons}
    for lesson in lessons:
        for cell in copies[lesson.name].cells:
            if cell.cell_type == "markdown":
                cell.source = _with_links(cell.source, lesson.parent, folder, names)
    return copies


def start_notebook(lessons: list[Path]) -> NotebookNode:
    """Where a learner begins: the lessons in order, and a cell that shows what is solved."""
    titles = [(lesson.name, title_of(read_notebook(lesson), lesson.stem)) for lesson in lessons]
    listed = "\n".join(f"- [{title}]({name})" for name, title in titles)
    code = "from course_lib import teaching\n\nteaching.show_progress()"
    cells = [
        new_markdown_cell(WELCOME.format(lessons=listed), id="order"),
        new_code_cell(code, id="progress"),
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return new_notebook(cells=cells, metadata={"kernelspec": kernel})


def write_copies(copies: dict[str, NotebookNode], folder: Path) -> list[Copy]:
    """Make, renew or keep the copy of every name in ``folder``; no work of a learner is replaced.

    Everything there is read before anything is written. Raises ``DeskError`` for a record or a
    copy that cannot be read.
    """
    record = _read_record(folder)
    plans = {
        name: _plan(folder / name, fresh, record.get(name, {})) for name, fresh in copies.items()
    }
    for written, notebook, _ in plans.values():
        if written:
            with atomic_path(written) as temporary:
                nbformat.write(notebook, temporary)
    _write_record(folder, record | {name: entry for name, (_, _, entry) in plans.items()})
    return [Copy(folder / name, written) for name, (written, _, _) in plans.items()]


def read_copies(folder: Path) -> dict[str, NotebookNode]:
    """The copies that were made in ``folder`` and are still there, by file name and in order."""
    if not (folder / RECORD).exists():
        raise DeskError(f"{folder} holds no copies of the lessons; `make lab` makes them")
    paths = [folder / name for name in sorted(_read_record(folder)) if name != START]
    return {path.name: _read_copy(path) for path in paths if path.exists()}


def _plan(
    path: Path, fresh: NotebookNode, entry: dict[str, str]
) -> tuple[Path | None, NotebookNode, dict[str, str]]:
    """Which file is to be written with which notebook, and what the record then says of it."""
    newest = _digest(fresh)
    if not path.exists():
        return path, fresh, {MADE: newest}
    current = _read_copy(path)
    found = _digest(current)
    if found == newest:
        return None, fresh, {MADE: newest}
    if newest in (entry.get(MADE), entry.get(OFFERED)):
        return None, fresh, entry
    renewed = _with_outputs(fresh, current) if found == entry.get(MADE) else None
    if renewed:
        return path, renewed, {MADE: newest}
    return _free_place(path, newest, entry.get(OFFERED)), fresh, entry | {OFFERED: newest}


def _digest(notebook: NotebookNode) -> str:
    """Of the cells' kinds and sources, without empty cells: JupyterLab adds some at the end."""
    cells = [(cell.cell_type, cell.source.rstrip()) for cell in notebook.cells]
    text = json.dumps([cell for cell in cells if cell[1]])
    return hashlib.sha256(text.encode()).hexdigest()


def _with_outputs(fresh: NotebookNode, current: NotebookNode) -> NotebookNode | None:
    """The newer copy with all outputs that the unchanged one holds; None if a cell that made one
    is no longer there."""
    waiting = [cell for cell in current.cells if cell.get("outputs")]
    renewed = nbformat.from_dict(fresh)
    for cell in renewed.cells:
        if waiting and cell.cell_type == "code" and cell.source == waiting[0].source:
            ran = waiting.pop(0)
            cell.outputs, cell.execution_count = ran.outputs, ran.execution_count
    renewed.metadata = nbformat.from_dict(current.metadata | fresh.metadata)
    return None if waiting else renewed


def _free_place(path: Path, newest: str, offered: str | None) -> Path:
    """The first of ``02.new.ipynb``, ``02.new2.ipynb``, … that holds no work of the learner."""
    names = (f"{path.stem}.new{number if number > 1 else ''}.ipynb" for number in count(1))
    places = (path.with_name(name) for name in names)
    return next(place for place in places if _is_free(place, {newest, offered}))


def _is_free(place: Path, ours: set[str | None]) -> bool:
    if not place.exists():
        return True
    there = _read_copy(place)
    return _digest(there) in ours and not any(cell.get("outputs") for cell in there.cells)


def _read_copy(path: Path) -> NotebookNode:
    try:
        return read_notebook(path)
    except ExerciseError as error:
        advice = "Move it elsewhere, and `make lab` makes a fresh copy."
        raise DeskError(f"{error}. {KEPT} {advice}") from error


def _read_record(folder: Path) -> dict[str, dict[str, str]]:
    path = folder / RECORD
    if not path.exists():
        return {}
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        record = None
    if not _is_record(record):
        raise DeskError(
            f"{path} is damaged. {KEPT} Delete it: your copies stay, and today's lesson is put "
            "beside each one that differs from it."
        )
    return record


def _is_record(record: Any) -> bool:
    return isinstance(record, dict) and all(
        Path(name).name == name
        and name.endswith(".ipynb")
        and isinstance(entry, dict)
        and all(isinstance(digest, str) for digest in entry.values())
        for name, entry in record.items()
    )


def _write_record(folder: Path, record: dict[str, dict[str, str]]) -> None:
    with atomic_path(folder / RECORD) as temporary:
        temporary.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def _with_links(source: str, origin: Path, folder: Path, names: set[str]) -> str:
    """Markdown whose links to files beside the lesson lead there from ``folder``, too."""

    def moved(match: re.Match) -> str:
        parts = urlsplit(match[0])
        target = origin / unquote(parts.path)
        if parts.scheme or not parts.path or parts.path in names or not target.exists():
            return match[0]
        path = Path(os.path.relpath(target, folder)).as_posix()
        return parts._replace(path=quote(path)).geturl()

    return LINK.sub(moved, source)
