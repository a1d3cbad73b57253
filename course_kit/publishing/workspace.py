"""A learner's workspace: a folder with copies of the lessons, made once and renewed without loss.

A hidden record in the folder, ``.copies.json``, holds a digest of every copy as it was made. The
digest is of the cells' sources: running or saving a notebook does not change it, an answer or a
note does. A copy that still has its digest is replaced when the lesson is newer. A changed copy
stays; the newer lesson, with the answers to its exercises, is put beside it, once, as
``02_attention.new.ipynb``.
"""

import hashlib
import json
import os
import re
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from course_kit.publishing.contents import notes_list
from course_kit.publishing.places import RECORD, require_copies
from course_kit.publishing.students import (
    STUB,
    grading_of,
    read_notebook,
    student_copy,
    title_of,
)
from course_lib.files import DataError, atomic_path

START, FURTHER = "start.ipynb", "further"
MOVED = {  # lessons whose files have another name today
    "07_is_attention_an_explanation.ipynb": "07_measuring_faithfulness.ipynb",
    "08_when_it_does_not_come_out.ipynb": "09_when_it_does_not_come_out.ipynb",
    "09_to_transformers.ipynb": "10_to_transformers.ipynb",
}
MADE, OFFERED, CARRIED = "made", "offered", "carried"  # carried: offered, with answers in it
LINK = re.compile(r"""(?<=\]\()[^)\s]+|(?<=\bsrc=["'])[^"']+|(?<=\bhref=["'])[^"']+""")
WELCOME = Path(__file__).with_name("start.md.in")  # the first page of the folder


def learner_copies(lessons: list[Path], folder: Path) -> dict[str, NotebookNode]:
    """Lessons and side notes without solutions, by their paths in ``folder``, from which their
    links work.

    A link to another one leads to its copy, made or not, and never to the solutions.
    """
    copies = {}
    for lesson in lessons:
        beside = lesson.parent.name == FURTHER
        name = f"{FURTHER}/{lesson.name}" if beside else lesson.name
        copies[name] = _moved_copy(lesson, lesson.parents[beside], (folder / name).parent)
    return copies


def _moved_copy(lesson: Path, home: Path, folder: Path) -> NotebookNode:
    """A copy whose links to what is not copied from ``home`` work from another folder."""
    copied = {path.resolve() for path in (*home.glob("*.ipynb"), *home.glob(f"{FURTHER}/*.ipynb"))}

    def moved(match: re.Match) -> str:
        parts = urlsplit(match[0])
        target = lesson.parent / unquote(parts.path)
        if parts.scheme or not parts.path or not target.exists() or target.resolve() in copied:
            return match[0]
        path = Path(os.path.relpath(target, folder)).as_posix()
        return parts._replace(path=quote(path)).geturl()

    copy = student_copy(read_notebook(lesson), lesson.name)
    for cell in copy.cells:
        if cell.cell_type == "markdown":
            cell.source = LINK.sub(moved, cell.source)
    return copy


def start_notebook(lessons: list[Path], notes: Sequence[Path] = ()) -> NotebookNode:
    """Where a learner begins: the lessons in order, and a cell that shows what is solved."""
    titles = [(lesson.name, title_of(read_notebook(lesson), lesson.stem)) for lesson in lessons]
    listed = "\n".join(
        f"{int(name[:2])}. [{title.partition(' · ')[2]}]({name})" for name, title in titles
    )
    beside = notes_list(notes).replace("](", f"]({FURTHER}/")
    page = WELCOME.read_text(encoding="utf-8").rstrip()
    code = "from course_kit import publishing\n\npublishing.show_progress()"
    cells = [
        new_markdown_cell(page.format(lessons=listed, notes=beside), id="order"),
        new_code_cell(code, id="progress"),
    ]
    return new_notebook(cells=cells)


def write_copies(copies: dict[str, NotebookNode], folder: Path) -> list[str]:
    """Make, renew or keep the copy of every name in ``folder``; no work of a learner is replaced.

    Everything there is read before anything is written. Returns what to tell the learner. Raises
    ``DataError`` for a record, a copy or an offered lesson that cannot be read.
    """
    record = _read_record(folder)
    there = {name: _read_versions(folder / name) for name in copies}
    told = []
    for old, new in MOVED.items():
        if new in copies and new not in there[new] and (folder / old).exists():
            there[new] |= {new: _read_versions(folder / old)[old]}
            (folder / old).rename(folder / new)
            record[new] = record.pop(old, {})
            told.append(f"{folder.name}/{old} is {new} now, as the lesson is")
    for name, fresh in copies.items():
        path = folder / name
        current = there[name].get(path.name)
        written, record[name] = _plan(path, fresh, there[name], record.get(name, {}))
        if written == path:
            _write(fresh, path)
        elif written:
            offered = _with_answers(fresh, current)
            record[name] |= {CARRIED: _digest(offered)}
            _write(offered, written)
            told.append(
                f"{folder.name}/{name} holds your work and stays; the newer lesson is "
                f"{written.name}: to go on with it, rename it to {name}, after giving your own "
                "another name"
            )
    with atomic_path(folder / RECORD) as temporary:
        temporary.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return told


