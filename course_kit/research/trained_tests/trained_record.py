"""The trained tests made, and their figures recorded.

``attention-course author trained-tests NAME`` writes ``results/faithfulness/trained/NAME-ON.json``,
``ON`` being the texts that networks are trained on: means over test texts and seeds with bootstrap
intervals over the texts, and no text.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import f1_score

from course_kit.research.recording import DIGITS, Stopwatch, mean_of
from course_kit.research.trained_tests import protocols
from course_kit.research.trained_tests.training_setup import SETUPS, TrainingSetup, setup_of
from course_lib.front_end import progress
from course_lib.runs import folders
from course_lib.runs.records import write_json
from course_lib.runs.settings import SpecError


class TrainedTest(NamedTuple):
    """The setups a test is made on unless told otherwise, and its lines for a setup and a seed."""

    on: tuple[str, ...]
    lines: Callable[[TrainingSetup, int], protocols.Lines]


TESTS = {
    "guided": TrainedTest(("sst2_sentences",), protocols.guided),
    "adversary": TrainedTest(tuple(SETUPS), protocols.adversary),
    "roar": TrainedTest(tuple(SETUPS), protocols.roar),
}


def record_test(name: str, on: str, seeds: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Make a test, seed after seed; after each comes the record of the seeds that are done, so that
    an interrupted test keeps them.

    A record holds what was trained, on what, a mean for each figure of each line, and the line's F1
    by seed. ``SpecError`` for no seed, or for the same one twice.
    """
    if not seeds or len(set(seeds)) != len(seeds) or min(seeds) < 0:
        raise SpecError(f"seeds takes different whole numbers from 0, got {list(seeds)}")
    watch, setup, by_seed = Stopwatch(), setup_of(on), []
    about = {
        "settings": asdict(setup.system.settings),
        "data": setup.data,
        "sizes": {split: len(texts) for split, texts in setup.texts._asdict().items()},
    }
    for seed in progress(seeds, desc=f"{name}, {on}: seeds"):
        by_seed.append(TESTS[name].lines(setup, seed))
        done = list(seeds[: len(by_seed)])
        yield {"test": name, "on": on, "seeds": done, **about, **watch.about()} | {
            "lines": {
                line: {
                    figure: summary(np.stack([found[line][figure] for found in by_seed]))
                    for figure in figures
                }
                for line, figures in by_seed[0].items()
            },
            "f1_by_seed": {
                line: [f1(setup, found[line][protocols.ACCURACY]) for found in by_seed]
                for line in by_seed[0]
            },
        }


def f1(setup: TrainingSetup, right: np.ndarray) -> float:
    """The F1 of the second of two classes, which Wiegreffe and Pinter report, of a network that is
    ``right`` in some test texts."""
    labels = np.array([text.label for text in setup.texts.test])
    predicted = np.where(right == 1, labels, 1 - labels)
    return round(float(f1_score(labels, predicted)), DIGITS)


def summary(values: np.ndarray) -> dict[str, Any]:
    """``(seeds, texts)`` → the mean over both, its bootstrap interval over texts, each the mean of
    its seeds, and the mean of each seed.

    The interval tells what other texts would change, ``by_seed`` what other seeds would.
    """
    return mean_of(values.mean(0)) | {"by_seed": values.mean(1).round(DIGITS).tolist()}


def record_path(name: str, on: str) -> Path:
    """Where the record of a test is."""
    return folders.RESULTS / "faithfulness" / "trained" / f"{name}-{on}.json"


def command(options: argparse.Namespace) -> int:
    """Make some tests; the record of each is written after every seed."""
    for name in options.names:
        for on in [options.on] if options.on else TESTS[name].on:
            for record in record_test(name, on, options.seeds):
                seeds = " ".join(map(str, record["seeds"]))
                done = f"attention-course author trained-tests {name} --on {on} --seeds {seeds}"
                write_json(record_path(name, on), {"command": done} | record)
                print(f"{done}: {record['seconds']:.0f} s", flush=True)
            print(f"results in {record_path(name, on)}")
    return 0
