"""A run: a validated spec → training → evaluation → a record of everything that shaped it.

``attention-course run --system han --preset report --seed 0`` executes
``notebooks/experiments/run.ipynb`` with that spec and leaves ``runs/<id>/``.
"""

import argparse
import ast
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock
from safetensors import SafetensorError
from torch import nn

from course_lib.data.config import TextConfig
from course_lib.data.corpus import Corpus, load_corpus
from course_lib.data.custom_data import named_texts, summary_of
from course_lib.data.naming import CUSTOM, Columns
from course_lib.data.sources import verify
from course_lib.data.vocabulary import Vocabulary
from course_lib.files import (
    REPOSITORY,
    DataError,
    check_free,
    clear_leftovers,
    file_digest,
    write_text,
)
from course_lib.metrics.classification import Predictions, classification_metrics, sampling_error
from course_lib.runs import folders, records
from course_lib.runs.folders import run_folder
from course_lib.runs.predictions import FILE, write_predictions
from course_lib.runs.records import StaleRun, check_record, read_record, write_json
from course_lib.runs.settings import SpecError
from course_lib.runs.spec import Plan, RunSpec, held_out_rows
from course_lib.runs.systems import System, known_systems
from course_lib.runs.systems.system import Rows
from course_lib.terminal import plain
from course_lib.training import checkpoints
from course_lib.training.config import CheckpointError, TrainingError
from course_lib.training.devices import choose_device, use_threads
from course_lib.training.history import History

RUN_NOTEBOOK = REPOSITORY / "notebooks" / "experiments" / "run.ipynb"
# What a system's answers depend on, by the key of its digest in the record.
SAVED = {"weights": "model.safetensors", "words": "vocabulary.txt"}


@dataclass
class Run:
    """A finished run: its record and the trained system."""

    record: dict[str, Any]
    system: System

    @cached_property
    def corpus(self) -> Corpus:
        """The corpus of its dataset, opened when it is first asked for: reading takes none."""
        return corpus_of(RunSpec(**self.record["spec"]))

    @property
    def model(self) -> nn.Module:
        """The trained network."""
        return self.system.model

    @property
    def vocabulary(self) -> Vocabulary:
        """The network's vocabulary."""
        return self.system.vocabulary


def train(
    spec: RunSpec | Plan,
    folder: Path | None = None,
    after_epoch: Callable[[History], None] | None = None,
) -> Run:
    """Train and evaluate; with a ``folder`` leave record, weights, vocabulary and test predictions
    there.

    An interrupted run resumes from the folder's last checkpoint. If the folder already holds this
    spec's record, that run is loaded; if another process runs in the folder, this one waits.
    ``StaleRun`` for a folder that holds something else, or something damaged.
    """
    plan = spec.resolve()
    with _alone_in(folder):
        if folder and (folder / "record.json").exists():
            return load_run(folder, plan)
        return _train(plan, folder, after_epoch)


@contextmanager
def _alone_in(folder: Path | None) -> Iterator[None]:
    """Wait until no other process runs in the folder; remove what killed ones left half-written."""
    if not folder:
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / ".lock"):
        for place in (folder, folder / "checkpoints"):
            clear_leftovers(place)
        yield


