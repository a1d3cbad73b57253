"""Additive attention at temperature 1/4: softmax of four times the scores."""

from torch import Tensor

from course_kit.research.faithful.network import Pooling
from course_lib.models.layers import masked_softmax

TEMPERATURE = 0.25


def sharpened(scores: Tensor, mask: Tensor) -> Tensor:
    """As ``masked_softmax``, of scores divided by the temperature."""
    return masked_softmax(scores / TEMPERATURE, mask)


def attention(width: int) -> Pooling:
    """Scores as those of ``additive``."""
    return Pooling(width, width // 2, sharpened)
