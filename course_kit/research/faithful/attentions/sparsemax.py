"""Sparsemax: the distribution nearest to the scores, with exact zeros (Martins, Astudillo 2016)."""

import torch
from torch import Tensor

from course_kit.research.faithful.network import Pooling


def sparsemax(scores: Tensor, mask: Tensor) -> Tensor:
    """Σ max(s − τ, 0) = 1 along the last axis: as ``masked_softmax``, but many are 0.

    τ is (Σ_S s − 1) / |S| over the support S: the k largest scores, for the largest k with
    k s_(k) > Σ_{j ≤ k} s_(j) − 1.
    """
    s = scores.masked_fill(~mask, torch.finfo(scores.dtype).min / 4)
    ordered = s.sort(-1, descending=True).values
    k = torch.arange(1, s.shape[-1] + 1, device=s.device)
    size = (k * ordered > ordered.cumsum(-1) - 1).sum(-1, keepdim=True)
    support = (k <= size) & (ordered > torch.finfo(s.dtype).min / 8)
    count = support.sum(-1, keepdim=True).clamp(min=1)
    tau = (ordered.masked_fill(~support, 0).sum(-1, keepdim=True) - 1) / count
    return (s - tau).clamp(min=0) * mask


def attention(width: int) -> Pooling:
    """Scores as those of ``additive``."""
    return Pooling(width, width // 2, sparsemax)
