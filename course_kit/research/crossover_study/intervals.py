"""Means with clustered 95 % intervals: over networks and texts, over fixed or drawn levels."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from course_lib.metrics.statistics import Estimate, welch


def clustered(values: np.ndarray, networks: Sequence, texts: Sequence) -> Estimate:
    """The mean of values that share networks and texts, two crossed clusters.

    The variance is that of Cameron, Gelbach and Miller (2011), V_networks + V_texts − V_both, where
    V of a clustering is G / (G − 1) Σ_g (Σ_{i ∈ g} e_i)² / n² over its G clusters, e_i being
    deviations from the mean. On a full table it is ``metrics.crossed``. The part by networks has
    G − 1 degrees of freedom. Not a number with fewer than two of either.
    """
    table = pd.DataFrame({"value": values, "network": list(networks), "text": list(texts)}).dropna()
    counts = table["network"].nunique(), table["text"].nunique()
    if min(counts) < 2:
        return Estimate(np.nan, np.nan, 2)
    mean = float(table["value"].mean())
    e = (table["value"] - mean) / len(table)
    by_network, by_text = (
        float((e.groupby(table[name]).sum() ** 2).sum() * n / (n - 1))
        for name, n in zip(("network", "text"), counts)
    )
    both = float((e**2).sum() * len(table) / (len(table) - 1))
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
