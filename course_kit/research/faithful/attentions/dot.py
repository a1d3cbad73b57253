"""Softmax of the scaled dot product c · h / √width."""

from course_kit.research.faithful.network import Pooling
from course_lib.models.layers import masked_softmax


def attention(width: int) -> Pooling:
    """Scores without a projection."""
    return Pooling(width, 0, masked_softmax)
