"""Checkpoints from which a killed training resumes; a damaged one is refused, never half read."""

import hashlib
import json
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import nn

from course_lib.files import DAMAGE, atomic_path, file_digest
from course_lib.training.config import CheckpointError
from course_lib.training.history import Epoch, History


class Checkpoints:
    """The last complete checkpoint of a training, and its best weights, in one folder.

    ::

        best-000003.safetensors  the weights of the best epoch so far, by its number from 1
        checkpoint-000007/       all that accelerate saves, renamed to this when complete, and
            history.json         the epochs, with the digests of the files beside it
        finished.json            the epochs, in place of the checkpoint when training has ended

    ``identity`` describes the training; at least ``seconds`` pass between two checkpoints within an
    epoch. Without a folder, memory keeps the best weights only.
    """

    def __init__(
        self,
        accelerator: Accelerator,
        folder: Path | None,
        identity: str,
        history: History,
        seconds: float,
    ) -> None:
        self.accelerator, self.folder = accelerator, folder
        self.identity, self.history, self.seconds = identity, history, seconds
        self.saved_at = time.monotonic()
        self.best: dict[str, torch.Tensor] = {}

    def resume(self) -> None:
        """Continue where the training stopped; ``CheckpointError`` if the folder is another
        training's or damaged."""
        checkpoints = self._complete()
        if self.folder and (self.folder / "finished.json").exists():
            self._read(self.folder / "finished.json")
        elif checkpoints:
            self._read(checkpoints[-1] / "history.json")
            # its files are whole, as their digests say: an error here is none of damage
            self.accelerator.load_state(str(checkpoints[-1]))

    def due(self) -> bool:
        """Whether the last checkpoint is old enough for another."""
        return bool(self.folder) and time.monotonic() - self.saved_at >= self.seconds

    def save(self) -> None:
        """Write the next checkpoint, then delete the earlier ones."""
        if not self.folder:
            return
        earlier = self._complete()
        number = int(earlier[-1].name.split("-")[1]) + 1 if earlier else 0
        target = self.folder / f"checkpoint-{number:06d}"
        with atomic_path(target) as temporary:
            # with safetensors, accelerate leaves out tensors without elements
            self.accelerator.save_state(str(temporary), safe_serialization=False)
            self._write(temporary / "history.json", sorted(temporary.iterdir()))
        self._drop(earlier)
        self.saved_at = time.monotonic()

    def after_epoch(self, model: nn.Module) -> None:
        """Keep the weights if the epoch was the best so far, and save."""
        if self.history.best == len(self.history.epochs) - 1:
            self.keep_best(model)
        self.save()
        # only now, since a training that is resumed may find another epoch the best
        if self.folder:
            for path in {*self.folder.glob("best-*.safetensors")} - {self._best_path()}:
                path.unlink()

    def finish(self, model: nn.Module) -> None:
        """Load the best weights; of the folder, keep these and the history."""
        self.load_best(model)
        if self.folder:
            finished = self.folder / "finished.json"
            if not finished.exists():
                with atomic_path(finished) as temporary:
                    self._write(temporary)
            self._drop(self._complete())

    def keep_best(self, model: nn.Module) -> None:
        """Remember the weights as the best so far."""
        if not self.folder:
            self.best = {name: each.detach().clone() for name, each in model.state_dict().items()}
        else:
            save_weights(model.state_dict(), self._best_path())

    def load_best(self, model: nn.Module) -> None:
        """Load the best weights into the model; at least one epoch must have ended."""
        if not self.folder:
            model.load_state_dict(self.best)
            return
        best = self._best_path()
        with self._reporting_damage(best):
            model.load_state_dict(load_weights(best))

    def _best_path(self) -> Path:
        return self.folder / f"best-{self.history.best + 1:06d}.safetensors"

    def _complete(self) -> list[Path]:  # the oldest first
        return sorted(self.folder.glob("checkpoint-*")) if self.folder else []

    def _drop(self, folders: list[Path]) -> None:
        for folder in folders:
            shutil.rmtree(folder)

    def _write(self, path: Path, files: list[Path] | tuple[()] = ()) -> None:
        """Identity, history and the digests of ``files``, under a digest of their own."""
        state = {"identity": self.identity, "history": asdict(self.history)}
        state["files"] = {each.name: file_digest(each) for each in files}
        path.write_text(json.dumps(state | {"digest": _digest_of(state)}))

    def _read(self, path: Path) -> None:
        """Fill the history from a file, once all digests and the identity match."""
        with self._reporting_damage(path):
            state = json.loads(path.read_text())
            if state.pop("digest") != _digest_of(state):
                raise ValueError("its digest does not match")
            epochs = [Epoch(**epoch) for epoch in state["history"]["epochs"]]
        for name, digest in state["files"].items():
            with self._reporting_damage(path.with_name(name)):
                if file_digest(path.with_name(name)) != digest:
                    raise ValueError("its digest does not match")
        if state["identity"] != self.identity:
            raise CheckpointError(
                f"{self.folder} holds a checkpoint of another training:\n  {state['identity']}\n"
                f"now asked for:\n  {self.identity}\nUse another folder or delete that one."
            )
        for name, value in (state["history"] | {"epochs": epochs}).items():
            setattr(self.history, name, value)  # in place, since fit holds this History

    @contextmanager
    def _reporting_damage(self, path: Path) -> Iterator[None]:
        """Report what reading a damaged file raises as a damaged ``path``; another trouble, such as
        too little memory, passes unchanged."""
        try:
            yield
        except (*DAMAGE, SafetensorError) as error:
            raise CheckpointError(
                f"{path}: damaged or not readable ({error}). Delete {self.folder} and train again."
            ) from error


def save_weights(state: dict[str, torch.Tensor], path: Path) -> None:
    """Write a state dict as safetensors, whole or not at all, with a digest of its numbers."""
    # copies, since safetensors refuses shared memory
    state = {name: each.detach().to("cpu", copy=True).contiguous() for name, each in state.items()}
    with atomic_path(path) as temporary:
        save_file(state, temporary, {"digest": _digest_of_weights(state)})


def load_weights(path: Path) -> dict[str, torch.Tensor]:
    """A state dict that ``save_weights`` has written; ``ValueError`` if its numbers changed."""
    state = load_file(path)
    with safe_open(path, "pt") as file:
        digest = (file.metadata() or {}).get("digest")
    if digest != _digest_of_weights(state):
        raise ValueError("its digest does not match")
    return state


def _digest_of(state: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()


def _digest_of_weights(state: dict[str, torch.Tensor]) -> str:
    digest = hashlib.sha256()
    for name, value in sorted(state.items()):
        digest.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
        digest.update(value.flatten().view(torch.uint8).numpy() if value.numel() else b"")
    return digest.hexdigest()
