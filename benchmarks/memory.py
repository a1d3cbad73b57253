"""Memory of preparing a corpus and the same corpus ten times over: it should not grow with it.

Each preparation runs in a process of its own that samples its anonymous resident memory: what it
holds itself, without the files that are mapped and can be dropped at any time. Linux only.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import datasets
from common import PeakMemory, interleave, ratio, show, spread, write

from course_lib.data.corpus import Corpus, Provenance, load_corpus, prepare
from course_lib.data.readers import Row
from course_lib.files import data_root
from course_lib.training.devices import use_threads

STATUS = Path("/proc/self/status")
EVERY = 0.01  # seconds between two looks


def anonymous_megabytes() -> float:
    """Anonymous resident memory of this process."""
    (line,) = (line for line in STATUS.read_text().splitlines() if line.startswith("RssAnon:"))
    return int(line.split()[1]) / 1024


def prepare_repeated(corpus: Corpus, rows: int, times: int) -> PeakMemory:
    """Prepare the first ``rows`` training reviews, ``times`` over, in this one process.

    The number of the repetition stands at the end of each text, so that all texts differ; the
    splitter is the one that needs no data, which is faster and holds no more.
    """
    chosen = corpus.splits["train"].select(range(rows))
    labels = Counter(chosen["label"])
    sizes = tuple(times * labels[label] for label in range(len(corpus.card.classes)))
    card = replace(corpus.card, sizes={"train": sizes}, content=None)

    def read() -> Iterator[Row]:
        for time in range(times):
            for row in chosen.select_columns(["text", "label"]):
                yield Row("train", f"{row['text']} {time}", row["label"])

    origin = Provenance("imdb", "repeated", {}, content="")
    with (
        tempfile.TemporaryDirectory(dir=data_root()) as folder,
        PeakMemory(anonymous_megabytes, EVERY) as memory,
    ):
        prepare(card, read, origin, Path(folder) / "imdb", workers=1)
    return memory


def in_a_process(rows: int, times: int) -> dict[str, float]:
    """What ``prepare_repeated`` needs in a process of its own."""
    command = [sys.executable, __file__, "--child", f"--rows={rows}", f"--times={times}"]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(output)


def main() -> None:
    """Measure, show, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2500)
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--full", action="store_true", help="25,000 rows, and 250,000")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if not STATUS.exists():
        sys.exit("memory.py reads RssAnon from /proc/self/status, which only Linux has")

    corpus = load_corpus("imdb")
    if chosen.child:
        datasets.disable_progress_bars()
        memory = prepare_repeated(corpus, chosen.rows, chosen.times)
        print(json.dumps({"start": memory.start_megabytes, "peak": memory.peak_megabytes}))
        return

    rows = 25_000 if chosen.full else chosen.rows
    once, repeated = f"{rows:,} rows", f"{rows * chosen.times:,} rows"
    measured = interleave(
        {
            once: lambda _: in_a_process(rows, 1),
            repeated: lambda _: in_a_process(rows, chosen.times),
        },
        chosen.rounds,
    )
    peaks = {name: [row["peak"] for row in values] for name, values in measured.items()}
    rises = {
        name: [row["peak"] - row["start"] for row in values] for name, values in measured.items()
    }
    figures = {
        "rows": rows,
        "times": chosen.times,
        "peak_megabytes": {name: spread(values) for name, values in peaks.items()},
        "rise_megabytes": {name: spread(values) for name, values in rises.items()},
        "peak_ratio": spread(ratio(peaks[repeated], peaks[once])),
        "rise_ratio": spread(ratio(rises[repeated], rises[once])),
    }
    table = {f"peak MB, {name}": row for name, row in figures["peak_megabytes"].items()}
    table |= {f"of it by preparing, {name}": row for name, row in figures["rise_megabytes"].items()}
    table |= {f"peak ratio, {chosen.times} × the rows": figures["peak_ratio"]}
    show(table | {"ratio of what preparing adds": figures["rise_ratio"]})
    write("memory", figures, seed=0, content=corpus.provenance.content, threads=use_threads(None))


if __name__ == "__main__":
    main()
