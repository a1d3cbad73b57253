"""Networks for sanity checks: encoders that read each word alone, and parts switched off."""

from copy import deepcopy
from typing import NamedTuple

import torch
from torch import Tensor, nn

from course_lib.models import bilstm
from course_lib.models.han import HAN, HANConfig
from course_lib.models.iram import IRAM, IRAMConfig


class WordByWord(bilstm.WordByWord):
    """The averaging encoder's states alone, zero on padding: no word knows its neighbours."""

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """``x`` ``(n, length, inputs)``, ``mask`` ``(n, length)`` → ``(n, length, hidden)``."""
        return super().forward(x, mask)[0] * mask.unsqueeze(2)


class WordByWordEncoder(nn.Module):
    """``WordByWord`` in place of IRAM's LSTM. An LSTM's last cell would be the first query; here
    that query is learned and the same for all texts, so it knows nothing of the text."""

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.words = WordByWord(inputs, hidden)
        self.query = nn.Parameter(torch.randn(hidden) / hidden**0.5)

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """States ``(n, length, hidden)``, and twice the query ``(n, hidden)``, for state and cell
        of ``iram.Encoder``."""
        query = self.query.expand(len(x), -1)
        return self.words(x, mask), query, query


def word_by_word_iram(config: IRAMConfig, vocabulary: int, classes: int) -> IRAM:
    """An IRAM whose states are words alone."""
    model = IRAM(config, vocabulary, classes)
    model.encoder = WordByWordEncoder(config.embedding, config.hidden)
    return model


def word_by_word_han(config: HANConfig, vocabulary: int, classes: int) -> HAN:
    """A HAN that attends to words and to sentences none of which knows its neighbours."""
    model = HAN(config, vocabulary, classes)
    model.words.gru = WordByWord(config.embedding, 2 * config.hidden)
    model.sentences.gru = WordByWord(2 * config.hidden, 2 * config.hidden)
    return model


class _SameQuery(nn.Module):
    def forward(self, s: Tensor, q: Tensor) -> Tensor:
        return q


def with_held_query(model: IRAM) -> IRAM:
    """A copy of an IRAM all of whose steps ask the first query: no step learns from the last."""
    held = deepcopy(model)
    held.steps.controller = _SameQuery()
    return held


def without_summary(model: IRAM, tokens: Tensor, mask: Tensor) -> Tensor:
    """The logits of an IRAM of two steps whose second step cannot attend to the first's summary.

    ``ValueError`` for another number of steps, whose later queries would have to change too.
    """
    if model.config.steps != 2:
        raise ValueError(f"without_summary takes an IRAM of 2 steps, got {model.config.steps}")
    words_only = model(tokens, mask).attention.clone()
    words_only[:, :, -1] = 0
    return model(tokens, mask, attention=words_only).logits


class BagOutput(NamedTuple):
    """``logits`` ``(batch, classes)``."""

    logits: Tensor


class SumOfWords(nn.Module):
    """Each word adds its value to each class: what a linear classifier can do with a bag."""

    def __init__(self, vocabulary: int, classes: int) -> None:
        super().__init__()
        self.values = nn.Embedding(vocabulary, classes, padding_idx=0)

    def forward(self, tokens: Tensor, mask: Tensor) -> BagOutput:
        """Token ids ``(batch, length)``; padding adds nothing."""
        return BagOutput(self.values(tokens).sum(1))
