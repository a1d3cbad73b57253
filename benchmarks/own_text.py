"""A large file of one's own: minutes and peak memory of reading, preparing and predicting it.

The files are CSV tables of made-up reviews. Each step is the command that a reader would type, in a
process of its own with a data folder of its own; this one adds up, again and again, what that
process and its workers hold. The last row of the files of ``--reading`` has a column too few, so
the command reads all of it once and refuses it: the first of the two readings alone. Linux only.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from itertools import chain
from pathlib import Path
from typing import Any

from common import show, spread, write
from prepare import reviews, watch

from course_lib.data.custom_data import SPACE
from course_lib.files import check_space, file_digest
from course_lib.runs.run import train
from course_lib.runs.spec import RunSpec

MEGABYTE = 1_000_000
COURSE = [sys.executable, "-m", "course_lib"]
UNICODE = ["--words", "unicode"]  # needs no splitter that would have to be fetched
RUN_MEGABYTES = 1  # of the file on which the network that predicts is trained
SMALL = {"training.epochs": 1}


def write_reviews(path: Path, megabytes: int, seed: int, last: str = "") -> int:
    """A table of made-up reviews of at least so many megabytes, then ``last``; how many rows."""
    rows = size = 0
    with path.open("w", encoding="utf-8") as file:
        for line in chain(["label,title,text\n"], reviews(sys.maxsize, seed)):
            size += file.write(line)  # all of them are ASCII
            rows += 1
            if size >= megabytes * MEGABYTE:
                break
        file.write(last)
    return rows - 1


def step(
    name: str, command: list[str], file: Path, rows: int, status: int = 0
) -> dict[str, dict[str, Any]]:
    """Figures of one command on a file, which must end with that ``status``."""
    found = watch([*COURSE, *command], status)
    size = file.stat().st_size / MEGABYTE
    figures = {
        "seconds": found["seconds"],
        "megabytes": size,
        "rows": rows,
        "megabytes_per_second": size / found["seconds"],
        "rows_per_second": rows / found["seconds"],
        "peak_anonymous_megabytes": found["anonymous"],
        "peak_resident_megabytes": found["resident"],
    }
    return {f"{name}, {round(size):,} MB": figures}


def trained(folder: Path, seed: int) -> Path:
    """The folder of a small HAN that was trained on such reviews."""
    table = folder / "known.csv"
    write_reviews(table, RUN_MEGABYTES, seed)
    name = subprocess.run(
        [*COURSE, "data", table, *UNICODE], check=True, stdout=subprocess.PIPE, text=True
    ).stdout.strip()
    spec = RunSpec("han", name, "small", SMALL, device="cpu", threads=1)
    train(spec, folder / "run")
    return folder / "run"


def main() -> None:
    """Measure, show, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    sizes = {"type": int, "nargs": "*", "metavar": "MB"}
    parser.add_argument("--reading", **sizes, default=[50, 500], help="files that are read once")
    parser.add_argument("--preparing", **sizes, default=[5, 50], help="files that are prepared")
    parser.add_argument("--predicting", **sizes, default=[1, 10], help="files that are predicted")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    if not Path("/proc/self/smaps_rollup").exists():
        sys.exit("own_text.py reads /proc/PID/smaps_rollup, which only Linux has")

    figures: dict[str, dict[str, Any]] = {}
    digest = ""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["COURSE_DATA_DIR"] = str(folder / "data")
        table = folder / "reviews.csv"
        for size in chosen.reading:
            check_space(folder, SPACE * size * MEGABYTE)
            rows = write_reviews(table, size, chosen.seed, last="1,a row without its text\n")
            figures |= step("read once", ["data", str(table), *UNICODE], table, rows, status=2)
        for size in chosen.preparing:
            check_space(folder, (SPACE + 1) * size * MEGABYTE)
            rows = write_reviews(table, size, chosen.seed)
            figures |= step("prepare", ["data", str(table), *UNICODE], table, rows)
        run = trained(folder, chosen.seed) if chosen.predicting else folder
        for size in chosen.predicting:
            rows = write_reviews(table, size, chosen.seed + 1)
            command = ["predict", str(run), str(table), "--to", str(folder / f"{size}.csv")]
            figures |= step("predict", command, table, rows)
        digest = file_digest(table)
    for kind in ("megabytes_per_second", "peak_anonymous_megabytes", "peak_resident_megabytes"):
        print(kind.replace("_", " "))
        show({name: spread([row[kind]]) for name, row in figures.items()})
    write("own_text", figures, chosen.seed, f"sha256:{digest}", threads=1, dataset="made up")


if __name__ == "__main__":
    main()
