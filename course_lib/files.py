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
# what safetensors and torch.save say of a full disk, which is no OSError with them
NATIVE_DISK_FULL = re.compile(r"os error (?:27|28|122)|inline_container.*unexpected pos")


class DataError(ValueError):
    """Data that is missing, damaged, not what it should be, or that cannot be written."""


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
        if not target.is_dir():  # a folder that another process finished meanwhile is as good
            _to_disk(workroom / target.name)
            (workroom / target.name).replace(target)
            _to_disk(target.parent, whole=False)
    except Exception as error:
        native = NATIVE_DISK_FULL.search(str(error))
        if getattr(error, "errno", None) not in CANNOT_WRITE and not native:
            raise
        reason = f"the disk may be full ({error})" if native else error.strerror
        raise DataError(
            f"cannot write {target}: {reason}. Nothing of it was kept. Free some space or "
            "allow writing there; COURSE_DATA_DIR moves the data to another folder."
        ) from error
    finally:
        if workroom:
            shutil.rmtree(workroom, ignore_errors=True)


def clear_leftovers(folder: Path) -> None:
    """Remove what writers that were killed left under temporary names in a folder that nobody
    writes to now."""
    for workroom in folder.glob(".*.*/"):
        shutil.rmtree(workroom)


def check_space(folder: Path, needed: int) -> None:
    """Raise ``DataError`` unless the disk of ``folder`` has room for ``needed`` bytes."""
    present = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    free = shutil.disk_usage(present).free
    if free < needed:
        raise DataError(
            f"{folder}: preparing takes about {needed / 1e9:.1f} GB for a while, and "
            f"{free / 1e9:.1f} GB are free. Free some space, or set COURSE_DATA_DIR to a folder on "
            "another disk."
        )


def file_digest(path: Path, algorithm: str = "sha256") -> str:
    """The digest of a file, hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest()


def _to_disk(path: Path, whole: bool = True) -> None:
    """Wait until the file, or the folder (``whole``: with all that it holds), is on the disk.

    Without that a power cut soon after the rename could leave an empty file of the final name.
    Windows cannot open a folder to wait for it, and does not need to.
    """
    if path.is_dir():
        for inner in path.iterdir() if whole else ():
            _to_disk(inner)
        if os.name == "nt":
            return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
