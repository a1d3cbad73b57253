"""Whose submission a notebook is, by the names of its file and folder.

Browsers, learning platforms and Jupyter mark copies of a file: ``02_attention (1).ipynb``,
``02_attention-1.ipynb``, ``02_attention-Copy1.ipynb``, ``Copy of 02_attention.ipynb``. Behind the
lesson's name such a mark belongs to the file. Behind a learner's name it may be part of the name
(``team-1``), so it is only left out where somebody of the name without it has handed in, too. Files
that say nothing but the lesson (from different learners, perhaps) each have a row of their own.
"""

import re
import unicodedata
from pathlib import Path

from course_kit.publishing.lessons import lesson_paths
from course_kit.publishing.workspace import MOVED
from course_lib.terminal import plain

COPY = r"(?: ?\(\d+\)|-\d+|[ _-]+(?:copy|kopie|copie|copia)[ _]?\d*|\.new\d*)+$"
COPY_OF = r"^(?:copy of|kopie von|copie de|copia de) "
BETWEEN = " _-"  # what stands between a learner's name and the lesson's


def submissions(folder: Path) -> dict[str, list[Path]]:
    """The notebooks in a folder by learner: the subfolder's name, or the file's without the
    lesson's, as in ``ann/02_attention.ipynb`` and ``ann_02_attention.ipynb``."""
    named: dict[str, list[Path]] = {}
    bare: dict[str, list[Path]] = {}  # files without a learner's name, which stay apart
    for path in sorted(folder.rglob("*.ipynb")):
        parts = path.relative_to(folder).parts
        if not path.is_file() or path.is_symlink() or any(part[0] == "." for part in parts):
            continue
        name = _clean(parts[0]) if len(parts) > 1 else _learner(_clean(path.stem))
        if name:
            named.setdefault(name, []).append(path)
        else:
            bare.setdefault(_clean(path.stem) or path.stem, []).append(path)
    found: dict[str, list[Path]] = {}
    for name, paths in sorted(named.items(), key=lambda item: len(item[0])):  # originals first
        original = re.sub(COPY, "", name, flags=re.IGNORECASE)
        found.setdefault(original if original in named else name, []).extend(paths)
    for name, paths in bare.items():
        found.setdefault(name, []).extend(paths)
    return dict(sorted(found.items()))


def _clean(name: str) -> str:
    """The name in one normal form of Unicode, without what a terminal would act on."""
    return plain(unicodedata.normalize("NFC", name))


def _learner(stem: str) -> str:
    """What is left of a file's name without the lesson's and the mark of a copy behind it."""
    stems = "|".join(re.escape(name) for name in _lesson_names())
    stem = re.sub(COPY_OF, "", stem, flags=re.IGNORECASE)
    stem = re.sub(rf"({stems}){COPY}", r"\1", stem, flags=re.IGNORECASE)
    return re.sub(stems, "", stem, count=1, flags=re.IGNORECASE).strip(BETWEEN)


def _lesson_names() -> list[str]:
    """The lessons' names of today and of earlier, without what ends them."""
    return sorted({*(path.stem for path in lesson_paths()), *(Path(name).stem for name in MOVED)})
