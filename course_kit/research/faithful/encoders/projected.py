"""Each word alone: h_i = tanh(W x_i + b), so a state holds nothing of its neighbours."""

from course_lib.models.bilstm import WordByWord


def encoder(width: int) -> WordByWord:
    """States as wide as the vectors."""
    return WordByWord(width, width)
