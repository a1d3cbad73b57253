"""A bidirectional LSTM: each state has read the whole text."""

from course_lib.models.layers import LSTMLayer


def encoder(width: int) -> LSTMLayer:
    """Half of each state from either direction."""
    return LSTMLayer(width, width)
