"""Running the missing runs of the grid by Snakemake, with one line of progress."""

import argparse
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import replace
from pathlib import Path
from typing import TextIO

import torch
from filelock import FileLock, Timeout
from tqdm import tqdm

from course_kit.research.grid.estimate import estimate, expected_seconds
from course_kit.research.grid.groups import (
    choose,
    clear_stale,
    describe,
    missing,
    prepare_data,
    read_grid,
    spec_of,
)
from course_lib.files import REPOSITORY, atomic_path
from course_lib.runs import records
from course_lib.runs.records import load_records, publish
from course_lib.runs.run import execute
from course_lib.runs.settings import SpecError
from course_lib.runs.spec import RunSpec
from course_lib.terminal import Line
from course_lib.training.checkpoints import History

EXPERIMENTS = REPOSITORY / "notebooks" / "experiments"
UNKNOWN = 60.0  # seconds that a run counts of which nothing is known
MEMORY_MB = 6000  # for each process; SANet on IMDb used 3.9 GB, including files in memory


def note_progress(folder: Path, epochs: int) -> Callable[[History], None]:
    """A function that a run calls after each epoch, to write how far it is."""

    def note(history: History) -> None:
        with atomic_path(folder / "progress") as temporary:
            temporary.write_text(str(len(history.epochs) / epochs))

    return note


def progress(name: str) -> float:
    """How much of the run with that id is done, from 0 to 1, as a share of its planned epochs."""
    folder = records.RUNS / name
    if (folder / "record.json").exists():
        return 1.0
    try:
        return float((folder / "progress").read_text())
    except (OSError, ValueError):
        return 0.0


def run_groups(
    groups: list[str], again: bool = False, on: str = "", snakemake: Iterable[str] = ()
) -> list[str]:
    """Run what is missing of some groups, as many at a time as fit; returns the ids that failed.

    ``on`` names a profile (a folder in ``profiles/``, or any folder) for running elsewhere;
    ``snakemake`` are further arguments of Snakemake. One failure does not stop the others.
    What it will cost is printed first. Raises ``SpecError`` before anything starts if any entry of
    the grid is wrong or data of a run cannot be had.
    """
    specs, place = choose(groups), _place(on)
    for line in clear_stale(specs):
        print(line, file=sys.stderr)
    to_run = missing(specs, again)
    print(f"{len(specs) - len(to_run)} of {len(specs)} runs are done")
    if not to_run:
        return []
    print(estimate(to_run, load_records()), flush=True)
    prepare_data(to_run)
    records.RUNS.mkdir(exist_ok=True)
    for spec in to_run:  # a mark without a record, which somebody removed
        (records.RUNS / spec.id / "done").unlink(missing_ok=True)
    console = records.RUNS / "snakemake.log"
    succeeded = _snakemake(
        [*place, *snakemake, "--config", f"groups={','.join(groups)}", f"again={again}"],
        console,
        to_run,
    )
    failures = [spec.id for spec in missing(to_run, again)]
    for name in failures:
        print(f"{name} failed: {_last_words(name)}", file=sys.stderr)
    if not failures and not succeeded:
        raise SpecError(f"snakemake failed; {console} says why")
    return failures


def _snakemake(arguments: list[str], console: Path, specs: list[RunSpec]) -> bool:
    """Run Snakemake, with its output in ``console`` and progress on the terminal; True on success.

    It runs in this process, so that killing this process also ends Snakemake; otherwise it would
    start further jobs and remove records that a restart has made since.
    """
    from snakemake.cli import main as snakemake  # slow to import, and only needed here

    places = ["--directory", str(records.RUNS), "--snakefile", str(EXPERIMENTS / "Snakefile")]
    terminal, ended = sys.stderr, threading.Event()
    watch = threading.Thread(target=_watch, args=(ended, specs, terminal))
    watch.start()
    try:
        with console.open("w") as log, redirect_stdout(log), redirect_stderr(log):
            snakemake([*SNAKEMAKE, *places, *arguments])
    except SystemExit as end:
        return not end.code
    finally:
        ended.set()
        watch.join()


# Locks and marks of unfinished jobs would outlive a kill; records appear whole and need neither.
SNAKEMAKE = (
    "--keep-going", "--nolock", "--rerun-incomplete", "--rerun-triggers", "mtime",
    "--scheduler", "greedy",
)  # fmt: skip


def _place(on: str) -> list[str]:
    """Snakemake's arguments for where to run: on all of this machine, or as a profile says."""
    if on:
        profile = EXPERIMENTS / "profiles" / on
        folder = profile if profile.is_dir() else Path(on).resolve()
        if not (folder / "config.yaml").is_file():
            raise SpecError(f"no profile {on!r}: {folder} holds no config.yaml")
        return ["--workflow-profile", str(folder)]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 10**6
    limits = [f"mem_mb={memory}", f"gpu={max(1, torch.cuda.device_count())}"]
    return ["--workflow-profile", "none", "--cores", "all", "--resources", *limits]


