"""The study's network, word vectors → an encoder → attention → classifier, and what it answers."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from course_kit.research.crossover_study.attentions import ATTENTIONS
from course_kit.research.crossover_study.encoders import ENCODERS
from course_kit.research.crossover_study.encoders.minilm import States
from course_lib.data.vocabulary import Vocabulary
from course_lib.models import layers

DROPOUT = 0.2


class Output(NamedTuple):
    """``logits`` ``(batch, classes)``, ``attention`` ``(batch, length)``, ``states``
    ``(batch, length, width)``."""

    logits: Tensor
    attention: Tensor
    states: Tensor


class Pooled(nn.Module):
    """Encoder and attention by their names; ``table`` holds the vectors at the start.

    In training, each text loses up to the share ``deletions`` of its words, so that texts without
    some words are nothing new to the network.
    """

    def __init__(
        self, encoder: str, attention: str, table: Tensor, classes: int, deletions: float = 0.0
    ) -> None:
        super().__init__()
        width = table.shape[1]
        self.embedding = nn.Embedding.from_pretrained(table, freeze=False, padding_idx=0)
        self.encoder, self.pooling = ENCODERS[encoder](width), ATTENTIONS[attention](width)
        self.classifier = nn.Linear(width, classes)
        self.locked, self.dropout = layers.LockedDropout(DROPOUT), layers.Dropout(DROPOUT)
        self.deletions = deletions

    def forward(self, tokens: Tensor, mask: Tensor) -> Output:
        """Ids and mask ``(batch, length)``, True = real, real words first."""
        if self.training and self.deletions:
            tokens, mask = with_deletions(tokens, mask, self.deletions)
        return self.read(self.embedding(tokens), mask)

    def read(self, x: Tensor, mask: Tensor) -> Output:
        """``forward`` from the vectors ``(batch, length, width)`` on."""
        h = self.encoder(self.locked(x), mask)
        pooled, alpha = self.pooling(h, mask)
        return Output(self.classifier(self.dropout(pooled)), alpha.squeeze(1), h)


def with_deletions(tokens: Tensor, mask: Tensor, most: float) -> tuple[Tensor, Tensor]:
    """Ids and mask ``(batch, length)`` without some words, the others moved together.

    The share of words that a text loses is drawn evenly from 0 to ``most``; the first word always
    stays.
    """
    share = most * torch.rand(len(tokens), 1, device=tokens.device)
    kept = mask & (torch.rand(tokens.shape, device=tokens.device) >= share)
    kept[:, :1] = mask[:, :1]
    order = kept.int().argsort(dim=1, descending=True, stable=True)
    left = kept.gather(1, order)
    return tokens.gather(1, order).masked_fill(~left, 0), left


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
        output = self.network.read(*self._vectors(texts))
        attention, states = (
            [row[:n] for row, n in zip(values.double().numpy(), lengths)]
            for values in (output.attention, output.states)
        )
        return Seen(output.logits.double().softmax(1).numpy(), attention, states)

    def gradients(
        self, texts: Sequence[Sequence[str]], classes: np.ndarray, scale: float = 1.0
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Each text's word vectors ``(words, width)`` and the gradient of the log-odds of its class
        with respect to them, at ``scale`` times the vectors."""
        x, mask = self._vectors(texts)
        at = (scale * x).detach().requires_grad_()
        logits = self.network.read(at, mask).logits
        own = torch.from_numpy(classes)[:, None]
        others = logits.scatter(1, own, -torch.inf).logsumexp(1)
        (slope,) = torch.autograd.grad((logits.gather(1, own)[:, 0] - others).sum(), at)
        both = zip(x.detach().double().numpy(), slope.double().numpy(), map(len, texts))
        return [(vectors[:n], slopes[:n]) for vectors, slopes, n in both]

    def _vectors(self, texts: Sequence[Sequence[str]]) -> tuple[Tensor, Tensor]:
        """Vectors ``(texts, length, width)`` and mask of a batch."""
        lengths = [len(text) for text in texts]
        if self.kept:
            rows = [torch.from_numpy(x).float() for x in self.kept.of(texts)]
        else:
            ids = torch.from_numpy(self.vocabulary.encode([w for text in texts for w in text]))
            rows = self.network.embedding(ids.long()).split(lengths)
        vectors = nn.utils.rnn.pad_sequence(rows, batch_first=True)
        return vectors, torch.arange(vectors.shape[1]) < torch.tensor(lengths)[:, None]
