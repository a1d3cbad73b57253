"""What networks are trained for when their attention is put to the test: two losses per document.

Masks are boolean, True = real; attention ``(batch, length)`` has rows that sum to 1 over real words
and is 0 elsewhere; every loss is ``(batch,)``.
"""

from torch import Tensor

LEAST = 1e-8  # a weight below counts as this much, so that no logarithm is infinite


def divergence(attention: Tensor, other: Tensor) -> Tensor:
    """KL(α ‖ α') = Σ_i α_i log(α_i / α'_i) of each row, from 0, and finite (``LEAST``)."""
    ours, theirs = (each.clamp(min=LEAST).log() for each in (attention, other))
    return (attention * (ours - theirs)).sum(1)


def adversary_loss(
    probabilities: Tensor, base: Tensor, attention: Tensor, base_attention: Tensor, weight: float
) -> Tensor:
    """TVD(ŷ, ŷ_base) − λ KL(α ‖ α_base) with λ = ``weight`` (Wiegreffe and Pinter 2019, §4).

    ``probabilities`` and ``base`` are ``(batch, classes)``. Low where a network predicts what the
    base predicts, and attends to something else. ``ValueError`` for a negative weight.
    """
    _check(weight)
    variation = (probabilities - base).abs().sum(1) / 2
    return variation - weight * divergence(attention, base_attention)


def avoidance_loss(attention: Tensor, marked: Tensor, weight: float) -> Tensor:
    """R = −λ log(1 − αᵀm) with λ = ``weight`` (Pruthi et al. 2020, Eq. 1), to be added to the
    cross-entropy; ``marked`` ``(batch, length)`` is True at the words to be avoided.

    A document of nothing but marked words has no weight to move: its R is the largest, with no
    gradient. ``ValueError`` for a negative weight.
    """
    _check(weight)
    return -weight * (1 - (attention * marked).sum(1)).clamp(min=LEAST).log()


def _check(weight: float) -> None:
    if not weight >= 0:
        raise ValueError(f"weight takes a number from 0, got {weight}")