def _watch(ended: threading.Event, specs: list[RunSpec], terminal: TextIO) -> None:
    """Show one line for all runs, with the time left, until they have ended."""
    finished = load_records()
    weights = {spec.id: expected_seconds(spec, finished) or UNKNOWN for spec in specs}
    line, start, before = Line(terminal), time.monotonic(), _share(weights)
    often = 1 if line.live else 60  # seconds; a log gets fewer lines
    while not ended.wait(often):
        line.put(_progress_line(weights, time.monotonic() - start, before))
    line.clear()
    line.say(_progress_line(weights, time.monotonic() - start, before))


def _progress_line(weights: dict[str, float], elapsed: float, before: float) -> str:
    """How many runs are done, and how long the rest will take at the rate since ``before``."""
    count = sum(progress(name) == 1 for name in weights)
    return tqdm.format_meter(
        n=_share(weights), total=100, elapsed=elapsed, initial=before, bar_format=BAR,
        prefix=f"{count} of {len(weights)} runs",
    )  # fmt: skip


BAR = "{desc} {percentage:3.0f}%|{bar:30}| {elapsed}, {remaining} left"


def _share(weights: dict[str, float]) -> float:
    """How much of all runs is done in percent, each weighted by its expected seconds."""
    seconds_done = sum(seconds * progress(name) for name, seconds in weights.items())
    return 100 * seconds_done / sum(weights.values())


def _last_words(name: str) -> str:
    """The last line of a failed run's console, and where its notebook is."""
    folder = records.RUNS / name
    try:
        lines = (folder / "console.log").read_text(encoding="utf-8").strip().splitlines()
    except OSError:
        lines = []
    logs = [path for path in (folder / "run.ipynb", folder / "console.log") if path.exists()]
    logs = logs or [records.RUNS / "snakemake.log"]
    return f"{lines[-1] if lines else 'it was not started'}\n  see {' and '.join(map(str, logs))}"


def run_one(name: str) -> int:
    """Execute one run of the grid; if it fails, the last line printed says why."""
    from papermill.exceptions import PapermillExecutionError  # slow to import, and only needed here

    try:
        with own_device(spec_of(name)) as spec:
            execute(spec)
    except PapermillExecutionError as error:
        print(f"cell {error.cell_index}: {error.ename}: {error.evalue}", file=sys.stderr)
        return 1
    return 0


@contextmanager
def own_device(spec: RunSpec) -> Iterator[RunSpec]:
    """The spec on a GPU that no other run of the grid uses, where this machine has several.

    If all are in use, runs share them: Snakemake's ``gpu`` resource limits the number of runs.
    """
    count = torch.cuda.device_count()
    if spec.device != "auto" or count < 2:
        yield spec
        return
    records.RUNS.mkdir(exist_ok=True)
    for number in range(count):
        lock = FileLock(records.RUNS / f".gpu{number}.lock", timeout=0)
        with suppress(Timeout), lock:
            yield replace(spec, device=f"cuda:{number}")
            return
    yield spec


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``attention-course grid``."""
    commands = parser.add_subparsers(dest="action", required=True)
    commands.add_parser("status", help="what is done and what is missing, group by group")
    several = commands.add_parser("run", help="run what is missing of some groups")
    several.add_argument("groups", nargs="+")
    several.add_argument("--on", default="", metavar="PROFILE", help="elsewhere, e.g. slurm")
    several.add_argument("--again", action="store_true", help="also what only results/ holds")
    several.add_argument("--publish", action="store_true", help="copy the records to results/")
    several.set_defaults(further=[])  # unknown arguments go to Snakemake
    one = commands.add_parser("one", help="one run of the grid (what the Snakefile calls)")
    one.add_argument("id")


def command(options: argparse.Namespace) -> int:
    """Describe the groups, run what is missing of some, or run one by its id."""
    if options.action == "status":
        print(describe(read_grid()))
        return 0
    if options.action == "one":
        return run_one(options.id)
    failures = run_groups(options.groups, options.again, options.on, options.further)
    if options.publish:
        for path in publish_all(choose(options.groups)):
            print(path.relative_to(REPOSITORY))
    return 1 if failures else 0


def publish_all(specs: Iterable[RunSpec]) -> list[Path]:
    """Publish every run that was finished here."""
    return [publish(spec) for spec in specs if (records.RUNS / spec.id / "record.json").exists()]
