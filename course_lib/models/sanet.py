"""Self-attention network (Letarte, Paradis, Giguère and Laviolette 2018).

Words and positions → linear → blocks of single-head self-attention and a feed-forward layer →
maximum over the words → linear classifier. Comments in the code number the equations as here:

(1) SelfAtt(X) = softmax(X W_QK Xᵀ) X W_V      (3) x ← LayerNorm(x + Dropout(SelfAtt(x)))
(2) FFN(x) = max(0, x W_1 + b_1) W_2 + b_2     (4) x ← LayerNorm(x + Dropout(FFN(x)))

Example::

    model = SANet(SANetConfig.base(), vocabulary=10_000, classes=4)
    output = model(tokens, mask, return_attention=True)  # (batch, length): ids, and True = real
    output.logits, output.attention, pooled_word_attention(output.pooled_from, mask)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from course_lib.checking import check_flags, check_share, check_whole
from course_lib.models import fast
from course_lib.models.layers import (
    Dropout,
    masked_softmax,
    positions,
    renormalised,
    word_embedding,
)


class SelfAttention(nn.Module):
    """softmax(X W_QK Xᵀ) X W_V: one head, one matrix for queries and keys, not scaled
    unless asked for."""

    def __init__(self, hidden: int, scaled: bool = False) -> None:
        super().__init__()
        self.w_qk = nn.Linear(hidden, hidden, bias=False)
        self.w_v = nn.Linear(hidden, hidden, bias=False)
        self.scale = hidden**-0.5 if scaled else 1.0

    def forward(
        self, x: Tensor, mask: Tensor, attention: Tensor | None = None, with_weights: bool = True
    ) -> tuple[Tensor, Tensor | None]:
        """``x`` ``(batch, length, hidden)``, ``mask`` ``(batch, length)`` → as ``x``, and the
        weights ``(batch, length, length)`` if computed, whose row i is what real word i attends
        to; a given ``attention`` is used as it is and returned instead (``SANet`` renormalises
        it)."""
        if attention is None:
            short = x.shape[1] <= fast.SHORT and x.device.type == "cpu"  # where weights cost less
            if not (with_weights or short):  # (1) without storing the weights
                return fast.fused_attention(self.w_qk(x), x, self.w_v(x), mask, self.scale), None
            scores = self.w_qk(x) @ x.mT * self.scale  # (batch, length, length)
            attention = masked_softmax(scores, mask.unsqueeze(1) & mask.unsqueeze(2))
        return attention.to(x.dtype) @ self.w_v(x), attention  # (1)


class FeedForward(nn.Module):
    """max(0, x W_1 + b_1) W_2 + b_2, word by word."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.w_1 = nn.Linear(hidden, hidden)
        self.w_2 = nn.Linear(hidden, hidden)

    def forward(self, x: Tensor) -> Tensor:
        """``(…, hidden)`` → the same shape."""
        return self.w_2(torch.relu(self.w_1(x)))  # (2)


class Block(nn.Module):
    """x ← LayerNorm(x + Dropout(SelfAtt(x))); x ← LayerNorm(x + Dropout(FFN(x)))."""

    def __init__(self, config: "SANetConfig") -> None:
        super().__init__()
        hidden, scaled = config.hidden, config.scaled
        self.mixer = SelfAttention(hidden, scaled) if config.attention else FeedForward(hidden)
        self.feed_forward = FeedForward(hidden)
        self.norms = nn.ModuleList([nn.LayerNorm(hidden), nn.LayerNorm(hidden)])
        self.dropout = Dropout(config.dropout)

    def forward(
        self, x: Tensor, mask: Tensor, attention: Tensor | None = None, with_weights: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """``x`` ``(batch, length, hidden)`` → the same shape, and the attention if computed; a
        given ``attention`` ``(batch, length, length)`` replaces the learned one."""
        if isinstance(self.mixer, FeedForward):  # the baseline
            mixed, alpha = self.mixer(x), None
        else:
            mixed, alpha = self.mixer(x, mask, attention, with_weights)
        x = self.norms[0](x + self.dropout(mixed))  # (3)
        return self.norms[1](x + self.dropout(self.feed_forward(x))), alpha  # (4)


class SANet(nn.Module):
    """Every word attends to every word; the classifier reads each dimension's largest value."""

    def __init__(
        self, config: "SANetConfig", vocabulary: int, classes: int, embedding: Tensor | None = None
    ) -> None:
        """``embedding`` ``(vocabulary, any width)`` are pre-trained word vectors."""
        super().__init__()
        self.config = config
        self.embedding = word_embedding(vocabulary, config.embedding, embedding, config.sparse)
        self.projection = nn.Linear(self.embedding.embedding_dim, config.hidden)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.blocks)])
        self.classifier = nn.Linear(config.hidden, classes)
        if config.xavier:
            for layer in self.modules():
                if isinstance(layer, nn.Linear):
                    nn.init.xavier_uniform_(layer.weight)

    def forward(
        self,
        tokens: Tensor,
        mask: Tensor,
        attention: Tensor | None = None,
        return_attention: bool = False,
    ) -> "SANetOutput":
        """Token ids and mask ``(batch, length)``; ``attention`` ``(batch, blocks, length, length)``
        replaces the learned one; it is ``renormalised`` and returned.

        A document without words gets the logits of a zero vector. ``ValueError`` for an attention
        of another shape, or given to a baseline.
        """
        if attention is not None and not self.config.attention:
            raise ValueError("a SANet with attention=False has no attention to replace")
        with_weights = self.config.attention and (return_attention or attention is not None)
        per_block: Sequence[Tensor | None] = [None] * len(self.blocks)
        if attention is not None:
            pairs = (mask.unsqueeze(1) & mask.unsqueeze(2)).unsqueeze(1)
            per_block = renormalised(attention, pairs.expand(-1, len(per_block), -1, -1)).unbind(1)
        x, matrices = self.embed(tokens), []
        for block, weights in zip(self.blocks, per_block, strict=True):
            x, alpha = block(x, mask, weights, with_weights)
            matrices.append(alpha)
        pooled, pooled_from = masked_maximum(x, mask)
        all_alpha = torch.stack(matrices, 1) if with_weights else None
        return SANetOutput(self.classifier(pooled), pooled_from, all_alpha)

    def embed(self, tokens: Tensor) -> Tensor:
        """Ids ``(batch, length)`` → what the first block reads, ``(batch, length, hidden)``."""
        x = self.embedding(tokens)
        if self.config.positions:
            x = x + positions(x.shape[1], x.shape[2], x.dtype).to(x.device)
        return self.projection(x)


