"""SANet: on topics, does its attention stand in columns, whatever the distance of the words?

A column is a word that all words attend to. ``column_share`` is the share of the variance of a
text's attention matrix that lies between its columns: 1 if all rows are equal, about 1/n if they
have nothing in common. A distance between rows, such as the Jensen–Shannon divergence, would call
uniform attention perfect columns; here it has no variance to explain, and so no value.
``distance_share`` is the same for the distance j − i, with its sign: 1 if the weights depend on it
alone, as a band's do.
"""

import datasets
import numpy as np

from course_kit.research.seed_claims import studied
from course_lib.explore.reading import read_rows
from course_lib.metrics.statistics import Estimate, welch
from course_lib.runs.systems import NeuralSystem

# The paper's network, whose scores are not divided by √d, stopped after 20 of its 40 epochs
# without a look at the test half; and the committed networks, whose scores are divided.
TOPICS = ("sanet-ag_news-base-epochs20-notest", "sanet-ag_news-compact")
SENTIMENT = ("sanet-amazon_full-base-epochs20-notest", "sanet-imdb-compact")
TEXTS = 300
ALIKE = 1e-6  # a spread of weights below this share of the uniform weight is rounding
COLUMNS, DISTANCE = "columns", "distance"


def column_share(attention: np.ndarray) -> float:
    """The share of the variance of weights ``(n, n)`` between columns; NaN if all are equal."""
    return _share(attention, np.broadcast_to(attention.mean(0), attention.shape))


def distance_share(attention: np.ndarray) -> float:
    """The share of the variance between distances j − i; NaN if all weights are equal."""
    n = len(attention)
    distance = np.arange(n)[None] - np.arange(n)[:, None] + n - 1
    total = np.bincount(distance.ravel(), attention.ravel())
    return _share(attention, (total / np.bincount(distance.ravel()))[distance])


def _share(attention: np.ndarray, explained: np.ndarray) -> float:
    n = len(attention)
    whole = ((attention - 1 / n) ** 2).mean()
    if n < 2 or whole**0.5 < ALIKE / n:
        return np.nan
    return float(((explained - 1 / n) ** 2).mean() / whole)


def matrices(system: NeuralSystem, rows: datasets.Dataset) -> list[np.ndarray]:
    """The attention of the first block to each text, ``(n, n)`` in float64."""
    return [
        reading.attention["block 1"].weights.astype(float) for reading in read_rows(system, rows)
    ]


def shares(attention: list[np.ndarray], seed: int) -> dict[str, np.ndarray]:
    """Both shares by text, and those of the same weights in a random order within each row."""
    random = np.random.default_rng(seed)
    chance = [random.permuted(each, axis=1) for each in attention]
    return {
        COLUMNS: np.array([*map(column_share, attention)]),
        DISTANCE: np.array([*map(distance_share, attention)]),
        f"{COLUMNS}, rows shuffled": np.array([*map(column_share, chance)]),
        f"{DISTANCE}, rows shuffled": np.array([*map(distance_share, chance)]),
    }


def between(first: studied.Figure, second: studied.Figure) -> dict[str, float | None]:
    """The difference of two groups' means with its 95 % Welch interval over networks; None for an
    end if one of the groups is a single network."""
    sides = [[one["mean"] for one in side["by_network"].values()] for side in (first, second)]
    value = float(np.mean(sides[0]) - np.mean(sides[1]))
    if min(map(len, sides)) < 2:
        return {"mean": round(value, 5), "low": None, "high": None}
    parts = welch([(np.var(side, ddof=1) / len(side), len(side) - 1) for side in sides])
    low, high = Estimate(value, 0.0, 2, *parts).interval
    return {"mean": round(value, 5), "low": round(low, 5), "high": round(high, 5)}


def measure(seed: int = 0) -> studied.Claim:
    """The part of the record that is this claim's."""
    groups = studied.groups((*TOPICS, *SENTIMENT))
    texts, found = {}, {}
    for prefix, networks in groups.items():
        first = next(iter(networks.values())).run
        rows = studied.sample(first, TEXTS, seed)
        texts[prefix] = studied.about_texts(first, rows, seed)
        of: dict[str, dict[str, np.ndarray]] = {}
        for name, network in networks.items():
            own = shares(matrices(network.system, rows), seed)
            before = shares(matrices(network.untrained, rows), seed)
            own |= {f"untrained: {n}": before[n] for n in (COLUMNS, DISTANCE)}
            own[f"{COLUMNS} − {DISTANCE}"] = own[COLUMNS] - own[DISTANCE]
            own[f"{COLUMNS} − untrained"] = own[COLUMNS] - before[COLUMNS]
            for figure, values in own.items():
                of.setdefault(figure, {})[name] = values
        found[prefix] = studied.figures(of, seed)
    pairs = [
        (topic, other)
        for topic, other in zip(TOPICS, SENTIMENT, strict=True)
        if topic in found and other in found
    ]
    return {
        "paper": "Letarte et al. 2018",
        "says": "On topics, attention stands in columns: all words attend to the same few, whatever"
        " the distance.",
        "measured": "The share of the variance of a text's attention matrix that lies between "
        "columns (1: all rows are equal), and between distances j − i (1: the weights depend on "
        "the distance alone). Uniform attention has no variance and no value.",
        "unit": "share of the variance of a text's weights, mean over texts",
        "positive": "columns − distance: columns explain more than the distance; columns − "
        "untrained: more than before training; topic − sentiment: more on news than on reviews",
        "networks": studied.about_networks(groups),
        "texts": texts,
        "figures": found,
        "topic − sentiment": {
            f"{topic} − {other}": {
                n: between(found[topic][n], found[other][n])
                for n in (COLUMNS, DISTANCE, f"{COLUMNS} − {DISTANCE}")
            }
            for topic, other in pairs
        },
    }
