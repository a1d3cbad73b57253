"""Train every specimen of the bug museum once, as the healthy one is trained, and record how well.

``attention-course author museum`` writes ``results/museum/specimens.json``. Rows to train on
and the accuracy come from the training half of the corpus: the test half is not read.
"""

import argparse
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from course_kit.exercises.bugs import MUSEUM, Specimen
from course_lib.data.corpus import load_corpus
from course_lib.metrics.classification import sampling_error
from course_lib.runs.records import RESULTS, describe_environment, kept_accuracy, write_json
from course_lib.runs.run import split_rows
from course_lib.runs.settings import Settings, SpecError
from course_lib.runs.systems.han_system import HANSystem
from course_lib.runs.systems.system import Rows
from course_lib.training.config import TrainingError
from course_lib.training.devices import choose_device, use_threads

RECORD = RESULTS / "museum" / "specimens.json"


@dataclass(frozen=True)
class MuseumSpec:
    """What all specimens share: the first ``rows`` of the training part, ``epochs``, the seed.

    Network, cut and optimiser are those of the HAN preset ``report``.
    """

    dataset: str = "imdb"
    rows: int = 5000
    epochs: int = 3
    seed: int = 0
    vectors: str = "glove.6B.50d"
    device: str = "cpu"
    threads: int = 1

    def __post_init__(self) -> None:
        for name in ("rows", "epochs", "threads"):
            if (value := getattr(self, name)) < 1:
                raise SpecError(f"{name} takes a whole number from 1, got {value}")


def train_museum(spec: MuseumSpec, specimens: tuple[Specimen, ...] = MUSEUM) -> dict[str, Any]:
    """The record: what was run, and each specimen's accuracy on the validation part, in [0, 1].

    The epoch is chosen by validation loss, on the same rows, for all alike. A specimen whose loss
    is no longer finite has no accuracy but an ``error``.
    """
    threads, device = use_threads(spec.threads), choose_device(spec.device)
    corpus = load_corpus(spec.dataset)
    rows = split_rows(corpus)
    rows["train"] = rows["train"].select(range(min(spec.rows, len(rows["train"]))))
    usual = HANSystem.presets["report"]
    settings = replace(
        usual,
        text=replace(usual.text, vectors=spec.vectors),
        training=replace(usual.training, epochs=spec.epochs),
    )
    entries = []
    for number, specimen in enumerate(specimens, start=1):
        print(f"[{number}/{len(specimens)}] {specimen.wrong}", flush=True)
        system = BrokenHAN(specimen, settings, corpus.card.classes)
        entries.append(_train(system, rows, spec.seed, device))
        print(f"    {_line(entries[-1])}", flush=True)
    best = max((entry["accuracy"] for entry in entries if entry["accuracy"]), default=0.0)
    return {
        "spec": asdict(spec),
        "settings": asdict(settings),
        "data": asdict(corpus.provenance),
        "sizes": {split: len(rows[split]) for split in ("train", "validation")},
        "environment": describe_environment(device, threads),
        "evaluated_on": "the validation part of the training half",
        "sampling_error": sampling_error(best, len(rows["validation"])),
        "specimens": entries,
    }


class BrokenHAN(HANSystem):
    """HAN's system with a specimen for its network."""

    def __init__(self, specimen: Specimen, settings: Settings, classes: tuple[str, ...]) -> None:
        super().__init__(settings, classes)
        self.specimen = specimen

    def network(self, embedding: Tensor | None) -> nn.Module:
        """The untrained specimen over the vocabulary's words."""
        return self.specimen.build(
            self.settings.model, len(self.vocabulary), len(self.classes), embedding
        )


def _train(system: BrokenHAN, rows: Rows, seed: int, device: torch.device) -> dict[str, Any]:
    specimen, start = system.specimen, time.perf_counter()
    entry = {"name": specimen.name, "wrong": specimen.wrong, "accuracy": None, "error": None}
    system.build(rows, seed)
    try:
        fit_record = system.fit(rows, seed, device=device)
    except TrainingError as error:
        entry["error"] = str(error)
    else:
        entry["accuracy"] = kept_accuracy(fit_record)
        entry |= {name: fit_record[name] for name in ("best_epoch", "epochs")}
    return entry | {"seconds": round(time.perf_counter() - start, 1)}


def _line(entry: dict[str, Any]) -> str:
    how = entry["error"] or f"accuracy {entry['accuracy']:.1%}"
    return f"{how}, {entry['seconds']:.0f} s"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command ``museum`` takes: the fields of a ``MuseumSpec``, and where to write."""
    for name, value in asdict(MuseumSpec()).items():
        parser.add_argument(f"--{name}", type=type(value), default=value)
    parser.add_argument("--output", type=Path, default=RECORD)


def command(options: argparse.Namespace) -> int:
    """Train all specimens, write their record, and print a line for each."""
    defaults = asdict(MuseumSpec())
    spec = MuseumSpec(**{name: getattr(options, name) for name in defaults})
    changes = [f"--{name} {value}" for name, value in asdict(spec).items()
               if value != defaults[name]]  # fmt: skip
    record = {"command": " ".join(["attention-course author museum", *changes])} | train_museum(
        spec
    )
    write_json(options.output, record)
    for entry in record["specimens"]:
        print(f"{entry['name']:12} {entry['wrong']:60} {_line(entry)}")
    return 0
