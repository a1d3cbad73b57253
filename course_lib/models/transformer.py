"""Encoder of a Transformer (Vaswani et al. 2017), as BERT arranges it (Devlin et al. 2019).

Token and position vectors → blocks of multi-head attention and a feed-forward layer → mean of the
real tokens, or the first one → linear classifier. Comments in the code number the equations:

(1) α^h = softmax(q^h k^hᵀ / √d_h)            (3) x ← Norm(x + Dropout(MultiHead(x)))
(2) MultiHead(x) = [α^1 v^1; …; α^H v^H] W_O   (4) x ← Norm(x + Dropout(W_2 Dropout(φ(W_1 x))))

H heads of width d_h; φ is the activation. Dropout also acts on α in (2), and inside (4) as in
PyTorch's layer; BERT has none there.

Example::

    model = Transformer(TransformerConfig(), vocabulary=10_000, classes=2)
    output = model(tokens, mask, return_attention=True)  # (batch, length): ids, and True = real
    output.logits, output.attention
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout, gelu, relu, scaled_dot_product_attention

from course_lib import checking
from course_lib.models.layers import masked_softmax, renormalised, word_embedding

ACTIVATIONS = {"relu": relu, "gelu": gelu}


class MultiHeadAttention(nn.Module):
    """Each head has queries, keys and values of its own, and W_O combines what they return."""

    def __init__(self, width: int, config: "TransformerConfig") -> None:
        super().__init__()
        if width % config.heads:
            raise ValueError(f"heads is {config.heads}, which does not divide the width {width}")
        self.heads, self.dropout = config.heads, config.attention_dropout
        self.output = nn.Linear(width, width)  # drawn before the others, as PyTorch does
        nn.init.zeros_(self.output.bias)
        self.query = projection(width, config.rank)
        self.key = projection(width)
        self.value = projection(width, config.rank)

    def forward(
        self, x: Tensor, mask: Tensor, attention: Tensor | None, with_weights: bool
    ) -> tuple[Tensor, Tensor | None, Tensor]:
        """``x`` ``(batch, length, width)`` → as ``x``; the weights ``(batch, heads, length,
        length)`` if they are given or asked for; and the values ``(batch, heads, length, width /
        heads)``. ``mask`` is True for real tokens, ``(batch, length)``, or for the pairs of a
        query and a key that may meet, ``(batch, length, length)``."""

        def split(layer: nn.Linear) -> Tensor:  # (batch, heads, length, width / heads)
            return layer(x).unflatten(2, (self.heads, -1)).transpose(1, 2)

        v = split(self.value)
        rate = self.dropout if self.training else 0.0
        if attention is None and not with_weights:  # (1), without storing length² weights
            q, k = split(self.query), split(self.key)
            attendable = mask | ~mask.any(-1, keepdim=True)  # no token to see: all, not 0 / 0
            attendable = attendable.unsqueeze(1) if mask.dim() == 2 else attendable
            mixed = scaled_dot_product_attention(q, k, v, attendable.unsqueeze(1), rate)
        else:
            if attention is None:
                scores = split(self.query) @ split(self.key).mT / v.shape[-1] ** 0.5
                pairs = mask.unsqueeze(1) & mask.unsqueeze(2) if mask.dim() == 2 else mask
                attention = masked_softmax(scores, pairs.unsqueeze(1))  # (1)
            mixed = dropout(attention, rate).to(v.dtype) @ v
        return self.output(mixed.transpose(1, 2).flatten(2)), attention, v  # (2)


class LowRank(nn.Linear):
    """A low-rank adapter, W x + b + B A x (Hu et al. 2021, with α/r = 1): A starts at random and B
    at zero, so it changes nothing at first. W and b are meant to be frozen."""

    def __init__(self, inputs: int, outputs: int, rank: int) -> None:
        super().__init__(inputs, outputs)
        self.a = nn.Parameter(torch.randn(rank, inputs) / inputs**0.5)  # A
        self.b = nn.Parameter(torch.zeros(outputs, rank))  # B; the bias b is self.bias

    def forward(self, x: Tensor) -> Tensor:
        """``(…, inputs)`` → ``(…, outputs)``."""
        return super().forward(x) + x @ self.a.T @ self.b.T


def projection(width: int, rank: int = 0) -> nn.Linear:
    """Create W_Q, W_K or W_V, with an adapter if ``rank`` > 0; it starts as in PyTorch's layer."""
    # skip_init: no weights are drawn that the next line would draw again
    layer = LowRank(width, width, rank) if rank else nn.utils.skip_init(nn.Linear, width, width)
    nn.init.xavier_uniform_(layer.weight, gain=0.5**0.5)  # as if all three were one matrix
    nn.init.zeros_(layer.bias)
    return layer