def _train(plan: Plan, folder: Path | None, after_epoch: Callable[[History], None] | None) -> Run:
    spec = plan.spec
    threads, device = use_threads(spec.threads), choose_device(spec.device)
    environment = records.describe_environment(device, threads)  # fails early, if it does
    corpus = corpus_of(spec)
    start = time.perf_counter()
    system = system_of(plan, corpus)
    rows = split_rows(corpus, spec.limit, plan.settings.text.validation_share)
    about = {
        "version": records.VERSION,
        "id": plan.id,
        "spec": asdict(spec),
        "settings": asdict(plan.settings),
        "data": asdict(corpus.provenance)
        | {"subset": corpus.provenance.subset or spec.limit is not None},
    }
    if folder:
        _claim(folder, about, plan)
    system.build(rows, spec.seed)
    try:
        fit_record = system.fit(
            rows,
            spec.seed,
            device=device,
            folder=folder / "checkpoints" if folder else None,
            after_epoch=after_epoch,
        )
    except CheckpointError as error:
        raise StaleRun(str(error)) from error
    evaluation, predictions = evaluate(
        system, rows, spec, with_validation="epochs" not in fit_record
    )
    record = about | {
        "environment": environment,
        "seconds": round(time.perf_counter() - start, 1),
        "sizes": {split: len(part) for split, part in rows.items()},
    }
    record |= fit_record | evaluation
    if folder:
        system.save(folder)
        for key, name in SAVED.items():
            if (folder / name).exists():
                record[key] = f"sha256:{file_digest(folder / name)}"
        if predictions:
            record["predictions"] = write_predictions(folder / FILE, predictions, rows["test"])
        write_json(folder / "record.json", record)
        checkpoints.delete(checkpoints.checkpoints_in(folder / "checkpoints"))
    return Run(record, system)


def _claim(folder: Path, about: dict[str, Any], plan: Plan) -> None:
    """Note in the folder what is trained there; ``StaleRun`` if the training of something else was
    begun there, ``DataError`` if a file of somebody else has a name that the run will need. The
    checkpoints alone would not tell other word vectors of the same width."""
    path = folder / "started.json"
    if path.exists():
        check_record(read_record(path, ended=False), plan, folder)
    else:
        for name in ("checkpoints", *SAVED.values(), FILE):
            check_free(folder / name, advice=" or train in another folder")
    write_json(path, about)


def corpus_of(spec: RunSpec) -> Corpus:
    """The corpus of a run; of one with a ``limit`` and no test, the rows that it may read alone."""
    return load_corpus(spec.dataset, first=None if spec.test else spec.limit)


def system_of(spec: RunSpec | Plan, corpus: Corpus) -> System:
    """The system of a run for the classes of a corpus, not built yet."""
    plan, card = spec.resolve(), corpus.card
    return known_systems()[plan.spec.system](plan.settings, card.classes, card.tokeniser)


def evaluate(
    system: System, rows: Rows, spec: RunSpec, with_validation: bool
) -> tuple[dict[str, Any], Predictions | None]:
    """The trained system's part of the record, and its test predictions if ``spec.test``.

    That part holds metrics on the test half if ``spec.test``, and means of its attention's figures
    beside those of the same network before training. ``with_validation`` adds metrics on the
    validation rows, for systems without epochs.
    """
    split = "test" if spec.test else "validation"
    found = system.evaluate(rows[split])
    result: dict[str, Any] = {}
    if with_validation:
        validation = system.evaluate(rows["validation"], attention=False).predictions
        result["validation"] = classification_metrics(validation)
    if spec.test:
        result["test"] = classification_metrics(found.predictions)
    if found.figures:
        before = system.before_training(spec.seed)
        before.model.to(next(system.model.parameters()).device)
        result["attention"] = {
            "split": split,
            "trained": _means(found.figures),
            "untrained": _means(before.evaluate(rows[split]).figures),
        }
    return result, found.predictions if spec.test else None


def _means(figures: dict[str, torch.Tensor]) -> dict[str, float | list[float]]:
    """Means over the documents: one number per figure, or a list if it has one per layer."""
    return {name: values.double().mean(0).tolist() for name, values in figures.items()}


def train_or_load(spec: RunSpec | Plan) -> Run:
    """The run of ``spec`` in ``runs/``, trained if it is missing; a stale one is moved aside.

    The lock lies beside the run's folder: another process must not move aside what this one trains.
    """
    plan = spec.resolve()  # before a folder is made
    folder = folders.RUNS / plan.id
    locks = folders.RUNS / ".locks"
    locks.mkdir(parents=True, exist_ok=True)
    with FileLock(locks / plan.id):
        try:
            return train(plan, folder)
        except StaleRun as reason:
            print(f"Training again, because {reason}")
            if folder.exists():
                records.move_aside(folder)
            return train(plan, folder)


