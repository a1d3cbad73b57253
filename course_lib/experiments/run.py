"""A run: a validated spec → training → evaluation → a record that says everything about itself.

``python -m course_lib.experiments.run run --system han --preset report --seed 0`` executes
``notebooks/experiments/run.ipynb`` with that spec and leaves ``runs/<id>/``.
"""

import argparse
import hashlib
import json
import math
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import torch
from filelock import FileLock
from safetensors.torch import load_file
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from torch import nn

from course_lib.data.batches import Batches, Documents
from course_lib.data.catalog import CARDS
from course_lib.data.corpus import Corpus, load_corpus
from course_lib.data.vocabulary import Vocabulary
from course_lib.experiments.systems import MAY_BE_ZERO, NETWORKS, PRESETS, build_network
from course_lib.experiments.systems.network import VALIDATION_SHARE, Look
from course_lib.experiments.systems.tfidf import TfidfSettings
from course_lib.files import REPOSITORY, atomic_path, clear_leftovers
from course_lib.metrics.classification import Predictions, classification_metrics
from course_lib.training.checkpoints import History, save_weights
from course_lib.training.config import TrainingConfig, TrainingError
from course_lib.training.devices import choose_device, choose_precision, use_threads
from course_lib.training.loop import fit, measure, predict
from course_lib.training.parallel import is_main, processes

VERSIONS = ("torch", "numpy", "nltk", "datasets", "accelerate", "scikit-learn", "torchmetrics")
LOOKED_AT = 32  # documents at once whose attention is held in full


class SpecError(ValueError):
    """A run that cannot be meant; the message names the field and what it may hold."""


@dataclass(frozen=True)
class RunSpec:
    """What to run. ``overrides`` change settings of the preset; ``limit`` keeps that many training
    rows; ``test`` says whether the test half is read, which it should be once per seed."""

    system: str = "han"
    dataset: str = "imdb"
    preset: str = "report"
    overrides: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    device: str = "auto"
    threads: int = 2
    limit: int | None = None
    test: bool = True

    def settings(self) -> Any:
        """The preset with its overrides; raises ``SpecError`` naming what does not fit."""
        presets = _choose("system", self.system, PRESETS)
        settings = _choose("preset", self.preset, presets)
        types = {item.name: type(getattr(settings, item.name)) for item in fields(settings)}
        for name, value in self.overrides.items():
            kind = _choose(f"{self.system} setting", name, types)
            if not (type(value) is kind or (kind is float and type(value) is int)):
                raise SpecError(f"{name} takes {kind.__name__}, got {value!r}")
            if kind is bool:
                continue
            if kind is not str and not 0 <= value < math.inf:
                raise SpecError(f"{name} cannot be negative or infinite, got {value!r}")
            if value == 0 and name not in MAY_BE_ZERO:
                raise SpecError(f"{name} cannot be 0")
            if (name.endswith("dropout") or name == "validation_share") and value >= 1:
                raise SpecError(f"{name} takes a share below 1, got {value!r}")
        return replace(settings, **self.overrides)

    def validate(self) -> None:
        """Raise ``SpecError`` for anything that cannot run, before anything starts."""
        self.settings()
        datasets = {name: card for name, card in CARDS.items() if card.sizes}
        rows = sum(_choose("dataset", self.dataset, datasets).sizes["train"])
        if type(self.seed) is not int or not 0 <= self.seed < 2**32:
            raise SpecError(f"seed takes a whole number from 0 to 2³² − 1, got {self.seed!r}")
        if type(self.threads) is not int or self.threads < 1:
            raise SpecError(f"threads takes a whole number from 1, got {self.threads!r}")
        if self.limit is not None and (type(self.limit) is not int or not 20 <= self.limit <= rows):
            raise SpecError(f"limit takes 20 to {rows} training rows, got {self.limit!r}")

    @property
    def id(self) -> str:
        """A name that differs whenever the result may; overrides enter as a short hash."""
        parts = [self.system, self.dataset, self.preset]
        changes = dict(self.overrides)
        if self.limit is not None:
            parts.append(f"{self.limit}rows")
        if not self.test:
            parts.append("notest")
        if changes:
            text = json.dumps(changes, sort_keys=True)
            parts.append(hashlib.sha256(text.encode()).hexdigest()[:6])
        return "-".join([*parts, f"s{self.seed}"])


