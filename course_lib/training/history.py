"""The results of the epochs of a training.

In the code epochs count from 0 (``History.best``, ``Batches.epoch``); where people read the number,
they count from 1 (names of checkpoints, messages, ``best_epoch`` in records).
"""

import math
from dataclasses import dataclass, field

import torch
from torch import nn

from course_lib.metrics.classification import Predictions
from course_lib.training.config import TrainingError


@dataclass(frozen=True)
class Epoch:
    """The results of one epoch: mean cross-entropies, accuracies in [0, 1], seconds of training."""

    train_loss: float
    train_accuracy: float
    validation_loss: float
    validation_accuracy: float
    seconds: float


@dataclass
class History:
    """The epochs so far; ``best_by``, ``"loss"`` or ``"accuracy"``, decides which is the best."""

    epochs: list[Epoch] = field(default_factory=list)
    best_by: str = "loss"

    @property
    def best(self) -> int:
        """Index, from 0, of the best epoch by ``best_by``, the first of equals; -1 before any has
        ended."""
        accuracy = self.best_by == "accuracy"
        costs = [-e.validation_accuracy if accuracy else e.validation_loss for e in self.epochs]
        return costs.index(min(costs)) if costs else -1

    def is_over(self, epochs: int, patience: int) -> bool:
        """Whether all epochs have ended, or ``patience`` of them since the best one."""
        ended = len(self.epochs)
        return ended >= epochs or (ended > 0 and ended - 1 - self.best >= patience)

    def add_epoch(
        self, loss: float, accuracy: float, seconds: float, predictions: Predictions
    ) -> None:
        """Add an epoch: its mean training loss, accuracy and seconds, and predictions after it.

        ``predictions`` are those of the validation documents. Raises ``TrainingError`` if their
        loss is not finite.
        """
        validation_loss, right = _loss_and_accuracy(predictions)
        if not math.isfinite(validation_loss):
            raise TrainingError(
                f"validation loss is {validation_loss} after epoch {len(self.epochs) + 1}. A "
                "smaller learning rate or clip_norm may help."
            )
        self.epochs.append(Epoch(loss, accuracy, validation_loss, right, seconds))


def _loss_and_accuracy(predictions: Predictions) -> tuple[float, float]:
    """Compute the mean cross-entropy and the accuracy of predictions."""
    probabilities, labels = predictions
    least = torch.finfo(probabilities.dtype).tiny  # an underflow costs 87, not ∞
    loss = nn.functional.nll_loss(probabilities.clamp(least).log(), labels).item()
    return loss, (probabilities.argmax(1) == labels).float().mean().item()
