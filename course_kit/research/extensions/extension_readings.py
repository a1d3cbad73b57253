"""What only readings of test texts show of the extensions, recorded.

``attention-course extensions runs/context_han-imdb-report-s0 --texts 300`` writes
``results/extensions/NAME.json``: of a HAN, how much of its attention returns to words that were
important before; of an IRAM that halts itself, how many steps it takes for which texts. Means over
texts with bootstrap intervals, and no text.
"""

import argparse
from functools import partial
from typing import Any

import datasets
import numpy as np

from course_kit.research.faithfulness.faithfulness_run import some_texts, study_path
from course_kit.research.recording import Stopwatch, mean_of
from course_lib.explore.hops import count_repeats
from course_lib.explore.steps import NEGATORS
from course_lib.runs.records import write_json
from course_lib.runs.run import Run
from course_lib.runs.settings import SpecError
from course_lib.runs.weights import any_run

KIND = "extensions"
MUCH = 0.1  # a text of which more than this share of attention is on repeats suffers from them
QUARTERS = (0.25, 0.5, 0.75)


def repeats(run: Run, rows: datasets.Dataset, seed: int) -> dict[str, Any]:
    """The shares of a HAN's attention on important words and on repeats (``count_repeats``)."""
    found = count_repeats(run.system, rows, seed)._asdict()
    found["much"] = (found["repeated"] > MUCH).astype(float)
    return {name: mean_of(values, seed) for name, values in found.items()}


def steps(run: Run, rows: datasets.Dataset, seed: int) -> dict[str, Any]:
    """Steps taken by quarter of the texts' lengths, for texts with and without a negator, and what
    share of the predictions is right by steps taken."""
    seen, of_texts = run.system.evaluate(rows), partial(mean_of, seed=seed)
    taken = seen.figures["steps taken"].numpy().astype(float)
    answers = seen.predictions.probabilities.argmax(1)
    right = (answers == seen.predictions.labels).numpy().astype(float)
    lengths = np.array([len(tokens) for tokens in rows["tokens"]])
    negated = np.array([not NEGATORS.isdisjoint(map(str.lower, t)) for t in rows["tokens"]])
    quarter = np.searchsorted(np.quantile(lengths, QUARTERS), lengths)
    by_length = [
        {
            "longest": int(lengths[quarter == number].max()),
            "without": of_texts(taken[(quarter == number) & ~negated]),
            "with": of_texts(taken[(quarter == number) & negated]),
        }
        for number in range(len(QUARTERS) + 1)
    ]
    by_steps = {f"{count:.0f}": of_texts(right[taken == count]) for count in np.unique(taken)}
    return {"steps": of_texts(taken), "by_length": by_length, "right": by_steps}


READINGS = {"adaptive_iram": steps, "context_han": repeats, "han": repeats}


def record_reading(run: Run, texts: int, seed: int = 0) -> dict[str, Any]:
    """What a run's test texts show, or its validation texts if it has left the test half unread;
    ``SpecError`` for a network of which nothing is asked here."""
    watch, record = Stopwatch(), run.record
    system = record["spec"]["system"]
    if system not in READINGS:
        raise SpecError(f"extensions reads {', '.join(READINGS)}; {record['id']} is of {system}")
    split = "test" if "test" in record else "validation"
    found = READINGS[system](run, some_texts(run, split, texts, seed), seed)
    return {
        "id": record["id"], "seed": seed, "split": split, "texts": texts,
        "data": record["data"]["content"], "weights": record["weights"], **watch.about(),
        READINGS[system].__name__: found,
    }  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The runs, and which of their texts."""
    parser.add_argument("runs", nargs="+", metavar="RUN", help="the folder of a finished run")
    parser.add_argument("--texts", type=int, default=300, help="how many (default: 300)")
    parser.add_argument("--seed", type=int, default=0, help="of the sample and of what is random")


def command(options: argparse.Namespace) -> int:
    """Record what is asked for; an error leaves the finished records."""
    for name in options.runs:
        record = record_reading(any_run(name), options.texts, options.seed)
        asked = f"attention-course extensions {record['id']} --texts {options.texts}"
        path = study_path(name, KIND)
        write_json(path, {"command": f"{asked} --seed {options.seed}"} | record)
        print(path)
    return 0
