"""A learner's desk: a folder with copies of the lessons, made once and renewed without loss.

A hidden record in the folder, ``.copies.json``, holds a digest of every copy as it was made. The
digest is of the cells' sources: running or saving a notebook does not change it, an answer or a
note does. A copy that still has its digest is the learner's unchanged one and is renewed when the
lesson is newer. An output is kept only while its cell and all code before it are unchanged. Any
other may no longer be true and is dropped; a check that had printed ✓ then counts as not run. A
changed copy stays; the newer lesson is put beside it, once, as ``02_attention.new.ipynb``.
"""

import hashlib
import json
import os
import re
from dataclasses import dataclass
from itertools import count, takewhile
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from course_kit.publishing.students import ExerciseError, read_notebook, student_copy, title_of
from course_lib.files import atomic_path

RECORD = ".copies.json"
START = "start.ipynb"
MADE, OFFERED = "made", "offered"
KEPT = "Nothing was changed."
LINK = re.compile(r"""(?<=\]\()[^)\s]+|(?<=\bsrc=["'])[^"']+|(?<=\bhref=["'])[^"']+""")
WELCOME = """# Your lessons

These are your own copies; write your answers in them. An update of the course does not replace
what you have written. It puts the newer lesson beside yours, in a file such as
`02_attention.new.ipynb`: to go on with it, rename it to `02_attention.ipynb`, after giving your own
another name. A copy that you have only run is renewed where it is; the outputs from the first
changed cell on are cleared, so run it again. Read the lessons in this order:

{lessons}

An exercise is solved when its check prints ✓. Run the next cell (Shift+Enter) to see how far you
have come. It reads the saved copies, so save a lesson first. Where a newer lesson lies beside
yours, the file in which you have solved more exercises counts."""


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
        return (
            f"{name} holds your work and stays; the newer lesson is {self.written.name}: to go on "
            f"with it, rename it to {self.path.name}, after giving your own another name"
        )


def learner_copies(lessons: list[Path], folder: Path) -> dict[str, NotebookNode]:
    """The lessons without solutions, by file name; their links work from ``folder``.

    A link to another lesson leads to its copy, made or not, and never to the solutions.
    """
    names = {path.name for lesson in lessons for path in lesson.parent.glob("*.ipynb")}
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

    Everything there is read before anything is written. Raises ``DeskError`` for a record, a
    copy or an offered lesson that cannot be read.
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


def read_copies(folder: Path) -> list[dict[str, NotebookNode]]:
    """For each lesson in order, its copy and the newer lessons beside it, by file name, the copy
    first; without what is not there any more."""
    if not (folder / RECORD).exists():
        raise DeskError(f"{folder} holds no copies of the lessons; `make lab` makes them")
    names = sorted(name for name in _read_record(folder) if name != START)
    return [versions for name in names if (versions := _read_versions(folder / name))]


def _read_versions(path: Path) -> dict[str, NotebookNode]:
    """What there is of a copy and of the newer lessons beside it, by file name, the copy first."""
    offer = re.compile(rf"{re.escape(path.stem)}\.new\d*\.ipynb")
    beside = [each for each in path.parent.glob("*.ipynb") if offer.fullmatch(each.name)]
    paths = [path, *sorted(beside, key=lambda each: (len(each.name), each.name))]
    return {each.name: _read_copy(each) for each in paths if each.exists()}


def _plan(
    path: Path, fresh: NotebookNode, entry: dict[str, str]
) -> tuple[Path | None, NotebookNode, dict[str, str]]:
    """Which file is to be written with which notebook, and what the record then says of it."""
    newest, versions = _digest(fresh), _read_versions(path)
    if path.name not in versions:
        return path, fresh, {MADE: newest}
    current = versions[path.name]
    found = _digest(current)
    if found == newest:
        return None, fresh, {MADE: newest}
    if newest in (entry.get(MADE), entry.get(OFFERED)):
        return None, fresh, entry
    if found == entry.get(MADE):
        return path, _with_outputs(fresh, current), {MADE: newest}
    place = path.with_name(_free_name(path.stem, versions, {newest, entry.get(OFFERED)}))
    return place, fresh, entry | {OFFERED: newest}


def _digest(notebook: NotebookNode) -> str:
    """Of the cells' kinds and sources, without empty cells: JupyterLab adds some at the end."""
    cells = [(cell.cell_type, cell.source.rstrip()) for cell in notebook.cells]
    text = json.dumps([cell for cell in cells if cell[1]])
    return hashlib.sha256(text.encode()).hexdigest()


def _with_outputs(fresh: NotebookNode, current: NotebookNode) -> NotebookNode:
    """The newer copy with the outputs of the unchanged one up to the first code that differs."""
    renewed = nbformat.from_dict(fresh)
    pairs = zip(_code_cells(renewed), _code_cells(current), strict=False)
    for cell, ran in takewhile(lambda pair: pair[0].source == pair[1].source, pairs):
        cell.outputs, cell.execution_count = ran.outputs, ran.execution_count
    renewed.metadata = nbformat.from_dict(current.metadata | fresh.metadata)
    return renewed


def _code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]


def _free_name(stem: str, versions: dict[str, NotebookNode], ours: set[str | None]) -> str:
    """The first of ``02.new.ipynb``, ``02.new2.ipynb``, … that holds no work of the learner."""
    names = (f"{stem}.new{number if number > 1 else ''}.ipynb" for number in count(1))
    return next(name for name in names if _is_untouched(versions.get(name), ours))


def _is_untouched(there: NotebookNode | None, ours: set[str | None]) -> bool:
    if there is None:
        return True
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
