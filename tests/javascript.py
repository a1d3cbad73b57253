"""What several test files ask of node: its tests, and functions of the reading room's engine."""

import json
import re
import subprocess

import numpy as np
import pytest

from course_lib.files import REPOSITORY

OLDEST = 18  # the first node whose own runner and DecompressionStream are there
TESTS = REPOSITORY / "tests/js"


def passed(node, path, **variables):
    """How many tests of a file passed; fails with node's output unless all did."""
    done = node("--test", "--test-reporter=tap", path, **variables)
    counts = {name: int(count) for name, count in re.findall(r"^# (\w+) (\d+)$", done.stdout, re.M)}
    if done.returncode or counts.get("pass") != counts.get("tests"):
        pytest.fail(f"{path.name} under node:\n{done.stdout}", pytrace=False)
    return counts["pass"]


def plain(value):
    """Tensors as the driver revives them: vectors, matrices, and lists of matrices."""
    if hasattr(value, "detach"):
        value = value.detach().numpy()
    if isinstance(value, np.ndarray):
        if value.ndim == 3:
            return [plain(one) for one in value]
        return {"vector" if value.ndim == 1 else "matrix": value.tolist()}
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, list | tuple) else value


def weights(module):
    """A module's parameters as the engine takes them: a bias is a matrix of one row."""
    state = {name: value.detach() for name, value in module.named_parameters()}
    return {name: plain(v if v.dim() > 1 else v[None]) for name, v in state.items()}


class Engine:
    """``engine("layers", "softmax", [0, 1])``: what a function of the engine returns."""

    def __init__(self, program):
        self.process = subprocess.Popen(
            [program, str(TESTS / "engine.mjs")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def __call__(self, part, name, *arguments):
        question = {"part": part, "name": name, "arguments": plain(arguments)}
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        assert "error" not in answer, answer["error"]
        return answer["result"]

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()
