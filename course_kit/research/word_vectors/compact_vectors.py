"""The committed vectors and the form in which they are stored: a byte a number.

Both files were made once, and the record beside each names the commit that makes it again.
``reviews.100d``: of vectors trained on film reviews beside GloVe's
the first words, centred, and the 100 directions in which they vary most. ``minilm.160d``: the mean
of the last states of the pieces of each of these words, which MiniLM read alone, and of these the
160 directions in which they vary most.
"""

import numpy as np

from course_lib.files import REPOSITORY

COMPACT = REPOSITORY / "results" / "vectors" / "reviews.100d.npz"


def in_bytes(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """int8 numbers of the shape of ``vectors``, and the float32 ``scale`` (words,) of each row."""
    scale = np.maximum(np.abs(vectors).max(1), np.finfo(np.float32).tiny) / 127
    return np.rint(vectors / scale[:, None]).astype(np.int8), scale.astype(np.float32)
