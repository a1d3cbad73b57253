"""One training loop for every model here: any device, resumable at any moment, best epoch kept.

Example: ``history = fit(model, train, validation, TrainingConfig(epochs=3), seed=0)``. The loop
over an epoch's batches is ``_train_epoch``; what checkpoints and several processes need stands in
``checkpoints`` and ``parallel``.
"""

import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from accelerate import Accelerator
from accelerate.utils import send_to_device, set_seed
from torch import Tensor, nn
from tqdm.auto import tqdm

from course_lib.data.batches import Batch, Batches, Documents
from course_lib.metrics.classification import Predictions
from course_lib.training.checkpoints import Checkpoints
from course_lib.training.config import TrainingConfig, TrainingError, make_optimizer
from course_lib.training.devices import choose_device, flushed_denormals, make_accelerator
from course_lib.training.history import History
from course_lib.training.parallel import add_up, add_up_gradients, is_main


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
    cross-entropy of its documents, and the mean of the output's ``penalty`` ``(batch,)`` where a
    model has one. With a ``folder`` it saves a checkpoint there every so many seconds. If it is
    killed at any moment and started again with the same arguments, it continues and ends with the
    same weights, on CPU bit for bit. Without one nothing is written. Under torchrun the processes
    share every batch; the main one writes. Raises ``TrainingError`` naming epoch and batch if the
    loss is no longer finite, or if the folder belongs to another training.
    """
    batches = Batches(train, config.batch_size, seed)
    held_out = Batches(validation, 4 * config.batch_size)
    accelerator = make_accelerator(device or choose_device(), config.precision)
    set_seed(seed, device_specific=True)  # each process has its own dropout
    # "evaluation", since we add up the gradients: shares of a batch may differ in size
    prepared = accelerator.prepare_model(model, evaluation_mode=True)
    optimizer = accelerator.prepare_optimizer(make_optimizer(model, config, accelerator.device))
    history = History(best_by=config.best_by)
    settings = config, getattr(model, "config", None), seed, accelerator.num_processes
    identity = repr((*settings, train.digest(), validation.digest())) if folder else ""
    checkpoints = Checkpoints(accelerator, folder, identity, history)
    checkpoints.resume()

    while not _finished(history, config):
        number = len(history.epochs)
        _train_epoch(prepared, optimizer, batches, config, checkpoints, checkpoint_seconds)
        desc = f"epoch {number + 1} of {config.epochs} validation"
        predictions = predict(model, held_out, desc=desc, accelerator=accelerator)
        epoch = history.end_epoch(predictions)
        if not math.isfinite(epoch.validation_loss):
            raise TrainingError(
                f"validation loss is {epoch.validation_loss} after epoch {number + 1}, its last "
                f"batch {len(batches)}. A smaller learning rate or clip_norm may help."
            )
        if history.best == number:
            checkpoints.keep_best(model)
        checkpoints.save()
        if after_epoch:
            after_epoch(history)
    checkpoints.load_best(model)
    checkpoints.finish()
    accelerator.unwrap_model(model, keep_fp32_wrapper=False)  # else it stays in bfloat16
    return history


def _finished(history: History, config: TrainingConfig) -> bool:
    epochs = len(history.epochs)
    return epochs >= config.epochs or (epochs > 0 and epochs - 1 - history.best >= config.patience)


@flushed_denormals()
def _train_epoch(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    batches: Batches,
    config: TrainingConfig,
    checkpoints: Checkpoints,
    checkpoint_seconds: float,
) -> None:
    """Train on the rest of the current epoch, from the step where the history is."""
    model.train()
    history, accelerator = checkpoints.history, checkpoints.accelerator
    for batch in _rest_of_epoch(batches, history, config):
        start = time.perf_counter()
        _set_rate(optimizer, history, config, len(batches))
        optimizer.zero_grad()
        loss, right = _add_gradients(model, batch, accelerator, config, history)
        add_up_gradients(model, accelerator)
        if config.clip_norm:
            accelerator.clip_grad_norm_(model.parameters(), config.clip_norm)
        optimizer.step()
        # of all processes; the main one decides for all when to save
        due = checkpoints.due(checkpoint_seconds)
        loss, right, due = add_up([loss, right, due], accelerator)
        history.add_step(loss, right, len(batch.labels), time.perf_counter() - start)
        if due:
            checkpoints.save()


def _add_gradients(
    model: nn.Module,
    batch: Batch,
    accelerator: Accelerator,
    config: TrainingConfig,
    history: History,
) -> tuple[float, int]:
    """Forward and backward through this process's share of the batch, slice after slice; returns
    the share's summed cross-entropy and its number of right guesses."""
    loss_sum, right = 0.0, 0
    share = batch.documents(accelerator.process_index, step=accelerator.num_processes)
    for part in share.to(accelerator.device).slices(config.most_tokens):
        with accelerator.autocast():
            output = model(part.tokens, part.mask)
        error = loss = nn.functional.cross_entropy(output.logits.float(), part.labels)
        if hasattr(output, "penalty"):
            loss = error + output.penalty.mean()
        hits = (output.logits.argmax(1) == part.labels).sum()
        # read together: each reading makes the device wait
        read = torch.stack([loss.detach(), error.detach(), hits.to(error.dtype)]).tolist()
        if not math.isfinite(read[0]):
            raise TrainingError(
                f"loss is {read[0]} in epoch {len(history.epochs) + 1}, batch {history.step + 1} "
                f"(documents {part.index[:5].tolist()} …). A smaller learning rate or clip_norm "
                "may help; the last checkpoint is kept."
            )
        # weighted by its number of documents, so that slices and shares add up to the batch
        accelerator.backward(loss * (len(part.labels) / len(batch.labels)))
        loss_sum += read[1] * len(part.labels)
        right += int(read[2])
    return loss_sum, right


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
    bar = tqdm(
        batches.epoch(number, skip=history.step), f"epoch {number + 1} of {config.epochs}",
        disable=not is_main(), total=len(batches), initial=history.step, leave=False,
    )  # fmt: skip
    for batch in bar:
        yield batch
        loss, accuracy = history.loss / history.seen, history.right / history.seen
        bar.set_postfix(loss=f"{loss:.3f}", accuracy=f"{accuracy:.3f}")


