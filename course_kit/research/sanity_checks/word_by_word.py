"""Networks for sanity checks: encoders that read each word alone, a query that is held."""

from copy import deepcopy
from typing import NamedTuple

import torch
from torch import Tensor, nn

from course_lib.models.iram import IRAM


class WordByWordEncoder(nn.Module):
    """h_i = tanh(W x_i + b), each word alone, in place of IRAM's LSTM. Its last cell would be the
    first query; here that query is learned and the same for all texts, so it knows nothing of a
    text."""

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.words = nn.Linear(inputs, hidden)
        self.query = nn.Parameter(torch.randn(hidden) / hidden**0.5)

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """States ``(n, length, hidden)``, zero on padding, and twice the query ``(n, hidden)``, for
        state and cell of ``iram.Encoder``."""
        query = self.query.expand(len(x), -1)
        return torch.tanh(self.words(x)) * mask.unsqueeze(2), query, query


class _SameQuery(nn.Module):
    def forward(self, s: Tensor, q: Tensor) -> Tensor:
        return q


def with_held_query(model: IRAM) -> IRAM:
    """A copy of an IRAM all of whose steps ask the first query: no step learns from the last."""
    held = deepcopy(model)
    held.steps.controller = _SameQuery()
    return held


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
