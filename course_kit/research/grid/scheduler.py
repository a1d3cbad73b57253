"""Running the missing runs of the grid by Snakemake, with one bar of progress."""

import argparse
import os
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import replace
from pathlib import Path

import torch
from filelock import FileLock, Timeout
from tqdm import tqdm

from course_kit.research.grid import groups as grid
from course_kit.research.grid.groups import choose, missing
from course_lib.files import REPOSITORY
from course_lib.runs import folders
from course_lib.runs.records import publish
from course_lib.runs.run import execute
from course_lib.runs.settings import SpecError
from course_lib.runs.spec import Plan

EXPERIMENTS = REPOSITORY / "notebooks" / "experiments"
MEMORY_MB = 6000  # for each process; SANet on IMDb used 3.9 GB, including files in memory
# Locks and marks of unfinished jobs would outlive a kill; records appear whole and need neither.
SNAKEMAKE = (
    "--keep-going",
    "--nolock",
    "--rerun-incomplete",
    "--rerun-triggers",
    "mtime",
    "--scheduler",
    "greedy",
)


def run_groups(
    groups: list[str], again: bool = False, on: str = "", snakemake: Iterable[str] = ()
) -> list[str]:
    """Run what is missing of some groups, as many at a time as fit; returns the ids that failed.

    ``on`` names a profile (a folder in ``profiles/``, or any folder) for running elsewhere;
    ``snakemake`` are further arguments of Snakemake. One failure does not stop the others. Raises
    ``SpecError`` or ``DataError`` before anything starts if any entry of the grid is wrong or data
    of a run cannot be had.
    """
    plans, place = choose(groups), _place(on)
    for line in grid.clear_stale(plans):
        print(line, file=sys.stderr)
    to_run = missing(plans, again)
    print(f"{len(plans) - len(to_run)} of {len(plans)} runs are done", flush=True)
    if not to_run:
        return []
    grid.prepare_data(to_run)
    for plan in to_run:
        folder = folders.RUNS / plan.id
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "done").unlink(missing_ok=True)  # a mark whose record somebody removed
    chosen = ["--config", f"groups={','.join(groups)}", f"again={again}"]
    succeeded = _snakemake([*place, *snakemake, *chosen], to_run)
    failures = [plan.id for plan in missing(to_run, again)]
    for name in failures:
        print(f"{name} failed: {_last_words(folders.RUNS / name)}", file=sys.stderr)
    if not failures and not succeeded:
        raise SpecError(f"snakemake failed; {folders.RUNS / 'snakemake.log'} says why")
    return failures


def _snakemake(arguments: list[str], plans: list[Plan]) -> bool:
    """Run Snakemake with its output in a log and a bar on the terminal; True on success.

    It runs in this process, so that killing this process also ends Snakemake; otherwise it would
    start further jobs and remove records that a restart has made since.
    """
    from snakemake.cli import main as snakemake  # slow to import, and only needed here

    places = ["--directory", str(folders.RUNS), "--snakefile", str(EXPERIMENTS / "Snakefile")]
    bar, ended = tqdm(total=len(plans), unit="run", file=sys.stderr), threading.Event()
    watch = threading.Thread(target=_watch, args=(bar, ended, plans))
    watch.start()
    try:
        log = (folders.RUNS / "snakemake.log").open("w")
        with log, redirect_stdout(log), redirect_stderr(log):
            snakemake([*SNAKEMAKE, *places, *arguments])
    except SystemExit as end:
        return not end.code
    finally:
        ended.set()
        watch.join()


def _watch(bar: tqdm, ended: threading.Event, plans: list[Plan]) -> None:
    """Show how many runs are done, a begun one by the share of its epochs, until all have ended."""
    last = False
    while not last:
        last = ended.wait(1)
        with suppress(OSError, ValueError):  # a terminal that has gone away stops no run
            bar.n = round(sum(progress(plan.id) for plan in plans), 2)
            bar.refresh()
    with suppress(OSError, ValueError):
        bar.close()


def progress(name: str) -> float:
    """How much of the run with that id is done, from 0 to 1, as a share of its planned epochs."""
    folder = folders.RUNS / name
    if (folder / "record.json").exists():
        return 1.0
    try:
        return float((folder / "progress").read_text())
    except (OSError, ValueError):
        return 0.0


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


def _last_words(folder: Path) -> str:
    """The last line of a failed run's console, and where to read more."""
    logs = [path for path in (folder / "run.ipynb", folder / "console.log") if path.exists()]
    lines = logs[-1].read_text(encoding="utf-8").split("\n") if logs else []
    said = next((line for line in reversed(lines) if line.strip()), "it was not started")
    return f"{said}\n  see {' and '.join(map(str, logs or [folder.parent / 'snakemake.log']))}"


def run_one(name: str) -> int:
    """Execute one run of the grid; if it fails, the last line printed says why."""
    from papermill.exceptions import PapermillExecutionError  # slow to import, and only needed here

    try:
        with free_device(grid.plan_of(name)) as plan:
            execute(plan)
    except PapermillExecutionError as error:
        print(f"cell {error.cell_index}: {error.ename}: {error.evalue}", file=sys.stderr)
        return 1
    return 0


@contextmanager
def free_device(plan: Plan) -> Iterator[Plan]:
    """The run on a GPU that no other run of the grid uses, where this machine has several.

    If all are in use, runs share them: Snakemake's ``gpu`` resource limits the number of runs.
    """
    count = torch.cuda.device_count() if plan.spec.device == "auto" else 0
    for number in range(count if count > 1 else 0):
        with suppress(Timeout), FileLock(folders.RUNS / f".gpu{number}.lock", timeout=0):
            yield replace(plan, spec=replace(plan.spec, device=f"cuda:{number}"))
            return
    yield plan


def command(options: argparse.Namespace) -> int:
    """Describe the groups, run what is missing of some, or run one by its id."""
    if not options.action:
        print(options.overview())
        return 0
    if options.action == "status":
        every = grid.read_grid()
        choose(options.groups, every)  # refuses unknown ones
        print(grid.describe({name: every[name] for name in options.groups or every}))
        return 0
    if options.action == "one":
        return run_one(options.id)
    failures = run_groups(options.groups, options.again, options.on, options.further)
    if options.publish:
        for path in publish_all(choose(options.groups)):
            print(path.relative_to(REPOSITORY))
    return 1 if failures else 0


def publish_all(plans: Iterable[Plan]) -> list[Path]:
    """Publish every run that was finished here."""
    return [publish(plan) for plan in plans if (folders.RUNS / plan.id / "record.json").exists()]