def predict(
    model: nn.Module,
    batches: Batches,
    device: torch.device | None = None,
    desc: str = "predict",
    accelerator: Accelerator | None = None,
) -> Predictions:
    """Class probabilities of every document, in the order of the data, with dropout off."""
    return measure(
        model, batches, lambda *inputs: (model(*inputs).logits, {}), device, desc, accelerator
    )[0]


@torch.inference_mode()
def measure(
    model: nn.Module,
    batches: Batches,
    evaluate: Callable[[Tensor, Tensor], tuple[Tensor, dict[str, Tensor]]],
    device: torch.device | None = None,
    desc: str = "measure",
    accelerator: Accelerator | None = None,
) -> tuple[Predictions, dict[str, Tensor]]:
    """``predict``, and figures of every document, ``(documents, …)`` each, in the same pass.

    ``evaluate(tokens, mask)`` returns a batch's logits ``(batch, classes)`` and figures by name,
    ``(batch, …)`` each. The processes of an ``accelerator`` take turns, and each gets all results.
    """
    turn, turns = (accelerator.process_index, accelerator.num_processes) if accelerator else (0, 1)
    device = device or next(model.parameters()).device
    model.to(device).eval()
    rows = len(batches.documents)
    probabilities, figures = torch.empty(0), {}
    bar = tqdm(batches.epoch(), desc, total=len(batches), leave=False, disable=not is_main())
    for number, batch in enumerate(bar):
        mine = number % turns == turn
        if len(probabilities) and not mine:
            continue
        logits, part = evaluate(*batch.to(device)[:2])
        if not len(probabilities):  # the first batch shows all shapes
            probabilities = torch.zeros(rows, logits.shape[1])
            figures = {name: torch.zeros(rows, *values.shape[1:]) for name, values in part.items()}
        if mine:
            probabilities[batch.index] = logits.float().softmax(1).cpu()
            for name, values in part.items():
                figures[name][batch.index] = values.float().cpu()
    if turns > 1:
        parts = send_to_device((probabilities, figures), accelerator.device)
        probabilities, figures = send_to_device(accelerator.reduce(parts), "cpu")
    return Predictions(probabilities, torch.from_numpy(batches.documents.labels)), figures
