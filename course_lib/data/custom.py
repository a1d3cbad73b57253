"""How settings name what is on somebody's disk and not in the catalog.

A name holds nothing of one machine: the file's own name and the beginning of a sha256, such as
``reviews.csv@0123456789ab``.
"""

import re
from functools import cache
from pathlib import Path

from course_lib.files import data_root, file_digest

CUSTOM = re.compile(r"[\w.-]{1,60}@[0-9a-f]{12}")
NOT_IN_NAMES = re.compile(r"[^\w.-]")
TEXT_FORMAT = 1  # of prepared custom texts; raise it when reading them changes


def custom_name(file: str, digest: str) -> str:
    """The name that settings give a file of that name and sha256."""
    return f"{NOT_IN_NAMES.sub('_', file)[-60:]}@{digest[:12]}"


def custom_folder(name: str, root: Path | None = None) -> Path:
    """Where the prepared texts of that name are or will be in the cache."""
    digest = name.partition("@")[2]
    return (root or data_root()) / "prepared" / f"text-{digest}-v{TEXT_FORMAT}"


def unchanged_digest(path: Path) -> str:
    """The file's sha256, computed once in a process as long as its size and time stay."""
    about = path.stat()
    return _digest(str(path.resolve()), about.st_size, about.st_mtime_ns)


@cache
def _digest(path: str, size: int, modified: int) -> str:
    return file_digest(Path(path))
