"""A network of words alone, whose attention is its own or comes from somewhere else."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from course_kit.research.sanity_checks.word_by_word import WordByWord
from course_lib.models.bilstm import BiLSTMOutput
from course_lib.models.layers import AttentionPooling, Dropout, renormalised

# From token ids and mask ``(batch, length)`` to attention of the same shape.
Guide = Callable[[Tensor, Tensor], Tensor]


class WordMLP(nn.Module):
    """h_i = tanh(W x_i + b) for each word alone, d = Σ α_i h_i, a linear classifier of d.

    With a ``guide`` α is the guide's, which is not trained (Wiegreffe and Pinter 2019, §3.3);
    without one the network learns its own. No word knows its neighbours, so what a guide that was
    trained in another network adds must be what it says of single words.
    """

    def __init__(
        self,
        embedding: nn.Embedding,
        hidden: int,
        classes: int,
        dropout: float = 0.0,
        guide: Guide | None = None,
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.words = WordByWord(embedding.embedding_dim, hidden)
        self.pooling = AttentionPooling(hidden, hidden // 2)
        self.dropout = Dropout(dropout)
        self.classifier = nn.Linear(hidden, classes)
        self.guide = guide

    def forward(
        self, tokens: Tensor, mask: Tensor, attention: Tensor | None = None
    ) -> BiLSTMOutput:
        """As ``BiLSTM``: token ids and mask ``(batch, length)``; a given ``attention`` of the same
        shape replaces that of the network or its guide."""
        if attention is None and self.guide is not None:
            attention = self.guide(tokens, mask)
        if attention is not None:
            attention = renormalised(attention, mask)
        h = self.words(self.embedding(tokens), mask)
        d, alpha = self.pooling(h, mask, attention)
        return BiLSTMOutput(self.classifier(self.dropout(d)), alpha.squeeze(1))


def uniform(tokens: Tensor, mask: Tensor) -> Tensor:
    """A guide that weighs all words alike."""
    return mask.float()


def attention_of(model: nn.Module) -> Guide:
    """The attention of a trained network as a guide; the network does not become a part of what it
    guides, so it stays as it is."""

    @torch.no_grad()
    def guide(tokens: Tensor, mask: Tensor) -> Tensor:
        return model(tokens, mask).attention

    return guide
