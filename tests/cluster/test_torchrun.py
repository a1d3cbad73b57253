"""One training in two processes is that of one process with the same batches."""

import json
import subprocess
import sys

import pytest
import torch
import two_processes
from safetensors.torch import load_file

pytestmark = pytest.mark.full
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Folders of the runs that one process made, and two."""
    alone, shared = (tmp_path_factory.mktemp(name) for name in ("alone", "shared"))
    done = subprocess.run(
        [*TORCHRUN, two_processes.__file__, str(shared)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    two_processes.train_all(alone)
    return alone, shared


@pytest.mark.parametrize("system", ["han", "sanet"])
def test_two_processes_come_to_the_weights_of_one(trained, system):
    alone, shared = (load_file(folder / system / "model.safetensors") for folder in trained)
    for name, values in alone.items():
        torch.testing.assert_close(shared[name], values, atol=1e-5, rtol=1e-4)
    one, two = (json.loads((folder / system / "record.json").read_text()) for folder in trained)
    assert (one["environment"]["processes"], two["environment"]["processes"]) == (1, 2)
    assert one["best_epoch"] == two["best_epoch"]
    for expected, found in zip(one["epochs"], two["epochs"], strict=True):
        assert found | {"seconds": 0} == pytest.approx(expected | {"seconds": 0}, abs=1e-5)
    assert one["test"]["confusion"] == two["test"]["confusion"]
    assert not list(trained[1].rglob(".*.*/"))  # no temporary folder is left
