"""Whether attention goes to the same important words again in later sentences."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import datasets
import numpy as np

from course_lib.explore.reading import read_rows
from course_lib.views.reading import Reading

IMPORTANT = 2.0  # times its uniform share: a word with more is important


class Repeats(NamedTuple):
    """One value a document, ``(documents,)`` each: the share of its attention on ``important``
    words, on ``repeated`` ones among them (important in an earlier sentence, too), and on
    repeated ones if each sentence's weights were dealt out to its words ``by_chance``."""

    important: np.ndarray
    repeated: np.ndarray
    by_chance: np.ndarray


def count_repeats(source: Any, rows: datasets.Dataset, seed: int = 0) -> Repeats:
    """``Repeats`` of a HAN's attention in each row.

    A word is important if its share of the document exceeds ``IMPORTANT`` times what attention that
    is uniform over sentences and over the words of each would give it. By chance means the same
    weights in random order within each sentence: as sharp, but blind to the words.
    """
    random = np.random.default_rng(seed)
    found = []
    for reading in read_rows(source, rows):
        beta = reading.sentence_weights()
        weights = reading.by_sentence(reading.word_weights())
        dealt = [random.permutation(alpha) for alpha in weights]
        found.append((*_on_repeats(reading, weights, beta), _on_repeats(reading, dealt, beta)[1]))
    return Repeats(*np.array(found).reshape(-1, 3).T)


def _on_repeats(
    reading: Reading, word_weights: Sequence[np.ndarray], sentence_weights: np.ndarray
) -> tuple[float, float]:
    """The shares on important words, and on those that were important before."""
    seen, important, repeated = set(), 0.0, 0.0
    sentences = len(reading.sentences)
    for words, alpha, beta in zip(reading.sentences, word_weights, sentence_weights, strict=True):
        uniform = 1 / (sentences * len(words))
        heavy = {
            place: word.lower()
            for place, word in enumerate(words)
            if beta * alpha[place] > IMPORTANT * uniform
        }
        important += sum(float(beta * alpha[place]) for place in heavy)
        repeated += sum(float(beta * alpha[p]) for p, word in heavy.items() if word in seen)
        seen.update(heavy.values())
    return important, repeated
