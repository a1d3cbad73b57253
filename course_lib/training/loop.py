"""One training loop for every model here: any device, resumable at any moment, best epoch kept."""

import math
import os
import shutil
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from accelerate.utils import load, send_to_device, set_seed
from safetensors.torch import load_file, save_file
from torch import nn
from tqdm.auto import tqdm

from course_lib.data.batches import Batch, Batches
from course_lib.files import atomic_path
from course_lib.metrics.classification import Predictions
from course_lib.training.parallel import (
    add_up,
    add_up_gradients,
    is_main,
    share_of,
    written_together,
)


class TrainingError(RuntimeError):
    """Training cannot go on; the message says where it stopped and what to try."""


@dataclass(frozen=True)
class TrainingConfig:
    """How a model is trained; ``patience`` epochs without a better validation figure stop it.

    ``best_by`` (``"loss"`` or ``"accuracy"``) says which validation figure keeps an epoch. With
    ``decay`` the learning rate falls straight to zero over the planned epochs. ``optimizer`` is one
    of ``OPTIMIZERS``; the embedding learns at ``embedding_rate`` times the learning rate, and
    without ``momentum``, which is SGD's alone. ``epsilon`` 0 leaves the optimiser its own; SGD has
    none. ``clip_norm`` 0 clips nothing. A batch of more than
    ``most_tokens`` (0: any number) goes through in slices whose gradients add up, in less memory.
    ``precision`` is ``"auto"`` (bfloat16 on a GPU that has it, else float32), ``"native"`` (also on
    a CPU that multiplies it natively: that pays where batches have few different shapes, see
    ``benchmarks/``), ``"no"`` or ``"bf16"``.
    """

    epochs: int = 10
    learning_rate: float = 1e-3
    decay: bool = True
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
    seed: int = 0
    checkpoint_seconds: float = 60.0


@dataclass(frozen=True)
class Epoch:
    """What one epoch came to: mean losses, accuracies in [0, 1], seconds of training alone."""

    train_loss: float
    train_accuracy: float
    validation_loss: float
    validation_accuracy: float
    seconds: float


@dataclass
class History:
    """The epochs so far, and sums of the one under way; saved with every checkpoint."""

    epochs: list[Epoch] = field(default_factory=list)
    step: int = 0
    loss: float = 0.0
    right: int = 0
    seen: int = 0
    seconds: float = 0.0
    best_by: str = "loss"

    @property
    def best(self) -> int:
        """Index of the first epoch with the lowest validation loss, or the highest accuracy, as
        ``best_by`` says; -1 before the first one ends."""
        if self.best_by == "accuracy":
            figures = [-epoch.validation_accuracy for epoch in self.epochs]
        else:
            figures = [epoch.validation_loss for epoch in self.epochs]
        return figures.index(min(figures)) if figures else -1

    def state_dict(self) -> dict:
        """Plain numbers and lists, for accelerate's checkpoint."""
        return asdict(self)

    def load_state_dict(self, state: dict) -> None:
        """Take over what ``state_dict`` gave."""
        epochs = [Epoch(**epoch) for epoch in state["epochs"]]
        self.__dict__.update(state | {"epochs": epochs})


def choose_device(name: str = "auto") -> torch.device:
    """``"auto"`` is the first of cuda, mps, cpu that is there; raises ``TrainingError`` for one
    that is not."""
    there = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    if name == "auto":
        name = next(kind for kind, available in there.items() if available)
    if not there.get(name.partition(":")[0], False):
        raise TrainingError(f"device {name!r} is not available here; use 'auto' or 'cpu'")
    return torch.device(name)


def choose_precision(asked: str, device: torch.device) -> str:
    """``"bf16"`` or ``"no"``: what ``TrainingConfig.precision`` means on this device."""
    if asked in ("bf16", "no"):
        return asked
    native = asked == "native" and device.type == "cpu"
    if device.type == "cuda":
        native = torch.cuda.is_bf16_supported()
    elif native:
        processor = torch.cpu.get_capabilities()
        native = any(processor.get(name) for name in ("avx512_bf16", "amx_bf16"))
    return "bf16" if native else "no"


