"""The small Transformer of lesson 09: PyTorch's encoder layers as a network of this course.

PyTorch's masks say True where a key is hidden, ours say True where a word is real. PyTorch gives
NaN for a row without any key, ours gives zeros. Both are bridged here and nowhere else.
"""

from collections.abc import Callable, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from course_lib.checking import check_flags, check_share, check_whole
from course_lib.data.config import TextConfig
from course_lib.data.encoding import encode_sentences
from course_lib.faithfulness.word_attention import received, rollout, rollout_words
from course_lib.models.layers import renormalised, word_embedding
from course_lib.runs.settings import Settings
from course_lib.runs.systems.network import Network, rows_of
from course_lib.runs.systems.system import compact
from course_lib.training.config import TrainingConfig
from course_lib.views.reading import Attention

MOST_WORDS = 60  # of a text; there are so many position vectors


@dataclass(frozen=True)
class EncoderConfig:
    """Sizes of an encoder; ``width`` is that of its vectors where none are given.

    Without ``positions`` it does not know the order of the words. With ``uniform`` its queries and
    keys begin at zero, and then no gradient ever moves them: each word attends to all words alike.
    ``ValueError`` for a wrong value.
    """

    layers: int = 2
    heads: int = 4
    feed_forward: int = 200
    width: int = 32
    dropout: float = 0.2
    positions: bool = True
    uniform: bool = False

    def __post_init__(self) -> None:
        check_whole(self, "layers", "heads", "feed_forward", "width")
        check_share(self, "dropout")
        check_flags(self, "positions", "uniform")


class Encoded(NamedTuple):
    """``logits`` ``(batch, classes)``; ``attention`` ``(batch, layers, heads, length, length)``, in
    which the rows of real words sum to 1 and all else is 0."""

    logits: Tensor
    attention: Tensor


class Encoder(nn.Module):
    """Word vectors and positions → ``nn.TransformerEncoderLayer`` s → mean over words → classes."""

    def __init__(
        self, config: EncoderConfig, vocabulary: int, classes: int, embedding: Tensor | None = None
    ) -> None:
        """``embedding`` ``(vocabulary, any width)`` are pre-trained word vectors."""
        super().__init__()
        self.config = config
        self.embedding = word_embedding(vocabulary, config.width, embedding)
        width = self.embedding.embedding_dim
        self.places = nn.Embedding(MOST_WORDS, width) if config.positions else None
        if self.places:
            nn.init.normal_(self.places.weight, std=0.1)  # small beside the words
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                width, config.heads, config.feed_forward, config.dropout, batch_first=True
            )
            for _ in range(config.layers)
        )
        self.classifier = nn.Linear(width, classes)
        if config.uniform:
            without_scores(self)

    def forward(self, tokens: Tensor, mask: Tensor, attention: Tensor | None = None) -> Encoded:
        """Token ids and mask ``(batch, length)``, True = real; a given ``attention``
        ``(batch, layers, heads, length, length)`` is used and returned instead of the network's.

        A document without words gets the logits of a zero vector. ``ValueError`` for one of more
        than ``MOST_WORDS`` words, or an attention of another shape.
        """
        pairs = (mask.unsqueeze(1) & mask.unsqueeze(2))[:, None, None]
        given: Sequence[Tensor | None] = [None] * len(self.layers)
        if attention is not None:
            sizes = -1, len(self.layers), self.config.heads, -1, -1
            given = renormalised(attention, pairs.expand(sizes)).unbind(1)
        x = self.embedding(tokens)
        if self.places:
            if mask[:, MOST_WORDS:].any():
                raise ValueError(f"mask has real words behind {MOST_WORDS}: cut the documents")
            place = torch.arange(mask.shape[1], device=mask.device).clamp(max=MOST_WORDS - 1)
            x = x + self.places(place)
        hidden, matrices = hidden_keys(mask), []
        for layer, weights in zip(self.layers, given, strict=True):
            x, alpha = block(layer, x, hidden, weights)
            matrices.append(alpha)
        real = mask.unsqueeze(2)
        pooled = x.masked_fill(~real, 0).sum(1) / real.sum(1).clamp(min=1)
        return Encoded(self.classifier(pooled), torch.stack(matrices, 1).masked_fill(~pairs, 0))


def hidden_keys(mask: Tensor) -> Tensor:
    """Our mask ``(batch, length)``, True = real, as PyTorch's ``key_padding_mask``, True = hidden.

    A row without any key would be NaN there, so a document without words keeps its first place
    open; whoever pools must leave that place out.
    """
    hidden = ~mask
    hidden[:, 0] &= mask.any(1)
    return hidden


