"""How settings name what is on somebody's disk and not in the catalog, and how a table is read.

A name holds nothing of one machine: the file's own name and the beginning of a sha256, such as
``reviews.csv@0123456789ab``.
"""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from course_lib.files import DataError, file_digest, prepared_folder

CUSTOM = re.compile(r"[\w.-]{1,60}@[0-9a-f]{12}")
HUB = "hf:"  # begins the name of a dataset of the Hugging Face hub
NOT_IN_NAMES = re.compile(r"[^\w.-]")
FORMAT = 2  # of what is prepared from them; raise it when reading them changes
OFFERED = ("english", "unicode")  # of the tokenisers


@dataclass(frozen=True)
class Columns:
    """How a table is read: its columns of texts and labels, its ``encoding`` (None: detected), and
    the ``tokeniser`` of its texts, "english" or "unicode"."""

    text: str = "text"
    label: str = "label"
    encoding: str | None = None
    tokeniser: str = "english"


DEFAULT = Columns()


def custom_name(file: str, digest: str) -> str:
    """The name that settings give a file of that name and sha256."""
    return f"{NOT_IN_NAMES.sub('_', file)[-60:]}@{digest[:12]}"


def custom_folder(kind: str, name: str) -> Path:
    """Where what has that name is or will be in the cache: a "text", or vectors of one's "own"."""
    return prepared_folder(f"{kind}-{name.partition('@')[2]}-v{FORMAT}")


def present_folder(kind: str, name: str) -> Path:
    """The same; ``DataError`` where this machine has not got it."""
    folder = custom_folder(kind, name)
    if not folder.exists():
        raise DataError(
            f"{name}: not in the cache here; give the path of {name.partition('@')[0]} instead once"
            ", read as before, and a file of the same content gets the same name"
        )
    return folder


def unchanged_digest(path: Path) -> str:
    """The file's sha256, computed once in a process as long as its size and time stay."""
    about = path.stat()
    return _digest(str(path.resolve()), about.st_size, about.st_mtime_ns)


@cache
def _digest(path: str, size: int, modified: int) -> str:
    return file_digest(Path(path))
