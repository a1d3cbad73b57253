"""Entmax with α = 1.5: between softmax and sparsemax, with exact zeros (Peters et al. 2019)."""

import torch
from torch import Tensor

from course_kit.research.faithful.network import Pooling


def entmax15(scores: Tensor, mask: Tensor) -> Tensor:
    """Σ max(s / 2 − τ, 0)² = 1 along the last axis: weights as ``masked_softmax`` gives, some 0.

    τ is mean − √((1 − k · variance) / k) of the k largest s / 2, for the largest k whose smallest
    score is not below it.
    """
    s = (scores - scores.masked_fill(~mask, -torch.inf).amax(-1, keepdim=True)) / 2
    s = s.masked_fill(~mask, -1e4)
    ordered = s.sort(-1, descending=True).values
    k = torch.arange(1, s.shape[-1] + 1, device=s.device)
    mean, square = ordered.cumsum(-1) / k, ordered.square().cumsum(-1) / k
    room = (1 - k * (square - mean.square())) / k
    taus = mean - room.clamp(min=1e-12).sqrt()
    size = (taus <= ordered).sum(-1, keepdim=True).clamp(min=1)
    return (s - taus.gather(-1, size - 1)).clamp(min=0).square() * mask


def attention(width: int) -> Pooling:
    """Scores as those of ``additive``."""
    return Pooling(width, width // 2, entmax15)
