"""What each hop of a HAN attends to; a reading holds only the mean over the hops."""

from typing import Any, NamedTuple

import datasets
import numpy as np
import torch

from course_lib.data.encoding import encode_sentences
from course_lib.data.text import TokenisedText
from course_lib.explore.reading import system_of
from course_lib.models.han import hop_redundancy
from course_lib.runs.systems.system import as_tokens


class Hops(NamedTuple):
    """The ``sentences`` of one document after the cut, ``word_attention`` ``(hops, words)`` of each
    and ``sentence_attention`` ``(hops, sentences)``."""

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
