"""The results of the epochs of a training, and the sums of the current one."""

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
    """The epochs so far, and sums of the current one; saved with every checkpoint."""

    epochs: list[Epoch] = field(default_factory=list)
    step: int = 0
    loss: float = 0.0
    right: int = 0
    seen: int = 0
    seconds: float = 0.0
    best_by: str = "loss"

    @property
    def best(self) -> int:
        """Index of the best epoch by ``best_by``, the first of equals; -1 before any has ended."""
        accuracy = self.best_by == "accuracy"
        costs = [-e.validation_accuracy if accuracy else e.validation_loss for e in self.epochs]
        return costs.index(min(costs)) if costs else -1

    def is_over(self, epochs: int, patience: int) -> bool:
        """Whether all epochs have ended, or ``patience`` of them since the best one."""
        ended = len(self.epochs)
        return ended >= epochs or (ended > 0 and ended - 1 - self.best >= patience)

    def add_step(self, loss: float, right: float, documents: int, seconds: float) -> None:
        """Count a batch: its summed cross-entropy, correct predictions, documents and seconds.

        The penalty is no part of ``loss``, so the training loss compares with the validation's.
        """
        self.loss += loss
        self.right += int(right)
        self.seen += documents
        self.seconds += seconds
        self.step += 1

    def end_epoch(self, predictions: Predictions) -> None:
        """Add the current epoch; ``predictions`` are those of the validation documents.

        ``TrainingError`` if their loss is not finite.
        """
        probabilities, labels = predictions
        least = torch.finfo(probabilities.dtype).tiny  # an underflow costs 87, not ∞
        loss = nn.functional.nll_loss(probabilities.clamp(least).log(), labels).item()
        if not math.isfinite(loss):
            raise TrainingError(
                f"validation loss is {loss} after epoch {len(self.epochs) + 1}, its last batch "
                f"{self.step}. A smaller learning rate or clip_norm may help."
            )
        accuracy = (probabilities.argmax(1) == labels).float().mean().item()
        train = self.loss / self.seen, self.right / self.seen
        self.epochs.append(Epoch(*train, loss, accuracy, self.seconds))
        self.step = self.loss = self.right = self.seen = self.seconds = 0
