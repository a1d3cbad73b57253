"""What a network is trained for when its attention is put to the test: a loss per document.

Masks are boolean, True = real; attention ``(batch, length)`` has rows that sum to 1 over real words
and is 0 elsewhere; the loss is ``(batch,)``.
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
    if not weight >= 0:
        raise ValueError(f"weight takes a number from 0, got {weight}")
    variation = (probabilities - base).abs().sum(1) / 2
    return variation - weight * divergence(attention, base_attention)
