"""Files that appear whole or not at all, and the places where the project keeps its own."""

import errno
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
DISK_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
NOT_ALLOWED = {errno.EACCES, errno.EPERM, errno.EROFS}
NO_FOLDER = {errno.ENOTDIR, errno.EEXIST}  # a file stands where a folder should be
CANNOT_WRITE = DISK_FULL | NOT_ALLOWED | NO_FOLDER
# what JSON, NumPy and ``datasets`` raise for files that are not what was written
DAMAGE = (OSError, ValueError, TypeError, KeyError, IndexError, AttributeError)
# how safetensors and torch.save report a full disk; they raise no OSError
NATIVE_DISK_FULL = re.compile(r"os error (?:27|28|122)|inline_container.*unexpected pos")


class DataError(ValueError):
    """Data that is missing, damaged, not what it should be, or that cannot be written."""


def data_root() -> Path:
    """The folder of downloads and caches: ``COURSE_DATA_DIR``, else ``data/`` of the repository."""
    return Path(os.environ.get("COURSE_DATA_DIR") or REPOSITORY / "data")


def prepared_folder(name: str) -> Path:
    """Where in that folder something is kept in the form in which it is used."""
    return data_root() / "prepared" / name


@contextmanager
def atomic_path(target: Path) -> Iterator[Path]:
    """A temporary path that becomes ``target`` (a file or a folder) when the block ends well.

    On an error it is removed, so nothing half-written ever has the final name. A full disk or a
    missing permission comes out as ``DataError`` that says what to do.
    """
    workroom = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        workroom = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        yield workroom / target.name
        try:
            (workroom / target.name).replace(target)
        except OSError:
            if not target.is_dir():  # a folder that another process finished meanwhile is as good
                raise
    except Exception as error:
        if not _cannot_write(error):
            raise
        raise DataError(
            f"cannot write {target} ({error}). Nothing of it was kept. Free some space or allow "
            "writing there; COURSE_DATA_DIR moves the data folder to another disk."
        ) from error
    finally:
        if workroom:
            shutil.rmtree(workroom, ignore_errors=True)


def clear_leftovers(folder: Path) -> None:
    """Remove the temporary folders that killed writers left in ``folder``.

    Nothing may be writing there.
    """
    for workroom in folder.glob(".*.*/"):
        shutil.rmtree(workroom)


@contextmanager
def undamaged(folder: Path) -> Iterator[None]:
    """Turn what reading a damaged folder of the cache raises into a ``DataError`` that names it."""
    try:
        yield
    except DAMAGE as error:
        raise DataError(f"{folder}: damaged ({error}). Delete it and run again.") from error


def file_digest(path: Path, algorithm: str = "sha256") -> str:
    """The digest of a file, hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest()


def _cannot_write(error: Exception) -> bool:
    """Whether the disk is full or does not let us write, and not what is written is wrong."""
    if isinstance(error, OSError):
        return error.errno in CANNOT_WRITE
    return not isinstance(error, DataError) and bool(NATIVE_DISK_FULL.search(str(error)))
