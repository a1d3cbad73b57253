"""Entmax with α = 1.5 of additive scores."""

from course_lib.models.layers import AttentionPooling
from course_lib.models.sparse import entmax15


def attention(width: int) -> AttentionPooling:
    """Scores as those of ``additive``."""
    return AttentionPooling(width, width // 2, weights=entmax15)