def block(
    layer: nn.TransformerEncoderLayer, x: Tensor, hidden: Tensor, given: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """A layer step by step, as the layer itself computes it, and its attention of every head.

    ``x`` ``(batch, length, width)``, ``hidden`` ``(batch, length)`` → as ``x``, and
    ``(batch, heads, length, length)``; ``given`` weights are used and returned instead.
    """
    if given is None:
        mixed, alpha = layer.self_attn(x, x, x, key_padding_mask=hidden, average_attn_weights=False)
    else:
        mixed, alpha = weighed(layer.self_attn, x, given), given
    x = layer.norm1(x + layer.dropout1(mixed))
    change = layer.linear2(layer.dropout(torch.relu(layer.linear1(x))))
    return layer.norm2(x + layer.dropout2(change)), alpha


def weighed(attend: nn.MultiheadAttention, x: Tensor, alpha: Tensor) -> Tensor:
    """What ``nn.MultiheadAttention``, which takes no weights, would make of these
    ``(batch, heads, length, length)``."""
    start = 2 * attend.embed_dim  # W_V lies below W_Q and W_K
    values = linear(x, attend.in_proj_weight[start:], attend.in_proj_bias[start:])
    values = values.unflatten(2, (attend.num_heads, -1)).transpose(1, 2)
    return attend.out_proj((alpha @ values).transpose(1, 2).flatten(2))


@torch.no_grad()
def without_scores(encoder: Encoder) -> None:
    """Set queries and keys to zero, in place: all scores are 0, and attention is uniform.

    The gradient of a query has the key as a factor and the other way round, so both stay at zero.
    """
    for layer in encoder.layers:
        both = 2 * layer.self_attn.embed_dim  # W_Q and W_K lie above W_V in one matrix
        layer.self_attn.in_proj_weight[:both] = 0
        layer.self_attn.in_proj_bias[:both] = 0


@torch.no_grad()
def without_head(encoder: Encoder, layer: int, head: int) -> None:
    """Take a head's output away, in place: its columns of W_O become 0. Both count from 0."""
    attention = encoder.layers[layer].self_attn
    size = attention.head_dim
    attention.out_proj.weight[:, head * size : (head + 1) * size] = 0


class Transformer(Network):
    """One sequence of words, read by an ``Encoder``; it answers and is looked at like every other
    network of the course."""

    presets: ClassVar = {
        "small": Settings(
            TextConfig(max_tokens=MOST_WORDS, vectors="none"),
            EncoderConfig(dropout=0.1),
            TrainingConfig(epochs=6, learning_rate=5e-3, patience=6),
        ),
        "lesson": compact(
            Settings(
                TextConfig(max_tokens=MOST_WORDS),
                EncoderConfig(),
                TrainingConfig(epochs=2, batch_size=64),
            )
        ),
    }

    def network(self, embedding: Tensor | None) -> Encoder:
        """The untrained network over the vocabulary's words."""
        return Encoder(self.settings.model, len(self.vocabulary), len(self.classes), embedding)

    @torch.inference_mode()
    def heads(self, words: Sequence[str]) -> Tensor:
        """The attention of every head over one text, ``(layers, heads, words, words)``."""
        batch = encode_sentences([[list(words)]], self.vocabulary, flat=True).batch(np.arange(1))
        return self.model.eval()(batch.tokens, batch.mask).attention[0]

    def views(
        self, output: Encoded, words: tuple[str, ...], lengths: tuple[int, ...]
    ) -> dict[str, Attention]:
        """``rollout``, then the mean of the heads of ``layer 1``, …: what each word attends to."""
        mask = output.logits.new_ones(1, len(words)).bool()
        means = output.attention.mean(2)  # (1, layers, words, words)
        views = {"rollout": Attention(rows_of(rollout(means, mask)[0]), words)}
        for number, alpha in enumerate(means[0], start=1):
            views[f"layer {number}"] = Attention(rows_of(alpha), words)
        return views

    def word_attention(self, output: Encoded, mask: Tensor) -> dict[str, Tensor]:
        """What each word receives in the top layer, the mean of the heads; and rollout."""
        means = output.attention.mean(2)
        return {
            "attention": received(means[:, -1], mask),
            "rollout": rollout_words(means, mask),
        }


def changed(system: Transformer, change: Callable[[Encoder], None]) -> Transformer:
    """The same system with a copy of its network, to which ``change`` has been done."""
    twin = copy(system)
    twin.model = deepcopy(system.model)
    change(twin.model)
    return twin
