"""Hierarchical attention network (Yang et al. 2016; Bredy-Maux and Robach 2022, the seed report).

Words → bidirectional GRU → attention → sentence vectors → bidirectional GRU → attention → document
vector → linear classifier.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

from torch import Tensor, nn

from course_lib.checking import check_number, check_share, check_whole
from course_lib.models.gru import BidirectionalGRU
from course_lib.models.layers import AttentionPooling, LockedDropout, hop_redundancy, word_embedding


@dataclass(frozen=True)
class HANConfig:
    """Sizes of a HAN; ``hidden`` is per direction, ``hops`` and ``penalty`` are Lin et al.'s.

    ``embedding`` is the width of word vectors that start at random; given ones keep theirs.
    ``ValueError`` for a value that a field cannot take.
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
        """The report's network; its silent sizes are Yang's, with 50-d GloVe for the embedding."""
        return cls(**{"dropout": 0.4} | changes)


class HANOutput(NamedTuple):
    """``logits`` ``(batch, classes)``; ``word_attention`` ``(batch, sentences, words)``, each real
    sentence sums to 1; ``sentence_attention`` ``(batch, sentences)``, each document sums to 1;
    ``penalty``, a scalar to add to the loss."""

    logits: Tensor
    word_attention: Tensor
    sentence_attention: Tensor
    penalty: Tensor


class AttentiveEncoder(nn.Module):
    """Bidirectional GRU and attention pooling: one floor of the hierarchy."""

    def __init__(self, inputs: int, config: HANConfig) -> None:
        super().__init__()
        self.gru = BidirectionalGRU(inputs, config.hidden)
        self.pooling = AttentionPooling(2 * config.hidden, config.attention, config.hops)
        self.dropout = LockedDropout(config.dropout)

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """``x`` ``(n, length, inputs)``, ``mask`` ``(n, length)`` → pooled ``(n, 2 · hidden)`` and
        attention ``(n, hops, length)``."""
        h = self.gru(self.dropout(x), mask)  # h_it = [→h; ←h]
        return self.pooling(h, mask)  # s_i = Σ_t α_it h_it


class HAN(nn.Module):
    """Reads words, then sentences, and says how much each weighed."""

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

    def forward(self, tokens: Tensor, mask: Tensor) -> HANOutput:
        """Token ids and mask ``(batch, sentences, words)``, real words first in each sentence.

        Only sentences that hold a word are computed. A document without any gets the logits of a
        zero document vector, and zero attention.
        """
        real = mask.any(2)  # (batch, sentences)
        s, alpha = self.words(self.embedding(tokens[real]), mask[real])  # (real sentences, …)
        word_attention = alpha.new_zeros(mask.shape)
        word_attention[real] = alpha.mean(1)

        order = real.int().argsort(
            dim=1, descending=True, stable=True
        )  # real sentences to the front
        sentences = s.new_zeros(*real.shape, s.shape[-1])
        sentences[real] = s
        sentences = sentences.take_along_dim(order.unsqueeze(-1), 1)
        document, beta = self.sentences(sentences, real.take_along_dim(order, 1))
        back = order.argsort(dim=1)
        sentence_attention = beta.mean(1).take_along_dim(back, 1)

        logits = self.classifier(self.dropout(document))
        penalty = logits.new_zeros(())
        if self.config.penalty:
            redundancies = (hop_redundancy(alpha), hop_redundancy(beta[real.any(1)]))
            penalty = self.config.penalty * sum(p.sum() / max(1, len(p)) for p in redundancies)
        return HANOutput(logits, word_attention, sentence_attention, penalty)