def masked_maximum(x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Largest value of each dimension over the real words, and the index of its word.

    ``x`` ``(batch, length, hidden)``, ``mask`` ``(batch, length)`` → ``(batch, hidden)`` twice;
    0 and −1 where no word is real. The first author's later code does not mask here, so its
    prediction for a document depends on the rest of the batch.
    """
    if not x.shape[1]:  # no words, no maximum
        return x.new_zeros(len(x), x.shape[2]), mask.new_full((len(x), x.shape[2]), -1, dtype=int)
    additive = torch.zeros_like(mask, dtype=x.dtype).masked_fill(~mask, -torch.inf)
    x = x + additive.unsqueeze(2)  # faster than masked_fill of x
    values, found_at = x.max(1)
    empty = ~mask.any(1, keepdim=True)
    return values.masked_fill(empty, 0), found_at.masked_fill(empty, -1)


def pooled_word_attention(pooled_from: Tensor, mask: Tensor) -> Tensor:
    """The share of the pooled dimensions that comes from each word: ``(batch, length)``.

    The paper names a CAM-like attention over single words as future work; this is its simplest
    form. Rows of documents with words sum to 1 over real words.
    """
    counts = pooled_from.new_zeros(mask.shape, dtype=torch.float32)
    real = (pooled_from >= 0).float()
    if mask.shape[1]:
        counts.scatter_add_(1, pooled_from.clamp(min=0), real)
    return counts / pooled_from.shape[1]


class SANetOutput(NamedTuple):
    """``logits`` ``(batch, classes)``; ``pooled_from`` ``(batch, hidden)``, the place that each
    pooled dimension comes from, −1 in a document without words; ``attention``
    ``(batch, blocks, length, length)``, each real word's row sums to 1; None unless requested or
    given, and for a baseline."""

    logits: Tensor
    pooled_from: Tensor
    attention: Tensor | None


@dataclass(frozen=True)
class SANetConfig:
    """Sizes and variants of a SANet; ``ValueError`` for a wrong value."""

    embedding: int = 100  # the width of vectors that start at random
    hidden: int = 128
    blocks: int = 1
    dropout: float = 0.1
    attention: bool = True  # whether words attend; False: the paper's baseline, FFN layers instead
    positions: bool = True  # added to the words, as in the paper
    scaled: bool = False  # by 1/√hidden, which the paper does not
    sparse: bool = False  # gradients of the batch's word vectors alone, which plain SGD takes
    xavier: bool = False  # weights start as in the first author's later code; the paper is silent

    def __post_init__(self) -> None:
        check_whole(self, "embedding", "hidden", "blocks")
        check_share(self, "dropout")
        check_flags(self, "attention", "positions", "scaled", "sparse", "xavier")

    @classmethod
    def base(cls, **changes: Any) -> "SANetConfig":
        """The paper's base model; with ``attention=False`` its baseline."""
        return cls(**changes)

    @classmethod
    def big(cls, **changes: Any) -> "SANetConfig":
        """The paper's big model; with ``attention=False`` its baseline."""
        return cls(**{"embedding": 200, "hidden": 256, "blocks": 2} | changes)