def note_progress(folder: Path, epochs: int) -> Callable[[History], None]:
    """A function to be called after each epoch, which writes into a folder how far the run is."""

    def note(history: History) -> None:
        write_text(folder / "progress", str(len(history.epochs) / epochs))

    return note


def split_rows(
    corpus: Corpus, limit: int | None = None, share: float = TextConfig.validation_share
) -> Rows:
    """``train``, ``validation`` and ``test`` rows; ``limit`` keeps only the first training rows.

    In a corpus without validation rows, the first ``share`` of the (limited) training half is held
    out for validation; its rows are in random order. ``SpecError`` if a subset has fewer rows than
    ``limit``, or if that share is no row or all of them.
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
    held_out = held_out_rows(len(rows), share)
    return {
        "train": rows.select(range(held_out, len(rows))),
        "validation": rows.select(range(held_out)),
        "test": corpus.splits["test"],
    }


def load_run(folder: Path, spec: RunSpec | Plan | None = None) -> Run:
    """A finished run from its folder (see ``run_folder``), made on any device and any number of
    threads.

    Raises ``StaleRun`` if it is damaged or not the run of ``spec``, or if its data have changed.
    """
    folder = run_folder(folder)
    record = read_record(folder / "record.json")
    plan = spec.resolve() if spec else recorded_plan(record, folder)
    check_record(record, plan, folder)
    try:
        _verify_saved(folder, record)
        corpus = corpus_of(plan.spec)
        check_record(record, plan, folder)  # the data may have been prepared just now
        system = system_of(plan, corpus)
        system.load(folder)
    except StaleRun:
        raise
    except DataError as error:
        if str(folder) not in str(error):
            raise  # the corpus, not the run
        raise StaleRun(str(error)) from error
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        raise StaleRun(f"{folder}: damaged ({error}). Delete it and train again.") from error
    return Run(record, system)


def _verify_saved(folder: Path, record: dict[str, Any]) -> None:
    """Raise ``DataError`` unless each saved file is the one that the record was written for."""
    for key, name in SAVED.items():
        path, digest = folder / name, record.get(key)
        if digest is None and path.exists():
            raise DataError(
                f"{folder / 'record.json'} holds no digest of {name}, so nobody can say whether it "
                f"is the network's own. Train again; or, if you trust the file, add "
                f'"{key}": "sha256:{file_digest(path)}" to the record.'
            )
        if digest is not None:
            verify(path, digest, "Delete the run's folder and train again.")


def recorded_plan(record: dict[str, Any], folder: Path) -> Plan:
    """The plan of a recorded run; ``StaleRun`` if it cannot be run today."""
    try:
        return RunSpec(**record["spec"]).resolve()
    except (SpecError, TypeError) as error:
        raise StaleRun(f"{folder} holds a run that cannot be made today: {error}") from error


def execute(plan: Plan) -> Path:
    """Run ``run.ipynb`` with a plan's spec by papermill, unless done; returns the run's folder.

    ``TrainingError`` if no kernel starts, or if it dies.
    """
    import papermill  # only needed here, and slow to import
    from jupyter_client.kernelspec import NoSuchKernel

    choose_device(plan.spec.device)  # refused here, before a notebook starts
    if not RUN_NOTEBOOK.exists():
        raise SpecError(
            f"{RUN_NOTEBOOK}: no such notebook. attention-course run works in a clone of the "
            "repository; elsewhere course_lib.runs.train does the same"
        )
    folder = folders.RUNS / plan.id
    if records.state(plan).path != folder / "record.json":
        folder.mkdir(parents=True, exist_ok=True)
        try:
            papermill.execute_notebook(
                RUN_NOTEBOOK,
                folder / "run.ipynb",
                parameters=asdict(plan.spec),
                cwd=str(REPOSITORY),
                kernel_name="python3",
                progress_bar={"desc": plan.id, "leave": False},
            )
        except (RuntimeError, NoSuchKernel) as error:  # of jupyter_client, not of a cell
            raise TrainingError(
                f"the notebook's kernel does not run ({error}). If it never did, pip install "
                '--editable ".[course]" brings it; if it died, memory may have run out, and the '
                "same command goes on where it stopped."
            ) from error
    return folder


def closing_lines(spec: RunSpec, record: dict[str, Any], folder: str) -> str:
    """Say how good a run on texts of one's own is, beside a bag of words, on how many texts that
    rests, and which commands come next."""
    corpus = load_corpus(spec.dataset)
    plain = replace(spec, system="tfidf", preset="words", overrides={})
    system, rows = system_of(plain, corpus), split_rows(corpus, spec.limit)
    system.build(rows, spec.seed)
    system.fit(rows, spec.seed)
    counted = classification_metrics(system.evaluate(rows["test"]).predictions)["accuracy"]
    accuracy, texts = record["test"]["accuracy"], record["sizes"]["test"]
    error = 1.96 * sampling_error(accuracy, texts)
    return (
        f"accuracy: {accuracy:.1%}; a bag of words (TF-IDF) has {counted:.1%}, always the most "
        f"frequent class {records.largest_class(record):.1%}\n"
        f"measured on {texts:,} test texts, which leave it uncertain by ±{100 * error:.1f} points\n"
        f"next, ask it about other texts: attention-course predict {folder} new.csv\n"
        f"and whether its attention may be believed: attention-course audit {folder}\n"
        f"see it beside the course's networks: attention-course room {folder} --to room.html"
    )


def prepared_texts(dataset: str, options: argparse.Namespace) -> str:
    """The name of a dataset for a spec; of texts of one's own, what was found in them is told on
    stderr. ``SpecError`` for columns of a dataset that is no file."""
    asked = {each.name: getattr(options, each.name) for each in fields(Columns)}
    given = {name: value for name, value in asked.items() if value is not None}
    if empty := [name for name, value in given.items() if not value]:
        raise SpecError(f"--{empty[0]} needs a value, got an empty one")
    name = named_texts(dataset, columns=Columns(**given))
    if CUSTOM.fullmatch(name) and dataset != name:
        print(*map(plain, summary_of(load_corpus(name))), sep="\n", file=sys.stderr)
    elif option := next(iter(given), "").replace("tokeniser", "words"):
        raise SpecError(f"--{option} is for a file of your own, and {dataset} is none")
    return name


def command(options: argparse.Namespace) -> int:
    """Train one run as a notebook; print its folder, and on stderr how good its predictions are."""
    names = {item.name for item in fields(RunSpec)}
    arguments = {name: value for name, value in vars(options).items() if name in names}
    pairs = (pair.partition("=") for pair in options.set)
    arguments["dataset"] = prepared_texts(arguments.get("dataset", RunSpec.dataset), options)
    spec = RunSpec(overrides={name: _value(text) for name, _, text in pairs}, **arguments)
    plan = spec.resolve()
    folder = execute(plan)
    print(shown := folder.relative_to(REPOSITORY))
    record = read_record(folder / "record.json")
    if CUSTOM.fullmatch(plan.spec.dataset) and "test" in record:
        print(closing_lines(plan.spec, record, str(shown)), file=sys.stderr)
    else:
        print(records.outcome(record), file=sys.stderr)
    if options.publish:
        print(records.publish(plan).relative_to(REPOSITORY))
    return 0


def _value(text: str) -> Any:
    """A value as JSON or Python writes it (``true``, ``True``, ``5e-4``, ``.01``), else text."""
    for read in (json.loads, ast.literal_eval):
        with suppress(ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            return read(text)
    return text or None
