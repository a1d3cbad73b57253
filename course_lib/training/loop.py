"""One training loop for every model: any device, resumable after each epoch, best epoch kept.

Example: ``history = fit(model, train, validation, TrainingConfig(epochs=3), seed=0)``. ``fit`` is
the loop; ``Checkpoints`` saves and resumes it.
"""

import math
import time
from collections.abc import Callable
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
) -> History:
    """Train in place and leave the model, in float32, with the weights of its best epoch.

    A batch's loss is the mean cross-entropy of its documents, plus the mean of the output's
    ``penalty`` ``(batch,)`` where a model has one. The losses in the history leave the penalty out.

    Parameters
    ----------
    seed: decides the order of the documents and what dropout drops
    device: by default a GPU where there is one, else the CPU
    folder: holds a checkpoint after each epoch. A training that was killed and is started again
        with the same arguments continues after its last complete epoch and ends with the weights
        of an uninterrupted one, on a CPU bit for bit. Without a folder nothing is written.
    after_epoch: is called with the history after each epoch

    Raises
    ------
    ``TrainingError`` naming epoch and batch if the loss is no longer finite, or if the checkpoint
    in the folder is damaged or another training's.
    """
    batches = Batches(train, config.batch_size, seed)
    held_out = Batches(validation, 4 * config.batch_size)
    accelerator = make_accelerator(device or choose_device(), config.precision)
    set_seed(seed)
    with prepared(model, accelerator) as network:
        optimizer = accelerator.prepare(make_optimizer(model, config, accelerator.device))
        history = History(best_by=config.best_by)
        settings = config, getattr(model, "config", None), seed
        fingerprint = repr((*settings, train.digest(), validation.digest())) if folder else ""
        checkpoints = Checkpoints(accelerator, folder, fingerprint, history)
        checkpoints.resume()
        while not history.is_over(config.epochs, config.patience):
            figures = _train_epoch(network, optimizer, batches, accelerator, config, history)
            desc = f"epoch {len(history.epochs) + 1} of {config.epochs} validation"
            predicted = predict(model, held_out, accelerator.device, desc, config.most_tokens)
            history.add_epoch(*figures, predicted)
            checkpoints.after_epoch(model)
            if after_epoch:
                after_epoch(history)
        model.load_state_dict(checkpoints.best)
    return history


def _train_epoch(
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    batches: Batches,
    accelerator: Accelerator,
    config: TrainingConfig,
    history: History,
) -> tuple[float, float, float]:
    """Train on each batch once; return mean cross-entropy, accuracy and seconds of the epoch."""
    ended = len(history.epochs)
    losses = [epoch.validation_loss for epoch in history.epochs]
    desc = f"epoch {ended + 1} of {config.epochs}"
    total, right, seen, seconds = 0.0, 0, 0, 0.0  # of the cross-entropy, without penalties
    bar = progress(batches.epoch(ended), desc, total=len(batches), leave=False)
    network.train()
    with flushed_denormals():
        for step, batch in enumerate(bar):
            start = time.perf_counter()
            factor = config.rate_factor(ended + step / len(batches), losses)
            for group in optimizer.param_groups:
                group["lr"] = config.learning_rate * factor * group["rate"]
            optimizer.zero_grad()
            where = f"epoch {ended + 1}, batch {step + 1}"
            cross_entropy, hits = _add_gradients(network, batch, accelerator, config, where)
            if config.clip_norm:
                accelerator.clip_grad_norm_(network.parameters(), config.clip_norm)
            optimizer.step()
            seconds += time.perf_counter() - start
            total, right, seen = total + cross_entropy, right + hits, seen + len(batch.labels)
            bar.set_postfix(loss=f"{total / seen:.3f}", accuracy=f"{right / seen:.3f}")
    return total / seen, right / seen, seconds


def _add_gradients(
    network: nn.Module, batch: Batch, accelerator: Accelerator, config: TrainingConfig, where: str
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
        wanted = torch.stack([loss.detach(), cross_entropy.detach(), hits.to(loss.dtype)])
        loss_now, cross_entropy_now, hits_now = wanted.tolist()
        if not math.isfinite(loss_now):
            raise TrainingError(
                f"loss is {loss_now} in {where} (documents {part.index[:5].tolist()} …). A smaller "
                "learning rate or clip_norm (0 clips nothing) may help; a checkpoint, if there is "
                "one, is kept."
            )
        total += cross_entropy_now * len(part.labels)
        right += int(hits_now)
    return total, right


def predict(
    model: nn.Module,
    batches: Batches,
    device: torch.device | None = None,
    desc: str = "predict",
    most_tokens: int = 0,
) -> Predictions:
    """Predict the class probabilities of every document, in the order of the data."""

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
    """Compute predictions and figures of every document, ``(documents, …)`` each, in one pass.

    ``evaluate(tokens, mask)`` returns a batch's logits ``(batch, classes)`` and figures by name,
    ``(batch, …)`` each. A batch of more than ``most_tokens`` goes through in slices, in less memory
    (0: whole). The model is left on ``device``, in evaluation mode. Raises ``ValueError`` if there
    are no documents.
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
