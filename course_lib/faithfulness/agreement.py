"""Whether two rankings, two distributions or the states of a text agree, document by document."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from scipy.special import rel_entr
from scipy.stats import bootstrap, kendalltau
from torch import Tensor

DRAWS = 10_000


def kendall(first: Sequence[np.ndarray], second: Sequence[np.ndarray]) -> np.ndarray:
    """Kendall's τ-b of each document's two rankings, ``(documents,)`` in [−1, 1].

    τ-b counts a tie in one ranking neither for nor against it. NaN where one of the two is constant
    (so in a text of one word): there is no order to agree on. Pass absolute values where the
    direction of a score is not meant, as Jain and Wallace (2019) do for gradients and |Δŷ|.
    ``ValueError`` for rankings of different numbers of words, and for NaN in one.
    """
    pairs = zip(first, second, strict=True)
    taus = [
        kendalltau(*p, nan_policy="raise").statistic if len(p[0]) > 1 else np.nan for p in pairs
    ]
    return np.array(taus)


def jensen_shannon(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """½ KL(p ‖ m) + ½ KL(q ‖ m) with m = ½ (p + q), along the last axis: from 0 to ln 2 ≈ 0.69.

    Any shapes that broadcast ``(…, n)`` → ``(…,)``. The rows are distributions, or zeros for
    padding: two rows of zeros have divergence 0.
    """
    middle = (first + second) / 2
    return (rel_entr(first, middle) + rel_entr(second, middle)).sum(-1) / 2


def total_variation(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """½ Σ |p − q| along the last axis, in [0, 1]: the most by which an event's probability differs;
    any shapes that broadcast ``(…, n)`` → ``(…,)``."""
    return np.abs(first - second).sum(-1) / 2


def conicity(states: Tensor, mask: Tensor) -> Tensor:
    """Mean cosine of a document's states with their mean (Mohankumar et al. 2020), ``(batch,)``.

    ``states`` ``(batch, length, hidden)``, ``mask`` ``(batch, length)``, True = real. 1 where all
    states point the same way; below 0 only where a few long ones outweigh the others. Attention
    over states that are all alike may go anywhere without a change of the output. A document
    without words has 0. ``ValueError`` for a mask of another shape.
    """
    if states.shape[:-1] != mask.shape:
        raise ValueError(f"states {tuple(states.shape)} do not fit a mask {tuple(mask.shape)}")
    real = mask.unsqueeze(-1)
    states = states.masked_fill(~real, 0)
    total = mask.sum(1).clamp(min=1)
    mean = states.sum(1, keepdim=True) / total[:, None, None]
    return torch.cosine_similarity(states, mean, dim=-1).sum(1) / total


class Mean(NamedTuple):
    """A ``mean`` over ``counted`` documents with its 95 % interval from ``low`` to ``high``, and
    how many documents were ``left_out`` because they have no value."""

    mean: float
    low: float
    high: float
    counted: int
    left_out: int


def mean_over_documents(values: np.ndarray, seed: int = 0) -> Mean:
    """The mean of values ``(documents,)`` and its percentile bootstrap interval.

    NaN (no order, no room between limits) is left out and counted. The interval holds the
    spread of documents, not that of seeds. Without a value all numbers are NaN; a single one, or
    equal ones, are their own interval. ``ValueError`` for another shape or an infinite value.
    """
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 1 or np.isinf(values).any():
        raise ValueError(f"values takes one number or NaN per document, got {values.shape}")
    kept = values[~np.isnan(values)]
    left_out = len(values) - len(kept)
    if not len(kept):
        return Mean(np.nan, np.nan, np.nan, 0, left_out)
    mean = float(kept.mean())
    if np.ptp(kept) == 0:
        return Mean(mean, mean, mean, len(kept), left_out)
    interval = bootstrap(
        (kept,), np.mean, n_resamples=DRAWS, batch=1000, method="percentile", rng=seed
    ).confidence_interval
    return Mean(mean, float(interval.low), float(interval.high), len(kept), left_out)
