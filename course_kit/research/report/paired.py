"""Comparisons of two models on the same test texts, text by text."""

from typing import Any, NamedTuple

import numpy as np

from course_lib.metrics.statistics import mcnemar, paired_bootstrap
from course_lib.runs.records import predictions_of

SIGNIFICANT = 0.05


class Paired(NamedTuple):
    """A paired comparison of two accuracies in [0, 1]: the bounds of a 95 % interval of their
    difference, and the p-value of McNemar's test, None if one side has several seeds."""

    low: float
    high: float
    p: float | None

    def __str__(self) -> str:
        """Which test it is, in words."""
        if self.p is None:
            return "paired, bootstrap over texts and seeds"
        return "paired, McNemar p " + (f"= {self.p:.3f}" if self.p >= 0.001 else "< 0.001")


def paired(ours: list[dict[str, Any]], other: list[dict[str, Any]]) -> Paired | None:
    """The paired comparison of two groups of runs, one run per seed; None unless all of them kept
    their predictions of the same test texts."""
    kept = [predictions_of(record) for record in (*ours, *other)]
    if any(run is None for run in kept) or len({run.items for run in kept}) > 1:
        return None
    right = np.stack([run.right for run in kept])
    first, second = right[: len(ours)], right[len(ours) :]
    p = mcnemar(first[0], second[0]) if len(first) == len(second) == 1 else None
    return Paired(*paired_bootstrap(first, second), p)
