"""Attention weights with exact zeros, each in the place of ``masked_softmax``.

Both equal those of the package ``entmax`` 1.3 to 1e-7, weights and gradients.
"""

import torch
from torch import Tensor


def sparsemax(scores: Tensor, mask: Tensor) -> Tensor:
    """max(s − τ, 0), which sum to 1 along the last axis: the distribution nearest to the scores.

    τ is (Σ s − 1) / k over the support, the k largest scores with k s₍ₖ₎ > Σ s₍ⱼ₎ − 1 over j ≤ k
    (Martins and Astudillo 2016). Arguments and shapes as ``masked_softmax``.
    """
    s, ordered, k = _ordered(scores, mask)
    size = (k * ordered > ordered.cumsum(-1) - 1).sum(-1, keepdim=True).clamp(min=1)
    tau = (ordered.cumsum(-1).gather(-1, size - 1) - 1) / size
    return (s - tau).clamp(min=0) * mask


def entmax15(scores: Tensor, mask: Tensor) -> Tensor:
    """max(s / 2 − τ, 0)², which sum to 1 along the last axis: between softmax and sparsemax.

    τ is mean − √((1 − k · variance) / k) of the k largest s / 2, for the largest k whose smallest
    is not below its τ (Peters, Niculae and Martins 2019). Arguments as ``masked_softmax``.
    """
    s, ordered, k = _ordered(scores / 2, mask)
    mean, square = ordered.cumsum(-1) / k, ordered.square().cumsum(-1) / k
    room = (1 - k * (square - mean.square())) / k
    taus = mean - room.clamp(min=1e-12).sqrt()
    size = (taus <= ordered).sum(-1, keepdim=True).clamp(min=1)
    return (s - taus.gather(-1, size - 1)).clamp(min=0).square() * mask


def _ordered(scores: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Scores, the highest 0 and far below where not real; the same in falling order; 1, 2, …"""
    highest = scores.masked_fill(~mask, -torch.inf).amax(-1, keepdim=True)
    s = (scores - highest).masked_fill(~mask, -1e4)
    k = torch.arange(1, s.shape[-1] + 1, device=s.device)
    return s, s.sort(-1, descending=True).values, k
