"""Lesson 09: a training that fails on made-up reviews, for a reason that a learner has to find.

Do not read on if you are looking for the reason: ``_given`` holds it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pad_sequence

from course_lib.data.corpus import load_corpus
from course_lib.data.toy import BAD, GOOD
from course_lib.data.vocabulary import Vocabulary
from course_lib.models.bilstm import BiLSTM, BiLSTMConfig
from course_lib.views.colours import ACCENT, MUTED, SECOND
from course_lib.views.panels import grid, legend

COUNTS = {"train": (300, 200), "test": (100, 100)}  # negative and positive reviews
OURS = "The story follows the night nurse through an empty hotel . What a brilliant ending !"
RATE, BATCH = 0.01, 100
SHUFFLED = 3  # the seed of the loading
Weights = Callable[[Tensor, Tensor], Tensor]  # tokens and mask → weights ``(batch, length)``


class Reviews(NamedTuple):
    """``tokens`` and ``mask`` ``(reviews, length)``; ``labels`` ``(reviews,)``, 1 = positive."""

    tokens: Tensor
    mask: Tensor
    labels: Tensor

    def some(self, index: Tensor) -> "Reviews":
        """The reviews at ``index``, without padding that none of them needs."""
        longest = int(self.mask[index].sum(1).max())
        return Reviews(self.tokens[index, :longest], self.mask[index, :longest], self.labels[index])


class Watched(NamedTuple):
    """What the network makes of ``OURS`` after an epoch: ``weights`` ``(words,)``, P(positive)."""

    epoch: int
    weights: np.ndarray
    positive: float


@dataclass
class Training:
    """A trained network with the curves of its epochs, and what was ``watched`` after each."""

    network: BiLSTM
    training: list[float] = field(default_factory=list)
    validation: list[float] = field(default_factory=list)
    accuracy: list[float] = field(default_factory=list)
    watched: list[Watched] = field(default_factory=list)


@dataclass(frozen=True)
class FailingRun:
    """500 made-up reviews, 200 new ones, and a small BiLSTM with attention that is to learn them.

    ``given`` is what the network gets in training; ``new`` are the reviews to measure on.
    """

    seed: int = 0

    @cached_property
    def _rows(self) -> dict[str, list[dict]]:
        """The first reviews of either class in each file, in the order of the file."""
        rows = {}
        for part, counts in COUNTS.items():
            every, left = load_corpus("toy").splits[part], list(counts)
            rows[part] = []
            for row in every:
                left[row["label"]] -= 1
                if left[row["label"]] >= 0:
                    rows[part].append(row)
        return rows

    def file(self, part: str) -> tuple[list[list[str]], list[int]]:
        """The words and the labels of the reviews in a file, ``"train"`` or ``"test"``."""
        return [row["tokens"] for row in self._rows[part]], [
            row["label"] for row in self._rows[part]
        ]

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The words of the training reviews."""
        words = {word for review in self.file("train")[0] for word in review}
        return Vocabulary(tuple(sorted(words)))

    def encode(self, reviews: Sequence[Sequence[str]], labels: Sequence[int]) -> Reviews:
        """Lists of words as ids and mask."""
        ids = [torch.from_numpy(self.vocabulary.encode(review)).long() for review in reviews]
        tokens = pad_sequence(ids, batch_first=True)
        return Reviews(tokens, tokens > 0, torch.tensor(labels))

    @cached_property
    def given(self) -> Reviews:
        """What the network is trained on, as the loading hands it over."""
        return _given(self.encode(*self.file("train")))

    @cached_property
    def new(self) -> Reviews:
        """The reviews that the training does not see."""
        return self.encode(*self.file("test"))

    def words(self, tokens: Tensor) -> list[str]:
        """The words of one review's ids ``(length,)``, without padding."""
        return self.vocabulary.decode(tokens[tokens > 0].tolist())

    @property
    def judgements(self) -> Tensor:
        """The ids of the words that decide a review, such as *superb* and *dull*."""
        return torch.from_numpy(self.vocabulary.encode([*BAD, *GOOD])).long()

    def network(self) -> BiLSTM:
        """The network before training, the same at every call."""
        torch.manual_seed(self.seed)
        return BiLSTM(BiLSTMConfig(embedding=32, hidden=32), len(self.vocabulary) + 2, 2)

    def train(
        self, epochs: int, attention: Weights | None = None, given: Reviews | None = None
    ) -> Training:
        """Train the network on ``given``, by default what the loading hands over.

        ``attention(tokens, mask)`` gives weights ``(batch, length)`` in place of the learned ones.
        """
        reviews, result = given or self.given, Training(self.network())
        optimiser = torch.optim.Adam(result.network.parameters(), lr=RATE)
        order = torch.Generator().manual_seed(self.seed)
        for _ in range(epochs):
            total = 0.0
            for index in torch.randperm(len(reviews.labels), generator=order).split(BATCH):
                batch = reviews.some(index)
                loss = cross_entropy(_logits(result.network, batch, attention), batch.labels)
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
                total += loss.item() * len(index)
            result.training.append(total / len(reviews.labels))
            self._measure(result, attention)
        return result

    @torch.no_grad()
    def _measure(self, result: Training, attention: Weights | None) -> None:
        logits = _logits(result.network, self.new, attention)
        result.validation.append(cross_entropy(logits, self.new.labels).item())
        result.accuracy.append((logits.argmax(1) == self.new.labels).float().mean().item())
        ours = self.encode([OURS.split()], [1])
        read = result.network(ours.tokens, ours.mask)
        positive = read.logits.softmax(1)[0, 1].item()
        epoch = len(result.training)
        result.watched.append(Watched(epoch, read.attention[0].numpy(), positive))


