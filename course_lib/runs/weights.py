"""Recorded networks: the weights of finished runs, small enough to be committed with their record.

``attention-course author weights runs/<id>`` writes ``results/weights/<id>.safetensors``, a card,
and ``load_recorded`` reads them. The file holds the network's parameters in float16. Word vectors,
vocabulary and buffers are not in it: they are made again from the settings, and so no text of a
corpus is stored.
"""

import argparse
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from course_lib.data.batches import Batches, Documents
from course_lib.data.catalog import card
from course_lib.data.config import OF_VECTORS
from course_lib.files import REPOSITORY, DataError, atomic_path, file_digest
from course_lib.metrics.classification import Predictions, classification_metrics
from course_lib.runs import records
from course_lib.runs.model_card import DIGEST, Measured, model_card
from course_lib.runs.predictions import FILE, read_predictions
from course_lib.runs.records import (
    StaleRun,
    check_settings,
    load_records,
    publish,
    run_folder,
    write_json,
)
from course_lib.runs.run import Run, load_run, recorded_spec, split_rows
from course_lib.runs.settings import SpecError
from course_lib.runs.spec import RunSpec
from course_lib.runs.systems import Network, known_systems
from course_lib.runs.systems.network import PREDICTED
from course_lib.training.checkpoints import save_weights
from course_lib.training.loop import measure

LARGEST = 6_000_000  # bytes of a file, since it is committed
CLOSE = 2e-3  # so near must the logits be to the run's, relative to the largest if that is above 1
SAME = 1e-5  # two machines may round standardised vectors differently
EMBEDDING = "embedding.weight"
NEEDS = (
    "a recorded network is made again from its settings, so it needs word vectors of the catalog "
    f"(text.vectors), their words as its vocabulary (text.vocabulary_from={OF_VECTORS!r}), and "
    "vectors that are not trained (model.frozen=true or training.embedding_rate=0); or a "
    "pre-trained network of the catalog that is frozen but for its adapters and classifier"
)


def recorded_names() -> list[str]:
    """The ids of all runs whose weights are committed."""
    return list(_recorded())


def any_run(name: str) -> Run:
    """A finished run by its folder (see ``run_folder``), or a recorded network by its id; raises as
    ``load_run`` and ``load_recorded``, and ``DataError`` for a folder that holds no finished run.
    """
    folder = run_folder(name)
    if (folder / "record.json").exists():
        return load_run(folder)
    if len(Path(name).parts) > 1:
        raise DataError(f"{name}: no finished run; attention-course run prints the folder of one")
    return load_recorded(name)


def _recorded() -> dict[str, dict[str, Any]]:
    """The records of these runs by id."""
    return {record["id"]: record for record in load_records() if DIGEST in record}


def load_recorded(name: str) -> Run:
    """The run with that id, its network ready to read, from ``results/`` alone and on the CPU.

    Its ``corpus`` is loaded when asked for, so that reading a text takes no dataset. ``DataError``
    lists what there is if nothing of that id is recorded; it names a file that is missing, damaged
    or not the record's, or vectors that are not. ``StaleRun`` if the settings have changed.
    """
    recorded = _recorded()
    if name not in recorded:
        raise DataError(
            f"no recorded network {name!r}; there are: {', '.join(recorded) or 'none yet'}"
        )
    record, path = recorded[name], weights_path(name)
    advice = (
        f"Restore it (git checkout -- {_from_repository(path)}), or write it again from its run "
        f"(attention-course author weights runs/{name})."
    )
    try:
        if f"sha256:{file_digest(path)}" != record[DIGEST]:
            raise DataError(f"{path} is not the file that its record names. {advice}")
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}. {advice}") from error
    system = _untrained(record, path)
    _fill(system.model, path, advice)
    return Run(record, system)


def weights_path(name: str) -> Path:
    """Where the weights of the run with that id are; the model card stands beside them."""
    return records.RESULTS / "weights" / f"{name}.safetensors"


def publish_weights(folder: Path) -> Path:
    """Copy a finished run's weights, with its record, to ``results/``; returns the weights' path.

    The file is kept only if the network loaded from it gives the run's logits for the validation
    texts, but for ``CLOSE``. ``SpecError`` for settings from which a network cannot be made again,
    ``StaleRun`` for a folder that is not this run's in ``runs/``, ``DataError`` for more than
    ``LARGEST`` bytes or other logits.
    """
    run, folder = load_run(folder), run_folder(folder)
    spec = recorded_spec(run.record, folder)
    if folder.resolve() != (records.RUNS / spec.id).resolve():
        raise StaleRun(f"{folder} holds {spec.id}: move it to {records.RUNS / spec.id} first")
    if "predictions" in run.record:  # published below with the record: nothing is kept without
        read_predictions(folder / FILE, run.record["predictions"])
    system = _untrained(run.record, folder)
    _check_the_rest(system.model, run.model, spec)
    path = weights_path(spec.id)
    with atomic_path(path) as temporary:
        _write(run.model, temporary)
        measured = _measured(system, run, temporary)
    record = run.record | {DIGEST: f"sha256:{file_digest(path)}"}
    with atomic_path(path.with_suffix(".md")) as temporary:
        temporary.write_text(model_card(record, measured), encoding="utf-8")
    write_json(folder / "record.json", record)  # so that publishing the run again keeps the digest
    publish(spec)
    return path


