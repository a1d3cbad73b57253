"""One training in several processes under torchrun, each with its share of every batch.

They reach the weights of a single process, to float tolerance (dropout aside: each draws its own).
Accelerate exchanges gradients; with one process nothing is exchanged.
"""

import math
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import torch
from accelerate import Accelerator
from accelerate.utils import broadcast_object_list
from torch import nn

from course_lib.data.batches import Batch
from course_lib.files import atomic_path


def processes() -> int:
    """How many processes torchrun started for this training; 1 without it."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def is_main() -> bool:
    """Whether this process prints, and writes all but the others' parts of a checkpoint."""
    return os.environ.get("RANK", "0") == "0"


@contextmanager
def prepared(model: nn.Module, accelerator: Accelerator) -> Iterator[nn.Module]:
    """The model on the accelerator's device, its gradients the mean over all processes; afterwards,
    also if interrupted, it is in float32 and can be trained again (with several processes,
    sparse gradients stay off)."""
    if accelerator.num_processes > 1:  # GPUs cannot exchange sparse gradients
        for layer in model.modules():
            if isinstance(layer, nn.Embedding):
                layer.sparse = False
    try:
        yield accelerator.prepare(model)
    finally:
        accelerator.unwrap_model(model, keep_fp32_wrapper=False)  # else it computes in bfloat16
        vars(model).pop("_is_accelerate_prepared", None)  # else a later training is in float32


def share_of(batch: Batch, accelerator: Accelerator) -> tuple[Batch, float]:
    """This process's documents of a batch, and by what to divide the sum of their losses so that
    the mean over the processes is the batch's mean.

    A process without a document computes the first one and divides its loss by ∞, which adds 0:
    all must take part.
    """
    share = batch.documents(accelerator.process_index, step=accelerator.num_processes)
    if not len(share.labels):
        return batch.documents(0, 1), math.inf
    return share, len(batch.labels) / accelerator.num_processes


def add_up(figures: list[float], accelerator: Accelerator) -> list[float]:
    """The sum over all processes of each figure."""
    if accelerator.num_processes == 1:
        return figures
    sums = torch.tensor(figures, dtype=torch.float64, device=accelerator.device)
    return accelerator.reduce(sums).tolist()


@contextmanager
def written_together(target: Path, accelerator: Accelerator) -> Iterator[Path]:
    """``atomic_path`` for a folder into which every process writes."""
    with ExitStack() as stack:
        path = [stack.enter_context(atomic_path(target)) if accelerator.is_main_process else None]
        broadcast_object_list(path)  # the others' None becomes the main one's path
        yield path[0]
        accelerator.wait_for_everyone()  # before it is renamed
