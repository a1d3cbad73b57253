"""Whether two figures put things in the same order."""

import torch
from torch import Tensor


def rank_correlation(first: Tensor, second: Tensor) -> Tensor:
    """Spearman's rank correlation along the last axis, in [−1, 1]: 1 for the same order.

    ``first`` and ``second`` ``(…, n)``, of shapes that broadcast → ``(…,)``. Equal values share
    the mean of their ranks. NaN where all values of one are equal or not all are finite.
    """
    ranks, others = _centred_ranks(first), _centred_ranks(second)
    spreads = ranks.square().sum(-1) * others.square().sum(-1)
    finite = first.isfinite().all(-1) & second.isfinite().all(-1)
    return ((ranks * others).sum(-1) / spreads.sqrt()).masked_fill(~finite, torch.nan)


def _centred_ranks(values: Tensor) -> Tensor:
    """Ranks along the last axis minus their mean; equal values share the mean of theirs."""
    below = (values.unsqueeze(-1) > values.unsqueeze(-2)).sum(-1)
    above = (values.unsqueeze(-1) < values.unsqueeze(-2)).sum(-1)
    return (below - above).double() / 2
