"""A network's whole row of the faithfulness lab: every ranking and every measure, limits included.

The recorded HAN on 100 IMDb reviews and the recorded IRAM on 500 SST-2 sentences, each once: a row
takes minutes. What it is spent on stands beside the sum. Words to flip are counted a second time by
asking about every number of removed words, as is usual; ours asks on only while decisions stand.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from common import write

from course_kit.research.faithfulness.erasure_record import SLOW_TEXTS, record_faithfulness
from course_kit.research.faithfulness.faithfulness_run import FaithfulnessRun, choose_run
from course_lib import faithfulness
from course_lib.faithfulness.documents import Variant, ask, predicted
from course_lib.faithfulness.erasure import first, orders
from course_lib.training.devices import use_threads

ROWS = {"han-imdb-compact-s0": 100, "iram-sst2-compact-s0": 500}
LIMITS = {"han-imdb-compact-s0": 600, "iram-sst2-compact-s0": 180}  # seconds, on two cores


def seconds_of(work: Callable[[], Any]) -> tuple[float, Any]:
    """How long it took, and its result."""
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def every_removal(trial: FaithfulnessRun, importances: list[np.ndarray]) -> np.ndarray:
    """``faithfulness.words_to_flip`` without stopping."""
    documents = trial.documents[:SLOW_TEXTS]
    ranked = orders(documents, importances, trial.seed)
    classes, _ = predicted(trial.model, documents)
    variants = [
        Variant(document, ~first(order, count))
        for document, order in zip(documents, ranked)
        for count in range(1, len(order) + 1)
    ]
    decisions = ask(trial.model, variants).argmax(1)
    parts = np.split(decisions, np.cumsum([len(order) for order in ranked])[:-1])
    changed = [part != j for part, j in zip(parts, classes, strict=True)]
    return np.array([(c.argmax() + 1) / len(c) if c.any() else 1.0 for c in changed])


def measure(name: str, texts: int) -> dict[str, Any]:
    """Seconds of a row, stage by stage, and of words to flip both ways."""
    trial, stages, begun = choose_run(name, texts), {}, [time.perf_counter(), "start"]

    def next_stage(what: str) -> None:
        now = time.perf_counter()
        stages[begun[1]] = round(now - begun[0], 1)
        begun[:] = [now, what]

    whole, _ = seconds_of(lambda: record_faithfulness(trial, next_stage))
    next_stage("end")
    importances = trial.model.attention(trial.documents[:SLOW_TEXTS])["attention"]
    documents = trial.documents[:SLOW_TEXTS]
    stopping, ours = seconds_of(
        lambda: faithfulness.words_to_flip(trial.model, documents, importances)
    )
    asking_all, usual = seconds_of(lambda: every_removal(trial, importances))
    np.testing.assert_array_equal(ours, usual)
    return {
        "texts": texts,
        "data": trial.run.record["data"]["content"],
        "words": sum(len(faithfulness.words_of(document)) for document in trial.documents),
        "seconds": round(whole, 1),
        "limit_seconds": LIMITS[name],
        "stages": {stage: took for stage, took in stages.items() if stage != "start"},
        "words to flip, every removal / ours": round(asking_all / stopping, 2),
    }


def main() -> None:
    """Measure, show, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    chosen = parser.parse_args()
    threads = use_threads(chosen.threads)
    figures = {name: measure(name, texts) for name, texts in ROWS.items()}
    for name, row in figures.items():
        print(f"{name}: {row['seconds']} s of {row['limit_seconds']} for {row['texts']} texts")
    write("faithfulness_row", figures, 0, figures["han-imdb-compact-s0"]["data"], threads)


if __name__ == "__main__":
    main()
