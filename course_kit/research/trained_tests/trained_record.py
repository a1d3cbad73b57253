"""The trained tests made, and their figures recorded.

``attention-course trained-tests NAME`` writes ``results/faithfulness/trained/NAME-ON.json``, ``ON``
being the texts that networks are trained on, or the recorded network that is tested: means over
test texts and seeds with bootstrap intervals over the texts, and no text.
"""

import argparse
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tqdm.auto import tqdm

from course_kit.research.faithfulness.faithfulness_run import choose_run
from course_kit.research.recording import DIGITS, Stopwatch, mean_of
from course_kit.research.trained_tests import protocols
from course_kit.research.trained_tests.protocols import Lines
from course_kit.research.trained_tests.training_setup import SETUPS, TrainingSetup, setup_of
from course_lib.runs import records
from course_lib.runs.model_card import DIGEST
from course_lib.runs.records import write_json
from course_lib.runs.settings import SpecError

SEEDS = (0, 1, 2)
TEXTS = 100  # test texts of a recorded network
Prepared = tuple[dict[str, Any], Callable[[int], Lines]]  # what is recorded, and a seed's lines


class TrainedTest(NamedTuple):
    """A test with its ``purpose``, what it is made on unless told otherwise, and how it is prepared
    for that: what a record says of it, and a function from a seed to lines."""

    purpose: str
    on: tuple[str, ...]
    prepare: Callable[[str], Prepared]


def on_setup(lines: Callable[[TrainingSetup, int], Lines], name: str) -> Prepared:
    """A test that trains networks on the texts of a setup."""
    setup = setup_of(name)
    about = {
        "settings": asdict(setup.system.settings),
        "data": setup.data,
        "sizes": {split: len(texts) for split, texts in setup.texts._asdict().items()},
        "marked_words": len(setup.marked),
    }
    return about, partial(lines, setup)


def on_recorded(name: str) -> Prepared:
    """The randomisation of a recorded network."""
    tested = choose_run(name, TEXTS)
    about = {
        "settings": tested.run.record["settings"],
        "data": tested.run.record["data"]["content"],
        "weights": tested.run.record[DIGEST],
        "sample": tested.digest,
        "sizes": {"test": len(tested.documents)},
    }
    return about, partial(protocols.randomisation, tested)


BOTH = ("sst2_sentences", "planted")
TESTS = {
    "guided": TrainedTest(
        "a word-wise MLP fed with a trained network's attention", BOTH[:1],
        partial(on_setup, protocols.guided),
    ),
    "adversary": TrainedTest(
        "a network taught the same predictions and other attention", BOTH,
        partial(on_setup, protocols.adversary),
    ),
    "avoidance": TrainedTest(
        "attention taught to avoid the words that decide", BOTH,
        partial(on_setup, protocols.avoidance),
    ),
    "roar": TrainedTest(
        "words removed by a ranking, the network trained again, and so on", BOTH,
        partial(on_setup, protocols.roar),
    ),
    "randomisation": TrainedTest(
        "importances of a recorded network and of one whose layers are made anew",
        ("iram-sst2-compact-s0", "agt-sst5-compact-s0", "sanet-ag_news-compact-s0"), on_recorded,
    ),
}  # fmt: skip


def record_test(name: str, on: str, seeds: Sequence[int] = SEEDS) -> Iterator[dict[str, Any]]:
    """Make a test, seed after seed; after each comes the record of the seeds that are done, so that
    an interrupted test keeps them.

    A record holds what was trained, on what, and a mean for each figure of each line. ``SpecError``
    for no seed, or for the same one twice.
    """
    if not seeds or len(set(seeds)) != len(seeds) or min(seeds) < 0:
        raise SpecError(f"seeds takes different whole numbers from 0, got {list(seeds)}")
    watch, by_seed = Stopwatch(), []
    about, lines = TESTS[name].prepare(on)
    for seed in tqdm(seeds, desc=f"{name}, {on}: seeds"):
        by_seed.append(lines(seed))
        done = list(seeds[: len(by_seed)])
        yield {"test": name, "on": on, "seeds": done, **about, **watch.about()} | {
            "lines": {
                line: {
                    figure: summary(np.stack([found[line][figure] for found in by_seed]))
                    for figure in figures
                }
                for line, figures in by_seed[0].items()
            }
        }


def summary(values: np.ndarray) -> dict[str, Any]:
    """``(seeds, texts)`` → the mean over both, its bootstrap interval over texts, each the mean of
    its seeds, and the mean of each seed; None where no text has a value.

    The interval tells what other texts would change, ``by_seed`` what other seeds would.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a mean of nothing is NaN, which is meant
        over_texts, of_seeds = np.nanmean(values, 0), np.nanmean(values, 1)
    seeds = [None if np.isnan(value) else round(float(value), DIGITS) for value in of_seeds]
    return mean_of(over_texts) | {"by_seed": seeds}


def record_path(name: str, on: str) -> Path:
    """Where the record of a test is."""
    return records.RESULTS / "faithfulness" / "trained" / f"{name}-{on}.json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The tests, what they are made on, and the seeds."""
    about = "; ".join(f"{name}: {test.purpose}" for name, test in TESTS.items())
    parser.add_argument("names", nargs="+", metavar="NAME", choices=TESTS, help=about)
    parser.add_argument(
        "--on", help=f"{' or '.join(SETUPS)}; for randomisation, the id of a recorded network "
        "(default: all that the test is meant for)",
    )  # fmt: skip
    parser.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS), metavar="SEED")


def command(options: argparse.Namespace) -> int:
    """Make some tests; the record of each is written after every seed."""
    for name in options.names:
        for on in [options.on] if options.on else TESTS[name].on:
            for record in record_test(name, on, options.seeds):
                seeds = " ".join(map(str, record["seeds"]))
                done = f"attention-course trained-tests {name} --on {on} --seeds {seeds}"
                write_json(record_path(name, on), {"command": done} | record)
                print(f"{done}: {record['seconds']:.0f} s", flush=True)
            print(f"results in {record_path(name, on)}")
    return 0
