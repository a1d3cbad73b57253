"""What an accuracy is compared with: chance, counted words, other models, one change at a time."""

from collections.abc import Mapping
from statistics import fmean
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from course_kit.research.report.apart import single_changes
from course_kit.research.report.differences import difference
from course_kit.research.report.records import SIMPLE, accuracy_of, seeds_of, spread
from course_lib.data.catalog import CARDS
from course_lib.metrics.classification import sampling_error
from course_lib.runs.records import kept_accuracy
from course_lib.views.colours import ACCENT, SECOND

Record = dict[str, Any]
OTHER_TEXTS = ("dataset", "limit")  # runs that differ in these answer another question


class Beside(NamedTuple):
    """A network's mean test accuracy on a dataset with the standard error of one, beside the
    accuracy of the commonest training class and of TF-IDF; all in [0, 1]."""

    dataset: str
    network: str
    chance: float
    counted: float
    accuracy: float
    error: float


def chance_line(dataset: str) -> float:
    """Test accuracy of always answering the commonest training class, from the dataset's card."""
    train, test = CARDS[dataset].sizes["train"], CARDS[dataset].sizes["test"]
    return test[train.index(max(train))] / sum(test)


def beside_chance(records: list[Record], networks: Mapping[str, tuple[str, str]]) -> list[Beside]:
    """For each dataset its network, a system and a preset, beside chance and counted words."""
    rows = []
    for dataset, (system, preset) in networks.items():
        group = seeds_of(records, system, preset, dataset)
        counted = max(_mean(seeds_of(records, *simple, dataset)) for simple in SIMPLE.values())
        error = sampling_error(_mean(group), group[0]["sizes"]["test"])
        names = dataset, f"{system} {preset}"
        rows.append(Beside(*names, chance_line(dataset), counted, _mean(group), error))
    return rows


def beside_table(rows: list[Beside]) -> str:
    """These as a markdown table, in percent."""
    lines = ["| dataset | chance line | counted words (TF-IDF) | network | its standard error |"]
    lines.append("|---|---:|---:|---:|---:|")
    for row in rows:
        network = f"{row.accuracy:.1%} ({row.network})"
        cells = [f"{row.chance:.1%}", f"{row.counted:.1%}", network, f"{row.error:.1%}"]
        lines.append(f"| {row.dataset} | {' | '.join(cells)} |")
    return "\n".join(lines)


def pairs_table(pairs: Mapping[str, tuple[list[Record], list[Record]]]) -> str:
    """Named pairs of groups of runs, their test accuracies in % with the number of runs, and the
    first minus the second in points with its interval, as a markdown table."""
    lines = ["| first − second | first | second | points | the first is |"]
    lines.append("|---|---:|---:|---:|---|")
    for name, pair in pairs.items():
        told = [f"{spread(list(map(accuracy_of, g)), 100)} ({len(g)})" for g in pair]
        gap = difference(*pair)
        lines.append(f"| {name} | {' | '.join(told)} | {gap} | {gap.reading} |")
    return "\n".join(lines)


def movements(records: list[Record]) -> dict[str, list[float]]:
    """How many points of validation accuracy lie between two runs that differ in one setting, by
    that setting: the seed first, then those that move most."""
    moved: dict[str, list[float]] = {}
    for address, first, second in single_changes([r for r in records if "epochs" in r]):
        if address not in OTHER_TEXTS:
            points = 100 * abs(kept_accuracy(first) - kept_accuracy(second))
            moved.setdefault(address, []).append(points)
    names = sorted(moved, key=lambda name: (name != "seed", -np.median(moved[name])))
    return {name: moved[name] for name in names}


def movements_figure(moved: Mapping[str, list[float]], limit: float, title: str) -> Figure:
    """A row of points a setting; up to ``limit`` points lie within the shade."""
    figure, axis = plt.subplots(figsize=(8.5, 0.3 * len(moved) + 1.1), layout="constrained")
    axis.axvspan(0, limit, color=SECOND, alpha=0.12)
    for place, (name, points) in enumerate(moved.items()):
        colour = SECOND if name == "seed" else ACCENT
        axis.plot(points, [place] * len(points), "o", color=colour, alpha=0.5)
    rows = [f"{name} ({len(points)})" for name, points in moved.items()]
    axis.set_yticks(range(len(rows)), rows, fontsize=10)
    axis.invert_yaxis()
    axis.set_xscale("symlog", linthresh=1)
    axis.set_xticks([0, 1, 2, 5, 10, 20], ["0", "1", "2", "5", "10", "20"])
    axis.set(xlabel="points of validation accuracy, either way (linear up to 1)", xlim=(-0.08, 30))
    axis.set_title(title)
    return figure


def _mean(group: list[Record]) -> float:
    return fmean(map(accuracy_of, group))
