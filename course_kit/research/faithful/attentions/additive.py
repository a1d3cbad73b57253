"""Softmax of c · tanh(W h + b) (Bahdanau et al. 2015)."""

from course_kit.research.faithful.network import Pooling
from course_lib.models.layers import masked_softmax


def attention(width: int) -> Pooling:
    """Scores through a projection half as wide as the states."""
    return Pooling(width, width // 2, masked_softmax)
