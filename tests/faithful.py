"""Models of which we know what they use: summed word vectors, a planted word, ignored attention."""

from functools import partial

import numpy as np
from hypothesis import strategies as st
from scipy import special

softmax = partial(special.softmax, axis=-1)
WORDS = tuple("abcdefghijklmnopqrst")
PLANTED = "wonderful"

documents = st.lists(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=8), min_size=1, max_size=4
)


def flat(document):
    return [w for part in document for w in ([part] if isinstance(part, str) else part)]


class Linear:
    """Sums the vectors of the words; a linear head with two classes on top.

    Every word that is not in its vocabulary has the zero vector.
    """

    def __init__(self, seed=0, width=3, bias=0.1):
        random = np.random.default_rng(seed)
        self.vectors = {word: random.normal(size=width) for word in WORDS}
        self.head, self.bias, self.width = random.normal(size=(width, 2)), bias, width
        self.calls, self.asked = 0, []

    def inputs(self, document):
        rows = [self.vectors.get(word, np.zeros(self.width)) for word in flat(document)]
        return np.reshape(rows, (-1, self.width))

    def __call__(self, documents):
        self.calls += 1
        self.asked += documents
        sums = np.stack([self.inputs(document).sum(0) for document in documents])
        return softmax(sums @ self.head + [self.bias, 0])

    def gradients(self, documents, classes, scale=1.0, detached=False):
        """With two classes the log-odds of j are z_j − z_other, so the slope is one and the same
        everywhere."""
        found = []
        for document, j in zip(documents, classes):
            x = self.inputs(document)
            found.append((x, np.broadcast_to(self.head[:, j] - self.head[:, 1 - j], x.shape)))
        return found

    def contributions(self, document, j):
        """What each word adds to the log-odds of class j."""
        return self.inputs(document) @ (self.head[:, j] - self.head[:, 1 - j])


def detector(documents):
    """Logits ± 10, by whether the planted word is there."""
    there = np.array([PLANTED in flat(document) for document in documents])
    sign = np.where(there, 10.0, -10.0)
    return softmax(np.stack([-sign, sign], 1))
