"""Small experiments: a learner's network is trained (lesson 06), thirty texts are learned by heart,
and two worlds have other shares of the classes (lesson 09 and its side note)."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from course_kit.exercises import own_networks
from course_lib.data.batches import Batch, Batches, Documents
from course_lib.models.agt import AblatedAGT, AGTConfig

RATE = 0.001
NEUTRAL = 1  # the middle of three classes


def fit(
    network: nn.Module, documents: Documents, epochs: int, rate: float, seed: int
) -> list[float]:
    """Train a network of tokens and mask, whose first result are logits, with Adam; the
    cross-entropy of each batch of 50."""
    batches = Batches(documents, 50, seed)
    every = (batch for epoch in range(epochs) for batch in batches.epoch(epoch))
    return _losses(network, ((batch, batch.labels) for batch in every), rate)


def _losses(network: nn.Module, steps: Iterable[tuple[Batch, Tensor]], rate: float) -> list[float]:
    """The cross-entropy of each step, a batch with its labels, after which Adam takes one."""
    optimizer, losses = torch.optim.Adam(network.parameters(), lr=rate), []
    for batch, labels in steps:
        loss = cross_entropy(network(batch.tokens, batch.mask)[0], labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


right = own_networks.right  # beside ``fit`` for lesson 06


def learn_by_heart(
    batch: Batch,
    labels_at: Callable[[int], Tensor],
    vocabulary: int,
    seed: int,
    selection_layers: int = 0,
    steps: int = 100,
) -> list[float]:
    """Training losses of a narrow AGT without dropout that sees the same batch in every step.

    ``labels_at(step)`` gives the labels ``(texts,)``; ``selection_layers`` says how many layers
    select words (0: all).
    """
    torch.manual_seed(seed)
    config = AGTConfig(embedding=32, hidden=32, dropout=0.0, selection_layers=selection_layers)
    network = AblatedAGT(config, vocabulary, 2)
    return _losses(network, ((batch, labels_at(step)) for step in range(steps)), RATE)


class Shifted(NamedTuple):
    """Shares of neutral texts in training and test, and what comes before and after a correction:
    the shares of neutral answers and the accuracies, each ``(as it is, corrected)``."""

    old: float
    new: float
    answered: tuple[float, float]
    accuracy: tuple[float, float]


def alike_world(neutral: float, source: torch.Generator, texts: int = 20_000) -> tuple:
    """A class first, then a text of that class: one number ``(texts,)`` and labels 0, 1 = neutral,
    2. The texts of a class are alike whatever share of them is ``neutral``."""
    share = torch.tensor([(1 - neutral) / 2, neutral, (1 - neutral) / 2])
    labels = torch.multinomial(share, texts, replacement=True, generator=source)
    return 2.0 * (labels - NEUTRAL) + torch.randn(texts, generator=source), labels


def same_rule_world(
    shortest: int, longest: int, source: torch.Generator, texts: int = 20_000
) -> tuple[Tensor, Tensor]:
    """Words first, then the class that their sum decides by a rule with some noise: the sums
    ``(texts,)`` and labels. Short texts hold little and so are mostly neutral."""
    lengths = torch.randint(shortest, longest + 1, (texts, 1), generator=source)
    words = 0.45 * torch.randn(texts, longest, generator=source) * (torch.arange(longest) < lengths)
    felt = words.sum(1) + 0.4 * torch.randn(texts, generator=source)
    return words.sum(1), NEUTRAL + (felt > 0.7).long() - (felt < -0.7).long()


def correct_shares(train: tuple[Tensor, Tensor], test: tuple[Tensor, Tensor]) -> Shifted:
    """A logistic regression fitted to ``train``, asked about ``test`` as it is and with Saerens's
    correction for the test's true shares."""
    logits = _fit(*train)(test[0])
    old, new = (labels.bincount() / len(labels) for _, labels in (train, test))
    answers = [logits.argmax(1), prior_corrected(logits, old, new).argmax(1)]
    return Shifted(
        old[NEUTRAL].item(),
        new[NEUTRAL].item(),
        tuple((answer == NEUTRAL).float().mean().item() for answer in answers),
        tuple((answer == test[1]).float().mean().item() for answer in answers),
    )


def prior_corrected(logits: Tensor, old: Tensor, new: Tensor) -> Tensor:
    """Probabilities ``(batch, classes)`` of a network trained where the classes have the shares
    ``old`` ``(classes,)``, for texts where they have the shares ``new`` (Saerens et al. 2002).

    Right if the texts *of each class* are alike in both places, and if the network's probabilities
    are right in the first.
    """
    return (logits + (new / old).log()).softmax(-1)


def _fit(x: Tensor, labels: Tensor) -> Callable[[Tensor], Tensor]:
    """Logistic regression on one number; its logits as a function."""
    weights = torch.zeros(2, int(labels.max()) + 1, requires_grad=True)
    optimizer = torch.optim.LBFGS([weights], max_iter=100)

    def loss() -> Tensor:
        optimizer.zero_grad()
        value = cross_entropy(_with_one(x) @ weights, labels)
        value.backward()
        return value

    optimizer.step(loss)
    return lambda new: _with_one(new) @ weights.detach()


def _with_one(x: Tensor) -> Tensor:
    return torch.stack([x, torch.ones_like(x)], 1)
