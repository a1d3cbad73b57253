"""The study's network: word vectors → an encoder → attention over its states → classifier."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from course_kit.research.crossover_study.attentions.sparse import entmax15, sparsemax
from course_kit.research.crossover_study.encoders.minilm import States
from course_lib.data.vocabulary import Vocabulary
from course_lib.models import layers
from course_lib.models.bilstm import WordByWord
from course_lib.models.layers import AttentionPooling
from course_lib.models.transformer import Block, TransformerConfig

DROPOUT = 0.2
BLOCKS = TransformerConfig(layers=2, heads=4, feed_forward=200, dropout=0.1, attention_dropout=0.1)


class TwoBlocks(nn.Module):
    """Two Transformer blocks over words and their sinusoidal positions."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([Block(width, BLOCKS) for _ in range(BLOCKS.layers)])

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor]:
        """``x`` ``(batch, length, width)`` → states of the same shape."""
        x = x + layers.positions(x.shape[1], x.shape[2], x.dtype).to(x.device)
        for block in self.blocks:
            x = block(x, mask)[0]
        return (x,)


def sharpened(scores: Tensor, mask: Tensor) -> Tensor:
    """Softmax at a quarter of the temperature."""
    return layers.masked_softmax(4 * scores, mask)


def equal(scores: Tensor, mask: Tensor) -> Tensor:
    """1 / n at each of n real places, whatever the scores: the line for learned weights."""
    return mask.expand_as(scores) / mask.sum(-1, keepdim=True).clamp(min=1)


ENCODERS: dict[str, Callable[[int], Any]] = {  # of vectors of a width, into states as wide
    "projected": lambda width: WordByWord(width, width),
    "bilstm": lambda width: layers.LSTMLayer(width, width),
    "transformer": TwoBlocks,
    "minilm": lambda width: None,  # its states are kept, and nothing more is learned before α
}
ATTENTIONS: dict[str, Callable[[int], AttentionPooling]] = {
    "additive": lambda width: AttentionPooling(width, width // 2),
    "dot": lambda width: AttentionPooling(width, 0),
    "entmax15": lambda width: AttentionPooling(width, width // 2, weights=entmax15),
    "sparsemax": lambda width: AttentionPooling(width, width // 2, weights=sparsemax),
    "sharp": lambda width: AttentionPooling(width, width // 2, weights=sharpened),
    "uniform": lambda width: AttentionPooling(width, 0, weights=equal),
}


class Output(NamedTuple):
    """``logits`` ``(batch, classes)``, ``attention`` ``(batch, length)``, ``states``
    ``(batch, length, width)``."""

    logits: Tensor
    attention: Tensor
    states: Tensor


class Pooled(nn.Module):
    """Encoder and attention by their names; ``table`` holds the vectors at the start."""

    def __init__(self, encoder: str, attention: str, table: Tensor, classes: int) -> None:
        super().__init__()
        width = table.shape[1]
        self.embedding = nn.Embedding.from_pretrained(table, freeze=False, padding_idx=0)
        self.encoder, self.pooling = ENCODERS[encoder](width), ATTENTIONS[attention](width)
        self.classifier = nn.Linear(width, classes)
        self.locked, self.dropout = layers.LockedDropout(DROPOUT), layers.Dropout(DROPOUT)

    def forward(self, tokens: Tensor, mask: Tensor) -> Output:
        """Ids and mask ``(batch, length)``, True = real, real words first."""
        return self.read(self.embedding(tokens), mask)

    def read(self, x: Tensor, mask: Tensor) -> Output:
        """``forward`` from the vectors ``(batch, length, width)`` on."""
        x = self.locked(x)
        h = self.encoder(x, mask)[0] if self.encoder else x
        pooled, alpha = self.pooling(h, mask)
        return Output(self.classifier(self.dropout(pooled)), alpha.squeeze(1), h)


class Seen(NamedTuple):
    """What a network makes of texts: ``probabilities`` ``(texts, classes)``, and per text its
    ``attention`` ``(words,)`` and ``states`` ``(words, width)``."""

    probabilities: np.ndarray
    attention: list[np.ndarray]
    states: list[np.ndarray]


class Reader:
    """A trained network as a function of texts; what it was asked once is remembered.

    Word vectors come from its table by the ``vocabulary``, or from the ``kept`` frozen network.
    """

    def __init__(self, network: Pooled, vocabulary: Vocabulary | None, kept: States | None) -> None:
        self.network, self.vocabulary, self.kept = network.eval(), vocabulary, kept
        self.known: dict[tuple[str, ...], np.ndarray] = {}

    def __call__(self, texts: Sequence[Sequence[str]]) -> np.ndarray:
        """Class probabilities ``(texts, classes)``."""
        new = [text for text in dict.fromkeys(map(tuple, texts)) if text not in self.known]
        if new:
            self.known |= zip(new, self.see(new).probabilities, strict=True)
        return np.array([self.known[tuple(text)] for text in texts])

    @torch.inference_mode()
    def see(self, texts: Sequence[Sequence[str]]) -> Seen:
        """Probabilities, attention and states, in one batch."""
        lengths = [len(text) for text in texts]
        vectors = nn.utils.rnn.pad_sequence(self._vectors(texts, lengths), batch_first=True)
        mask = torch.arange(vectors.shape[1]) < torch.tensor(lengths)[:, None]
        output = self.network.read(vectors, mask)
        attention, states = (
            [row[:n] for row, n in zip(values.double().numpy(), lengths)]
            for values in (output.attention, output.states)
        )
        return Seen(output.logits.double().softmax(1).numpy(), attention, states)

    def _vectors(self, texts: Sequence[Sequence[str]], lengths: list[int]) -> tuple[Tensor, ...]:
        if self.kept:
            return tuple(torch.from_numpy(x).float() for x in self.kept.of(texts))
        ids = torch.from_numpy(self.vocabulary.encode([word for text in texts for word in text]))
        return self.network.embedding(ids.long()).split(lengths)
