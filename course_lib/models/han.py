"""Hierarchical attention network (Yang et al. 2016; Bredy-Maux and Robach 2022, the IMDb report).

Words → bidirectional GRU → attention → sentence vectors → bidirectional GRU → attention → document
vector → linear classifier. Comments in the code number the equations as here; the first three serve
the words of a sentence and the sentences of a document. ``AttentionPooling`` computes (2) and (3)
and numbers them as Yang et al. do: (2) is their (5) and (6), (3) their (7).

(1) h_t = [→h_t; ←h_t]                         (3) s = Σ_t α_t h_t
(2) α = softmax_t(c · tanh(W h_t + b))         (4) logits = V d + e, d the document's s

The GRU is PyTorch's, whose reset gate acts after the recurrent product; in the IMDb report's GRU it
acts before that product (``GRUCell`` has both). Example::

    model = HAN(HANConfig.imdb(), vocabulary=10_000, classes=2)
    output = model(tokens, mask)  # (batch, sentences, words): ids, and True = real
    output.logits, output.word_attention, output.sentence_attention
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from course_lib.checking import check_number, check_share, check_whole
from course_lib.models.gru import BidirectionalGRU
from course_lib.models.layers import AttentionPooling, LockedDropout, renormalised, word_embedding

Pair = tuple[Tensor | None, Tensor | None]  # attention to words and to sentences


class AttentiveEncoder(nn.Module):
    """Bidirectional GRU and attention pooling: one level of the hierarchy."""

    def __init__(self, inputs: int, config: "HANConfig") -> None:
        super().__init__()
        self.gru = BidirectionalGRU(inputs, config.hidden)
        self.pooling = AttentionPooling(2 * config.hidden, config.attention, config.hops)
        self.dropout = LockedDropout(config.dropout)

    def forward(self, x: Tensor, mask: Tensor, attention: Tensor | None) -> tuple[Tensor, Tensor]:
        """``x`` ``(n, length, inputs)``, ``mask`` ``(n, length)`` → pooled ``(n, 2 · hidden)`` and
        attention ``(n, hops, length)``; a given one ``(n, length)`` replaces that of every hop."""
        h = self.gru(self.dropout(x), mask)  # (1)
        return self.pooling(h, mask, attention=attention)  # (2), (3): Yang's (5) to (7)


class HAN(nn.Module):
    """Reads words, then sentences, and returns the attention to both."""

    def __init__(
        self, config: "HANConfig", vocabulary: int, classes: int, embedding: Tensor | None = None
    ) -> None:
        """``embedding`` ``(vocabulary, any width)`` are pre-trained word vectors."""
        super().__init__()
        self.config = config
        self.embedding = word_embedding(vocabulary, config.embedding, embedding)
        self.words = AttentiveEncoder(self.embedding.embedding_dim, config)
        self.sentences = AttentiveEncoder(2 * config.hidden, config)
        # not layers.Dropout: recorded runs drew the masks of PyTorch's
        self.dropout = nn.Dropout(config.dropout)
        self.classifier = nn.Linear(2 * config.hidden, classes)

    def forward(self, tokens: Tensor, mask: Tensor, attention: Pair | None = None) -> "HANOutput":
        """Token ids and mask ``(batch, sentences, words)``.

        ``attention`` replaces the learned weights. It is a pair of word attention
        ``(batch, sentences, words)`` and sentence attention ``(batch, sentences)``, either of them
        None; both are ``renormalised``. Empty sentences are skipped by the word encoder and masked
        at the sentence level; both attentions are 0 there. A document without words gets the logits
        of a zero document vector, and zero attention. ``ValueError`` for an attention of another
        shape.
        """
        real = mask.any(2)  # (batch, sentences)
        to_words, to_sentences = attention or (None, None)
        if to_words is not None:
            to_words = renormalised(to_words, mask)[real]
        if to_sentences is not None:
            to_sentences = renormalised(to_sentences, real)
        # of all real sentences: s (sentences, width), alpha (sentences, hops, words)
        s, alpha = self.words(self.embedding(tokens[real]), mask[real], to_words)
        d, beta = self.sentences(scatter_to_real(s, real), real, to_sentences)  # d: (batch, …)
        logits = self.classifier(self.dropout(d))  # (4)
        penalty = alpha.new_zeros(len(mask))
        if self.config.penalty:
            penalty = self.config.penalty * redundancy(alpha, beta, real)
        return HANOutput(logits, scatter_to_real(alpha.mean(1), real), beta.mean(1), penalty)


def scatter_to_real(values: Tensor, real: Tensor) -> Tensor:
    """Put ``values`` ``(all real sentences, width)`` where ``real`` ``(batch, sentences)`` is True
    and 0 elsewhere: ``(batch, sentences, width)``."""
    out = values.new_zeros(*real.shape, values.shape[1])
    out[real] = values
    return out


class HANOutput(NamedTuple):
    """``logits`` ``(batch, classes)``; ``word_attention`` ``(batch, sentences, words)``, each real
    sentence sums to 1; ``sentence_attention`` ``(batch, sentences)``, each document sums to 1;
    ``penalty`` ``(batch,)``, whose mean is added to the loss."""

    logits: Tensor
    word_attention: Tensor
    sentence_attention: Tensor
    penalty: Tensor


def hop_redundancy(alpha: Tensor) -> Tensor:
    """‖A Aᵀ − I‖²_F of each row's hops: 0 if each hop attends to a single position of its own.

    ``alpha`` ``(n, hops, length)`` → ``(n,)`` (Lin et al. 2017, Eq. 8).
    """
    overlap = alpha @ alpha.transpose(1, 2)  # (n, hops, hops)
    identity = torch.eye(alpha.shape[1], device=alpha.device, dtype=alpha.dtype)
    return (overlap - identity).square().sum((1, 2))


def redundancy(alpha: Tensor, beta: Tensor, real: Tensor) -> Tensor:
    """``hop_redundancy`` of each document, ``(batch,)``: the mean over its real sentences plus that
    of its sentence attention; 0 for a document without words.

    ``alpha`` ``(all real sentences, hops, words)``, ``beta`` ``(batch, hops, sentences)``, ``real``
    ``(batch, sentences)``.
    """
    by_sentence = scatter_to_real(hop_redundancy(alpha).unsqueeze(1), real).squeeze(2)
    mean = by_sentence.sum(1) / real.sum(1).clamp(min=1)
    return mean + hop_redundancy(beta) * real.any(1)


@dataclass(frozen=True)
class HANConfig:
    """Sizes of a HAN; ``ValueError`` for a wrong value.

    ``dropout`` acts on what each GRU reads, where a sequence loses the same features at every
    position, and on d. ``hops`` and ``penalty`` follow Lin et al.
    """

    embedding: int = 50  # the width of vectors that start at random
    hidden: int = 50  # per direction
    attention: int = 100  # the size of tanh(W h + b)
    dropout: float = 0.0
    hops: int = 1  # attention distributions over the same states, whose mean is used
    penalty: float = 0.0  # the coefficient of their redundancy in the loss

    def __post_init__(self) -> None:
        check_whole(self, "embedding", "hidden", "attention", "hops")
        check_share(self, "dropout")
        check_number(self, "penalty")

    @classmethod
    def imdb(cls, **changes: Any) -> "HANConfig":
        """The IMDb report's network; sizes that it does not give are Yang's, with 50-d GloVe; how
        much dropout is our choice."""
        return cls(**{"dropout": 0.4} | changes)