def _logits(network: BiLSTM, batch: Reviews, attention: Weights | None) -> Tensor:
    weights = attention and attention(batch.tokens, batch.mask)
    return network(batch.tokens, batch.mask, weights).logits


def _given(reviews: Reviews) -> Reviews:
    """The defect: reviews and labels are shuffled once, each with dice of its own."""
    dice = torch.Generator().manual_seed(SHUFFLED)
    texts, labels = (torch.randperm(len(reviews.labels), generator=dice) for _ in range(2))
    return Reviews(reviews.tokens[texts], reviews.mask[texts], reviews.labels[labels])


def draw_attention(axis: Axes, watched: Watched) -> None:
    """The attention to the words of ``OURS`` as bars; P(positive) in the title."""
    words = OURS.split()
    axis.bar(range(len(words)), watched.weights, color=ACCENT)
    axis.axhline(1 / len(words), color=MUTED, linestyle=":", label="uniform attention")
    turned = {"rotation": 60, "ha": "right", "rotation_mode": "anchor", "fontsize": 8}
    axis.set_xticks(range(len(words)), words, **turned)
    axis.set(ylim=(0, 1), ylabel="attention")
    axis.set_title(f"after epoch {watched.epoch}: P(positive) = {watched.positive:.2f}")
    axis.legend(fontsize=8, loc="upper left")


def attention_figure(run: Training) -> Figure:
    """``draw_attention`` after the last epoch."""
    figure, (axis,) = grid([""], 1, (5, 2.8))
    draw_attention(axis, run.watched[-1])
    return figure


def curves_figure(run: Training, floor: float) -> Figure:
    """Both losses over the epochs beside the floor, and the accuracy on new reviews."""
    figure, (left, right) = grid(["losses", "accuracy on new reviews"], 2, (4.6, 2.9))
    epochs = range(1, len(run.training) + 1)
    left.plot(epochs, run.training, "o-", markersize=3, color=ACCENT, label="training")
    left.plot(epochs, run.validation, "s--", markersize=3, color=SECOND, label="validation")
    left.axhline(floor, color=MUTED, linewidth=4, alpha=0.4, label="floor")
    left.set(xlabel="epoch", ylabel="loss", ylim=(0, None))
    right.plot(epochs, run.accuracy, "s--", markersize=3, color=SECOND)
    right.set(xlabel="epoch", ylim=(0, 1))
    legend(figure, "right center")
    return figure