def read_copies(folder: Path) -> list[dict[str, NotebookNode]]:
    """For each lesson in order, its copy and the newer lessons beside it, by file name, the copy
    first; without what is not there any more."""
    require_copies(folder)
    names = sorted(name for name in _read_record(folder) if name != START)
    return [versions for name in names if (versions := _read_versions(folder / name))]


def _plan(
    path: Path, fresh: NotebookNode, versions: dict[str, NotebookNode], entry: dict[str, str]
) -> tuple[Path | None, dict[str, str]]:
    """Where the fresh copy is to be written, and what the record then says."""
    newest = _digest(fresh)
    found = _digest(versions[path.name]) if path.name in versions else None
    if found in (None, newest, entry.get(MADE)):
        return (None if found == newest else path), {MADE: newest}
    if newest in (entry.get(MADE), entry.get(OFFERED)):
        return None, entry
    unused = (newest, entry.get(OFFERED), entry.get(CARRIED))  # nobody has worked in such an offer
    taken = {
        name
        for name, each in versions.items()
        if _digest(each) not in unused or any(cell.get("outputs") for cell in each.cells)
    }
    names = (f"{path.stem}.new{number if number > 1 else ''}.ipynb" for number in count(1))
    free = next(name for name in names if name not in taken)
    return path.with_name(free), entry | {OFFERED: newest}


def _with_answers(fresh: NotebookNode, current: NotebookNode) -> NotebookNode:
    """The newer lesson with a learner's answers in the cells of their exercises."""
    offered, answers = nbformat.from_dict(fresh), _answers(current)
    for grade_id, cell in _answers(offered).items():
        if grade_id in answers and STUB not in answers[grade_id].source:
            cell.source = answers[grade_id].source
    return offered


def _answers(notebook: NotebookNode) -> dict[str, NotebookNode]:
    """The cells to answer in, by exercise."""
    graded = [(grading_of(cell), cell) for cell in notebook.cells]
    return {about["grade_id"]: cell for about, cell in graded if about.get("solution")}


def _digest(notebook: NotebookNode) -> str:
    """Of the cells' kinds and sources, without empty cells: JupyterLab adds some at the end."""
    cells = [(cell.cell_type, cell.source.rstrip()) for cell in notebook.cells]
    return hashlib.sha256(json.dumps([cell for cell in cells if cell[1]]).encode()).hexdigest()


def _read_versions(path: Path) -> dict[str, NotebookNode]:
    """What there is of a copy and of the newer lessons beside it, by file name, the copy first."""
    offer = re.compile(rf"{re.escape(path.stem)}\.new\d*\.ipynb")
    beside = [each for each in path.parent.glob("*.ipynb") if offer.fullmatch(each.name)]
    paths = [path, *sorted(beside, key=lambda each: (len(each.name), each.name))]
    try:
        return {each.name: read_notebook(each) for each in paths if each.exists()}
    except DataError as error:
        advice = "Nothing was changed. Move it elsewhere, and `make lab` makes a fresh copy."
        raise DataError(f"{error}. {advice}") from error


def _read_record(folder: Path) -> dict[str, dict[str, str]]:
    path = folder / RECORD
    try:
        record = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        return {name: dict(entry) for name, entry in record.items()}
    except (ValueError, TypeError, AttributeError) as error:
        raise DataError(
            f"{path} is damaged. Nothing was changed. Delete it: your copies stay, and today's "
            "lesson is put beside each one that differs from it."
        ) from error


def _write(notebook: NotebookNode, path: Path) -> None:
    """With what JupyterLab adds on opening a notebook, else it would count as changed at once."""
    from ipykernel import ipkernel, kernelspec  # imported here: they take a while

    kernel = {"display_name": kernelspec.get_kernel_dict()["display_name"]}
    kernel |= {"language": "python", "name": kernelspec.KERNEL_NAME}
    info = ipkernel.IPythonKernel.language_info
    notebook.metadata |= nbformat.from_dict({"kernelspec": kernel, "language_info": info})
    with atomic_path(path) as temporary:
        nbformat.write(notebook, temporary)