def fit(
    model: nn.Module,
    train: Batches,
    validation: Batches,
    config: TrainingConfig,
    device: torch.device | None = None,
    folder: Path | None = None,
    after_epoch: Callable[[History], None] | None = None,
) -> History:
    """Train in place and leave the model, in float32, with the weights of its best epoch by
    ``best_by``.

    With a ``folder`` it checkpoints there; started again with the same arguments after being
    killed at any moment, it goes on and ends with the same weights, on CPU bit for bit. Without
    one nothing is written. Under torchrun the processes share every batch, so ``train``'s batch
    size is that of all together; the main one writes. Raises ``TrainingError`` naming epoch and
    batch if the loss is no longer finite, or if the checkpoint belongs to another configuration.
    """
    device = device or choose_device()
    AcceleratorState._reset_state(True)  # else it keeps device and precision of an earlier fit
    precision = choose_precision(config.precision, device)
    accelerator = Accelerator(cpu=device.type == "cpu", mixed_precision=precision)
    set_seed(config.seed, device_specific=True)  # dropout of its own in each process
    # "evaluation": gradients are added up by us, since shares of a batch may differ in size
    prepared = accelerator.prepare_model(model, evaluation_mode=True)
    optimizer = accelerator.prepare_optimizer(make_optimizer(model, config, device))
    history = History(best_by=config.best_by)
    accelerator.register_for_checkpointing(history)
    data = train.batch_size, train.seed, len(train), zlib.crc32(train.documents.words)
    shared = (accelerator.num_processes,) if accelerator.num_processes > 1 else ()
    identity = repr((config, *data, getattr(model, "config", None), *shared))
    checkpoints = Checkpoints(accelerator, folder, identity)
    checkpoints.resume()

    while not _finished(history, config):
        number = len(history.epochs)
        _train_epoch(prepared, optimizer, accelerator, train, history, config, checkpoints)
        desc = f"epoch {number + 1} validation"
        predictions = predict(model, validation, desc=desc, accelerator=accelerator)
        summary = _summary(history, predictions)
        if not math.isfinite(summary.validation_loss):
            raise TrainingError(
                f"validation loss is {summary.validation_loss} after epoch {number + 1}, its last "
                f"batch {history.step}. A smaller learning rate or clip_norm may help."
            )
        history.epochs.append(summary)
        history.step = history.loss = history.right = history.seen = history.seconds = 0
        if history.best == number:
            checkpoints.keep_best(model)
        checkpoints.save()
        if after_epoch:
            after_epoch(history)
    if history.epochs:
        checkpoints.load_best(model)
    accelerator.unwrap_model(model, keep_fp32_wrapper=False)  # else it goes on in bfloat16
    return history


OPTIMIZERS = ("adam", "amsgrad", "adadelta", "sgd")


def make_optimizer(
    model: nn.Module, config: TrainingConfig, device: torch.device
) -> torch.optim.Optimizer:
    """The optimiser that ``config`` names, its groups marked with their share of the rate.

    Raises ``ValueError`` listing ``OPTIMIZERS`` for a name that is none of them.
    """
    groups = [{"params": list(model.parameters()), "rate": 1.0}]
    if config.embedding_rate != 1 or config.momentum:
        tables = [layer.weight for layer in model.modules() if isinstance(layer, nn.Embedding)]
        known = set(map(id, tables))
        groups = [
            {"params": [p for p in model.parameters() if id(p) not in known], "rate": 1.0},
            {"params": tables, "rate": config.embedding_rate, "momentum": 0.0},
        ]
    shared = {"lr": config.learning_rate, "weight_decay": config.weight_decay}
    own = {"eps": config.epsilon} if config.epsilon else {}
    if config.optimizer in ("adam", "amsgrad"):
        fused = device.type in ("cpu", "cuda")
        amsgrad = config.optimizer == "amsgrad"
        return torch.optim.Adam(groups, **shared, **own, amsgrad=amsgrad, fused=fused)
    if config.optimizer == "adadelta":
        return torch.optim.Adadelta(groups, **shared, **own)
    if config.optimizer == "sgd":
        return torch.optim.SGD(groups, **shared, momentum=config.momentum)
    raise ValueError(f"no optimizer {config.optimizer!r}; there are: {', '.join(OPTIMIZERS)}")


def _finished(history: History, config: TrainingConfig) -> bool:
    done = len(history.epochs)
    return done >= config.epochs or (done > 0 and done - 1 - history.best >= config.patience)


@contextmanager
def flushed_denormals() -> Iterator[None]:
    """Within it numbers below 1e-38 are zeros, on a CPU that can.

    Gradients that come back through hundreds of LSTM steps get so small, and some processors take
    many times longer over such numbers.
    """
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


