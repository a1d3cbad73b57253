"""Softmax of c · tanh(W h + b) (Bahdanau et al. 2015)."""

from course_lib.models.layers import AttentionPooling


def attention(width: int) -> AttentionPooling:
    """Scores through a projection half as wide as the states."""
    return AttentionPooling(width, width // 2)
