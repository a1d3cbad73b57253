"""The two errors of an accuracy, that of the seeds and that of the test texts, and what a few seeds
can show."""

from collections.abc import Mapping
from statistics import fmean, variance
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.special import stdtrit

from course_kit.research.report.records import accuracy_of, seeds_of, with_film_vectors
from course_lib.metrics.classification import sampling_error
from course_lib.metrics.statistics import LEVEL
from course_lib.views.colours import ACCENT, MUTED, SECOND

Record = dict[str, Any]
EXPERIMENTS = 4000  # simulated ones in a histogram


class TwoErrors(NamedTuple):
    """Of one network on one dataset, in points: the standard deviation of its test accuracies over
    seeds, and the standard error that the test texts leave to one of them."""

    seeds: float
    texts: float


def two_errors(records: list[Record], least: int = 3) -> dict[str, TwoErrors]:
    """The two, for every network with test accuracies of ``least`` seeds, those with film vectors
    apart; the widest over seeds first."""
    asked = {
        tuple(record["spec"][name] for name in ("system", "preset", "dataset"))
        for record in records
        if "epochs" in record
    }
    found = {}
    for network in sorted(asked):
        groups = seeds_of(records, *network), with_film_vectors(records, *network)
        for note, group in zip(("", ", film vectors"), groups, strict=True):
            if len(group) >= least:
                texts = sampling_error(fmean(map(accuracy_of, group)), group[0]["sizes"]["test"])
                name = "{} {}, {}".format(*network) + note
                found[name] = TwoErrors(pooled_deviation(group), 100 * texts)
    return dict(sorted(found.items(), key=lambda item: -item[1].seeds))


def two_errors_figure(found: Mapping[str, TwoErrors], title: str) -> Figure:
    """Both errors of each network in a row, in points on a logarithmic scale."""
    figure, axis = plt.subplots(figsize=(8.5, 0.28 * len(found) + 1.2), layout="constrained")
    places = range(len(found))
    seeds, texts = zip(*found.values(), strict=True)
    axis.hlines(places, np.minimum(seeds, texts), np.maximum(seeds, texts), color=MUTED, lw=1)
    axis.plot(seeds, places, "o", color=SECOND, label="deviation over seeds")
    axis.plot(texts, places, "s", color=ACCENT, label="error of the test texts")
    axis.set_yticks(places, found, fontsize=10)
    axis.invert_yaxis()
    axis.set(xscale="log", xlabel="points of test accuracy (logarithmic)")
    axis.set_xticks([0.1, 0.3, 1, 3, 10], ["0.1", "0.3", "1", "3", "10"])
    axis.minorticks_off()
    axis.set_title(title)
    axis.legend(loc="lower right")
    return figure


def pooled_deviation(*groups: list[Record]) -> float:
    """Standard deviation of test accuracies over seeds in points, pooled over groups of runs."""
    return 100 * fmean(variance(map(accuracy_of, group)) for group in groups) ** 0.5


def draw_experiments(axis: Axes, true: float, deviation: float, seeds: int) -> None:
    """Differences that simulated experiments measure, in points: those that a t-test at 5 % tells
    from 0 in the second colour, and in the title how many those are and what they measure."""
    random = np.random.default_rng(0)
    first, second = deviation * random.standard_normal((2, EXPERIMENTS, seeds))
    measured = first.mean(1) + true - second.mean(1)
    error = np.sqrt((first.var(1, ddof=1) + second.var(1, ddof=1)) / seeds)
    told = np.abs(measured) > stdtrit(2 * seeds - 2, 1 - LEVEL / 2) * error
    bins = np.linspace(-4 * deviation, 4 * deviation, 49)
    axis.hist([measured[told], measured[~told]], bins, stacked=True, color=[SECOND, MUTED],
              label=["told from 0", "not told apart"])  # fmt: skip
    axis.axvline(true, color=ACCENT, linestyle=":", label=f"true: {true:g} points")
    axis.set(xlabel="measured difference, points", yticks=[])
    found = measured[told].mean()
    axis.set_title(f"{seeds} seeds: {told.mean():.0%} told, mean {found:+.1f}")
    axis.legend(fontsize=8, loc="upper left")