def _choose(what: str, name: str, known: dict[str, Any]) -> Any:
    if name not in known:
        raise SpecError(f"no {what} {name!r}; there are: {', '.join(sorted(known))}")
    return known[name]


@dataclass
class Run:
    """A finished run: its record, and for a neural system the model and vocabulary that made it."""

    record: dict[str, Any]
    model: nn.Module | None = None
    vocabulary: Vocabulary | None = None
    corpus: Corpus | None = None


def train(
    spec: RunSpec, folder: Path | None = None, after_epoch: Callable[[History], None] | None = None
) -> Run:
    """Train and evaluate; with a ``folder`` leave record, weights and vocabulary there.

    Interrupted, it resumes from the folder's last checkpoint. A folder that already holds this
    spec's record is only read, and one in which another process runs this is waited for.
    """
    spec.validate()
    with _alone_in(folder):
        if folder and (folder / "record.json").exists():
            return load_run(folder, spec)
        return _run(spec, folder, after_epoch)


@contextmanager
def _alone_in(folder: Path | None) -> Iterator[None]:
    """Wait until no other process runs in the folder; what a killed one left half-written goes.

    Of the processes of one training the main one does that for all; it cannot wait for others.
    """
    if not folder or not is_main():
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / ".lock", timeout=-1 if processes() == 1 else 0):
        for place in (folder, folder / "checkpoints"):
            clear_leftovers(place)
        yield


def _run(spec: RunSpec, folder: Path | None, after_epoch: Callable[[History], None] | None) -> Run:
    threads, device = use_threads(spec.threads), choose_device(spec.device)
    corpus = load_corpus(spec.dataset)
    began = time.perf_counter()
    system = _run_network if spec.system in NETWORKS else _run_tfidf
    done = system(spec, spec.settings(), corpus, device, folder, after_epoch)
    done.corpus = corpus
    done.record = {
        "id": spec.id,
        "spec": asdict(spec),
        "settings": asdict(spec.settings()),
        "data": asdict(corpus.provenance)
        | {"subset": corpus.provenance.subset or spec.limit is not None},
        "environment": describe_environment(device, threads),
        "seconds": round(time.perf_counter() - began, 1),
    } | done.record
    if folder and is_main():
        with atomic_path(folder / "record.json") as temporary:
            temporary.write_text(json.dumps(done.record, indent=1) + "\n")
    return done


def train_or_load(spec: RunSpec) -> Run:
    """The run of ``spec`` in ``runs/``, trained unless it is there; a stale one is moved aside."""
    spec.validate()
    folder = REPOSITORY / "runs" / spec.id
    try:
        return train(spec, folder)
    except (SpecError, TrainingError) as reason:
        choose_device(spec.device)  # one that is not here is no reason to throw a run away
        print(f"Training again, because {reason}")
        if folder.exists():  # it may have taken hours: keep it
            folder.rename(folder.with_name(f"{folder.name}.stale-{time.time_ns()}"))
        return train(spec, folder)


