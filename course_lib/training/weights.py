"""Trained weights as a safetensors file."""

import hashlib
from pathlib import Path

import torch
from safetensors.torch import save_file

from course_lib.files import atomic_path


def save_weights(state: dict[str, torch.Tensor], path: Path) -> None:
    """Write a state dict, whole or not at all; the same numbers give the same bytes.

    Nobody reads the digest in the file's metadata. It stays because recorded runs hold the sha256
    of files that contain it.
    """
    # copies, since safetensors refuses shared memory
    state = {name: each.detach().to("cpu", copy=True).contiguous() for name, each in state.items()}
    digest = hashlib.sha256()
    for name, value in sorted(state.items()):
        digest.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
        digest.update(value.flatten().view(torch.uint8).numpy() if value.numel() else b"")
    with atomic_path(path) as temporary:
        save_file(state, temporary, {"digest": digest.hexdigest()})
