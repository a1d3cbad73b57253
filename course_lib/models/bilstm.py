"""Bidirectional LSTM with additive attention (Jain and Wallace 2019; Wiegreffe and Pinter 2019).

Words → bidirectional LSTM → attention over its states → document vector → linear classifier: the
network of both papers on whether attention is an explanation. A state h_i has read the whole text,
so a weight on word i is a weight on what the LSTM has there, not on that word alone.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

from torch import Tensor, nn

from course_lib.checking import check_flags, check_share, check_whole, refusal
from course_lib.models.iram import LSTMLayer
from course_lib.models.layers import (
    AttentionPooling,
    Dropout,
    LockedDropout,
    renormalised,
    word_embedding,
)


@dataclass(frozen=True)
class BiLSTMConfig:
    """Sizes of a BiLSTM; the defaults are those of Jain and Wallace's published code.

    ``hidden`` is the size of a state h_i = [→h_i; ←h_i]; that of u_i is half of it. ``dropout``
    acts on the word vectors, where a text loses the same features at every word, and on the
    document vector. ``embedding`` is the width of vectors that start at random; ``frozen`` word
    vectors do not learn. ``ValueError`` for a wrong value.
    """

    embedding: int = 300
    hidden: int = 256
    dropout: float = 0.0
    frozen: bool = False

    def __post_init__(self) -> None:
        check_whole(self, "embedding", "hidden")
        if self.hidden % 2:
            raise refusal(self, "hidden", "an even number, which two directions share")
        check_share(self, "dropout")
        check_flags(self, "frozen")

    @classmethod
    def paper(cls, **changes: Any) -> "BiLSTMConfig":
        """The papers' network."""
        return cls(**changes)


class BiLSTMOutput(NamedTuple):
    """``logits`` ``(batch, classes)``; ``attention`` ``(batch, length)``, each row sums to 1 over
    real words."""

    logits: Tensor
    attention: Tensor


class BiLSTM(nn.Module):
    """Reads a text in both directions, then takes the mean of its states that attention weighs."""

    def __init__(
        self, config: BiLSTMConfig, vocabulary: int, classes: int, embedding: Tensor | None = None
    ) -> None:
        """``embedding`` ``(vocabulary, any width)`` are pre-trained word vectors."""
        super().__init__()
        self.config = config
        self.embedding = word_embedding(vocabulary, config.embedding, embedding)
        self.embedding.weight.requires_grad_(not config.frozen)
        self.word_dropout = LockedDropout(config.dropout)
        self.lstm = LSTMLayer(self.embedding.embedding_dim, config.hidden)
        self.pooling = AttentionPooling(config.hidden, config.hidden // 2)
        self.dropout = Dropout(config.dropout)
        self.classifier = nn.Linear(config.hidden, classes)

    def forward(
        self, tokens: Tensor, mask: Tensor, attention: Tensor | None = None
    ) -> BiLSTMOutput:
        """Token ids and mask ``(batch, length)``, real words first; ``attention``
        ``(batch, length)`` is used in place of the learned one, ``renormalised``.

        The vector of a document without words is zero. ``ValueError`` for an attention of another
        shape.
        """
        if attention is not None:
            attention = renormalised(attention, mask)
        h, _, _ = self.lstm(self.word_dropout(self.embedding(tokens)), mask)
        # u_i = tanh(W h_i + b), α = softmax(u_i · c), d = Σ α_i h_i
        d, alpha = self.pooling(h, mask, attention)
        return BiLSTMOutput(self.classifier(self.dropout(d)), alpha.squeeze(1))
