"""Bidirectional LSTM with additive attention (Jain and Wallace 2019; Wiegreffe and Pinter 2019).

Words → bidirectional LSTM → attention over its states → document vector → linear classifier: the
network of both papers on whether attention is an explanation. A state h_i has read the whole text,
so a weight on word i is a weight on the state there, not on that word alone. Jain and
Wallace's averaging encoder, ``WordByWord``, has read nothing but word i.

(1) h_i = [→h_i; ←h_i], or tanh(W_e x_i + b_e)
(2) α = softmax_i(c · u_i), where u_i = tanh(W h_i + b), or h_i / √hidden
(3) d = Σ_i α_i h_i
(4) logits = V d + e

``AttentionPooling`` computes (2) and (3) and numbers them as Yang et al. (2016) do, (5) to (7).

Example::

    model = BiLSTM(BiLSTMConfig.paper(), vocabulary=10_000, classes=2)
    output = model(tokens, mask)  # (batch, length): ids, and True = real
    output.logits, output.attention
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from course_lib.checking import check_choice, check_even, check_flags, check_share, check_whole
from course_lib.models.layers import (
    AttentionPooling,
    Dropout,
    LockedDropout,
    LSTMLayer,
    renormalised,
    word_embedding,
)


class WordByWord(nn.Linear):
    """Encodes each word alone, h_i = tanh(W_e x_i + b_e): no state knows its neighbours."""

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, None, None]:
        """As ``LSTMLayer``, but padding has a state too, and there is no last state or cell."""
        return torch.tanh(super().forward(x)), None, None


class BiLSTM(nn.Module):
    """Encodes the words of a text, then averages their states with attention as weights."""

    def __init__(
        self, config: "BiLSTMConfig", vocabulary: int, classes: int, embedding: Tensor | None = None
    ) -> None:
        """``embedding`` ``(vocabulary, any width)`` are pre-trained word vectors."""
        super().__init__()
        self.config = config
        self.embedding = word_embedding(vocabulary, config.embedding, embedding)
        self.embedding.weight.requires_grad_(not config.frozen)
        self.word_dropout = LockedDropout(config.dropout)
        encoder = LSTMLayer if config.encoder == "lstm" else WordByWord
        self.encoder = encoder(self.embedding.embedding_dim, config.hidden)
        width = config.hidden // 2 if config.attention == "tanh" else 0
        self.pooling = AttentionPooling(config.hidden, width)
        self.dropout = Dropout(config.dropout)
        self.classifier = nn.Linear(config.hidden, classes)

    def forward(
        self, tokens: Tensor, mask: Tensor, attention: Tensor | None = None
    ) -> "BiLSTMOutput":
        """Token ids and mask ``(batch, length)``, real words first; ``attention``
        ``(batch, length)`` is used in place of the learned one, ``renormalised``.

        The vector of a document without words is zero. ``ValueError`` for an attention of another
        shape.
        """
        if attention is not None:
            attention = renormalised(attention, mask)
        x = self.word_dropout(self.embedding(tokens))
        h, _, _ = self.encoder(x, mask)  # (1) (batch, length, hidden)
        d, alpha = self.pooling(h, mask, attention)  # (2), (3)
        return BiLSTMOutput(self.classifier(self.dropout(d)), alpha.squeeze(1))  # (4)


class BiLSTMOutput(NamedTuple):
    """``logits`` ``(batch, classes)``; ``attention`` ``(batch, length)``, each row sums to 1 over
    real words."""

    logits: Tensor
    attention: Tensor


@dataclass(frozen=True)
class BiLSTMConfig:
    """Sizes of a BiLSTM; the defaults are those of Jain and Wallace's published code.

    ``dropout`` acts on the word vectors, where a text loses the same features at every word, and on
    the document vector. ``ValueError`` for a wrong value.
    """

    embedding: int = 300  # the width of vectors that start at random
    hidden: int = 256  # the size of h_i
    encoder: str = "lstm"  # h_i = [→h_i; ←h_i], or "average": tanh(W_e x_i + b_e)
    attention: str = "tanh"  # u_i = tanh(W h_i + b), half as wide, or "dot": u_i = h_i / √hidden
    dropout: float = 0.0
    frozen: bool = False  # word vectors are not trained

    def __post_init__(self) -> None:
        check_whole(self, "embedding", "hidden")
        check_even(self, "hidden")
        check_choice(self, "encoder", ("lstm", "average"))
        check_choice(self, "attention", ("tanh", "dot"))
        check_share(self, "dropout")
        check_flags(self, "frozen")

    @classmethod
    def paper(cls, **changes: Any) -> "BiLSTMConfig":
        """The papers' network."""
        return cls(**changes)
