"""A network's whole row of the faithfulness lab: every ranking and every measure, limits included.

The recorded HAN on 100 IMDb reviews and the recorded IRAM on 500 SST-2 sentences, each once: a row
takes minutes. What it is spent on stands beside the sum.
"""

import argparse
import time
from typing import Any

from common import write

from course_kit.research.faithfulness.erasure_record import record_faithfulness
from course_kit.research.faithfulness.faithfulness_run import choose_run
from course_lib import faithfulness
from course_lib.training.devices import use_threads

ROWS = {"han-imdb-compact-s0": 100, "iram-sst2-compact-s0": 500}
LIMITS = {"han-imdb-compact-s0": 600, "iram-sst2-compact-s0": 180}  # seconds, on two cores


def measure(name: str, texts: int) -> dict[str, Any]:
    """Seconds of a row, stage by stage, and of words to flip both ways."""
    trial, stages, begun = choose_run(name, texts), {}, [time.perf_counter(), "start"]

    def next_stage(what: str) -> None:
        now = time.perf_counter()
        stages[begun[1]] = round(now - begun[0], 1)
        begun[:] = [now, what]

    record_faithfulness(trial, next_stage)
    next_stage("end")
    return {
        "texts": texts,
        "data": trial.run.record["data"]["content"],
        "words": sum(len(faithfulness.words_of(document)) for document in trial.documents),
        "seconds": round(sum(stages.values()), 1),
        "limit_seconds": LIMITS[name],
        "stages": {stage: took for stage, took in stages.items() if stage != "start"},
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
