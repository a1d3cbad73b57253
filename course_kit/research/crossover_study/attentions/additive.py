"""Additive attention (Bahdanau et al. 2015), the reference of the study."""

from collections.abc import Callable

from torch import Tensor

from course_lib.models.layers import AttentionPooling, masked_softmax


def additive(
    width: int, weights: Callable[[Tensor, Tensor], Tensor] = masked_softmax
) -> AttentionPooling:
    """Create additive attention, whose scores c · tanh(W h + b) ``weights`` turns into α."""
    return AttentionPooling(width, width // 2, weights=weights)
