"""Whether a HAN attends to the same words in later sentences."""

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
    repeated ones if each sentence's weights were dealt out to its words ``by_chance``. What
    punctuation has is in none of these."""

    important: np.ndarray
    repeated: np.ndarray
    by_chance: np.ndarray


def count_repeats(source: Any, rows: datasets.Dataset, seed: int = 0) -> Repeats:
    """``Repeats`` of a HAN's attention in each row.

    A word is important if its share of the document exceeds ``IMPORTANT`` times what attention that
    is uniform over sentences and over the tokens of each would give it. A token without a letter or
    digit is punctuation, no word. By chance means the weights of a sentence's words in random order
    among them: as sharp, but blind to the words.
    """
    random = np.random.default_rng(seed)
    found = []
    for reading in read_rows(source, rows):
        weights = reading.by_sentence(reading.word_weights())
        pairs = zip(reading.sentences, weights, strict=True)
        dealt = [_dealt(random, words, alpha) for words, alpha in pairs]
        found.append((*_on_repeats(reading, weights), _on_repeats(reading, dealt)[1]))
    return Repeats(*np.array(found).reshape(-1, 3).T)


def _words(tokens: Sequence[str]) -> np.ndarray:
    """Which tokens are words, bool ``(tokens,)``."""
    return np.array([any(map(str.isalnum, token)) for token in tokens], dtype=bool)


def _dealt(random: np.random.Generator, tokens: Sequence[str], alpha: np.ndarray) -> np.ndarray:
    alpha, words = alpha.copy(), _words(tokens)
    alpha[words] = random.permutation(alpha[words])
    return alpha


def _on_repeats(reading: Reading, word_weights: Sequence[np.ndarray]) -> tuple[float, float]:
    """The shares on important words, and on those of them that were important before."""
    seen, important, repeated = set(), 0.0, 0.0
    sentences, beta = reading.sentences, reading.sentence_weights()
    for tokens, alpha, share in zip(sentences, word_weights, beta, strict=True):
        shares, words = share * alpha, _words(tokens)
        heavy = np.flatnonzero(words & (shares > IMPORTANT / (len(sentences) * len(tokens))))
        now = {at: tokens[at].lower() for at in heavy}
        important += float(shares[heavy].sum())
        repeated += sum(float(shares[at]) for at, word in now.items() if word in seen)
        seen.update(now.values())
    return important, repeated
