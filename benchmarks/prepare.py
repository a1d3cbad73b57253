"""Preparing a made-up archive in the form of Zhang et al. (2015): rows a second, and peak memory.

The reviews are drawn from sentences of made-up words, about as long as Amazon's. Each preparation
(read, order, tokenise, hash, write) runs in a process of its own; this one adds up, again and
again, what that process and its workers hold. ``--rows`` are prepared with one process and with
two; ``--full`` of them once, with the most processes, for the memory. Linux only.
"""

import argparse
import random
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from common import PeakMemory, arguments, interleave, ratio, show, spread, write

from course_lib.data.catalog import CARDS
from course_lib.data.corpus import Provenance, open_corpus, prepare
from course_lib.data.readers import READERS, ZHANG_SETS
from course_lib.data.text import fetch_punkt
from course_lib.files import data_root
from course_lib.training.devices import use_threads

EVERY = 0.2  # seconds between two looks at all processes
TEST_SHARE = 9  # one test review for so many training reviews, as in the set it imitates
CARD = CARDS["amazon_polarity"]


def reviews(count: int, seed: int) -> Iterator[str]:
    """CSV lines: a class, a title, two to eight sentences; no two reviews are equal."""
    source = random.Random(seed)
    syllables = [a + b for a in "bdfgklmnprst" for b in ("a", "e", "i", "o", "u", "an", "er")]
    words = ["".join(source.choices(syllables, k=source.randint(1, 4))) for _ in range(30_000)]
    often = [1 / (rank + 10) for rank in range(len(words))]  # as words of a language fall off
    sentences = [
        " ".join(source.choices(words, often, k=source.randint(4, 28))).capitalize() + "."
        for _ in range(20_000)
    ]
    for number in range(count):
        text = " ".join(source.choices(sentences, k=source.randint(2, 8)))
        yield f'"{number % 2 + 1}","{source.choice(words)} {number}","{text}"\n'


