"""One training loop for every model: any device, resumable at any moment, best epoch kept.

Example: ``history = fit(model, train, validation, TrainingConfig(epochs=3), seed=0)``. ``fit`` is
the loop, and ``Checkpoints`` saves and resumes it.
"""

import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import Tensor, nn

from course_lib.data.batches import Batch, Batches, Documents
from course_lib.front_end import progress
from course_lib.metrics.classification import Predictions
from course_lib.training.checkpoints import Checkpoints
from course_lib.training.config import TrainingConfig, TrainingError, make_optimizer
from course_lib.training.devices import choose_device, flushed_denormals, make_accelerator, prepared
from course_lib.training.history import History


def fit(
    model: nn.Module,
    train: Documents,
    validation: Documents,
    config: TrainingConfig,
    *,
    seed: int = 0,
    device: torch.device | None = None,
    folder: Path | None = None,
    after_epoch: Callable[[History], None] | None = None,
    checkpoint_seconds: float = 60.0,
) -> History:
    """Train in place and leave the model, in float32, with the weights of its best epoch.

    ``seed`` decides the order of the documents and what dropout drops. A batch's loss is the mean
    cross-entropy of its documents, plus the mean of the output's ``penalty`` ``(batch,)`` where a
    model has one. With a ``folder`` it saves a checkpoint there every so many seconds. If it is
    killed at any moment and started again with the same arguments, it continues and ends with the
    same weights, on CPU bit for bit. Without a folder nothing is written. Raises ``TrainingError``
    if the loss is no longer finite, naming epoch and batch, or if the folder is damaged or another
    training's.
    """
    batches = Batches(train, config.batch_size, seed)
    held_out = Batches(validation, 4 * config.batch_size)
    accelerator = make_accelerator(device or choose_device(), config.precision)
    set_seed(seed)
    with prepared(model, accelerator) as network:
        optimizer = accelerator.prepare(make_optimizer(model, config, accelerator.device))
        history = History(best_by=config.best_by)
        settings = config, getattr(model, "config", None), seed
        identity = repr((*settings, train.digest(), validation.digest())) if folder else ""
        checkpoints = Checkpoints(accelerator, folder, identity, history, checkpoint_seconds)
        checkpoints.resume()

        while not history.is_over(config.epochs, config.patience):
            network.train()
            with flushed_denormals():
                for batch in _rest_of_epoch(batches, history, config):
                    start = time.perf_counter()
                    _set_rate(optimizer, history, config, len(batches))
                    optimizer.zero_grad()
                    cross_entropy, right = _add_gradients(
                        network, batch, accelerator, config, history
                    )
                    if config.clip_norm:
                        accelerator.clip_grad_norm_(network.parameters(), config.clip_norm)
                    optimizer.step()
                    seconds = time.perf_counter() - start
                    history.add_step(cross_entropy, right, len(batch.labels), seconds)
                    if checkpoints.due():
                        checkpoints.save()
            desc = f"epoch {len(history.epochs) + 1} of {config.epochs} validation"
            predicted = predict(model, held_out, accelerator.device, desc, config.most_tokens)
            history.end_epoch(predicted)
            checkpoints.after_epoch(model)
            if after_epoch:
                after_epoch(history)
        checkpoints.finish(model)
    return history


def _add_gradients(
    network: nn.Module,
    batch: Batch,
    accelerator: Accelerator,
    config: TrainingConfig,
    history: History,
) -> tuple[float, int]:
    """Add a batch's gradients, slice after slice; return its summed cross-entropy and its number of
    correct predictions."""
    total, right = 0.0, 0
    for part in batch.to(accelerator.device).slices(config.most_tokens):
        output = network(part.tokens, part.mask)
        cross_entropy = nn.functional.cross_entropy(output.logits.float(), part.labels)
        loss = cross_entropy + (output.penalty.mean() if hasattr(output, "penalty") else 0)
        # weighted by its number of documents, so that slices add up to the batch
        accelerator.backward(loss * (len(part.labels) / len(batch.labels)))
        hits = (output.logits.argmax(1) == part.labels).sum()
        # one transfer, because each one makes the device wait
        figures = torch.stack([loss.detach(), cross_entropy.detach(), hits.to(loss.dtype)])
        loss_now, cross_entropy_now, hits_now = figures.tolist()
        if not math.isfinite(loss_now):
            raise TrainingError(
                f"loss is {loss_now} in epoch {len(history.epochs) + 1}, batch {history.step + 1} "
                f"(documents {part.index[:5].tolist()} …). A smaller learning rate or clip_norm "
                "(0 clips nothing) may help; a checkpoint, if there is one, is kept."
            )
        total += cross_entropy_now * len(part.labels)
        right += int(hits_now)
    return total, right


def _set_rate(
    optimizer: torch.optim.Optimizer, history: History, config: TrainingConfig, steps: int
) -> None:
    losses = [epoch.validation_loss for epoch in history.epochs]
    share = config.share_of_rate(len(losses) + history.step / steps, losses)
    for group in optimizer.param_groups:
        group["lr"] = config.learning_rate * share * group["rate"]


def _rest_of_epoch(batches: Batches, history: History, config: TrainingConfig) -> Iterator[Batch]:
    """The batches after the history's step, with a bar that shows loss and accuracy."""
    number = len(history.epochs)
    bar = progress(
        batches.epoch(number, skip=history.step),
        f"epoch {number + 1} of {config.epochs}",
        total=len(batches),
        initial=history.step,
        leave=False,
    )
    for batch in bar:
        yield batch  # fit adds it to the history before the next line runs
        loss, accuracy = history.loss / history.seen, history.right / history.seen
        bar.set_postfix(loss=f"{loss:.3f}", accuracy=f"{accuracy:.3f}")


def predict(
    model: nn.Module,
    batches: Batches,
    device: torch.device | None = None,
    desc: str = "predict",
    most_tokens: int = 0,
) -> Predictions:
    """Class probabilities of every document, in the order of the data, with dropout off."""

    def evaluate(tokens: Tensor, mask: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        return model(tokens, mask).logits, {}

    return measure(model, batches, evaluate, device, desc, most_tokens)[0]


@torch.inference_mode()
def measure(
    model: nn.Module,
    batches: Batches,
    evaluate: Callable[[Tensor, Tensor], tuple[Tensor, dict[str, Tensor]]],
    device: torch.device | None = None,
    desc: str = "measure",
    most_tokens: int = 0,
) -> tuple[Predictions, dict[str, Tensor]]:
    """``predict``, and figures of every document, ``(documents, …)`` each, in the same pass; the
    model is left on ``device``, in evaluation mode.

    ``evaluate(tokens, mask)`` returns a batch's logits ``(batch, classes)`` and figures by name,
    ``(batch, …)`` each. A batch of more than ``most_tokens`` goes through in slices, in less memory
    (0: whole).
    """
    if not len(batches.documents):
        raise ValueError("there are no documents to predict or to measure")
    device = device or next(model.parameters()).device
    model.to(device).eval()
    parts = []
    for batch in progress(batches.epoch(), desc, total=len(batches), leave=False):
        for part in batch.slices(most_tokens):
            logits, figures = evaluate(*part.to(device)[:2])
            figures = figures | {"probabilities": logits.float().softmax(1)}
            parts.append((part.index, {name: x.float().cpu() for name, x in figures.items()}))
    order = torch.cat([index for index, _ in parts]).argsort()
    found = {name: torch.cat([each[name] for _, each in parts])[order] for name in parts[0][1]}
    labels = torch.from_numpy(batches.documents.labels)
    return Predictions(found.pop("probabilities"), labels), found
