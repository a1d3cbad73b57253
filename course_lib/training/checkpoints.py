"""Checkpoints at the end of each epoch, from which a killed training resumes."""

import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from torch import nn

from course_lib.files import atomic_path, file_digest
from course_lib.training.config import CheckpointError
from course_lib.training.history import Epoch, History

ABOUT = "training.json"
# errors that mean a damaged checkpoint; a lack of memory, say, is none
DAMAGE = (FileNotFoundError, ValueError, TypeError, KeyError, AttributeError)


class Checkpoints:
    """The last checkpoint of a training, in a folder; without a folder nothing is written.

    ::

        checkpoint-000003/     the state after the third epoch, as accelerate saves it, and
            training.json      the fingerprint of its training, and the digests of the other files

    The state includes the history and the weights of the best epoch.
    """

    def __init__(
        self, accelerator: Accelerator, folder: Path | None, fingerprint: str, history: History
    ) -> None:
        """``fingerprint`` says which training it is: its settings, its seed, its documents."""
        self.accelerator, self.folder = accelerator, folder
        self.fingerprint, self.history = fingerprint, history
        self.best: dict[str, torch.Tensor] = {}
        accelerator.register_for_checkpointing(self)

    def state_dict(self) -> dict[str, Any]:
        """Return what accelerate saves of the history and the best weights."""
        return {"epochs": [asdict(epoch) for epoch in self.history.epochs], "best": self.best}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Fill in the history and the best weights."""
        # fit keeps a reference to this history, so fill it, do not replace it
        self.history.epochs[:] = [Epoch(**epoch) for epoch in state["epochs"]]
        self.best = state["best"]

    def resume(self) -> None:
        """Load the last checkpoint, if there is one.

        Raises ``CheckpointError`` if it is damaged or belongs to another training.
        """
        if self.folder and (checkpoints := checkpoints_in(self.folder)):
            self._check(checkpoints[-1])
            self.accelerator.load_state(str(checkpoints[-1]))
            delete(checkpoints[:-1])  # which a killed training had no time to delete

    def after_epoch(self, model: nn.Module) -> None:
        """Keep the weights of a best epoch; write a checkpoint, then delete earlier ones."""
        if self.history.best == len(self.history.epochs) - 1:
            state = model.state_dict()
            self.best = {name: each.detach().to("cpu", copy=True) for name, each in state.items()}
        if not self.folder:
            return
        earlier = checkpoints_in(self.folder)
        with atomic_path(self.folder / f"checkpoint-{len(self.history.epochs):06d}") as temporary:
            # with safetensors, accelerate leaves out tensors without elements
            self.accelerator.save_state(str(temporary), safe_serialization=False)
            files = {path.name: file_digest(path) for path in sorted(temporary.iterdir())}
            about = json.dumps({"training": self.fingerprint, "files": files})
            (temporary / ABOUT).write_text(about, encoding="utf-8")
        delete(earlier)

    def _check(self, checkpoint: Path) -> None:
        path = checkpoint / ABOUT
        try:
            about = json.loads(path.read_text(encoding="utf-8"))
            if about["training"] != self.fingerprint:
                raise CheckpointError(
                    f"{self.folder} holds a checkpoint of another training:\n  "
                    f"{about['training']}\nnow asked for:\n  {self.fingerprint}\n"
                    "Use another folder or delete that one."
                )
            for name, digest in about["files"].items():
                path = checkpoint / name
                if file_digest(path) != digest:
                    raise ValueError("its digest does not match")
        except DAMAGE as error:
            raise CheckpointError(
                f"{path}: damaged ({error}). Delete {checkpoint} and train again."
            ) from error


def checkpoints_in(folder: Path) -> list[Path]:
    """Return the complete checkpoints in a folder, the oldest first."""
    return sorted(folder.glob("checkpoint-" + 6 * "[0-9]"))


def delete(checkpoints: list[Path]) -> None:
    """Delete these checkpoints."""
    for checkpoint in checkpoints:
        shutil.rmtree(checkpoint)
