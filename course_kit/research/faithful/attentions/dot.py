"""Softmax of the scaled dot product c · h / √width."""

from course_lib.models.layers import AttentionPooling


def attention(width: int) -> AttentionPooling:
    """Scores without a projection."""
    return AttentionPooling(width, 0)