def _untrained(record: dict[str, Any], where: Path) -> Network:
    """The network of a record as its settings alone make it, in evaluation mode.

    ``SpecError`` for settings that do not suffice, ``DataError`` if the vectors are not those that
    the run was trained with.
    """
    spec = recorded_spec(record, where)
    check_settings(record, spec, where)
    check_recordable(spec)
    entry = card(spec.dataset, "corpus")
    system = known_systems()[spec.system](spec.settings(), entry.classes, entry.tokeniser)
    system.build({}, spec.seed)
    if system.vectors != record["vectors"]:
        raise DataError(
            f"{where} was trained with other vectors than {spec.settings().text.vectors} now: "
            f"{record['vectors']}, not {system.vectors}"
        )
    system.model.eval()
    return system


def check_recordable(spec: RunSpec) -> None:
    """Raise ``SpecError`` unless settings alone give the vocabulary and the word vectors."""
    settings, system = spec.settings(), known_systems()[spec.system]
    if not issubclass(system, Network):
        raise SpecError(f"{spec.id}: {spec.system} is no network, so it has no weights to record")
    if not system.remade(settings):
        text = settings.text
        raise SpecError(
            f"{spec.id}: text.vectors is {text.vectors!r} and text.vocabulary_from is "
            f"{text.vocabulary_from!r}; {NEEDS}"
        )


def _stored(model: nn.Module) -> set[str]:
    """The names of what a file holds: every parameter that learns, except the word vectors."""
    return {name for name, each in model.named_parameters() if each.requires_grad} - {EMBEDDING}


def _check_the_rest(untrained: nn.Module, trained: nn.Module, spec: RunSpec) -> None:
    """Raise ``SpecError`` if training has changed what is not stored."""
    before, after = untrained.state_dict(), trained.state_dict()
    changed = [
        name
        for name in sorted(after.keys() - _stored(trained))
        if not torch.allclose(before[name].double(), after[name].double(), rtol=0, atol=SAME)
    ]
    if changed:
        raise SpecError(f"{spec.id}: {', '.join(changed)} changed in training; {NEEDS}")


def _write(model: nn.Module, path: Path) -> None:
    """Write what is stored of a network; ``DataError`` if it is too much."""
    state = model.state_dict()
    save_weights({name: state[name].half() for name in _stored(model)}, path)
    if (size := path.stat().st_size) > LARGEST:
        raise DataError(
            f"the weights of this network take {size / 1e6:.1f} MB, and files of at most "
            f"{LARGEST / 1e6:g} MB are committed: train a smaller one"
        )


def _fill(model: nn.Module, path: Path, advice: str) -> None:
    """Load what is stored into a network that has everything else."""
    try:
        stored = load_file(path)
        if wrong := stored.keys() ^ _stored(model):
            raise ValueError(f"too many or too few tensors: {', '.join(sorted(wrong))}")
        model.load_state_dict(model.state_dict() | stored)
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise DataError(f"{path} does not hold this network ({error}). {advice}") from error


def _measured(system: Network, run: Run, path: Path) -> Measured:
    """The network in a file beside that of its run; ``DataError`` if they differ too much."""
    _fill(system.model, path, "")
    spec = recorded_spec(run.record, path)
    rows = split_rows(run.corpus, spec.limit, system.settings.text.validation_share)
    documents = system.encode(rows["validation"])
    predictions, logits = _logits(system.model, documents, "in float16")
    _, expected = _logits(run.model, documents, "the run")
    difference = (logits - expected).abs().max().item()
    allowed = CLOSE * max(1.0, expected.abs().max().item())
    if not difference <= allowed:  # which refuses NaN, too
        raise DataError(
            f"{spec.id}: in float16 its logits differ by up to {difference:.2g}, and at most "
            f"{allowed:.2g} is allowed; nothing was kept"
        )
    return Measured(
        texts=len(logits),
        accuracy=classification_metrics(predictions)["accuracy"],
        changed=int((logits.argmax(1) != expected.argmax(1)).sum()),
        difference=difference,
        parameters=sum(each.numel() for each in load_file(path).values()),
        bytes=path.stat().st_size,
    )


def _logits(model: nn.Module, documents: Documents, desc: str) -> tuple[Predictions, Tensor]:
    """Predictions of all documents, and their logits ``(documents, classes)``."""

    def compute(tokens: Tensor, mask: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        logits = model(tokens, mask).logits
        return logits, {"logits": logits}

    predictions, figures = measure(model, Batches(documents, PREDICTED), compute, desc=desc)
    return predictions, figures["logits"]


def _from_repository(path: Path) -> Path:
    return path.relative_to(REPOSITORY) if path.is_relative_to(REPOSITORY) else path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``attention-course author weights``."""
    parser.add_argument("runs", nargs="+", type=Path, metavar="FOLDER", help="of a finished run")


def command(options: argparse.Namespace) -> int:
    """Publish the weights of some runs, and say where they are and how large."""
    for folder in options.runs:
        path = publish_weights(folder)
        print(f"{_from_repository(path)} ({path.stat().st_size / 1e6:.1f} MB)")
    return 0
