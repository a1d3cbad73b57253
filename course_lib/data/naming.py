"""Names for settings of files that are not in the catalog, and how a table of texts is read.

A name consists of the file's own name and the beginning of a sha256, as in
``reviews.csv@0123456789ab``, so it is the same on every machine.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from course_lib.files import DataError, prepared_folder

CUSTOM = re.compile(r"[\w.-]{1,60}@[0-9a-f]{12}")
HUB = "hf:"  # begins the name of a dataset of the Hugging Face hub
NOT_IN_NAMES = re.compile(r"[^\w.-]")
FORMAT = 2  # of what is prepared from them; raise it when reading them changes
OFFERED = ("english", "unicode")  # of the tokenisers


@dataclass(frozen=True)
class Columns:
    """How a table is read: the names of its columns, its encoding, the tokeniser of its texts."""

    text: str = "text"
    label: str = "label"
    encoding: str | None = None  # None: told by the first bytes
    tokeniser: str = "english"  # one of OFFERED


DEFAULT = Columns()


def custom_name(file: str, digest: str) -> str:
    """Return the name for settings of a file with that name and sha256."""
    return f"{NOT_IN_NAMES.sub('_', file)[-60:]}@{digest[:12]}"


def custom_folder(kind: str, name: str) -> Path:
    """Return the cache's folder for that name; ``kind`` is "text", or "own" for vectors."""
    return prepared_folder(f"{kind}-{name.partition('@')[2]}-v{FORMAT}")


def present_folder(kind: str, name: str) -> Path:
    """Return the same folder; ``DataError`` if this machine does not have it."""
    folder = custom_folder(kind, name)
    if not folder.exists():
        raise DataError(
            f"{name}: not in the cache here; give the path of {name.partition('@')[0]} instead once"
            ", read as before, and a file of the same content gets the same name"
        )
    return folder
