"""The results of the epochs, and checkpoints from which a killed training resumes."""

import json
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from accelerate import Accelerator
from accelerate.utils import load
from safetensors.torch import load_file, save_file
from torch import nn

from course_lib.files import atomic_path
from course_lib.metrics.classification import Predictions
from course_lib.training.config import CheckpointError
from course_lib.training.parallel import written_together


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

    def end_epoch(self, predictions: Predictions) -> Epoch:
        """Add the current epoch and return it; ``predictions`` are those of the validation rows."""
        probabilities, labels = predictions
        least = torch.finfo(probabilities.dtype).tiny  # an underflow costs 87, not ∞
        epoch = Epoch(
            train_loss=self.loss / self.seen,
            train_accuracy=self.right / self.seen,
            validation_loss=nn.functional.nll_loss(probabilities.clamp(least).log(), labels).item(),
            validation_accuracy=(probabilities.argmax(1) == labels).float().mean().item(),
            seconds=self.seconds,
        )
        self.epochs.append(epoch)
        self.step = self.loss = self.right = self.seen = self.seconds = 0
        return epoch


class Checkpoints:
    """The last complete checkpoint of a training, and its best weights, in one folder.

    A checkpoint is written under a temporary name and renamed when complete, so a training can
    resume from whatever has the final name. At the end only history and best weights remain.
    ``identity`` describes the training. Without a folder, memory keeps the best weights only.
    """

    def __init__(
        self, accelerator: Accelerator, folder: Path | None, identity: str, history: History
    ) -> None:
        self.accelerator, self.folder = accelerator, folder
        self.identity, self.history = identity, history
        self.saved_at = time.monotonic()
        self.best: dict[str, torch.Tensor] = {}

    def resume(self) -> None:
        """Continue where the training stopped; ``CheckpointError`` if it is another training's."""
        checkpoints = self._complete()
        if self.folder and (self.folder / "finished.json").exists():
            self._read(self.folder / "finished.json")
        elif checkpoints:
            self._read(checkpoints[-1] / "history.json")
            with self._naming(checkpoints[-1]):
                # accelerate ignores random states that it cannot read, so read them first
                load(checkpoints[-1] / f"random_states_{self.accelerator.process_index}.pkl")
                self.accelerator.load_state(str(checkpoints[-1]))

    def due(self, seconds: float) -> bool:
        """Whether this is the main process and it has not saved for that many seconds."""
        late = time.monotonic() - self.saved_at >= seconds
        return bool(self.folder) and self.accelerator.is_main_process and late

    def save(self) -> None:
        """Write the next checkpoint, then drop the ones before it."""
        if self.folder:
            earlier = self._complete()
            number = int(earlier[-1].name.split("-")[1]) + 1 if earlier else 0
            target = self.folder / f"checkpoint-{number:06d}"
            with written_together(target, self.accelerator) as temporary:
                # with safetensors, accelerate leaves out tensors without elements
                self.accelerator.save_state(str(temporary), safe_serialization=False)
                if self.accelerator.is_main_process:
                    self._write(temporary / "history.json")
            self._drop(earlier)
        self.saved_at = time.monotonic()

    def finish(self) -> None:
        """Keep the history and best weights of a finished training, and delete the rest."""
        if self.folder:
            finished = self.folder / "finished.json"
            if self.accelerator.is_main_process and not finished.exists():
                with atomic_path(finished) as temporary:
                    self._write(temporary)
            self._drop(self._complete())

    def _complete(self) -> list[Path]:
        return sorted(self.folder.glob("checkpoint-*")) if self.folder else []

    def _drop(self, folders: list[Path]) -> None:
        if self.accelerator.is_main_process:
            for folder in folders:
                shutil.rmtree(folder)

    def _write(self, path: Path) -> None:
        path.write_text(json.dumps({"identity": self.identity, "history": asdict(self.history)}))

    def _read(self, path: Path) -> None:
        with self._naming(path):
            state = json.loads(path.read_text())
            identity, history = state["identity"], state["history"]
            epochs = [Epoch(**epoch) for epoch in history["epochs"]]
        if identity != self.identity:
            raise CheckpointError(
                f"{self.folder} holds a checkpoint of another training:\n  {identity}\n"
                f"now asked for:\n  {self.identity}\nUse another folder or delete that one."
            )
        self.history.__dict__.update(history | {"epochs": epochs})

    def keep_best(self, model: nn.Module) -> None:
        """Remember the weights as the best so far."""
        if not self.folder:
            self.best = {name: each.detach().clone() for name, each in model.state_dict().items()}
        elif self.accelerator.is_main_process:
            save_weights(model.state_dict(), self.folder / "best.safetensors")

    def load_best(self, model: nn.Module) -> None:
        """Load the best weights into the model; at least one epoch must have ended."""
        self.accelerator.wait_for_everyone()
        if not self.folder:
            model.load_state_dict(self.best)
            return
        best = self.folder / "best.safetensors"
        with self._naming(best):
            model.load_state_dict(load_file(best))

    @contextmanager
    def _naming(self, path: Path) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            raise CheckpointError(
                f"{path}: damaged ({error}). Delete {self.folder} and train again."
            ) from error


def save_weights(state: dict[str, torch.Tensor], path: Path) -> None:
    """Write a state dict as safetensors, whole or not at all."""
    state = {name: value.detach().to("cpu", copy=True) for name, value in state.items()}
    with atomic_path(path) as temporary:  # copies, since safetensors refuses shared memory
        save_file({name: value.contiguous() for name, value in state.items()}, temporary)
