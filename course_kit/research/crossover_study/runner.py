"""Runs cells, several at a time with one thread each, and goes on where it was stopped.

A cell counts as done when its record exists, and a record gets its name only when it is whole. So
the runner may be killed at any moment; started again, it repeats at most the cells in progress. A
lock, which the system frees when its process ends, keeps two processes from the same cell.
"""

import multiprocessing
import os
import time
from collections.abc import Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path

from filelock import FileLock, Timeout

from course_kit.research.crossover_study.cell import record_path, run
from course_kit.research.crossover_study.design import Cell


def run_all(
    cells: Sequence[Cell], folder: Path, plan: str | None, jobs: int, pause: Path | None = None
) -> int:
    """Run the cells without a record in ``jobs`` processes; return how many are still missing.

    While a file ``pause`` exists, no process starts another cell.
    """
    folder.mkdir(parents=True, exist_ok=True)
    os.environ |= {"TQDM_DISABLE": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    context = multiprocessing.get_context("spawn")
    workers: list[BaseProcess] = [
        context.Process(target=work, args=(cells, folder, plan, pause, os.getpid()))
        for _ in range(jobs)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sum(not record_path(cell, folder).exists() for cell in cells)


def work(
    cells: Sequence[Cell], folder: Path, plan: str | None, pause: Path | None, parent: int
) -> None:
    """Run one cell after the other that is neither done nor in progress elsewhere.

    Ends with the process ``parent``, so that a killed runner leaves nobody behind.
    """
    for cell in cells:
        path = record_path(cell, folder)
        try:
            with FileLock(path.with_suffix(".lock"), timeout=0):
                while pause and pause.exists():
                    time.sleep(1)
                if os.getppid() != parent:
                    return
                if path.exists():
                    continue
                record = run(cell, folder, plan)
                print(f"{cell.name} {sum(record['processor_seconds'].values()):.0f} s", flush=True)
        except Timeout:
            continue
