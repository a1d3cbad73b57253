"""The sandbox in which a submission runs, and the proof that it holds on this machine."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from course_lib.checking import CourseError
from course_lib.files import REPOSITORY, data_root

MOST_BYTES = 64 * 2**20  # that a submission may report, and in any file it writes
ROOM = "/tmp"  # a submission's own folder in the sandbox
INSIDE = [sys.executable, "-m", "course_kit.publishing.grading.inside"]
ADVICE = (
    "Marks need bubblewrap (`bwrap`, a package of that name in every Linux distribution) and a "
    "kernel that lets it make namespaces. With --without-isolation submissions run as you, with "
    "your files and your network: only for notebooks that you have read."
)


class NoIsolation(CourseError, RuntimeError):
    """This machine cannot isolate a submission; the message says what is missing."""


class Ended(NamedTuple):
    """What a sandboxed process ``said``, its exit ``status``, and whether it was too ``late``."""

    said: list[dict[str, Any]]
    status: int
    late: bool


def sandboxed(plan: dict[str, Any], hidden: Path, seconds: float, isolated: bool) -> Ended:
    """Run ``inside`` with a plan, for so many seconds at most; it cannot see what is ``hidden``."""
    with tempfile.TemporaryDirectory() as room, tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            [*_walls(hidden), *INSIDE] if isolated else INSIDE,
            stdin=subprocess.PIPE,
            stdout=said,
            stderr=subprocess.DEVNULL,
            env=_environment(ROOM if isolated else room),
            cwd=REPOSITORY / "notebooks",
            start_new_session=True,
        )
        late = False
        try:
            process.communicate(json.dumps(plan).encode(), timeout=seconds)
        except subprocess.TimeoutExpired:
            late = True
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # bwrap takes all its processes with it
            process.wait()
        said.seek(0)
        return Ended(_lines(said.read(MOST_BYTES)), process.returncode, late)


def prove(hidden: Path) -> None:
    """Try from inside what must be impossible; ``NoIsolation`` names what was possible."""
    if not shutil.which("bwrap"):
        raise NoIsolation(f"there is no bwrap on this machine. {ADVICE}")
    plan = {"probe": {"hidden": str(hidden), "tree": str(REPOSITORY)}}
    ended = sandboxed(plan, hidden, 600, True)
    if not ended.said or ended.status:
        raise NoIsolation(f"bwrap does not work on this machine. {ADVICE}")
    if possible := ended.said[0]["possible"]:
        raise NoIsolation(f"a sandboxed process {' and '.join(possible)}. {ADVICE}")


def _walls(hidden: Path) -> list[str]:
    """bwrap's arguments: all read-only, ``/tmp``, the home folder and ``runs/`` empty and its own,
    no network, no other process; what is ``hidden`` is empty, too."""
    runs = REPOSITORY / "runs"
    runs.mkdir(exist_ok=True)
    seen = {os.path.realpath(path) for path in (REPOSITORY, sys.prefix, sys.base_prefix)}
    made = [("--tmpfs", path) for path in (ROOM, os.path.realpath(Path.home()))]
    made += [("--ro-bind", path, path) for path in sorted(seen)]
    made += [("--tmpfs", os.path.realpath(path)) for path in (runs, hidden)]
    if (fetched := data_root() / "downloads").is_dir():  # what lessons would fetch, to read
        made.append(("--ro-bind", os.path.realpath(fetched), f"{ROOM}/data/downloads"))
    return [
        "bwrap",
        "--unshare-all",
        "--die-with-parent",
        "--new-session",
        "--cap-drop",
        "ALL",
        "--ro-bind",
        "/",
        "/",
        "--dev",
        "/dev",
        "--proc",
        "/proc",
        *(w for m in made for w in m),
        "--chdir",
        str(REPOSITORY / "notebooks"),
    ]


def _environment(home: str) -> dict[str, str]:
    return {
        "PATH": os.environ.get("PATH", ""),
        "LANG": "C.UTF-8",
        "HOME": home,
        "TMPDIR": home,
        "PYTHONPATH": str(REPOSITORY),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
        "MPLBACKEND": "agg",
        "MPLCONFIGDIR": home,
        "IPYTHONDIR": home,
        "COURSE_PROFILE": "smoke",
        "COURSE_DATA_DIR": f"{home}/data",
    }


def _lines(said: bytes) -> list[dict[str, Any]]:
    """The JSON objects among the lines; a submission may have written anything between them."""
    values = []
    for line in said.splitlines():
        try:
            values.append(json.loads(line))
        except (ValueError, RecursionError):
            continue
    return [value for value in values if isinstance(value, dict)]