def describe_environment(device: torch.device, threads: int) -> dict[str, Any]:
    """What a rerun would need to match: versions, commit, processor, threads."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.machine()
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--abbrev=12"],
        cwd=REPOSITORY, capture_output=True, text=True,
    ).stdout.strip()  # fmt: skip
    return {
        "device": f"{device.type} ({name})",
        "threads": threads,
        "processes": processes(),
        "python": platform.python_version(),
        "versions": {package: version(package) for package in VERSIONS},
        "commit": commit or "unknown",
    }


def split_rows(
    corpus: Corpus, limit: int | None = None, share: float = VALIDATION_SHARE
) -> dict[str, Any]:
    """``train``, ``validation`` and ``test`` rows; ``limit`` keeps the first so many to train on.

    A corpus without validation rows of its own gives the first ``share`` of its (limited) training
    half for them; the rows are in random order. ``SpecError`` for a limit beyond a subset's rows.
    """
    rows = corpus.splits["train"]
    if limit and limit > len(rows):
        raise SpecError(
            f"limit asks for {limit} training rows; {corpus.provenance.source} of "
            f"{corpus.card.name} has {len(rows)}"
        )
    rows = rows.select(range(limit)) if limit else rows
    if "validation" in corpus.splits:
        return {"train": rows, **{name: corpus.splits[name] for name in ("validation", "test")}}
    held_out = round(share * len(rows))
    return {
        "train": rows.select(range(held_out, len(rows))),
        "validation": rows.select(range(held_out)),
        "test": corpus.splits["test"],
    }


def training_config(system: str, settings: Any) -> TrainingConfig:
    """How a neural system trains under its settings."""
    asked = {item.name for item in fields(TrainingConfig)} & asdict(settings).keys()
    chosen = {name: getattr(settings, name) for name in asked}
    return TrainingConfig(**NETWORKS[system].training, **chosen)


def _run_network(
    spec: RunSpec,
    settings: Any,
    corpus: Corpus,
    device: torch.device,
    folder: Path | None,
    after_epoch: Callable[[History], None] | None,
) -> Run:
    network = NETWORKS[spec.system]
    rows = split_rows(corpus, spec.limit, network.validation_share(settings))
    seen = [rows[split] for split in network.vocabulary_of]
    vocabulary = Vocabulary.build(datasets.concatenate_datasets(seen), settings.vocabulary)
    documents = {
        split: network.encode(chosen, vocabulary, settings) for split, chosen in rows.items()
    }
    classes = len(corpus.card.classes)
    model, coverage = build_network(spec.system, settings, vocabulary, classes, spec.seed)
    config = training_config(spec.system, settings)
    history = fit(
        model,
        documents["train"],
        documents["validation"],
        config,
        seed=spec.seed,
        device=device,
        folder=folder / "checkpoints" if folder else None,
        after_epoch=after_epoch,
    )
    words = sum(len(tokens) for tokens in rows["validation"]["tokens"])
    record = {
        "sizes": {split: len(chosen) for split, chosen in documents.items()},
        "vocabulary": {"size": len(vocabulary), "covered_by_vectors": coverage},
        "share_of_words_kept": len(documents["validation"].words) / max(1, words),
        "epochs": [asdict(epoch) for epoch in history.epochs],
        "best_epoch": history.best + 1,
        "precision": choose_precision(config.precision, device),
    }
    if spec.test:
        predictions = predict(model, Batches(documents["test"], 256), device, desc="test")
        record["test"] = classification_metrics(predictions)
    if look := network.look(settings):
        split = "test" if spec.test else "validation"
        untrained, _ = build_network(spec.system, settings, vocabulary, classes, spec.seed)
        record["attention"] = {
            "split": split,
            "trained": _attention_means(look, model, documents[split], device),
            "untrained": _attention_means(look, untrained, documents[split], device),
        }
    if folder:
        vocabulary.save(folder / "vocabulary.txt")
        save_weights(model.state_dict(), folder / "model.safetensors")
    return Run(record, model, vocabulary)


def _attention_means(
    look: Look, model: nn.Module, documents: Documents, device: torch.device
) -> dict[str, float | list[float]]:
    """Means over the documents: one number a figure, or a list where it has one per layer."""
    batches = Batches(documents, LOOKED_AT)
    _, figures = measure(model, batches, partial(look, model), device, "attention")
    return {name: values.double().mean(0).tolist() for name, values in figures.items()}


def _run_tfidf(
    spec: RunSpec,
    settings: TfidfSettings,
    corpus: Corpus,
    device: torch.device,
    folder: Path | None,
    after_epoch: Callable[[History], None] | None,
) -> Run:
    rows = split_rows(corpus, spec.limit)
    classifier = make_pipeline(
        TfidfVectorizer(
            ngram_range=(1, settings.longest),
            min_df=settings.minimum_documents,
            sublinear_tf=True,
            dtype=np.float32,
        ),
        LogisticRegression(C=settings.inverse_regularisation, max_iter=300, random_state=spec.seed),
    )
    began = time.perf_counter()
    classifier.fit(rows["train"]["text"][:], rows["train"]["label"][:])
    record = {
        "sizes": {split: len(chosen) for split, chosen in rows.items()},
        "fit_seconds": round(time.perf_counter() - began, 1),
    }
    for split in ("validation", "test") if spec.test else ("validation",):
        probabilities = torch.from_numpy(classifier.predict_proba(rows[split]["text"][:]))
        predictions = Predictions(probabilities, torch.tensor(rows[split]["label"][:]))
        record[split] = classification_metrics(predictions)
    return Run(record)


def check_record(record: dict[str, Any], spec: RunSpec, where: Path) -> None:
    """Raise ``SpecError`` unless it is the record of ``spec``, on whatever device and threads."""
    asked = asdict(spec) | {name: record["spec"][name] for name in ("device", "threads")}
    if record["spec"] != asked or record["settings"] != asdict(spec.settings()):
        raise SpecError(
            f"{where} holds another run: {record['spec']} with {record['settings']}; asked "
            f"for {asked} with {asdict(spec.settings())}. Use another folder or delete it."
        )


def load_run(folder: Path, spec: RunSpec | None = None) -> Run:
    """A finished run from its folder, on whatever device and however many threads it was made.

    Raises ``SpecError`` if it is not the run of ``spec`` or its data have changed since.
    """
    record = json.loads((folder / "record.json").read_text())
    if spec:
        check_record(record, spec, folder)
    spec = RunSpec(**record["spec"])
    corpus = load_corpus(spec.dataset)
    if corpus.provenance.content != record["data"]["content"]:
        raise SpecError(f"{folder} was made from other data than {spec.dataset} holds now")
    if not (folder / "model.safetensors").exists():
        return Run(record, corpus=corpus)
    vocabulary = Vocabulary.load(folder / "vocabulary.txt")
    state = load_file(folder / "model.safetensors")
    model = NETWORKS[spec.system].build(
        spec.settings(), vocabulary, len(corpus.card.classes), state["embedding.weight"]
    )
    model.load_state_dict(state)
    return Run(record, model.eval(), vocabulary, corpus)


def kept_accuracy(record: dict[str, Any]) -> float:
    """Validation accuracy, in [0, 1], of the epoch that a run kept."""
    return record["epochs"][record["best_epoch"] - 1]["validation_accuracy"]


def load_records(folder: Path = REPOSITORY / "results") -> list[dict[str, Any]]:
    """All committed records, by id."""
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]


def execute(spec: RunSpec, publish: bool = False) -> Path:
    """Run ``run.ipynb`` with the spec through papermill; the run's folder. Does nothing if done.

    ``publish`` copies the record into ``results/``, where it is committed and quoted from.
    """
    import papermill  # only needed here, and slow to import

    spec.validate()
    folder = REPOSITORY / "runs" / spec.id
    if not (folder / "record.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        papermill.execute_notebook(
            REPOSITORY / "notebooks" / "experiments" / "run.ipynb",
            folder / "run.ipynb",
            parameters=asdict(spec),
            cwd=str(REPOSITORY),
            kernel_name="python3",
        )
    if publish:
        with atomic_path(REPOSITORY / "results" / f"{spec.id}.json") as temporary:
            temporary.write_text((folder / "record.json").read_text())
    return folder


def main(arguments: list[str] | None = None) -> int:
    """The command line: one run, as a notebook, or under torchrun in all its processes without one.
    Groups of runs are ``course_lib.experiments.grid``'s."""
    parser = argparse.ArgumentParser(
        prog="python -m course_lib.experiments.run", description=__doc__
    )
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("run", help="one run")
    for item in fields(RunSpec):
        if item.name not in ("overrides", "test"):
            kind = int if item.name in ("seed", "threads", "limit") else str
            one.add_argument(f"--{item.name}", type=kind, default=argparse.SUPPRESS)
    one.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="override settings")
    one.add_argument("--no-test", dest="test", action="store_false", default=argparse.SUPPRESS)
    one.add_argument("--publish", action="store_true", help="copy the record to results/")
    chosen = vars(parser.parse_args(arguments))
    del chosen["command"]
    publish = chosen.pop("publish")
    pairs = (pair.partition("=") for pair in chosen.pop("set"))
    try:
        spec = RunSpec(overrides={name: _value(text) for name, _, text in pairs}, **chosen)
        spec.validate()
        if processes() > 1:
            train(spec, REPOSITORY / "runs" / spec.id)
        else:
            print(execute(spec, publish).relative_to(REPOSITORY))
    except SpecError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _value(text: str) -> Any:
    try:
        return json.loads(text)  # numbers as Python writes them, 5e-4 too (YAML reads that as text)
    except ValueError:
        return text or None


if __name__ == "__main__":
    sys.exit(main())
