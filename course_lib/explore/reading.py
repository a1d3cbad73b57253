"""One document: what a trained model predicts for it, and what it attended to."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from course_lib.data.batches import Batch, Documents
from course_lib.data.readers import clean
from course_lib.data.text import fetch_punkt, tokenise, trained_punkt, untrained_punkt
from course_lib.experiments.run import Run
from course_lib.training.loop import to_device


class Reading(NamedTuple):
    """One document as the model saw it, cut included.

    ``sentences`` are its words; ``word_attention`` ``(sentences, words)`` and
    ``sentence_attention`` ``(sentences,)`` what it attended to; ``probability`` of class 1;
    ``left_out``, how many words lay beyond the cut.
    """

    sentences: list[list[str]]
    word_attention: np.ndarray
    sentence_attention: np.ndarray
    probability: float
    left_out: int = 0


def read_text(run: Run, text: str) -> Reading:
    """What the run's model makes of a text you typed, split as its training text was."""
    made_up = run.corpus.provenance.source == "generated"
    document = tokenise(clean(text), untrained_punkt() if made_up else trained_punkt(fetch_punkt()))
    return read_tokens(run, document.tokens, document.sentence_lengths)


def read_row(run: Run, row: dict) -> Reading:
    """What the run's model makes of a row of its corpus."""
    return read_tokens(run, row["tokens"], row["sentence_lengths"])


def read_tokens(run: Run, tokens: Sequence[str], sentence_lengths: Sequence[int]) -> Reading:
    """What the run's model makes of tokens, ``sentence_lengths`` of them in each sentence."""
    ends = np.cumsum(sentence_lengths)
    sentences = [list(tokens[end - size : end]) for end, size in zip(ends, sentence_lengths)]
    settings = run.record["settings"]
    height, width = settings["max_sentences"] or None, settings["max_words"] or None
    kept = [words[:width] for words in sentences[:height]]
    batch = encode_sentences(run, kept)
    device = next(run.model.parameters()).device
    run.model.eval()
    with torch.inference_mode():
        output = run.model(*to_device(batch, device)[:2])
    count = len(kept)
    return Reading(
        kept,
        _numpy(output.word_attention[0, :count]),
        _numpy(output.sentence_attention[0, :count]),
        float(output.logits[0].float().softmax(0)[1]),
        len(tokens) - sum(map(len, kept)),
    )


def encode_sentences(run: Run, sentences: Sequence[Sequence[str]]) -> Batch:
    """The batch of one document for the run's model."""
    lengths = [len(words) for words in sentences]
    document = Documents(
        run.vocabulary.encode([word for words in sentences for word in words]),
        np.cumsum([0, *lengths]),
        np.array([0, len(lengths)]),
        np.zeros(1, dtype=np.int64),
    )
    return document.batch(np.array([0]))


def _numpy(tensor: Tensor) -> np.ndarray:
    return tensor.float().cpu().numpy()