@flushed_denormals()
def _train_epoch(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    accelerator: Accelerator,
    train: Batches,
    history: History,
    config: TrainingConfig,
    checkpoints: "Checkpoints",
) -> None:
    model.train()
    number = len(history.epochs)
    batches = train.epoch(number, skip=history.step)
    shown = {"total": len(train), "initial": history.step, "leave": False}
    bar = tqdm(batches, f"epoch {number + 1}", disable=not is_main(), **shown)
    for batch in bar:
        began = time.perf_counter()
        _set_learning_rate(optimizer, config, number + history.step / len(train))
        optimizer.zero_grad()
        seen = loss_sum = right = 0.0
        share = share_of(batch, accelerator)
        for part in slices(to_device(share, accelerator.device), config.most_tokens):
            with accelerator.autocast():
                output = model(part.tokens, part.mask)
            error = nn.functional.cross_entropy(output.logits.float(), part.labels)
            penalty = getattr(output, "penalty", None)
            loss = error if penalty is None else error + penalty.mean()
            if not torch.isfinite(loss):
                raise TrainingError(
                    f"loss is {loss.item()} in epoch {number + 1}, batch {history.step + 1} of "
                    f"{len(train)} (documents {part.index[:5].tolist()} …). A smaller learning "
                    "rate or clip_norm may help; the last checkpoint is kept."
                )
            accelerator.backward(loss * (len(part.labels) / len(batch.labels)))
            seen += len(part.labels)
            loss_sum += error.item() * len(part.labels)
            right += int((output.logits.argmax(1) == part.labels).sum())
        add_up_gradients(model, accelerator)
        if config.clip_norm:
            accelerator.clip_grad_norm_(model.parameters(), config.clip_norm)
        optimizer.step()
        due = checkpoints.due(config.checkpoint_seconds)  # the main process decides for all
        seen, loss_sum, right, due = add_up([seen, loss_sum, right, due], accelerator)
        history.seen += int(seen)
        history.loss += loss_sum
        history.right += int(right)
        history.step += 1
        history.seconds += time.perf_counter() - began
        bar.set_postfix(
            loss=f"{history.loss / history.seen:.3f}",
            accuracy=f"{history.right / history.seen:.3f}",
        )
        if due:
            checkpoints.save()


def _set_learning_rate(
    optimizer: torch.optim.Optimizer, config: TrainingConfig, epochs_done: float
) -> None:
    """Straight down to zero at the last planned step; a function of the step, so it resumes."""
    left = 1 - epochs_done / config.epochs if config.decay else 1.0
    for group in optimizer.param_groups:
        group["lr"] = config.learning_rate * left * group["rate"]


def _summary(history: History, predictions: Predictions) -> Epoch:
    probabilities, labels = predictions
    least = torch.finfo(probabilities.dtype).tiny  # a probability that underflows costs 87, not ∞
    return Epoch(
        train_loss=history.loss / history.seen,
        train_accuracy=history.right / history.seen,
        validation_loss=nn.functional.nll_loss(probabilities.clamp(least).log(), labels).item(),
        validation_accuracy=(probabilities.argmax(1) == labels).float().mean().item(),
        seconds=history.seconds,
    )


