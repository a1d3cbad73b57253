"""States of a pre-trained Transformer with frozen weights, which are computed once and kept.

They are taken along the 100 directions in which those of the training texts vary most. Those of a
corpus are kept in float16 in the data folder.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from course_kit.research.faithful import corpora
from course_kit.research.faithful.word_states import UNUSED, WordStates, principal
from course_lib.files import atomic_path, prepared_folder

WIDTH = 100
AXES_FROM = 20_000  # states of training texts that decide the directions


class States:
    """The frozen network's states of a corpus's texts, and of any others, cached."""

    def __init__(self, corpus: str) -> None:
        self.corpus, self.known = corpus, {}

    @cached_property
    def network(self) -> WordStates:
        """Masked words are its [MASK]; averaged ones have the mean vector of all pieces."""
        return WordStates({"⟨unknown⟩": "[MASK]", "⟨mean⟩": UNUSED})

    def kept(self, split: str) -> np.ndarray:
        """The states of all words of a split, text after text: ``(words, 384)`` float16."""
        path = prepared_folder("faithful") / self.corpus / f"{split}.npy"
        if not path.exists():
            texts = corpora.load(self.corpus)[split].words
            states = np.concatenate(self.network(texts, f"{self.corpus} {split}"))
            with atomic_path(path) as temporary:
                np.save(temporary, states)
        return np.load(path, mmap_mode="r")

    @cached_property
    def axes(self) -> tuple[np.ndarray, np.ndarray]:
        """The mean of the training texts' states, and their ``principal`` directions."""
        return principal(np.asarray(self.kept("train")[:AXES_FROM]), WIDTH)

    def reduced(self, states: np.ndarray) -> np.ndarray:
        """``(words, 384)`` → ``(words, WIDTH)`` float16."""
        mean, axes = self.axes
        return ((states - mean) @ axes).astype(np.float16)

    def of(self, texts: Sequence[Sequence[str]]) -> list[np.ndarray]:
        """The reduced states of any texts, ``(words, WIDTH)`` each; none is computed twice."""
        new = [text for text in dict.fromkeys(map(tuple, texts)) if text not in self.known]
        for text, states in zip(new, self.network(new), strict=True):
            self.known[text] = self.reduced(states)
        return [self.known[tuple(text)] for text in texts]
