"""What papermill and Snakemake add to a run: the same small runs without them, with one, with both.

``python benchmarks/grid_overhead.py --runs 4``. Figures are processor seconds of all processes,
which say more than the clock on a machine that does other work, and the clock's beside them.
"""

import argparse
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from common import write

from course_lib.files import REPOSITORY
from course_lib.runs.records import load_records

sys.path.insert(0, str(REPOSITORY / "tests" / "cluster"))
from project import SMALL, Project

ENTRY = SMALL | {"system": "han", "limit": 60, "overrides": {"training.epochs": 1}}
PLAIN = """
from course_lib.files import REPOSITORY
from course_lib.runs.run import train
from course_kit.research.grid.groups import choose
for spec in choose(["all"]):
    train(spec, REPOSITORY / "runs" / spec.id)
"""
NOTEBOOKS = """
from course_lib.runs.run import execute
from course_kit.research.grid.groups import choose
for spec in choose(["all"]):
    execute(spec)
"""


def measured(project: Project, *command: str) -> dict[str, float]:
    """Processor and clock seconds of a command and of all that it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, *command],
        cwd=project.folder, env=project.environment, check=True, capture_output=True,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = sum(getattr(after, k) - getattr(before, k) for k in ("ru_utime", "ru_stime"))
    return {"processor": spent, "clock": time.perf_counter() - began}


def main() -> int:
    """Measure the three ways, each in a project of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=4)
    runs = parser.parse_args().runs
    ways = {
        "plain": ("-c", PLAIN),
        "papermill": ("-c", NOTEBOOKS),
        "papermill and Snakemake": ("-m", "course_lib", "grid", "run", "all"),
    }
    seconds = {}
    with TemporaryDirectory() as folder:
        for name, command in ways.items():
            project = Project(Path(folder) / name, {"all": [ENTRY | {"seeds": list(range(runs))}]})
            prepare = "from course_lib.data.corpus import load_corpus; load_corpus('toy')"
            measured(project, "-c", prepare)
            seconds[name] = measured(project, *command)
            print(name, seconds[name], flush=True)
    per_run = {
        name: (spent["processor"] - seconds["plain"]["processor"]) / runs
        for name, spent in seconds.items()
    }
    took = [record["seconds"] for record in load_records()]
    figures = {
        "runs": runs,
        "seconds": seconds,
        "added_processor_seconds_per_run": per_run,
        "median_seconds_of_a_committed_run": statistics.median(took),
        "share_of_a_median_run": per_run["papermill and Snakemake"] / statistics.median(took),
    }
    write("grid_overhead", figures, seed=0, content="generated", threads=1, dataset="toy")
    return 0


if __name__ == "__main__":
    sys.exit(main())
