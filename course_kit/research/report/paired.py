"""Comparisons of two models on the same test texts, text by text."""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import bdtr

from course_lib.runs.records import predictions_of

DRAWS = 10_000
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


def mcnemar(first: np.ndarray, second: np.ndarray) -> float:
    """The two-sided p-value of McNemar's exact test that two models are right equally often.

    ``first`` and ``second`` are bool ``(texts,)``: whether each model is right. Only the texts
    count that exactly one of them gets right; if the models are equally good, each of those is a
    fair coin's throw, so the p-value is a binomial tail. 1 if there are none.
    """
    _check_items(first, second)
    only_first, only_second = int((first & ~second).sum()), int((second & ~first).sum())
    fewer, throws = min(only_first, only_second), only_first + only_second
    return min(1.0, 2 * float(bdtr(fewer, throws, 0.5)))


def paired_bootstrap(
    first: np.ndarray, second: np.ndarray, draws: int = DRAWS, seed: int = 0, share: float = 0.95
) -> tuple[float, float]:
    """The bounds that contain ``share`` of the differences of two mean accuracies over ``draws``.

    ``first`` and ``second`` are bool ``(seeds, texts)``: whether each run is right; their numbers
    of seeds may differ. Each draw takes as many texts as there are, with replacement, and averages
    over the seeds the difference on each. To that it adds the mean of deviations drawn from the
    seeds of either side (see ``_seed_deviations``), ``n − 1`` of ``n`` with replacement: with
    ``n`` draws the variance of their mean would be too small by a factor ``(n − 1) / n``.

    A single seed has no deviations, so its spread is missing. Where the seeds' spread outweighs
    that of the texts, a few seeds make the interval too short: with three, an eighth of the
    intervals missed the true difference in a simulation, where a twentieth should.
    """
    _check_items(first, second)
    random = np.random.default_rng(seed)
    # Times both numbers of seeds these are whole numbers of few kinds, whose counts can be drawn.
    gaps = first.sum(0) * len(second) - second.sum(0) * len(first)
    kinds, counts = np.unique(gaps, return_counts=True)
    texts = len(gaps)
    by_texts = random.multinomial(texts, counts / texts, size=draws) @ kinds / texts
    differences = by_texts / (len(first) * len(second))
    for side, sign in ((first, 1), (second, -1)):
        if len(side) > 1:
            chosen = random.integers(len(side), size=(draws, len(side) - 1))
            differences += sign * _seed_deviations(side)[chosen].mean(1)
    low, high = np.quantile(differences, [(1 - share) / 2, (1 + share) / 2])
    return float(low), float(high)


def _seed_deviations(right: np.ndarray) -> np.ndarray:
    """How far the accuracy of each seed lies from their mean, without what the texts explain.

    Seeds that are equally good disagree on single texts, so their accuracies differ by chance. The
    differences on the texts hold that part already; counted again it would widen the interval. The
    deviations are therefore shrunk until their variance is what is beyond it, or 0.
    """
    accuracies = right.mean(1)
    deviations = accuracies - accuracies.mean()
    by_chance = (right - accuracies[:, None]).var(0, ddof=1).mean() / right.shape[1]
    beyond = max(0.0, deviations.var(ddof=1) - by_chance)
    return deviations * (beyond / (beyond + by_chance)) ** 0.5 if beyond else 0 * deviations


def _check_items(first: np.ndarray, second: np.ndarray) -> None:
    texts = first.shape[-1]
    if not texts or texts != second.shape[-1]:
        raise ValueError(f"a paired test needs the same texts, got {texts} and {second.shape[-1]}")


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