def slices(batch: Batch, most_tokens: int) -> list[Batch]:
    """The batch in as few parts as hold at most ``most_tokens`` each, padding included, but at
    least one document; 0 leaves it whole. No part of a batch without documents."""
    documents = len(batch.labels)
    if not documents:
        return []
    if not most_tokens or batch.tokens.numel() <= most_tokens:
        return [batch]
    size = max(1, most_tokens // (batch.tokens.numel() // documents))
    return [
        Batch(*(part[start : start + size] for part in batch))
        for start in range(0, documents, size)
    ]


def to_device(batch: Batch, device: torch.device) -> Batch:
    """The batch with every tensor on the device."""
    return Batch(*(tensor.to(device, non_blocking=True) for tensor in batch))


def predict(
    model: nn.Module,
    batches: Batches,
    device: torch.device | None = None,
    desc: str = "predict",
    accelerator: Accelerator | None = None,
) -> Predictions:
    """Class probabilities of every document, in the order of the data, with dropout off."""

    def look(*inputs: torch.Tensor) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        return model(*inputs).logits, {}

    return measure(model, batches, look, device, desc, accelerator)[0]


Look = Callable[[torch.Tensor, torch.Tensor], tuple[torch.Tensor, dict[str, torch.Tensor]]]


@torch.inference_mode()
def measure(
    model: nn.Module,
    batches: Batches,
    look: Look,
    device: torch.device | None = None,
    desc: str = "measure",
    accelerator: Accelerator | None = None,
) -> tuple[Predictions, dict[str, torch.Tensor]]:
    """``predict``, and figures of every document, ``(documents, …)`` each, in the same pass.

    ``look(tokens, mask)`` gives a batch's logits and its figures, ``(batch, …)`` each, by name.
    The processes of an ``accelerator`` take batches in turns, and all get everything.
    """
    turn, turns = 0, 1
    if accelerator:
        turn, turns = accelerator.process_index, accelerator.num_processes
    device = device or next(model.parameters()).device
    model.to(device).eval()
    rows = len(batches.documents)
    labels = torch.from_numpy(batches.documents.labels)
    probabilities, found = torch.empty(0), {}
    bar = tqdm(batches.epoch(), desc, total=len(batches), leave=False, disable=not is_main())
    for number, batch in enumerate(bar):
        mine = number % turns == turn
        if len(probabilities) and not mine:
            continue
        logits, figures = look(*to_device(batch, device)[:2])
        if not len(probabilities):  # only now the classes, and the figures' names and shapes, show
            probabilities = torch.zeros(rows, logits.shape[1])
            found = {name: torch.zeros(rows, *values.shape[1:]) for name, values in figures.items()}
        if mine:
            probabilities[batch.index] = logits.float().softmax(1).cpu()
            for name, values in figures.items():
                found[name][batch.index] = values.float().cpu()
    if turns > 1:
        everything = send_to_device((probabilities, found), accelerator.device)
        probabilities, found = send_to_device(accelerator.reduce(everything), "cpu")
    return Predictions(probabilities, labels), found


class Checkpoints:
    """The last complete checkpoint of a training, and its best weights, in one folder.

    A checkpoint is written under a temporary name and renamed when complete, so whatever has the
    final name can be resumed from.
    """

    def __init__(self, accelerator: Accelerator, folder: Path | None, identity: str) -> None:
        self.accelerator = accelerator
        self.folder = folder
        self.identity = identity
        self.saved_at = time.monotonic()
        self.best: dict[str, torch.Tensor] = {}

    def resume(self) -> None:
        """Load the last checkpoint, if any; ``TrainingError`` if it is another training's."""
        complete = self._complete()
        if complete:
            with self._naming(complete[-1]):
                stored = (complete[-1] / "identity.txt").read_text()
            if stored != self.identity:
                raise TrainingError(
                    f"{self.folder} holds a checkpoint of another configuration:\n  {stored}\n"
                    f"now asked for:\n  {self.identity}\nUse another folder or delete that one."
                )
            with self._naming(complete[-1]):
                # accelerate goes on without random states that it cannot read: look first
                random_states = f"random_states_{self.accelerator.process_index}.pkl"
                load(complete[-1] / random_states)
                self.accelerator.load_state(str(complete[-1]))

    def due(self, seconds: float) -> bool:
        """Whether this is the main process and that long has passed since it saved last."""
        late = time.monotonic() - self.saved_at >= seconds
        return bool(self.folder) and self.accelerator.is_main_process and late

    def save(self) -> None:
        """Write the next checkpoint, then drop the ones before it."""
        if self.folder:
            earlier = self._complete()
            number = int(earlier[-1].name.split("-")[1]) + 1 if earlier else 0
            target = self.folder / f"checkpoint-{number:06d}"
            with written_together(target, self.accelerator) as temporary:
                self.accelerator.save_state(str(temporary))
                if self.accelerator.is_main_process:
                    (temporary / "identity.txt").write_text(self.identity)
            if self.accelerator.is_main_process:
                for folder in earlier:
                    shutil.rmtree(folder)
        self.saved_at = time.monotonic()

    def _complete(self) -> list[Path]:
        return sorted(self.folder.glob("checkpoint-*")) if self.folder else []

    def keep_best(self, model: nn.Module) -> None:
        """Remember the weights as the best so far."""
        state = {name: value.detach().clone() for name, value in model.state_dict().items()}
        if not self.folder:
            self.best = state
        elif self.accelerator.is_main_process:
            save_weights(state, self.folder / "best.safetensors")

    def load_best(self, model: nn.Module) -> None:
        """Give the model the best weights back, once an epoch has ended."""
        self.accelerator.wait_for_everyone()
        if self.folder:
            best = self.folder / "best.safetensors"
            with self._naming(best):
                self.best = load_file(best)
        model.load_state_dict(self.best)

    @contextmanager
    def _naming(self, path: Path) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            raise TrainingError(
                f"{path}: damaged ({error}). Delete {self.folder} and train again."
            ) from error


def save_weights(state: dict[str, torch.Tensor], path: Path) -> None:
    """Write a state dict as safetensors, whole or not at all."""
    with atomic_path(path) as temporary:
        save_file({name: value.contiguous().cpu() for name, value in state.items()}, temporary)


def use_threads(threads: int | None) -> int:
    """Set how many cores torch may use (None: leave it) and say how many it uses now."""
    if threads:
        torch.set_num_threads(min(threads, os.cpu_count() or threads))
    return torch.get_num_threads()
