"""Where the numbers are computed: the device, its precision, the threads of a CPU."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from torch import nn

from course_lib.training.config import TrainingError


def choose_device(name: str = "auto") -> torch.device:
    """Return the device of that name; ``TrainingError`` if it is not available.

    ``"auto"`` is a GPU where there is one, else the CPU; ``"cuda:1"`` is the second GPU; ``"mps"``
    is untested.
    """
    count = {"cpu": 1, "mps": int(torch.backends.mps.is_available())}
    count["cuda"] = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if name == "auto":
        name = "cuda" if count["cuda"] else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError:
        device = None
    if device is None or (device.index or 0) >= count.get(device.type, 0):
        raise TrainingError(f"device {name!r} is not available here; use 'auto' or 'cpu'")
    return device


def choose_precision(precision: str, device: torch.device) -> str:
    """Return what ``TrainingConfig.precision`` means on this device, ``"bf16"`` or ``"no"``."""
    if precision in ("bf16", "no"):
        return precision
    if device.type == "cuda":
        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "no"
    if precision == "auto" or device.type != "cpu":
        return "no"
    processor = torch.cpu.get_capabilities()
    return "bf16" if processor.get("avx512_bf16") or processor.get("amx_bf16") else "no"


def make_accelerator(device: torch.device, precision: str) -> Accelerator:
    """Make an accelerator on that device; a GPU named by its number becomes the current one."""
    AcceleratorState._reset_state(True)  # else it keeps device and precision of an earlier one
    if device.type == "cuda" and device.index is not None:
        torch.cuda.set_device(device)
    precision = choose_precision(precision, device)
    return Accelerator(cpu=device.type == "cpu", mixed_precision=precision)


@contextmanager
def prepared(model: nn.Module, accelerator: Accelerator) -> Iterator[nn.Module]:
    """Move the model to the accelerator's device and let it compute in its precision.

    Afterwards, also if interrupted, it computes in float32 and can be trained again.
    """
    try:
        yield accelerator.prepare(model)
    finally:
        accelerator.unwrap_model(model, keep_fp32_wrapper=False)  # else it computes in bfloat16
        vars(model).pop("_is_accelerate_prepared", None)  # else a later training is in float32


def use_threads(threads: int | None) -> int:
    """Set how many cores torch may use (None: leave it) and return how many it uses."""
    if threads:
        torch.set_num_threads(min(threads, os.cpu_count() or threads))
    return torch.get_num_threads()


@contextmanager
def flushed_denormals() -> Iterator[None]:
    """Treat numbers below 1e-38 as zeros, on a CPU that can do so.

    Gradients that pass through hundreds of LSTM steps get so small, and some processors take
    many times longer to compute with such numbers.
    """
    before = (torch.tensor(1e-39) * 1).item() == 0  # PyTorch cannot be asked
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(before)
