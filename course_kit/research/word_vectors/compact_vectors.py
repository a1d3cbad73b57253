"""The committed vectors, ``reviews.100d``, and the form in which they are stored: a byte a number.

They were made once, of vectors of film reviews (``attention-course author vectors``) beside
GloVe's: of both the first words, centred, and of all numbers the 100 directions in which they vary
most. The record beside the file names the commit that makes it again.
"""

import numpy as np

from course_lib.files import REPOSITORY

COMPACT = REPOSITORY / "results" / "vectors" / "reviews.100d.npz"
LARGEST = 127  # of an int8


def in_bytes(vectors: np.ndarray, largest: int = LARGEST) -> tuple[np.ndarray, np.ndarray]:
    """int8 numbers of the shape of ``vectors``, and the float32 ``scale`` (words,) of each row,
    whose largest number becomes ``largest``: a lower one takes less room in a packed file."""
    scale = np.maximum(np.abs(vectors).max(1), np.finfo(np.float32).tiny) / largest
    return np.rint(vectors / scale[:, None]).astype(np.int8), scale.astype(np.float32)
