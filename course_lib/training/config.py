"""How a model is trained: settings that check themselves, and the optimiser that they name."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn

from course_lib import checking

OPTIMIZERS = ("adam", "amsgrad", "adadelta", "sgd")


class TrainingError(checking.CourseError, RuntimeError):
    """Training cannot go on; the message says where it stopped and what to try."""


class CheckpointError(TrainingError):
    """A folder that holds the checkpoint of another training, or a damaged one."""


@dataclass(frozen=True)
class TrainingConfig:
    """How a model is trained; ``ValueError`` naming a field with a wrong value.

    The learning rate rises from zero over the share ``warmup`` of the planned epochs; with
    ``decay`` it then falls linearly to zero.
    """

    epochs: int = 10
    batch_size: int = 32
    learning_rate: float = 1e-3
    decay: bool = True
    warmup: float = 0.0
    # halve the rate after so many epochs without a lower validation loss (0: never)
    halve_after: int = 0
    weight_decay: float = 0.0
    clip_norm: float = 1.0  # of all gradients together (0: clip nothing)
    most_tokens: int = 0  # a larger batch goes through in slices, in less memory (0: any number)
    # stop after so many epochs in a row without a new best one (0: after the first epoch)
    patience: int = 2
    best_by: str = "loss"  # or "accuracy": the validation figure that decides the best epoch
    optimizer: str = "adam"  # one of OPTIMIZERS
    momentum: float = 0.0  # of SGD, except for embeddings
    epsilon: float = 0.0  # 0: the optimiser's default; SGD has none
    embedding_rate: float = 1.0  # of every nn.Embedding, times the learning rate (0: frozen)
    # "auto": bfloat16 on a GPU that has it; "native": also on a CPU that multiplies it natively,
    # which pays where batches have few different shapes (see benchmarks/); "no"; "bf16"
    precision: str = "auto"

    def __post_init__(self) -> None:
        checking.check_whole(self, "epochs", "batch_size")
        checking.check_whole(self, "most_tokens", "patience", "halve_after", least=0)
        checking.check_number(
            self, "weight_decay", "clip_norm", "momentum", "epsilon", "embedding_rate"
        )
        checking.check_positive(self, "learning_rate")
        checking.check_share(self, "warmup")
        checking.check_flags(self, "decay")
        checking.check_choice(self, "best_by", ("loss", "accuracy"))
        checking.check_choice(self, "optimizer", OPTIMIZERS)
        checking.check_choice(self, "precision", ("auto", "native", "no", "bf16"))

    def rate_factor(self, epochs_passed: float, validation_losses: Sequence[float]) -> float:
        """Compute the factor of the learning rate after ``epochs_passed``, which may be a fraction.

        ``validation_losses`` are those of the epochs that have ended. The factor depends on nothing
        else, so a resumed training has the same rates.
        """
        factor, least, since = 1.0, math.inf, 0
        for loss in validation_losses:
            since = 0 if loss < least else since + 1
            least = min(loss, least)
            if self.halve_after and since == self.halve_after:
                factor, since = factor / 2, 0
        passed, warm = epochs_passed / self.epochs, self.warmup
        if passed < warm:
            return factor * passed / warm
        return factor * ((1 - passed) / (1 - warm) if self.decay else 1.0)


def make_optimizer(
    model: nn.Module, config: TrainingConfig, device: torch.device
) -> torch.optim.Optimizer:
    """Make the optimiser that ``config`` names.

    The embeddings are a parameter group of their own, whose ``rate`` is ``embedding_rate``; if that
    is 0, they are frozen.
    """
    tables = [layer.weight for layer in model.modules() if isinstance(layer, nn.Embedding)]
    table_ids = {id(table) for table in tables}
    if config.embedding_rate == 0:  # a large table's gradient takes long
        for table in tables:
            table.requires_grad_(False)
    groups = [
        {"params": [p for p in model.parameters() if id(p) not in table_ids], "rate": 1.0},
        {"params": tables, "rate": config.embedding_rate, "momentum": 0.0},
    ]
    # lr is a placeholder: the loop sets it before each step
    shared = {"lr": config.learning_rate, "weight_decay": config.weight_decay}
    if config.optimizer == "sgd":
        return torch.optim.SGD(groups, **shared, momentum=config.momentum)
    if config.epsilon:
        shared["eps"] = config.epsilon
    if config.optimizer == "adadelta":
        return torch.optim.Adadelta(groups, **shared)
    fused = device.type in ("cpu", "cuda")
    return torch.optim.Adam(groups, **shared, amsgrad=config.optimizer == "amsgrad", fused=fused)
