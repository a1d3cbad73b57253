"""What the studies share: environment and time, means with intervals, options."""

import argparse
import math
import time
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np
import torch

from course_lib.faithfulness import mean_over_documents
from course_lib.runs.records import describe_environment
from course_lib.runs.settings import SpecError
from course_lib.training.devices import use_threads

CPU = torch.device("cpu")
DIGITS = 5
Config = TypeVar("Config")


class Stopwatch:
    """Where a study runs, and how long it takes from here on."""

    def __init__(self, threads: int | None = None, device: torch.device = CPU) -> None:
        self.environment = describe_environment(device, use_threads(threads))
        self.start = time.perf_counter()

    def about(self) -> dict[str, Any]:
        """The environment and the seconds so far, as a record holds them."""
        seconds = round(time.perf_counter() - self.start, 1)
        return {"environment": self.environment, "seconds": seconds}


def mean_of(values: np.ndarray, seed: int = 0) -> dict[str, Any]:
    """The mean over texts with its bootstrap interval, as JSON holds it: None instead of NaN."""
    mean = mean_over_documents(values, seed)._asdict()
    return {n: None if math.isnan(x) else round(x, DIGITS) for n, x in mean.items()}


def with_deviation(values: np.ndarray, seed: int = 0) -> dict[str, Any]:
    """``mean_of``, and the standard deviation over the texts that have a value."""
    kept = values[~np.isnan(values)]
    deviation = round(float(kept.std()), DIGITS) if len(kept) else None
    return mean_of(values, seed) | {"deviation": deviation}


def add_options(parser: argparse.ArgumentParser, config: Any, **about: str) -> None:
    """An option for each field of a dataclass; the values of ``config`` are the defaults, and
    ``about`` says what the fields are."""
    for field in fields(config):
        value = getattr(config, field.name)
        says = f"{about[field.name]} (default: {value})"
        parser.add_argument(f"--{field.name}", type=type(value), default=value, help=says)


def chosen(options: argparse.Namespace, kind: type[Config]) -> Config:
    """The dataclass that these options make; ``SpecError`` names an option with a wrong value."""
    try:
        return kind(**{field.name: getattr(options, field.name) for field in fields(kind)})
    except ValueError as error:
        raise SpecError(f"--{error}") from error
