"""One training in several processes under torchrun, each with its share of every batch.

The processes add up what one process would have computed alone, so the numbers are the same to
float tolerance (dropout aside: each process draws its own). With one process nothing happens here.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import torch
from accelerate import Accelerator
from accelerate.utils import broadcast_object_list
from torch import nn

from course_lib.files import atomic_path


def processes() -> int:
    """How many processes torchrun started for this training; 1 without it."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def is_main() -> bool:
    """Whether this is the process that writes files and prints."""
    return os.environ.get("RANK", "0") == "0"


def add_up(figures: list[float], accelerator: Accelerator) -> list[float]:
    """The sum over all processes of each figure."""
    if accelerator.num_processes == 1:
        return figures
    sums = torch.tensor(figures, dtype=torch.float64, device=accelerator.device)
    return accelerator.reduce(sums).tolist()


def add_up_gradients(model: nn.Module, accelerator: Accelerator) -> None:
    """Give every process the sum of all processes' gradients; a missing gradient counts as 0.

    Of an embedding with sparse gradients only the rows in use are sent.
    """
    if accelerator.num_processes == 1:
        return
    embeddings = [layer for layer in model.modules() if isinstance(layer, nn.Embedding)]
    sparse = {id(layer.weight) for layer in embeddings if layer.sparse}
    for parameter in model.parameters():
        if id(parameter) in sparse and parameter.requires_grad:
            parameter.grad = _add_up_rows(parameter, accelerator)
        elif parameter.requires_grad:
            gradient = parameter.grad
            own = torch.zeros_like(parameter) if gradient is None else gradient
            parameter.grad = accelerator.reduce(own)


def _add_up_rows(parameter: nn.Parameter, accelerator: Accelerator) -> torch.Tensor:
    if parameter.grad is None:  # a process without a document in this batch
        rows = torch.zeros(0, dtype=torch.long, device=parameter.device)
        values = parameter.new_zeros(0, parameter.shape[1])
    else:
        gradient = parameter.grad.coalesce()
        rows, values = gradient.indices()[0], gradient.values()
    # processes have different numbers of rows: pad with zeros, which add nothing to row 0
    rows, values = (
        accelerator.gather(accelerator.pad_across_processes(each)) for each in (rows, values)
    )
    return torch.sparse_coo_tensor(rows[None], values, parameter.shape)


@contextmanager
def written_together(target: Path, accelerator: Accelerator) -> Iterator[Path]:
    """``atomic_path`` for a folder into which every process writes."""
    with ExitStack() as stack:
        path = [stack.enter_context(atomic_path(target)) if accelerator.is_main_process else None]
        broadcast_object_list(path)
        yield path[0]
        accelerator.wait_for_everyone()
