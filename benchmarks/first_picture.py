"""From a fresh clone to the first picture: ``make look``, and ``make lab`` with lesson 00.

Each round clones this repository, as it is committed, into a temporary folder, with an empty home
and empty caches; package indexes and proxies are those of this machine.

``look``: seconds of ``make look``, and of Chromium, which is running, from there to the page with
its first card. ``lab``: seconds of the install that ``make lab`` makes (it ends with JupyterLab's
version, since nobody is there to close it), and of "Run All" in the learner's copy of lesson 00,
from the start of its kernel to the end of the cell tagged ``cover``.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from browsers import Open, running, version
from common import arguments, show, spread, write

from course_lib.files import REPOSITORY

LIMITS = {
    "look": {"ready_seconds": 10.0},
    "lab": {"ready_seconds": 120.0, "first_picture_seconds": 20.0},
}
SHOWN = """async () => {
  while (!document.querySelector(".card:not([hidden]) .most")?.checkVisibility())
    await new Promise((next) => setTimeout(next, 2));
  await new Promise(requestAnimationFrame);
}"""
RUN_ALL = """
import json, sys, time
import nbformat
from nbclient import NotebookClient
notebook = nbformat.read(sys.argv[1], as_version=4)
client = NotebookClient(notebook, timeout=None, allow_errors=True)
start = time.perf_counter()
with client.setup_kernel(cwd=sys.argv[2]):
    for place, cell in enumerate(notebook.cells):
        if cell.cell_type == "code":
            client.execute_cell(cell, place)
            if "cover" in cell.metadata.get("tags", []):
                break
    else:
        sys.exit("no cell is tagged cover")
seconds = time.perf_counter() - start
shows = [output.output_type for output in cell.outputs]
if "error" in shows or "display_data" not in shows and "execute_result" not in shows:
    sys.exit(f"the cell shows no picture: {shows}")
print(json.dumps(seconds))
"""
OURS = ("COURSE_", "PYTHON", "VIRTUAL_ENV", "XDG_", "HF_", "JUPYTER")  # what a newcomer has not set


def clean(home: Path) -> dict[str, str]:
    """The environment of somebody who has just cloned: nothing of ours, not even the Python that
    measures, and an empty home."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    ours = str(Path(sys.executable).parent)
    path = os.pathsep.join(each for each in kept["PATH"].split(os.pathsep) if each != ours)
    return kept | {"PATH": path, "HOME": str(home), "PIP_NO_CACHE_DIR": "1", "UV_NO_CACHE": "1"}


@contextmanager
def cloned() -> Iterator[tuple[Path, dict[str, str], float]]:
    """A fresh clone, the environment for it, and the seconds that cloning took."""
    with tempfile.TemporaryDirectory() as folder:
        home, clone = Path(folder) / "home", Path(folder) / "clone"
        home.mkdir()
        environment = clean(home)
        command = ["git", "clone", "--quiet", REPOSITORY.as_uri(), str(clone)]
        yield clone, environment, timed(command, REPOSITORY, environment)[0]


def timed(command: list[str], folder: Path, environment: dict[str, str]) -> tuple[float, str]:
    """Seconds of a command, and what it says. SystemExit if it fails."""
    start = time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)
    seconds = time.perf_counter() - start
    if done.returncode:
        print(done.stdout)
        raise SystemExit(f"{' '.join(command)[:80]} ended with status {done.returncode}")
    return seconds, done.stdout


def look(open_page: Open) -> dict[str, float]:
    """One round of ``make look``."""
    with cloned() as (clone, environment, clone_seconds):
        command = ["make", "look", "ARGS=--no-browser"]
        make_seconds, _ = timed(command, clone, environment)
        start = time.perf_counter()
        open_page((clone / "site" / "reading_room.html").as_uri())(SHOWN)
        page_seconds = time.perf_counter() - start
    return {
        "clone_seconds": clone_seconds,
        "make_look_seconds": make_seconds,
        "page_seconds": page_seconds,
        "ready_seconds": make_seconds + page_seconds,
    }


def lab() -> dict[str, float]:
    """One round of ``make lab`` and lesson 00."""
    with cloned() as (clone, environment, clone_seconds):
        install_seconds, _ = timed(["make", "lab", "ARGS=--version"], clone, environment)
        lesson = clone / "students" / "00_start_here.ipynb"
        command = [str(clone / ".venv/bin/python"), "-c", RUN_ALL, str(lesson), str(lesson.parent)]
        seconds = float(json.loads(timed(command, clone, environment)[1].splitlines()[-1]))
    return {
        "clone_seconds": clone_seconds,
        "install_seconds": install_seconds,
        "first_picture_seconds": seconds,
        "ready_seconds": install_seconds + seconds,
    }


def rounds_of(part: str, measure: Callable[[], dict[str, float]], rounds: int) -> dict[str, dict]:
    """Several rounds of a part, as a table of spreads."""
    found = [measure() for _ in range(rounds)]
    rows = {f"{part}: {name}": spread([each[name] for each in found]) for name in found[0]}
    show(rows)
    return {name: spread([each[name] for each in found]) for name in found[0]}


def main() -> None:
    """Measure, show, write."""
    parser = arguments(__doc__, rounds=3)
    parser.add_argument("--only", choices=LIMITS, help="this part, and write no record")
    chosen = parser.parse_args()
    figures = {}
    for part in [chosen.only] if chosen.only else LIMITS:
        if part == "look":
            with running() as open_page:
                figures[part] = rounds_of(part, lambda: look(open_page), chosen.rounds)
        else:
            figures[part] = rounds_of(part, lab, chosen.rounds)
        figures[part]["limits"] = LIMITS[part]
    if chosen.only:
        return
    figures["browser"] = version()
    write("first_picture", figures, 0, "the repository, cloned", os.cpu_count() or 1, "none")


if __name__ == "__main__":
    main()