def write_archive(folder: Path, rows: int, seed: int) -> Path:
    """The archive of ``rows`` training reviews and a ninth as many for test."""
    stem, _ = ZHANG_SETS[CARD.name]
    with tarfile.open(folder / f"{stem}.tgz", "w:gz", compresslevel=1) as archive:
        for split, count in (("train", rows), ("test", rows // TEST_SHARE)):
            plain = folder / f"{split}.csv"
            with plain.open("w", encoding="utf-8") as file:
                file.writelines(reviews(count, seed=seed + (split == "test")))
            archive.add(plain, f"{stem}/{split}.csv")
            plain.unlink()
    return folder / f"{stem}.tgz"


def class_sizes(rows: int) -> dict[str, tuple[int, int]]:
    """Rows of each class in the archive that ``write_archive`` makes."""
    counts = {"train": rows, "test": rows // TEST_SHARE}
    return {split: (count - count // 2, count // 2) for split, count in counts.items()}


def prepare_once(archive: Path, rows: int, workers: int) -> None:
    """The child's part: prepare, beside the archive."""
    card = replace(CARD, sizes=class_sizes(rows), content=None)
    origin = Provenance(CARD.name, "made up", {}, content="")
    read = READERS[CARD.name]
    folder = archive.parent / "prepared"
    prepare(card, lambda: read(archive), origin, folder, fetch_punkt(), workers)


def processes(pid: int) -> Iterator[int]:
    """A process and all below it."""
    yield pid
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = task.read_text().split()
        except OSError:  # it ended meanwhile
            continue
        for child in children:
            yield from processes(int(child))


def megabytes(pid: int, kind: str) -> float:
    """``Pss_Anon`` or ``Pss`` of a process and all below it: a shared page counts once in all."""
    total = 0
    for process in processes(pid):
        try:
            lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith(f"{kind}:"))
    return total / 1024


def measure(archive: Path, rows: int, workers: int) -> dict[str, float]:
    """Seconds and peak megabytes of one preparation, its start included."""
    command = [sys.executable, __file__, "--child", str(archive)]
    command += [f"--rows={rows}", "--workers", str(workers)]
    began = time.perf_counter()
    process = subprocess.Popen(command)
    looks = {
        kind: PeakMemory(lambda kind=kind: megabytes(process.pid, kind), EVERY)
        for kind in ("Pss_Anon", "Pss")
    }
    with looks["Pss_Anon"] as anonymous, looks["Pss"] as resident:
        if process.wait():
            sys.exit(f"{' '.join(command)}: ended with {process.returncode}")
    return {
        "seconds": time.perf_counter() - began,
        "anonymous": anonymous.peak_megabytes,
        "resident": resident.peak_megabytes,
    }


def prepare_made_up(rows: int, workers: list[int], rounds: int, seed: int) -> dict[str, Any]:
    """Figures of so many training reviews, prepared with each number of processes in turn."""
    with tempfile.TemporaryDirectory(dir=data_root()) as folder:
        archive = write_archive(Path(folder), rows, seed)

        def once(count: int) -> dict[str, float]:
            shutil.rmtree(Path(folder) / "prepared", ignore_errors=True)
            return measure(archive, rows, count)

        measured = interleave(
            {f"{count} processes": lambda _, count=count: once(count) for count in workers}, rounds
        )
        began = time.perf_counter()
        corpus = open_corpus(Path(folder) / "prepared")
        reopened = time.perf_counter() - began
        text, tokens = 0, 0
        for half in corpus.splits.values():
            for batch in half.select_columns(["text", "tokens"]).iter(1000):
                text += sum(len(text.encode()) for text in batch["text"])
                tokens += sum(map(len, batch["tokens"]))
    total = sum(map(sum, class_sizes(rows).values()))
    seconds = {name: [row["seconds"] for row in found] for name, found in measured.items()}
    return {
        "rows": total,
        "megabytes_of_text": text / 1e6,
        "tokens_per_row": tokens / total,
        "content": corpus.provenance.content,
        "seconds_to_open_again": reopened,
        "seconds": {name: spread(found) for name, found in seconds.items()},
        "rows_per_second": {n: spread([total / s for s in found]) for n, found in seconds.items()},
        "peak_megabytes": {
            f"{kind}, {name}": spread([row[kind] for row in found])
            for name, found in measured.items()
            for kind in ("anonymous", "resident")
        },
    }


def main() -> None:
    """Measure, show, write."""
    parser = arguments(__doc__, rows=50_000, full=0, rounds=1)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.child:
        prepare_once(chosen.child, chosen.rows, *chosen.workers)
        return
    if not Path("/proc/self/smaps_rollup").exists():
        sys.exit("prepare.py reads /proc/PID/smaps_rollup, which only Linux has")

    fetch_punkt()
    figures = prepare_made_up(chosen.rows, chosen.workers, chosen.rounds, chosen.seed)
    seconds = [row["rounds"] for row in figures["seconds"].values()]
    figures["speed_up"] = spread(ratio(seconds[0], seconds[-1]))
    runs = [figures]
    if chosen.full:
        figures["full"] = prepare_made_up(chosen.full, chosen.workers[-1:], 1, chosen.seed)
        runs.append(figures["full"])
    table = {}
    for found in runs:
        print(
            f"{found['rows']:,} rows, {found['megabytes_of_text']:.0f} MB of text, "
            f"{found['tokens_per_row']:.1f} tokens a row; opened again in "
            f"{found['seconds_to_open_again']:.2f} s"
        )
        size = f"{found['rows']:,} rows"
        table |= {f"{size}: rows/s, {n}": row for n, row in found["rows_per_second"].items()}
        table |= {f"{size}: peak MB {n}": row for n, row in found["peak_megabytes"].items()}
    show(table | {f"speed-up, {chosen.workers[-1]} processes": figures["speed_up"]})
    write("prepare", figures, chosen.seed, figures["content"], use_threads(None), "made up")


if __name__ == "__main__":
    main()
