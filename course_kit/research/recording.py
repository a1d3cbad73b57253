"""What the studies share: environment and time, means with intervals."""

import math
import time
from typing import Any

import numpy as np
import torch

from course_lib.faithfulness import mean_over_documents
from course_lib.runs.records import describe_environment
from course_lib.training.devices import use_threads

CPU = torch.device("cpu")
DIGITS = 5


class Stopwatch:
    """Where a study runs, and how long it takes from here on."""

    def __init__(self, threads: int | None = None) -> None:
        self.environment = describe_environment(CPU, use_threads(threads))
        self.start = time.perf_counter()

    def about(self) -> dict[str, Any]:
        """The environment and the seconds so far, as a record holds them."""
        seconds = round(time.perf_counter() - self.start, 1)
        return {"environment": self.environment, "seconds": seconds}


def mean_of(values: np.ndarray, seed: int = 0) -> dict[str, Any]:
    """The mean over texts with its bootstrap interval, as JSON holds it: None instead of NaN."""
    mean = mean_over_documents(values, seed)._asdict()
    return {n: None if math.isnan(x) else round(x, DIGITS) for n, x in mean.items()}
