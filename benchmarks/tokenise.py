"""Preparing IMDb reviews with one process and with two: how far tokenising scales with cores.

Each measurement is one whole ``prepare``: read, order, tokenise (the start of the processes
included), hash, write. Only the tokenising runs in parallel, so the whole can never quite double.
"""

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import datasets
from common import interleave, ratio, show, spread, write

from course_lib.data.corpus import load_corpus, prepare
from course_lib.data.readers import Row
from course_lib.data.text import fetch_punkt, trained_punkt
from course_lib.files import data_root
from course_lib.training.devices import use_threads


def main() -> None:
    """Measure, show, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=6000, help="training reviews to tokenise")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    chosen = parser.parse_args()

    threads = use_threads(None)
    datasets.disable_progress_bars()  # a bar per preparation would drown the one over the rounds
    corpus = load_corpus("imdb")
    rows = corpus.splits["train"].select(range(chosen.rows))
    labels = Counter(rows["label"])
    card = replace(
        corpus.card,
        sizes={"train": tuple(labels[label] for label in range(len(corpus.card.classes)))},
        content=None,
    )
    punkt = fetch_punkt()
    trained_punkt(punkt)  # loaded once here, and there for every process that is forked from this

    def read() -> Iterator[Row]:
        for row in rows.select_columns(["text", "label"]):
            yield Row("train", row["text"], row["label"])

    def seconds(workers: int) -> float:
        with tempfile.TemporaryDirectory(dir=data_root()) as folder:
            began = time.perf_counter()
            prepare(card, read, corpus.provenance, Path(folder) / "imdb", punkt, workers)
            return time.perf_counter() - began

    one, several = "1 process", f"{chosen.workers} processes"
    seconds(chosen.workers)  # warm-up: imports and disk cache
    measured = interleave(
        {one: lambda _: seconds(1), several: lambda _: seconds(chosen.workers)}, chosen.rounds
    )
    figures = {
        "rows": chosen.rows,
        "workers": chosen.workers,
        "seconds": {name: spread(values) for name, values in measured.items()},
        "speed_up": spread(ratio(measured[one], measured[several])),
    }
    table = {f"seconds, {name}": row for name, row in figures["seconds"].items()}
    show(table | {f"speed-up with {several}": figures["speed_up"]})
    write("tokenise", figures, seed=0, content=corpus.provenance.content, threads=threads)


if __name__ == "__main__":
    main()