class Block(nn.Module):
    """Attention, then a feed-forward layer; each adds to what it reads and is then normalised.

    ``feed_forward`` 0 leaves (4) out.
    """

    def __init__(self, width: int, config: "TransformerConfig") -> None:
        super().__init__()
        self.attention = MultiHeadAttention(width, config)
        parts = 2 if config.feed_forward else 1
        if config.feed_forward:
            self.w_1 = nn.Linear(width, config.feed_forward)
            self.w_2 = nn.Linear(config.feed_forward, width)
        self.norms = nn.ModuleList([nn.LayerNorm(width, config.norm_epsilon) for _ in range(parts)])
        # not layers.Dropout, so that a seed drops the same numbers as in PyTorch's layer
        self.dropout = nn.Dropout(config.dropout)
        self.activation = ACTIVATIONS[config.activation]

    def forward(
        self, x: Tensor, mask: Tensor, attention: Tensor | None = None, with_weights: bool = False
    ) -> tuple[Tensor, Tensor | None, Tensor]:
        """As ``MultiHeadAttention``."""
        mixed, alpha, v = self.attention(x, mask, attention, with_weights)
        x = self.norms[0](x + self.dropout(mixed))  # (3)
        if len(self.norms) == 1:
            return x, alpha, v
        change = self.w_2(self.dropout(self.activation(self.w_1(x))))
        return self.norms[1](x + self.dropout(change)), alpha, v  # (4)


