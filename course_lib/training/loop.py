"""One training loop for every model: any device, resumable at any moment, best epoch kept.

Example: ``history = fit(model, train, validation, TrainingConfig(epochs=3), seed=0)``. ``fit`` is
the loop. ``Checkpoints`` saves and resumes it; the code for several processes is in
``parallel``.
"""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

import torch
from accelerate import Accelerator
from accelerate.utils import gather_object, set_seed
from torch import Tensor, nn

from course_lib.data.batches import Batch, Batches, Documents
from course_lib.front_end import progress
from course_lib.metrics.classification import Predictions
from course_lib.training.checkpoints import Checkpoints
from course_lib.training.config import TrainingConfig, TrainingError, make_optimizer
from course_lib.training.devices import choose_device, flushed_denormals, make_accelerator
from course_lib.training.history import History
from course_lib.training.parallel import add_up, is_main, prepared, share_of


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
    same weights, on CPU bit for bit. Without a folder nothing is written. Under torchrun the
    processes share every batch. Raises ``TrainingError`` if the loss is no longer finite, naming
    epoch and batch, or if the folder is damaged or another training's.
    """
    batches = Batches(train, config.batch_size, seed)
    held_out = Batches(validation, 4 * config.batch_size)
    accelerator = make_accelerator(device or choose_device(), config.precision)
    set_seed(seed, device_specific=True)  # each process has its own dropout
    with prepared(model, accelerator) as network:
        optimizer = accelerator.prepare(make_optimizer(model, config, accelerator.device))
        history = History(best_by=config.best_by)
        settings = config, getattr(model, "config", None), seed, accelerator.num_processes
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
                    # summed over the processes; the main one decides when all of them save
                    figures = [cross_entropy, right, checkpoints.due()]
                    cross_entropy, right, due = add_up(figures, accelerator)
                    seconds = time.perf_counter() - start
                    history.add_step(cross_entropy, right, len(batch.labels), seconds)
                    if due:
                        checkpoints.save()
            desc = f"epoch {len(history.epochs) + 1} of {config.epochs} validation"
            predicted = predict(
                model, held_out, desc=desc, accelerator=accelerator, most_tokens=config.most_tokens
            )
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
    """Forward and backward through this process's share of the batch, slice after slice; returns
    the share's summed cross-entropy and its number of right guesses.

    Processes exchange gradients after the last slice.
    """
    total, right = 0.0, 0
    share, divisor = share_of(batch, accelerator)  # of the sum of losses; ∞ without a document
    slices = share.to(accelerator.device).slices(config.most_tokens)
    for part in slices:
        with nullcontext() if part is slices[-1] else accelerator.no_sync(network):
            output = network(part.tokens, part.mask)
            cross_entropy = nn.functional.cross_entropy(output.logits.float(), part.labels)
            loss = cross_entropy + (output.penalty.mean() if hasattr(output, "penalty") else 0)
            # weighted by its number of documents, so that slices add up to the batch
            accelerator.backward(loss * (len(part.labels) / divisor))
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
    return (0.0, 0) if math.isinf(divisor) else (total, right)  # without one, its share is 0


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
        disable=not is_main(),
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
    accelerator: Accelerator | None = None,
    most_tokens: int = 0,
) -> Predictions:
    """Class probabilities of every document, in the order of the data, with dropout off."""

    def evaluate(tokens: Tensor, mask: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        return model(tokens, mask).logits, {}

    return measure(model, batches, evaluate, device, desc, accelerator, most_tokens)[0]


@torch.inference_mode()
def measure(
    model: nn.Module,
    batches: Batches,
    evaluate: Callable[[Tensor, Tensor], tuple[Tensor, dict[str, Tensor]]],
    device: torch.device | None = None,
    desc: str = "measure",
    accelerator: Accelerator | None = None,
    most_tokens: int = 0,
) -> tuple[Predictions, dict[str, Tensor]]:
    """``predict``, and figures of every document, ``(documents, …)`` each, in the same pass; the
    model is left on ``device``, in evaluation mode.

    ``evaluate(tokens, mask)`` returns a batch's logits ``(batch, classes)`` and figures by name,
    ``(batch, …)`` each. The processes of an ``accelerator`` take turns, and each gets all results.
    A batch of more than ``most_tokens`` goes through in slices, in less memory (0: whole).
    """
    turn, turns = (accelerator.process_index, accelerator.num_processes) if accelerator else (0, 1)
    if not len(batches.documents):
        raise ValueError("there are no documents to predict or to measure")
    device = device or next(model.parameters()).device
    model.to(device).eval()
    parts = []
    bar = progress(batches.epoch(), desc, total=len(batches), leave=False, disable=not is_main())
    for number, batch in enumerate(bar):
        for part in batch.slices(most_tokens) if number % turns == turn else ():
            logits, figures = evaluate(*part.to(device)[:2])
            figures = figures | {"probabilities": logits.float().softmax(1)}
            parts.append((part.index, {name: x.float().cpu() for name, x in figures.items()}))
    if accelerator:
        parts = gather_object(parts)
    order = torch.cat([index for index, _ in parts]).argsort()
    found = {name: torch.cat([each[name] for _, each in parts])[order] for name in parts[0][1]}
    labels = torch.from_numpy(batches.documents.labels)
    return Predictions(found.pop("probabilities"), labels), found
