"""How a model is trained: settings that check themselves, and the optimiser that they name."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn

from course_lib import checking

OPTIMIZERS = ("adam", "amsgrad", "adadelta", "sgd")


class TrainingError(RuntimeError):
    """Training cannot go on; the message says where it stopped and what to try."""


class CheckpointError(TrainingError):
    """A folder that holds the checkpoint of another training, or a damaged one."""


@dataclass(frozen=True)
class TrainingConfig:
    """How a model is trained; ``patience`` epochs without a better validation figure stop it.

    ``best_by`` (``"loss"`` or ``"accuracy"``) is the validation figure that decides the best epoch.
    The learning rate rises from zero over the share ``warmup`` of the planned epochs; with
    ``decay`` it then falls linearly to zero. It is halved whenever ``halve_after`` epochs (0:
    never) have brought no lower validation loss. ``optimizer`` is one of ``OPTIMIZERS``. Every
    ``nn.Embedding`` (of words, and of a Transformer's positions) learns at ``embedding_rate`` times
    the learning rate (0: not at all), and without ``momentum``, which is SGD's alone. ``epsilon`` 0
    means the optimiser's default; SGD has none. ``clip_norm`` 0 clips nothing. A batch of more than
    ``most_tokens`` (0: any number) goes through in slices whose gradients add up, in less memory.
    ``precision`` is ``"auto"`` (bfloat16 on a GPU that has it, else float32), ``"native"`` (also on
    a CPU that multiplies it natively: that pays where batches have few different shapes, see
    ``benchmarks/``), ``"no"`` or ``"bf16"``. Raises ``ValueError`` naming a field with a wrong
    value.
    """

    epochs: int = 10
    batch_size: int = 32
    learning_rate: float = 1e-3
    decay: bool = True
    warmup: float = 0.0
    halve_after: int = 0
    weight_decay: float = 0.0
    clip_norm: float = 1.0
    most_tokens: int = 0
    patience: int = 2
    best_by: str = "loss"
    optimizer: str = "adam"
    momentum: float = 0.0
    epsilon: float = 0.0
    embedding_rate: float = 1.0
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

    def share_of_rate(self, place: float, losses: Sequence[float]) -> float:
        """The share of the learning rate after ``place`` epochs, of which those that have ended
        had the validation ``losses``.

        It follows from them alone, so that a resumed training has the same rate.
        """
        share, least, since = 1.0, math.inf, 0
        for loss in losses:
            since = 0 if loss < least else since + 1
            least = min(loss, least)
            if self.halve_after and since == self.halve_after:
                share, since = share / 2, 0
        passed, warm = place / self.epochs, self.warmup
        if passed < warm:
            return share * passed / warm
        return share * ((1 - passed) / (1 - warm) if self.decay else 1.0)


def make_optimizer(
    model: nn.Module, config: TrainingConfig, device: torch.device
) -> torch.optim.Optimizer:
    """The optimiser that ``config`` names; each parameter group has its share of the rate."""
    tables = [layer.weight for layer in model.modules() if isinstance(layer, nn.Embedding)]
    table_ids = {id(table) for table in tables}
    if config.embedding_rate == 0:  # no gradient either, which for large tables takes long
        for table in tables:
            table.requires_grad_(False)
    groups = [
        {"params": [p for p in model.parameters() if id(p) not in table_ids], "rate": 1.0},
        {"params": tables, "rate": config.embedding_rate, "momentum": 0.0},
    ]
    shared = {"lr": config.learning_rate, "weight_decay": config.weight_decay}
    if config.optimizer == "sgd":
        return torch.optim.SGD(groups, **shared, momentum=config.momentum)
    if config.epsilon:
        shared["eps"] = config.epsilon
    if config.optimizer == "adadelta":
        return torch.optim.Adadelta(groups, **shared)
    fused = device.type in ("cpu", "cuda")
    return torch.optim.Adam(groups, **shared, amsgrad=config.optimizer == "amsgrad", fused=fused)
