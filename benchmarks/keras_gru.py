"""Our cell by the report's equations against Keras' ``GRU(reset_after=False)``, on equal weights.

Keras is no part of this course; it runs on the torch at hand, in an environment of its own:

    python -m venv --system-site-packages keras-env       # from the course's environment
    keras-env/bin/pip install keras
    KERAS_BACKEND=torch keras-env/bin/python benchmarks/keras_gru.py

Both reset before the recurrent product. Keras orders its gates z, r, candidate and keeps the old
state where z = 1, as PyTorch does, so its weights for z change sign on the way to ours. Sequences
of random inputs and weights, in float64; Keras 3.15 on torch multiplies matrices in float32 even
so (``keras.ops.matmul`` of two float64 tensors comes back as float32), and float32's rounding is
what remains. ``benchmarks/results/keras_gru.json`` gets the largest difference of any state.
"""

import argparse
import json
import os
import sys
from pathlib import Path

os.environ["KERAS_BACKEND"] = "torch"  # before keras is imported: it decides once
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import keras
import numpy as np
import torch
from common import RESULTS

from course_lib.files import atomic_path
from course_lib.models.gru import GRUCell
from course_lib.runs.records import describe_environment

SIZES = ((1, 1, 1, 1), (2, 3, 4, 5), (8, 20, 50, 50), (4, 200, 100, 64))


def keras_weights(cell: GRUCell) -> list[np.ndarray]:
    """Our weights as Keras has them: transposed, z before r and with the opposite sign."""

    def turned(weight: torch.Tensor) -> np.ndarray:
        r, z, candidate = weight.detach().chunk(3)
        return torch.cat([-z, r, candidate]).numpy().T

    return [turned(cell.u.weight), turned(cell.w.weight), turned(cell.u.bias)]


def largest_difference(batch: int, length: int, inputs: int, hidden: int) -> float:
    """Over all states of random sequences, ours against Keras'."""
    cell = GRUCell(inputs, hidden).double()
    layer = keras.layers.GRU(hidden, reset_after=False, return_sequences=True)
    layer.build((batch, length, inputs))
    layer.set_weights(keras_weights(cell))
    x = torch.randn(batch, length, inputs, dtype=torch.float64)
    h = torch.zeros(batch, hidden, dtype=torch.float64)
    theirs = torch.as_tensor(layer(x))
    differences = []
    for step in range(length):
        h = cell(x[:, step], h)
        differences.append((h - theirs[:, step]).abs().max().item())
    return max(differences)


def main() -> None:
    """Compare at several sizes and leave the record."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    seed = parser.parse_args().seed
    torch.manual_seed(seed)
    keras.config.set_floatx("float64")
    with torch.no_grad():
        found = {str(size): largest_difference(*size) for size in SIZES}
    environment = describe_environment(torch.device("cpu"), torch.get_num_threads())
    result = {
        "benchmark": "keras_gru",
        "command": " ".join(["python", "benchmarks/keras_gru.py", *sys.argv[1:]]),
        "seed": seed,
        "environment": environment | {"keras": keras.__version__},
        "figures": {
            "sizes": "batch, length, inputs, hidden",
            "largest_difference": max(found.values()),
            "by_size": found,
        },
    }
    with atomic_path(RESULTS / "keras_gru.json") as temporary:
        temporary.write_text(json.dumps(result, indent=1) + "\n")
    for size, difference in found.items():
        print(f"{size:20} largest difference {difference:.1e}")


if __name__ == "__main__":
    main()
