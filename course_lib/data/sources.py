"""Getting a file: cache, mirror folder, canonical address, package registry, or a clear failure.

Whatever serves it, a file enters the cache only complete and verified: it is written under a
temporary name, its digest is checked, and then it is renamed.
"""

import os
import shutil
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlparse
from urllib.request import getproxies

import pooch

from course_lib.data.catalog import Card, Download, Source
from course_lib.data.registry import (
    CONNECT_SECONDS,
    STALL_SECONDS,
    package_address,
    pip_settings,
)
from course_lib.files import DISK_FULL, REPOSITORY, DataError, atomic_path, data_root, file_digest

pooch.get_logger().setLevel("WARNING")  # progress is shown; its notes would break into that line


class Unavailable(Exception):
    """This way of getting a file does not work here; the message says why, the next is tried."""


class NotObtained(DataError):
    """No source of a dataset works here; no file is damaged."""


def verify(path: Path, digest: str | None) -> None:
    """Raise ``DataError`` unless it is a file of the digest ``"algorithm:hexadecimal"``, if any."""
    algorithm, _, expected = (digest or "").partition(":")
    try:
        path.open("rb").close()
        actual = file_digest(path, algorithm) if digest else expected
    except OSError as error:
        raise DataError(
            f"{path}: cannot be read ({error.strerror}). Put a readable file of that name there."
        ) from error
    if actual != expected:
        raise DataError(
            f"{path}: {algorithm} is {actual}, expected {expected}: the file is damaged or another "
            "version. Delete it and run again."
        )


@dataclass(frozen=True)
class SourceFiles:
    """The verified files of one source of a card."""

    card: Card
    source: Source
    paths: tuple[Path, ...]


def obtain(card: Card, root: Path | None = None) -> SourceFiles:
    """The files of the first source that works: cache, then mirror, then the network in card order.

    Raises ``NotObtained`` that lists everything tried and how to supply a file by hand; a file that
    is there with a wrong digest is a ``DataError`` at once: fetching around it would hide it.
    """
    folder = (root or data_root()) / "downloads"
    attempts: list[str] = []
    for get in (_from_cache, _from_mirror, _from_network):
        for source in card.sources:
            try:
                paths = tuple(_get(download, folder, get) for download in source.downloads)
            except Unavailable as reason:
                attempts.append(str(reason))
            else:
                return SourceFiles(card, source, paths)
    names = " and ".join(item.filename for item in card.sources[-1].downloads)
    listing = "\n".join(f"  - {line}" for line in attempts)
    raise NotObtained(
        f"{card.name}: could not get {card.title}. Tried:\n{listing}\n"
        f"It needs {names} in {folder}. Put the file there by hand, or set "
        "COURSE_DATA_MIRROR to a folder that holds it, and run again."
    )


def _get(download: Download, folder: Path, get: Callable[[Download, Path], None]) -> Path:
    path = folder / download.filename
    if download.committed:
        return _committed(download)
    if not path.exists():
        get(download, path)
    verify(path, download.digest)
    return path


def _committed(download: Download) -> Path:
    """The file as this repository holds it; ``DataError`` says how to restore it."""
    path = REPOSITORY / download.committed
    try:
        verify(path, download.digest)
    except DataError as error:
        raise DataError(
            f"{path} is missing or not the committed file. "
            f"Restore it: git checkout -- {download.committed}"
        ) from error
    return path


def _from_cache(download: Download, target: Path) -> None:
    raise Unavailable(f"{download.filename}: not in {target.parent}")


def _from_mirror(download: Download, target: Path) -> None:
    mirror = os.environ.get("COURSE_DATA_MIRROR")
    if not mirror:
        raise Unavailable(f"{download.filename}: COURSE_DATA_MIRROR is not set")
    original = Path(mirror) / download.filename
    if not original.exists():
        raise Unavailable(f"{download.filename}: not in the mirror folder {mirror}")
    verify(original, download.digest)
    with atomic_path(target) as temporary:
        shutil.copyfile(original, temporary)


def _from_network(download: Download, target: Path) -> None:
    if download.url:
        _from_url(download, download.url, target)
    elif not download.requirement:
        raise Unavailable(f"{download.filename}: has no address, only a mirror folder can hold it")
    else:
        settings = pip_settings()
        try:
            address = package_address(download.filename, download.requirement, settings)
        except LookupError as error:
            raise Unavailable(f"{download.filename}: {error}") from error
        _from_url(download, address, target, settings.get("cert", True))


def _from_url(download: Download, url: str, target: Path, verify: str | bool = True) -> None:
    address = urlparse(url)
    # requests' own time-out does not bound a hanging name look-up; a proxy does the look-up itself
    port = address.port or (80 if address.scheme == "http" else 443)
    if not getproxies() and not _reachable(address.hostname, port):
        raise Unavailable(f"{download.filename}: {address.hostname} cannot be reached")
    with atomic_path(target) as temporary:
        try:
            pooch.retrieve(
                url,
                known_hash=download.digest,
                path=temporary.parent,
                fname=temporary.name,
                downloader=pooch.HTTPDownloader(
                    progressbar=True, timeout=(CONNECT_SECONDS, STALL_SECONDS), verify=verify
                ),
            )
        except Exception as error:  # every kind of network trouble: the next source may work
            if isinstance(error, OSError) and error.errno in DISK_FULL:
                raise
            raise Unavailable(f"{download.filename}: {url} failed: {error}") from error


def _reachable(host: str, port: int) -> bool:
    answer: list[bool] = []

    def knock() -> None:
        try:
            socket.create_connection((host, port), timeout=CONNECT_SECONDS).close()
            answer.append(True)
        except OSError:
            answer.append(False)

    thread = threading.Thread(target=knock, daemon=True)
    thread.start()
    thread.join(CONNECT_SECONDS + 1)
    return bool(answer and answer[0])
