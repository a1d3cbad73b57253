"""What a HAN attends to: each of its hops, and whether later sentences repeat the same words."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import datasets
import numpy as np
import torch

from course_lib.data.encoding import encode_sentences
from course_lib.data.text import TokenisedText
from course_lib.explore.reading import read_rows, system_of
from course_lib.models.han import hop_redundancy
from course_lib.runs.systems.system import as_tokens
from course_lib.views.reading import Reading

IMPORTANT = 2.0  # times its uniform share: a word with more is important


class Hops(NamedTuple):
    """The ``sentences`` of one document after the cut, ``word_attention`` ``(hops, words)`` of each
    and ``sentence_attention`` ``(hops, sentences)``; a reading holds only the means of hops."""

    sentences: list[list[str]]
    word_attention: list[np.ndarray]
    sentence_attention: np.ndarray


@torch.inference_mode()
def read_hops(source: Any, text: str | dict[str, Any] | TokenisedText) -> Hops:
    """What each hop of a trained HAN, a run or a system, attends to in a text or a corpus row.

    ``ValueError`` for a text without any word.
    """
    system = system_of(source)
    sentences = system.cut(as_tokens(text, system.tokeniser))
    if not sentences:
        raise ValueError("text holds no word, so no hop attends to anything; give it at least one")
    model = system.model.eval()
    batch = encode_sentences([sentences], system.vocabulary).batch(np.arange(1))
    batch = batch.to(next(model.parameters()).device)
    s, alpha = model.words(model.embedding(batch.tokens[0]), batch.mask[0], None)
    _, beta = model.sentences(s[None], batch.mask.any(2), None)
    of_words = [a[:, : len(words)] for a, words in zip(alpha.cpu().numpy(), sentences, strict=True)]
    return Hops(sentences, of_words, beta[0].cpu().numpy())


def hop_overlap(source: Any, rows: datasets.Dataset) -> dict[str, float]:
    """Lin's P (``hop_redundancy``), its mean over the rows: between hops over the ``"words"`` of a
    sentence, and over the ``"sentences"`` of a document."""
    found = [read_hops(source, row) for row in rows]
    of_words = [np.mean([_overlap(alpha) for alpha in hops.word_attention]) for hops in found]
    of_sentences = [_overlap(hops.sentence_attention) for hops in found]
    return {"words": float(np.mean(of_words)), "sentences": float(np.mean(of_sentences))}


def _overlap(attention: np.ndarray) -> float:
    return hop_redundancy(torch.from_numpy(attention)[None]).item()


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
        weights = reading.by_sentence(reading.word_weights())
        dealt = [random.permutation(alpha) for alpha in weights]
        found.append((*_on_repeats(reading, weights), _on_repeats(reading, dealt)[1]))
    return Repeats(*np.array(found).reshape(-1, 3).T)


def _on_repeats(reading: Reading, word_weights: Sequence[np.ndarray]) -> tuple[float, float]:
    """The shares on important words, and on those that were important before."""
    seen, important, repeated = set(), 0.0, 0.0
    sentences, beta = reading.sentences, reading.sentence_weights()
    for words, alpha, share in zip(sentences, word_weights, beta, strict=True):
        shares = share * alpha
        heavy = np.flatnonzero(shares > IMPORTANT / (len(sentences) * len(words)))
        now = {place: words[place].lower() for place in heavy}
        important += float(shares[heavy].sum())
        repeated += sum(float(shares[place]) for place, word in now.items() if word in seen)
        seen.update(now.values())
    return important, repeated
