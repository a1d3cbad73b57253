"""Hierarchical attention network (Yang et al. 2016; Bredy-Maux and Robach 2022, the IMDb report).

Words → bidirectional GRU → attention → sentence vectors → bidirectional GRU → attention → document
vector → linear classifier. The GRU is PyTorch's, whose reset gate acts after the recurrent product;
in the IMDb report's GRU it acts before that product (``GRUCell`` has both).
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

from torch import Tensor, nn

from course_lib.checking import check_number, check_share, check_whole
from course_lib.models.gru import BidirectionalGRU
from course_lib.models.layers import (
    AttentionPooling,
    LockedDropout,
    hop_redundancy,
    renormalised,
    word_embedding,
)

Pair = tuple[Tensor | None, Tensor | None]


@dataclass(frozen=True)
class HANConfig:
    """Sizes of a HAN; ``hidden`` is per direction, ``hops`` and ``penalty`` follow Lin et al.

    ``embedding`` is the width of randomly initialised vectors. ``ValueError`` for a wrong value.
    """

    embedding: int = 50
    hidden: int = 50
    attention: int = 100
    dropout: float = 0.0
    hops: int = 1
    penalty: float = 0.0

    def __post_init__(self) -> None:
        check_whole(self, "embedding", "hidden", "attention", "hops")
        check_share(self, "dropout")
        check_number(self, "penalty")

    @classmethod
    def imdb(cls, **changes: Any) -> "HANConfig":
        """The IMDb report's network; sizes that it does not give are Yang's, with 50-d GloVe."""
        return cls(**{"dropout": 0.4} | changes)


class HANOutput(NamedTuple):
    """``logits`` ``(batch, classes)``; ``word_attention`` ``(batch, sentences, words)``, each real
    sentence sums to 1; ``sentence_attention`` ``(batch, sentences)``, each document sums to 1;
    ``penalty`` ``(batch,)``, whose mean is added to the loss."""

    logits: Tensor
    word_attention: Tensor
    sentence_attention: Tensor
    penalty: Tensor


class AttentiveEncoder(nn.Module):
    """Bidirectional GRU and attention pooling: one level of the hierarchy."""

    def __init__(self, inputs: int, config: HANConfig) -> None:
        super().__init__()
        self.gru = BidirectionalGRU(inputs, config.hidden)
        self.pooling = AttentionPooling(2 * config.hidden, config.attention, config.hops)
        self.dropout = LockedDropout(config.dropout)

    def forward(self, x: Tensor, mask: Tensor, weights: Tensor | None) -> tuple[Tensor, Tensor]:
        """``x`` ``(n, length, inputs)``, ``mask`` ``(n, length)`` → pooled ``(n, 2 · hidden)`` and
        attention ``(n, hops, length)``; ``weights`` ``(n, length)`` replace the learned ones."""
        h = self.gru(self.dropout(x), mask)  # h_it = [→h; ←h]
        return self.pooling(h, mask, attention=weights)  # s_i = Σ_t α_it h_it


class HAN(nn.Module):
    """Reads words, then sentences, and returns the attention to both."""

    def __init__(
        self, config: HANConfig, vocabulary: int, classes: int, embedding: Tensor | None = None
    ) -> None:
        """``embedding`` ``(vocabulary, any width)`` are pre-trained word vectors."""
        super().__init__()
        self.config = config
        self.embedding = word_embedding(vocabulary, config.embedding, embedding)
        self.words = AttentiveEncoder(self.embedding.embedding_dim, config)
        self.sentences = AttentiveEncoder(2 * config.hidden, config)
        self.dropout = nn.Dropout(config.dropout)
        self.classifier = nn.Linear(2 * config.hidden, classes)

    def forward(self, tokens: Tensor, mask: Tensor, attention: Pair | None = None) -> HANOutput:
        """Token ids and mask ``(batch, sentences, words)``, real words first in each sentence.

        ``attention`` replaces the learned weights. It is a pair of word attention
        ``(batch, sentences, words)`` and sentence attention ``(batch, sentences)``, either of them
        None; both are ``renormalised``. Only sentences that contain a word are computed. A document
        without words gets the logits of a zero document vector, and zero attention.
        """
        real = mask.any(2)  # (batch, sentences)
        of_words, of_sentences = attention or (None, None)
        if of_words is not None:
            of_words = renormalised(of_words, mask)[real]
        s, alpha = self.encode_sentences(tokens, mask, of_words)
        word_attention = alpha.new_zeros(mask.shape)
        word_attention[real] = alpha.mean(1)

        order = real.int().argsort(dim=1, descending=True, stable=True)  # real sentences first
        if of_sentences is not None:
            of_sentences = renormalised(of_sentences, real).take_along_dim(order, 1)
        sentences = s.new_zeros(*real.shape, s.shape[-1])
        sentences[real] = s
        sentences = sentences.take_along_dim(order.unsqueeze(-1), 1)
        document, beta = self.sentences(sentences, real.take_along_dim(order, 1), of_sentences)
        sentence_attention = beta.mean(1).take_along_dim(order.argsort(dim=1), 1)

        logits = self.classifier(self.dropout(document))
        penalty = alpha.new_zeros(len(mask))
        if self.config.penalty:
            penalty = self.config.penalty * redundancy(alpha, beta, real)
        return HANOutput(logits, word_attention, sentence_attention, penalty)

    def encode_sentences(
        self, tokens: Tensor, mask: Tensor, attention: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Vectors of all real sentences, one document after the other, ``(real, width)``, and
        attention ``(real, hops, words)``, which a given one ``(real, words)`` replaces."""
        real = mask.any(2)
        return self.words(self.embedding(tokens[real]), mask[real], attention)


def redundancy(alpha: Tensor, beta: Tensor, real: Tensor) -> Tensor:
    """``hop_redundancy`` of each document, ``(batch,)``: the mean over its real sentences plus that
    of its sentence attention; 0 for a document without words.

    ``alpha`` ``(all real sentences, hops, words)``, ``beta`` ``(batch, hops, sentences)``, ``real``
    ``(batch, sentences)``.
    """
    of_sentence = alpha.new_zeros(real.shape)
    of_sentence[real] = hop_redundancy(alpha)
    of_words = of_sentence.sum(1) / real.sum(1).clamp(min=1)
    return of_words + hop_redundancy(beta) * real.any(1)
