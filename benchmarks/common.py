"""What the benchmarks share: interleaved rounds, ratios with their spread, one result file."""

import argparse
import json
import statistics
import sys
import threading
import time
from collections.abc import Callable
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import torch
from torch import nn
from tqdm.auto import tqdm

from course_lib.data.batches import Batch, Batches, Documents
from course_lib.files import atomic_path
from course_lib.runs.records import describe_environment
from course_lib.training.config import TrainingConfig, make_optimizer
from course_lib.training.devices import choose_precision, flushed_denormals

CPU = torch.device("cpu")
RESULTS = Path(__file__).resolve().parent / "results"
WARM_UP = 5
Step = Callable[[Batch], float]


def arguments(purpose: str, **numbers: int | None) -> argparse.ArgumentParser:
    """A benchmark's whole numbers with their defaults, such as ``rounds`` and the training
    ``steps`` of each, and ``seed``."""
    parser = argparse.ArgumentParser(description=purpose)
    for name, value in (numbers | {"seed": 0}).items():
        parser.add_argument(f"--{name}", type=int, default=value)
    return parser


def stepper(
    model: nn.Module, config: TrainingConfig, precision: str = "no", most_tokens: int = 0
) -> Step:
    """Seconds for a training step on a batch, as ``course_lib.training.loop`` takes it."""
    optimizer = make_optimizer(model, config, CPU)
    bf16 = choose_precision(precision, CPU) == "bf16"
    model.train()

    @flushed_denormals()
    def step(batch: Batch) -> float:
        began = time.perf_counter()
        optimizer.zero_grad()
        for part in batch.slices(most_tokens):
            with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
                output = model(part.tokens, part.mask)
            logits = getattr(output, "logits", output).float()
            error = nn.functional.cross_entropy(logits, part.labels)
            penalty = getattr(output, "penalty", torch.zeros(1)).mean()
            ((error + penalty) * len(part.labels) / len(batch.labels)).backward()
        if config.clip_norm:
            nn.utils.clip_grad_norm_(model.parameters(), config.clip_norm)
        optimizer.step()
        return time.perf_counter() - began

    return step


def first_batches(documents: Documents, size: int, count: int, seed: int) -> list[Batch]:
    """The first batches of an epoch."""
    return list(islice(Batches(documents, size, seed).epoch(), count))


def time_steps(steps: dict[str, tuple[Step, list[Batch]]], rounds: int) -> dict[str, list[float]]:
    """Mean milliseconds of each way's step over its batches, warmed up, round by round."""
    for step, data in steps.values():
        for _, batch in zip(range(WARM_UP), cycle(data)):
            step(batch)
    return interleave(
        {
            name: lambda _, step=step, data=data: 1e3 * sum(map(step, data)) / len(data)
            for name, (step, data) in steps.items()
        },
        rounds,
    )


def interleave(ways: dict[str, Callable[[int], float]], rounds: int) -> dict[str, list[float]]:
    """What each way measures, round after round: A B A B …, so that a slow minute hits them all.

    A way is called with the number of the round.
    """
    figures = {name: [] for name in ways}
    with tqdm(total=rounds * len(ways), unit=" measurements") as bar:
        for number in range(rounds):
            for name, measure in ways.items():
                bar.set_description(f"round {number + 1} of {rounds}: {name}")
                figures[name].append(measure(number))
                bar.update()
    return figures


def ratio(above: list[float], below: list[float]) -> list[float]:
    """Round by round, ``above`` over ``below``."""
    return [first / second for first, second in zip(above, below, strict=True)]


def spread(values: list[float]) -> dict[str, Any]:
    """Smallest, middle and largest value, and all of them."""
    return {
        "min": min(values),
        "median": statistics.median(values),
        "max": max(values),
        "rounds": values,
    }


def show(rows: dict[str, dict[str, Any]]) -> None:
    """A table of spreads, one a line."""
    width = max(map(len, rows))
    print(f"{'':{width}}  {'min':>10} {'median':>10} {'max':>10}")
    for name, row in rows.items():
        print(f"{name:{width}}  {row['min']:10.3f} {row['median']:10.3f} {row['max']:10.3f}")


class PeakMemory(threading.Thread):
    """Looks at the memory every so many seconds, and keeps the most megabytes it has seen."""

    def __init__(self, look: Callable[[], float], every: float) -> None:
        super().__init__(daemon=True)
        self.look, self.every = look, every
        self.start_megabytes = self.peak_megabytes = look()
        self.finished = threading.Event()

    def run(self) -> None:
        """Look until finished."""
        while not self.finished.wait(self.every):
            self.peak_megabytes = max(self.peak_megabytes, self.look())

    def __enter__(self) -> "PeakMemory":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.finished.set()
        self.join()


def write(
    name: str,
    figures: dict[str, Any],
    seed: int,
    content: str,
    threads: int,
    dataset: str = "imdb",
    device: torch.device = CPU,
) -> None:
    """Leave ``results/NAME.json``: the figures, and what a rerun would need to match."""
    result = {
        "benchmark": name,
        "command": " ".join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *sys.argv[1:]]),
        "seed": seed,
        "data": {"dataset": dataset, "content": content},
        "environment": describe_environment(device, threads),
        "figures": figures,
    }
    with atomic_path(RESULTS / f"{name}.json") as temporary:
        temporary.write_text(json.dumps(result, indent=1) + "\n")
    print(f"written: benchmarks/results/{name}.json")
