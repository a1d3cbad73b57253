"""Train every specimen of the bug museum once, as the healthy one is trained, and record how well.

``python -m course_lib.teaching.museum`` writes ``results/museum/specimens.json``. Rows to train on
and the accuracy come from the training half of the corpus: the test half is not read.
"""

import argparse
import json
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import set_seed

from course_lib.data.batches import Documents
from course_lib.data.corpus import load_corpus
from course_lib.data.encoding import encode_documents
from course_lib.data.vectors import load_vectors
from course_lib.data.vocabulary import Vocabulary
from course_lib.experiments.run import describe_environment, split_rows
from course_lib.experiments.systems.han import HANSettings
from course_lib.experiments.systems.network import config_of
from course_lib.files import REPOSITORY, atomic_path
from course_lib.metrics.classification import sampling_error
from course_lib.models.han import HANConfig
from course_lib.teaching.bugs import MUSEUM, Specimen
from course_lib.training.config import TrainingConfig, TrainingError
from course_lib.training.devices import choose_device, use_threads
from course_lib.training.loop import fit

RECORD = REPOSITORY / "results" / "museum" / "specimens.json"


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


def train_museum(spec: MuseumSpec, specimens: tuple[Specimen, ...] = MUSEUM) -> dict[str, Any]:
    """The record: what was run, and each specimen's accuracy on the validation part, in [0, 1].

    The epoch is chosen by validation loss, on the same rows, for all alike. A specimen whose loss
    is no longer finite has no accuracy but an ``error``.
    """
    threads, device = use_threads(spec.threads), choose_device(spec.device)
    corpus = load_corpus(spec.dataset)
    rows = split_rows(corpus)
    train = rows["train"].select(range(min(spec.rows, len(rows["train"]))))
    settings = HANSettings(vectors=spec.vectors, epochs=spec.epochs)
    vocabulary = Vocabulary.build(train, settings.vocabulary)
    encoded = [
        encode_documents(part, vocabulary, settings.max_sentences, settings.max_words)
        for part in (train, rows["validation"])
    ]
    embedding = None
    if settings.vectors != "none":
        embedding, _ = load_vectors(settings.vectors).embedding_for(vocabulary, spec.seed)
    classes = len(corpus.card.classes)
    config = config_of(settings, HANConfig, len(vocabulary), classes, embedding)
    found = []
    for number, specimen in enumerate(specimens, start=1):
        print(f"[{number}/{len(specimens)}] {specimen.wrong}", flush=True)
        set_seed(spec.seed)
        found.append(_train(specimen, config, embedding, *encoded, settings, spec.seed, device))
        print(f"    {_line(found[-1])}", flush=True)
    best = max((entry["accuracy"] for entry in found if entry["accuracy"]), default=0.0)
    return {
        "spec": asdict(spec),
        "settings": asdict(settings),
        "data": asdict(corpus.provenance),
        "sizes": {"train": len(train), "validation": len(rows["validation"])},
        "environment": describe_environment(device, threads),
        "evaluated_on": "the validation part of the training half",
        "sampling_error": sampling_error(best, len(rows["validation"])),
        "specimens": found,
    }


def _train(
    specimen: Specimen,
    config: HANConfig,
    embedding: torch.Tensor | None,
    train: Documents,
    validation: Documents,
    settings: HANSettings,
    seed: int,
    device: torch.device,
) -> dict[str, Any]:
    entry = {"name": specimen.name, "wrong": specimen.wrong, "accuracy": None, "error": None}
    began = time.perf_counter()
    try:
        history = fit(
            specimen.build(config, embedding),
            train,
            validation,
            TrainingConfig(
                epochs=settings.epochs,
                batch_size=settings.batch_size,
                learning_rate=settings.learning_rate,
                patience=settings.patience,
            ),
            seed=seed,
            device=device,
        )
    except TrainingError as error:
        entry["error"] = str(error)
    else:
        entry["accuracy"] = history.epochs[history.best].validation_accuracy
        entry["best_epoch"] = history.best + 1
        entry["epochs"] = [asdict(epoch) for epoch in history.epochs]
    return entry | {"seconds": round(time.perf_counter() - began, 1)}


def _line(entry: dict[str, Any]) -> str:
    how = entry["error"] or f"accuracy {entry['accuracy']:.1%}"
    return f"{how}, {entry['seconds']:.0f} s"


def main(arguments: list[str] | None = None) -> int:
    """The command line: ``python -m course_lib.teaching.museum``."""
    defaults = MuseumSpec()
    parser = argparse.ArgumentParser(
        prog="python -m course_lib.teaching.museum", description=__doc__
    )
    for name, value in asdict(defaults).items():
        parser.add_argument(f"--{name}", type=type(value), default=value)
    parser.add_argument("--output", type=Path, default=RECORD)
    chosen = vars(parser.parse_args(arguments))
    output = chosen.pop("output")
    spec = MuseumSpec(**chosen)
    changed = [f"--{name} {value}" for name, value in chosen.items()
               if value != getattr(defaults, name)]  # fmt: skip
    record = {
        "command": " ".join(["python -m course_lib.teaching.museum", *changed])
    } | train_museum(spec)
    with atomic_path(output) as temporary:
        temporary.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    for entry in record["specimens"]:
        print(f"{entry['name']:12} {entry['wrong']:60} {_line(entry)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
