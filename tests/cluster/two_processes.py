"""What ``test_torchrun.py`` trains, in one process or, started by torchrun, in several."""

import sys
from pathlib import Path

from course_lib.runs.run import train
from course_lib.runs.spec import RunSpec
from course_lib.training.devices import use_threads

SHARED = {"model.dropout": 0.0, "training.epochs": 3}
TOY = {"dataset": "toy", "preset": "small", "device": "cpu", "threads": 1, "limit": 60}
# 54 documents in batches of 53: the last holds one, so that a process is left without any
HAN = SHARED | {"training.batch_size": 53, "model.hops": 3, "model.penalty": 0.1}
# An embedding whose gradients are sparse. In bfloat16, where a processor has it, shares of a batch
# would be rounded differently.
SANET = SHARED | {"training.batch_size": 16, "training.precision": "no"}
SPECS = [RunSpec("han", overrides=HAN, **TOY), RunSpec("sanet", overrides=SANET, **TOY)]


def train_all(folder: Path) -> None:
    """Run all specs below the folder."""
    before = use_threads(None)
    for spec in SPECS:
        train(spec, folder / spec.system)
    use_threads(before)


if __name__ == "__main__":
    train_all(Path(sys.argv[1]))
