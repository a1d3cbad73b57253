"""What ``test_torchrun.py`` trains, in one process or, started by torchrun, in several."""

import sys
from pathlib import Path
from unittest.mock import patch

from course_lib.experiments.run import RunSpec, train
from course_lib.experiments.systems import NETWORKS
from course_lib.training.devices import use_threads

SHARED = {"dropout": 0.0, "epochs": 3}
TOY = {"dataset": "toy", "preset": "small", "device": "cpu", "threads": 1, "limit": 60}
SPECS = [
    # 54 documents in batches of 53: the last holds one, so that a process is left without any
    RunSpec("han", overrides=SHARED | {"batch_size": 53, "hops": 3, "penalty": 0.1}, **TOY),
    # an embedding whose gradients are sparse
    RunSpec("sanet", overrides=SHARED | {"batch_size": 16}, **TOY),
]


def train_all(folder: Path) -> None:
    """Run all specs below the folder."""
    before = use_threads(None)
    # in bfloat16, where a processor has it, shares of a batch would be rounded differently
    with patch.dict(NETWORKS["sanet"].training, precision="no"):
        for spec in SPECS:
            train(spec, folder / spec.system)
    use_threads(before)


if __name__ == "__main__":
    train_all(Path(sys.argv[1]))
