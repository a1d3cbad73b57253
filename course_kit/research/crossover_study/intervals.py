"""Means with clustered 95 % intervals: over networks and texts, over fixed or drawn levels."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from course_lib.metrics.statistics import Estimate, welch

ROUNDS = 20  # of taking away the means of networks and of texts, in turn


def clustered(values: np.ndarray, networks: Sequence, texts: Sequence) -> Estimate:
    """The mean of values that share networks and texts, two crossed clusters.

    The variance is V_networks + V_texts − σ² / n, where V of a clustering is
    G / (G − 1) Σ_g (Σ_{i ∈ g} e_i)² / n² over its G clusters, e_i are deviations from the mean, and
    σ² is the variance that neither cluster explains, which both parts count (after Cameron, Gelbach
    and Miller 2011). On a full table it is ``metrics.crossed``. The part by networks has G − 1
    degrees of freedom. Not a number with fewer than two of either.
    """
    table = pd.DataFrame({"value": values, "network": list(networks), "text": list(texts)}).dropna()
    clusters = [table[name].factorize()[0] for name in ("network", "text")]
    counts = [len(np.unique(each)) for each in clusters]
    if not len(table) or min(counts) < 2:
        return Estimate(np.nan, np.nan, 2)
    n, mean = len(table), float(table["value"].mean())
    e = table["value"].to_numpy() - mean
    by_network, by_text = (
        float((np.bincount(each, e) ** 2).sum() * count / (count - 1)) / n**2
        for each, count in zip(clusters, counts)
    )
    left = e
    for each in clusters * ROUNDS:
        left = left - (np.bincount(each, left) / np.bincount(each))[each]
    both = float((left**2).sum()) / max(1, n - sum(counts) + 1) / n
    return Estimate(mean, max(by_text - both, 0.0), counts[1], by_network, counts[0] - 1)


def combined(parts: Sequence[Estimate], weights: Sequence[float] | None = None) -> Estimate:
    """The weighted sum of independent estimates; by default their mean, so levels are fixed."""
    weights = weights or [1 / len(parts)] * len(parts)
    by_networks = [(w**2 * part.by_seeds, part.freedom) for w, part in zip(weights, parts)]
    return Estimate(
        sum(w * part.value for w, part in zip(weights, parts)),
        sum(w**2 * part.by_texts for w, part in zip(weights, parts)),
        min(part.texts for part in parts),
        *welch([each for each in by_networks if each[0]]),
    )


def drawn(parts: Sequence[Estimate]) -> Estimate:
    """The mean of estimates as a sample of levels like these: a *t* interval of their values."""
    values = np.array([part.value for part in parts])
    return Estimate(float(values.mean()), 0.0, 2, values.var(ddof=1) / len(values), len(values) - 1)
