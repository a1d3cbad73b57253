"""What only readings show of the networks that try what the papers left open, recorded.

``attention-course left-open runs/context_han-imdb-report-s0 --texts 300`` writes
``results/left_open/NAME.json``: of a HAN, how much of its attention returns to words that were
important before; of an IRAM that halts itself, how many steps it takes for which texts. Means over
texts with bootstrap intervals, and no text.
"""

import argparse
from typing import Any

import datasets
import numpy as np
import torch

from course_kit.research.faithfulness.faithfulness_record import record_path
from course_kit.research.faithfulness.trial import as_json, some_texts
from course_lib.explore.hops import count_repeats
from course_lib.explore.steps import NEGATORS
from course_lib.faithfulness import mean_over_documents
from course_lib.runs.records import describe_environment, write_json
from course_lib.runs.run import Run
from course_lib.runs.settings import SpecError
from course_lib.runs.systems import known_systems
from course_lib.runs.weights import any_run
from course_lib.training.devices import use_threads

KIND = "left_open"
MUCH = 0.1  # a text of which more than this share of attention is on repeats suffers from them
QUARTERS = (0.25, 0.5, 0.75)


def repeats(run: Run, rows: datasets.Dataset, seed: int) -> dict[str, Any]:
    """The shares of a HAN's attention on important words and on repeats (``count_repeats``)."""
    found = count_repeats(run.system, rows, seed)._asdict()
    found["much"] = (found["repeated"] > MUCH).astype(float)
    return {name: of_texts(values, seed) for name, values in found.items()}


def steps(run: Run, rows: datasets.Dataset, seed: int) -> dict[str, Any]:
    """Steps taken by quarter of the texts' lengths, for texts with and without a negator, and what
    share of the predictions is right by steps taken."""
    look = run.system.evaluate(rows)
    taken = look.figures["steps taken"].numpy().astype(float)
    right = (
        (look.predictions.probabilities.argmax(1) == look.predictions.labels).numpy().astype(float)
    )
    lengths = np.array([len(tokens) for tokens in rows["tokens"]])
    negated = np.array([not NEGATORS.isdisjoint(map(str.lower, t)) for t in rows["tokens"]])
    quarter = np.searchsorted(np.quantile(lengths, QUARTERS), lengths)
    return {
        "steps": of_texts(taken, seed),
        "by_length": [
            {
                "longest": int(lengths[quarter == number].max()),
                "without": of_texts(taken[(quarter == number) & ~negated], seed),
                "with": of_texts(taken[(quarter == number) & negated], seed),
            }
            for number in range(len(QUARTERS) + 1)
        ],
        "right": {
            f"{count:.0f}": of_texts(right[taken == count], seed) for count in np.unique(taken)
        },
    }


def of_texts(values: np.ndarray, seed: int) -> dict[str, Any]:
    """A mean over texts with its interval, as JSON."""
    return as_json(mean_over_documents(values, seed))


def record_reading(run: Run, texts: int, seed: int = 0) -> dict[str, Any]:
    """What a run's test texts show, or its validation texts if it has left the test half unread;
    ``SpecError`` for a network of which nothing is asked here."""
    system = run.record["spec"]["system"]
    readings = {"adaptive_iram": steps, "han": repeats, "context_han": repeats}
    if system not in readings:
        known = ", ".join(name for name in known_systems() if name in readings)
        raise SpecError(f"left-open reads {known}; {run.record['id']} is of {system}")
    split = "test" if "test" in run.record else "validation"
    found = readings[system](run, some_texts(run, split, texts, seed), seed)
    return {
        "id": run.record["id"],
        "seed": seed,
        "split": split,
        "texts": texts,
        "data": run.record["data"]["content"],
        "weights": run.record["weights"],
        "environment": describe_environment(torch.device("cpu"), use_threads(None)),
        readings[system].__name__: found,
    }


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``attention-course left-open``."""
    parser.add_argument("runs", nargs="+", metavar="RUN", help="the folder of a finished run")
    parser.add_argument("--texts", type=int, default=300, help="how many (default: 300)")
    parser.add_argument("--seed", type=int, default=0, help="of the sample and of what is random")


def command(options: argparse.Namespace) -> int:
    """Record what is asked for; an error leaves the finished records."""
    for number, name in enumerate(options.runs, start=1):
        print(f"[{number}/{len(options.runs)}] {name}", flush=True)
        record = record_reading(any_run(name), options.texts, options.seed)
        path = record_path(name, KIND)
        asked = f"attention-course left-open {record['id']} --texts {options.texts}"
        write_json(path, {"command": f"{asked} --seed {options.seed}"} | record)
        print(path)
    return 0
