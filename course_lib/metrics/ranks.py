"""Whether two figures put things in the same order."""

import torch
from torch import Tensor


def rank_correlation(first: Tensor, second: Tensor) -> Tensor:
    """Spearman's rank correlation along the last axis, in [−1, 1]: 1 for the same order.

    ``first`` and ``second`` ``(…, n)``, of shapes that broadcast → ``(…,)``. Equal values share
    the mean of their ranks. NaN where all of one are equal, or a value is not finite.
    """
    finite = first.isfinite().all(-1) & second.isfinite().all(-1)
    ranks, others = (
        ranked - ranked.mean(-1, keepdim=True) for ranked in (_ranks(first), _ranks(second))
    )
    spreads = ranks.square().sum(-1) * others.square().sum(-1)
    return ((ranks * others).sum(-1) / spreads.sqrt()).masked_fill(~finite, torch.nan)


def _ranks(values: Tensor) -> Tensor:
    """Ranks along the last axis; equal values share the mean of theirs."""
    below = (values.unsqueeze(-1) > values.unsqueeze(-2)).sum(-1)
    same = (values.unsqueeze(-1) == values.unsqueeze(-2)).sum(-1)
    return below + (same - 1).double() / 2
