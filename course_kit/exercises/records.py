"""What lessons quote beside the records of runs, and how long a call takes."""

import json
import time
from collections.abc import Callable
from typing import Any

from course_lib.files import REPOSITORY


def committed_record(path: str) -> dict[str, Any]:
    """A JSON file of the repository by its path there, as ``benchmarks/results/keras_gru.json``."""
    return json.loads((REPOSITORY / path).read_text(encoding="utf-8"))


def shortest_seconds(run: Callable[..., Any], *inputs: Any, rounds: int = 9) -> float:
    """The shortest of a few calls: what the machine can do when nothing is in its way."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        run(*inputs)
        times.append(time.perf_counter() - start)
    return min(times)
