"""Notebooks executed as many at a time as there are cores, each kernel with one thread.

papermill changes the folder of its process, so each of them runs in a process of its own. Such a
process watches a pipe to the one that started it: when that pipe closes, because of an interrupt or
because its other end was killed, it ends its kernel and itself.
"""

import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import nbformat
from tqdm import tqdm

from course_kit.publishing import contents, lessons
from course_kit.publishing.lessons import Outcome
from course_lib.files import DataError, atomic_path

SPAWN = multiprocessing.get_context("spawn")  # a fork of a process with threads may hang
# an interrupt, the wish of another process, a closed terminal (which Windows does not tell)
ENDING = (signal.SIGINT, signal.SIGTERM, *filter(None, [getattr(signal, "SIGHUP", None)]))
ENDING_SECONDS = 30  # after which a process that has been told to end is killed


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass
class _Worker:
    """A process that executes one notebook after the other, and the ends of its pipes."""

    process: BaseProcess
    jobs: Connection
    life: Connection
    lesson: Path | None = None
    bar: tqdm | None = None


def execute_all(notebooks: list[Path], profile: str, views: str) -> Iterator[tuple[Path, Outcome]]:
    """Execute notebooks into ``lessons.EXECUTED``, longest first; yield each as it ends.

    Their views show themselves in the form ``views`` unless ``COURSE_HEATMAP`` names another. An
    error in one stops no other. When the iterator is closed, by an interrupt too, all kernels end,
    and what was not finished leaves no executed copy.
    """
    environment = {"COURSE_HEATMAP": os.environ.get("COURSE_HEATMAP") or views}
    waiting = deque(sorted(notebooks, key=contents.running_seconds, reverse=True))
    rows: list[_Worker | None] = [None] * min(cores(), len(notebooks))  # of the terminal
    done = 0
    try:
        while done < len(notebooks):
            for row, worker in enumerate(rows):
                if waiting and (worker is None or worker.lesson is None):
                    rows[row] = worker or _started(profile, environment)
                    _begin(rows[row], waiting.popleft(), row)
            busy = {each.jobs: row for row, each in enumerate(rows) if each and each.lesson}
            for jobs in wait(busy):
                worker = rows[busy[jobs]]
                if (outcome := _heard(worker)) is None:
                    continue
                done += 1
                worker.bar.close()
                said = lessons.summary([outcome])
                tqdm.write(f"{done:>2} of {len(notebooks)} · {said}", file=sys.stderr)
                lesson, worker.lesson = worker.lesson, None
                if not worker.process.is_alive():
                    rows[busy[jobs]] = None
                yield lesson, outcome
    finally:
        _end([worker for worker in rows if worker])


def _started(profile: str, environment: dict[str, str]) -> _Worker:
    jobs, theirs = SPAWN.Pipe()
    watched, life = SPAWN.Pipe(duplex=False)
    process = SPAWN.Process(target=_work, args=(theirs, watched, profile, environment))
    process.start()
    theirs.close()
    watched.close()
    return _Worker(process, jobs, life)


def _begin(worker: _Worker, lesson: Path, row: int) -> None:
    """Give a notebook to a worker, and a row of the terminal to its progress."""
    terminal = sys.stderr.isatty()
    if not terminal:
        print(f"{lesson.stem} …", file=sys.stderr, flush=True)
    worker.lesson = lesson
    name = f"{lesson.stem:<28}"
    worker.bar = tqdm(
        desc=name,
        bar_format="{desc} {bar} {n_fmt} of {total_fmt} cells, {elapsed}",
        position=row,
        leave=False,
        disable=not terminal,
        file=sys.stderr,
    )
    worker.jobs.send((lesson, lessons.EXECUTED / lesson.name))


def _heard(worker: _Worker) -> Outcome | None:
    """Take a message of a worker: how many cells are done, or the outcome."""
    try:
        heard = worker.jobs.recv()
    except (EOFError, OSError):
        worker.process.join()
        status = worker.process.exitcode
        return Outcome(worker.lesson.stem, 0.0, [f"its process ended with exit status {status}"])
    if isinstance(heard, Outcome):
        return heard
    worker.bar.total, cells = heard[1], heard[0]
    worker.bar.update(cells - worker.bar.n)
    return None


