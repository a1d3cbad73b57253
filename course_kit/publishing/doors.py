"""Badges that open the lessons elsewhere, made from one setting: the repository's address.

It is ``repository-code`` in ``CITATION.cff``. While that is missing there are no badges; a fork
sets it to its own address and calls ``attention-course doors``.
"""

import argparse
import re
from pathlib import Path
from urllib.parse import quote

import nbformat
import yaml

from course_lib.files import REPOSITORY, DataError, atomic_path

SETTING = "CITATION.cff"
ADDRESS = re.compile(r"https://github\.com/([\w.-]+/[\w.-]+?)(?:\.git)?/?")
MARK = "<!-- doors -->"
BINDER, CODESPACES = "https://mybinder.org", "https://codespaces.new"


def address(root: Path = REPOSITORY) -> str | None:
    """``owner/name`` of the repository; None while nobody has set it, ``DataError`` for what is no
    address on GitHub, which both doors need."""
    value = yaml.safe_load((root / SETTING).read_text(encoding="utf-8")).get("repository-code")
    if not value:
        return None
    if found := ADDRESS.fullmatch(value):
        return found[1]
    raise DataError(f"{SETTING}: repository-code takes https://github.com/owner/name, got {value}")


def badges(name: str, path: str = "") -> str:
    """One line of markdown: the doors to a repository, or to a notebook in it."""
    place = f"?urlpath=lab/tree/{quote(path)}" if path else ""
    return (
        f"[![open in Binder]({BINDER}/badge_logo.svg)]({BINDER}/v2/gh/{name}/HEAD{place}) "
        f"[![open in Codespaces](https://github.com/codespaces/badge.svg)]({CODESPACES}/{name}) "
        f"{MARK}"
    )


def with_badges(text: str, line: str | None) -> str:
    """A text whose first line is its title, with this line of badges below it, or with none."""
    kept = [each for each in text.split("\n") if not each.endswith(MARK)]
    if kept != text.split("\n") and kept[1:2] == [""]:
        del kept[1]  # the blank line that came with the badges
    return "\n".join(kept if line is None else [kept[0], "", line, *kept[1:]])


def write_badges(root: Path = REPOSITORY) -> list[Path]:
    """Put today's badges into the README and the first cell of each lesson, or take them out;
    returns the files that changed."""
    name, changed = address(root), []
    for path in [root / "README.md", *sorted(root.glob("notebooks/[0-9][0-9]_*.ipynb"))]:
        before = path.read_text(encoding="utf-8")
        if path.suffix == ".md":
            after = with_badges(before, name and badges(name))
        else:
            notebook = nbformat.reads(before, as_version=4)
            line = name and badges(name, path.relative_to(root).as_posix())
            notebook.cells[0].source = with_badges(notebook.cells[0].source, line)
            after = nbformat.writes(notebook) + "\n"
        if after != before:
            with atomic_path(path) as temporary:
                temporary.write_text(after, encoding="utf-8")
            changed.append(path)
    return changed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """``attention-course doors`` takes none."""


def command(options: argparse.Namespace) -> int:
    """Write the badges and say where."""
    for path in write_badges():
        print(path.relative_to(REPOSITORY))
    return 0