class Transformer(nn.Module):
    """Every token attends to every token, in several heads, block after block."""

    def __init__(
        self,
        config: "TransformerConfig",
        vocabulary: int,
        classes: int,
        embedding: Tensor | None = None,
    ) -> None:
        """``embedding`` ``(vocabulary, any width)`` are pre-trained vectors."""
        super().__init__()
        self.config = config
        self.embedding = word_embedding(vocabulary, config.width, embedding)
        width = self.embedding.embedding_dim
        self.positions = nn.Embedding(config.positions, width) if config.positions else None
        if self.positions:
            nn.init.normal_(self.positions.weight, std=0.1)  # small beside the words
        self.blocks = nn.ModuleList([Block(width, config) for _ in range(config.layers)])
        self.classifier = nn.Linear(width, classes)
        self.norm = nn.LayerNorm(width, config.norm_epsilon) if config.normalised_input else None
        self.dropout = nn.Dropout(config.dropout)  # PyTorch's, as in the blocks

    def forward(
        self,
        tokens: Tensor,
        mask: Tensor,
        attention: Tensor | None = None,
        return_attention: bool = False,
        return_states: bool = False,
    ) -> "TransformerOutput":
        """Token ids and mask ``(batch, length)``, True = real; a given ``attention``
        ``(batch, layers, heads, length, length)`` is ``renormalised``, used and returned.

        ``return_attention`` and ``return_states`` ask for what is otherwise None. A document
        without tokens gets the logits of a zero vector. ``ValueError`` for one with more tokens
        than positions, or an attention of another shape.
        """
        x, mask, places = self.embed(tokens, mask)
        return self.read(x, mask, places, attention, return_attention, return_states)

    def embed(self, tokens: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """Ids and mask ``(batch, length)`` → vectors, mask and positions for ``read``."""
        return self.embedding(tokens), mask, None

    def read(
        self,
        x: Tensor,
        mask: Tensor,
        places: Tensor | None = None,
        attention: Tensor | None = None,
        return_attention: bool = False,
        return_states: bool = False,
    ) -> "TransformerOutput":
        """``forward`` from the tokens' vectors ``x`` ``(batch, length, width)`` on; ``places``
        ``(batch, length)`` are their positions, by default 0, 1, 2, …"""
        given = self._given(attention, mask)
        if self.positions:
            x = self._with_positions(x, mask, places)
        if self.norm:
            x = self.dropout(self.norm(x))
        states, alphas, values = [x], [], []
        for block, weights in zip(self.blocks, given, strict=True):
            x, alpha, v = block(x, mask, weights, return_attention)
            states.append(x)
            alphas.append(alpha)
            values.append(v)
        return TransformerOutput(
            self.classifier(self.pool(x, mask)),
            None if alphas[0] is None else torch.stack(alphas, 1),
            torch.stack(states, 1) if return_states else None,
            torch.stack(values, 1) if return_states else None,
        )

    def _given(self, attention: Tensor | None, mask: Tensor) -> Sequence[Tensor | None]:
        """Each block's given attention ``(batch, heads, length, length)``, ``renormalised``; None
        where it is learned."""
        if attention is None:
            return [None] * len(self.blocks)
        pairs = (mask.unsqueeze(1) & mask.unsqueeze(2))[:, None, None]
        sizes = -1, len(self.blocks), self.config.heads, -1, -1
        return renormalised(attention, pairs.expand(sizes)).unbind(1)

    def _with_positions(self, x: Tensor, mask: Tensor, places: Tensor | None) -> Tensor:
        """Add the position vectors to ``x``; ``ValueError`` for a real token beyond the last."""
        most = self.config.positions
        # checking makes a GPU wait, so it is done only where a token may lie beyond the last
        may_exceed = places is not None or mask.shape[1] > most
        places = torch.arange(mask.shape[1], device=x.device) if places is None else places
        if may_exceed and (mask & (places >= most)).any():
            raise ValueError(f"mask has real tokens beyond {most} positions: cut the documents")
        return x + self.positions(places.clamp(max=most - 1))

    def pool(self, x: Tensor, mask: Tensor) -> Tensor:
        """States ``(batch, length, width)`` → what is classified, ``(batch, width)``."""
        if self.config.pooling == "first":
            x, mask = x[:, :1], mask[:, :1]
        real = mask.unsqueeze(2)
        return x.masked_fill(~real, 0).sum(1) / real.sum(1).clamp(min=1)


class TransformerOutput(NamedTuple):
    """``logits`` ``(batch, classes)``; if asked for or given, ``attention``
    ``(batch, layers, heads, length, length)``, in which the rows of real tokens sum to 1 and all
    else is 0, ``states`` ``(batch, layers + 1, length, width)`` before and after each block, and
    ``values`` ``(batch, layers, heads, length, width / heads)``, both meaningless on padding."""

    logits: Tensor
    attention: Tensor | None
    states: Tensor | None
    values: Tensor | None


@dataclass(frozen=True)
class TransformerConfig:
    """Sizes of a Transformer; ``ValueError`` for a value that a field cannot take."""

    layers: int = 2
    heads: int = 4  # must divide the width
    feed_forward: int = 200  # (0: none)
    width: int = 32  # of vectors that start at random
    positions: int = 60  # learned position vectors (0: it does not know the order)
    dropout: float = 0.2  # of all but the attention
    attention_dropout: float = 0.2
    activation: str = "relu"  # or "gelu"
    pooling: str = "mean"  # of the tokens, or the "first"
    norm_epsilon: float = 1e-5
    normalised_input: bool = False  # LayerNorm and dropout before the first block, as in BERT
    rank: int = 0  # of the adapters of queries and values (0: none)

    def __post_init__(self) -> None:
        checking.check_whole(self, "layers", "heads", "width")
        checking.check_whole(self, "feed_forward", "positions", "rank", least=0)
        checking.check_share(self, "dropout", "attention_dropout")
        checking.check_positive(self, "norm_epsilon")
        checking.check_flags(self, "normalised_input")
        checking.check_choice(self, "activation", tuple(ACTIVATIONS))
        checking.check_choice(self, "pooling", ("mean", "first"))
