"""Files that appear whole or not at all, and the places where the project keeps its own."""

import errno
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from course_lib.checking import CourseError

_PARENT = Path(__file__).resolve().parents[1]
# an installed package lies among others: what it makes goes where it is used
REPOSITORY = _PARENT if (_PARENT / "pyproject.toml").is_file() else Path.cwd()
DISK_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
NOT_ALLOWED = {errno.EACCES, errno.EPERM, errno.EROFS}
NO_FOLDER = {errno.ENOTDIR, errno.EEXIST}  # a file stands where a folder should be
WORKROOM = ".attention-course-writing-"  # begins the name of each temporary folder of ours
# what JSON, NumPy and ``datasets`` raise for files that are not what was written
DAMAGE = (OSError, ValueError, TypeError, KeyError, IndexError, AttributeError)
# how safetensors and torch.save report a full disk; they raise no OSError
NATIVE_DISK_FULL = re.compile(r"os error (?:27|28|122)|inline_container.*unexpected pos")


class DataError(CourseError, ValueError):
    """Data that is missing, damaged, not what it should be, or that cannot be written."""


def data_root() -> Path:
    """The folder of downloads and caches: ``COURSE_DATA_DIR``, else ``data/``. A relative path
    begins at the repository, so that notebooks, which run in other folders, mean the same."""
    return REPOSITORY / Path(os.environ.get("COURSE_DATA_DIR") or "data").expanduser()


def prepared_folder(name: str) -> Path:
    """Where in that folder something is kept in the form in which it is used."""
    return data_root() / "prepared" / name


@contextmanager
def atomic_path(target: Path) -> Iterator[Path]:
    """Give a temporary path that becomes ``target`` (a file or a folder) when the block ends well.

    On an error it is removed, so nothing half-written ever has the final name. A file is replaced,
    a link stays and what it points to is replaced, a folder that holds something is never replaced.
    ``DataError`` says what to do where the target cannot be written.
    """
    workroom = None
    try:
        target = Path(os.path.realpath(target)) if target.is_symlink() else target
        if target.is_symlink():
            raise DataError(f"cannot write {target}: this link leads to itself")
        taken = target.is_dir() and any(target.iterdir())
        target.parent.mkdir(parents=True, exist_ok=True)
        workroom = Path(tempfile.mkdtemp(prefix=WORKROOM, dir=target.parent))
        yield workroom / target.name
        _move(workroom / target.name, target, taken)
    except Exception as error:
        if not _cannot_write(error, target, workroom):
            raise
        raise DataError(
            f"cannot write {target} ({error}). Nothing of it was kept. Free some space or allow "
            "writing there; COURSE_DATA_DIR moves the data folder to another disk."
        ) from error
    finally:
        if workroom:
            shutil.rmtree(workroom, ignore_errors=True)


def _move(made: Path, target: Path, taken: bool) -> None:
    """Give what was made its final name. A folder that another process finished meanwhile is as
    good as ours and stays; one that was ``taken`` before is not."""
    if target.is_dir() and (taken or not made.is_dir()):
        raise DataError(f"cannot write {target}: a folder stands there. Name another place.")
    try:
        made.replace(target)
    except OSError:
        if not target.is_dir():
            raise


def write_text(path: Path, text: str) -> None:
    """Write a text file in UTF-8, whole or not at all, and read it back before it gets its name."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
        if temporary.read_bytes() != text.encode():
            raise DataError(f"cannot write {path}: the disk gives back something else")


def check_free(path: Path, mark: str = "", advice: str = "") -> None:
    """Raise ``DataError`` if something stands at a path that we did not write: a file of ours has
    ``mark`` among its first 4,000 bytes. Without a ``mark``, any file is somebody else's."""
    if not os.path.lexists(path):
        return
    if mark and path.is_file():
        with path.open("rb") as file:
            if mark.encode() in file.read(4000):
                return
    raise DataError(f"{path} exists already: move it, or name another file{advice}")


def clear_leftovers(folder: Path) -> None:
    """Remove the temporary folders that killed writers of ours left in ``folder``.

    Nothing may be writing there.
    """
    for workroom in folder.glob(f"{WORKROOM}*/"):
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


def unchanged_digest(path: Path) -> str:
    """Return the file's sha256, computed once in a process while its size and time stay."""
    about = path.stat()
    return _unchanged_digest(str(path.resolve()), about.st_size, about.st_mtime_ns)


@cache
def _unchanged_digest(path: str, size: int, modified: int) -> str:
    return file_digest(Path(path))


def _cannot_write(error: Exception, target: Path, workroom: Path | None) -> bool:
    """Whether the disk is full or does not let us write here, and not what is written is wrong."""
    if not isinstance(error, OSError):
        return not isinstance(error, DataError) and bool(NATIVE_DISK_FULL.search(str(error)))
    named = {Path(name) for name in (error.filename, error.filename2) if isinstance(name, str)}
    ours = not named or any(
        name in (target, *target.parents) or (workroom and name.is_relative_to(workroom))
        for name in named
    )
    return error.errno in DISK_FULL or (error.errno in NOT_ALLOWED | NO_FOLDER and ours)
