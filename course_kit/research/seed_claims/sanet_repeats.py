"""SANet: do positions give a gradation over repeated words and marks?

The paper shows "horrible horrible horrible service" and "love this place !!!". Without positions
equal words are equal vectors, so they get equal weights in every row and no gradation is possible.
"""

from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from math import factorial
from typing import NamedTuple

import numpy as np

from course_kit.research.seed_claims import studied
from course_kit.research.seed_claims.sanet_columns import SENTIMENT, TOPICS
from course_lib.data.text import TokenisedText
from course_lib.runs.systems import NeuralSystem

PREFIXES = (*SENTIMENT, *TOPICS)
WORDS = ("horrible", "terrible", "awful", "bad", "great", "good", "excellent", "wonderful")
THINGS = ("service", "place", "food", "story", "book", "product")
PHRASES = (
    ("love", "this", "place"),
    ("hate", "this", "book"),
    ("what", "a", "movie"),
    ("buy", "it", "now"),
    ("never", "again"),
    ("five", "stars"),
)
MARKS = ("!", "?", ".")
TIMES = (3, 4)  # the paper's three, and one more
ALIKE = 1e-5  # weights that differ by less, as a share of their mean, differ by rounding


class Repeated(NamedTuple):
    """A made-up sentence, and the places of its repeated word."""

    words: tuple[str, ...]
    places: range


def made_up(times: int) -> list[Repeated]:
    """Sentences that begin with a repeated word, and such that end with a repeated mark."""
    begin = [
        Repeated((word,) * times + (thing,), range(times)) for word, thing in product(WORDS, THINGS)
    ]
    end = [
        Repeated((*phrase, *(mark,) * times), range(len(phrase), len(phrase) + times))
        for phrase, mark in product(PHRASES, MARKS)
    ]
    return begin + end


def in_order(weights: Sequence[float]) -> float:
    """1 if every weight is larger than the one before, or every one smaller; else 0."""
    steps = np.diff(weights) / np.mean(weights)
    return float((steps > ALIKE).all() or (steps < -ALIKE).all())


def spread(weights: Sequence[float]) -> float:
    """The largest weight minus the smallest, as a share of their mean."""
    return float(np.ptp(weights) / np.mean(weights))


def received(system: NeuralSystem, sentence: Repeated) -> np.ndarray:
    """The mean weight that each repeated word gets from all words of the sentence, in block 1."""
    words = list(sentence.words)
    weights = system.read(TokenisedText(words, [len(words)])).attention["block 1"].weights
    return weights.astype(float).mean(0)[list(sentence.places)]


@contextmanager
def without_positions(system: NeuralSystem):  # noqa: ANN201
    """Let a SANet read words without their positions while this lasts."""
    config = system.model.config
    system.model.config = replace(config, positions=False)
    try:
        yield
    finally:
        system.model.config = config


def statistics(network: studied.Studied, times: int) -> dict[str, np.ndarray]:
    """By sentence: whether the weights of the repeats are in order, falling or rising, and how far
    they are spread; the same before training and without positions."""
    sentences, untrained, found = made_up(times), network.untrained, {}
    with without_positions(network.system):
        found[", no positions"] = [received(network.system, one) for one in sentences]
    found[""] = [received(network.system, one) for one in sentences]
    found[", untrained"] = [received(untrained, one) for one in sentences]
    chance = 2 / factorial(times)
    figures = {}
    for name, of in found.items():
        figures[f"in order{name}"] = np.array([*map(in_order, of)])
        figures[f"spread{name}"] = np.array([*map(spread, of)])
    figures["falling"] = np.array([in_order(one) * (one[0] > one[-1]) for one in found[""]])
    figures["in order − chance"] = figures["in order"] - chance
    figures["in order − untrained"] = figures["in order"] - figures["in order, untrained"]
    figures["spread − untrained"] = figures["spread"] - figures["spread, untrained"]
    return {f"{name}, {times} times": values for name, values in figures.items()}


def measure(seed: int = 0) -> studied.Claim:
    """The part of the record that is this claim's."""
    groups, found = studied.groups(PREFIXES), {}
    for prefix, networks in groups.items():
        of: dict[str, dict[str, np.ndarray]] = {}
        for name, network in networks.items():
            for times in TIMES:
                for figure, values in statistics(network, times).items():
                    of.setdefault(figure, {})[name] = values
        found[prefix] = studied.figures(of, seed)
    return {
        "paper": "Letarte et al. 2018",
        "says": "Positions give attention a gradation over repeated words and marks.",
        "measured": "Made-up sentences with a word or mark three or four times in a row: the mean "
        "weight that each repeat receives from all words. In order: the weights rise from repeat "
        "to repeat, or fall. Spread: largest minus smallest, as a share of their mean. By chance "
        "three weights are in order in 1/3 of the cases, four in 1/12.",
        "unit": "share of the made-up sentences; share of the mean weight for the spread",
        "positive": "in order − chance: a gradation more often than of unrelated weights",
        "networks": studied.about_networks(groups),
        "texts": {"made up": {f"{times} times": len(made_up(times)) for times in TIMES}},
        "figures": found,
    }