def _end(workers: list[_Worker]) -> None:
    """End processes and their kernels."""
    for worker in workers:
        worker.life.close()
        if worker.bar is not None:
            worker.bar.close()
    for worker in workers:
        worker.process.join(ENDING_SECONDS)
        worker.process.kill()
        worker.process.join()
        worker.jobs.close()


def _work(jobs: Connection, life: Connection, profile: str, environment: dict[str, str]) -> None:
    """Execute the notebooks that are sent; what runs in a worker's process."""
    os.environ |= environment | {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    with suppress(KeyboardInterrupt, EOFError, OSError):
        _interrupt_with(life, *ENDING)
        while True:
            lesson, output = jobs.recv()
            jobs.send(lessons.execute(lesson, output, profile, _Cells(jobs)))


def _interrupt_once(*_: object) -> None:
    """Interrupt; a terminal tells all of its processes, and so does the one that started this."""
    for each in ENDING:
        signal.signal(each, signal.SIG_IGN)
    raise KeyboardInterrupt


def _interrupt_with(life: Connection, *signals: signal.Signals) -> None:
    """Interrupt this process once: at a signal, or when the other end of a pipe is closed.

    The interrupt may come at once, so the caller must expect it when it calls this.
    """
    for each in signals:
        signal.signal(each, _interrupt_once)
    threading.Thread(target=_watch, args=(life,), daemon=True).start()


def _watch(life: Connection) -> None:
    """Interrupt this process when the one that started it has closed its end of a pipe."""
    with suppress(EOFError, OSError):
        life.recv()
    os.kill(os.getpid(), signal.SIGINT)


class _Cells:
    """A file for papermill's progress bar, which sends what is written: cells done, and all."""

    def __init__(self, jobs: Connection) -> None:
        self.jobs = jobs

    def write(self, text: str) -> None:
        """Send a bar in the form ``done/all``, unless nobody listens any more."""
        done, _, total = text.strip().partition("/")
        if done.isdecimal() and total.isdecimal():
            with suppress(OSError):
                self.jobs.send((int(done), int(total)))

    def flush(self) -> None:
        """Do nothing: what is sent is sent."""


@contextmanager
def beside(work: Callable[..., None], *arguments: Any) -> Iterator[None]:
    """Do ``work`` in another process during the block; an error of it is raised after the block.

    Its progress bars stand a row lower. It ends with this process, and when the block raises.
    """
    life, theirs = SPAWN.Pipe()
    process = SPAWN.Process(target=_work_beside, args=(theirs, work, arguments))
    process.start()
    theirs.close()
    try:
        yield
        try:
            error = life.recv()
        except EOFError:
            process.join()
            error = ChildProcessError(f"a process ended with exit status {process.exitcode}")
        if error is not None:
            raise error
        process.join()
    finally:
        life.close()
        process.join(ENDING_SECONDS)
        process.kill()
        process.join()


def _work_beside(life: Connection, work: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    os.environ["TQDM_POSITION"] = "1"
    error = None
    with suppress(KeyboardInterrupt):
        _interrupt_with(life, signal.SIGINT)
        try:
            work(*arguments)
        except Exception as reason:
            error = reason
        life.send(error)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent may close its end from now on


def publish_notebooks(notebooks: list[Path]) -> list[Outcome]:
    """Execute notebooks and store their outputs, normalised, in the source notebooks."""
    if absent := [path for path in notebooks if not path.is_file()]:
        raise DataError(f"{absent[0]}: no such notebook")
    outcomes = []
    for path, outcome in execute_all(notebooks, "lesson", "png"):
        outcomes.append(outcome)
        if not outcome.errors:
            executed = nbformat.read(lessons.EXECUTED / path.name, as_version=4)
            with atomic_path(path) as temporary:
                nbformat.write(lessons.normalise(executed), temporary)
    return outcomes
