"""Where a learner's copies of the lessons are; imports nothing that takes time."""

from pathlib import Path

from course_lib.files import REPOSITORY, DataError

STUDENTS = REPOSITORY / "students"
RECORD = ".copies.json"  # in a folder of copies: how each was made


def require_copies(folder: Path) -> None:
    """Raise ``DataError`` for a folder in which no copies were made."""
    if not (folder / RECORD).exists():
        raise DataError(f"{folder} holds no copies of the lessons; `make lab` makes them")
