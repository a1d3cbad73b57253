"""What the studies share: environment and time, means with intervals, options, vectors files."""

import argparse
import math
import time
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch

from course_lib.faithfulness import mean_over_documents
from course_lib.files import atomic_path, file_digest
from course_lib.runs.records import describe_environment, write_json
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


def write_vectors(
    path: Path, arrays: dict[str, np.ndarray], about: dict[str, Any]
) -> dict[str, Any]:
    """Write word vectors as an ``.npz`` and their record beside it; returns the record."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **arrays)
    size, words = path.stat().st_size, len(arrays["words"])
    record = {"vectors": path.name, "sha256": file_digest(path), "bytes": size, "words": words}
    record |= about
    write_json(path.with_suffix(".json"), record)
    return record


def add_options(parser: argparse.ArgumentParser, config: Any) -> None:
    """An option for each field of a dataclass; the values of ``config`` are the defaults."""
    for field in fields(config):
        value = getattr(config, field.name)
        parser.add_argument(f"--{field.name}", type=type(value), default=value)


def chosen(options: argparse.Namespace, kind: type[Config]) -> Config:
    """The dataclass that these options make; ``SpecError`` names an option with a wrong value."""
    try:
        return kind(**{field.name: getattr(options, field.name) for field in fields(kind)})
    except ValueError as error:
        raise SpecError(f"--{error}") from error
