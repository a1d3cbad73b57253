"""Recorded networks: the weights of finished runs, small enough to be committed with their record.

``load_recorded`` reads ``results/weights/<id>.safetensors``, which ``attention-course author
weights`` writes. The file holds the network's parameters in float16. Word vectors, vocabulary and
buffers are not in it: they are made again from the settings, and so no text of a corpus is stored.
"""

from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import nn

from course_lib.data.catalog import card
from course_lib.data.sources import verify
from course_lib.files import REPOSITORY, DataError
from course_lib.runs.folders import (
    check_network,
    instead_of,
    is_run,
    recorded_path,
    run_folder,
    weights_path,
)
from course_lib.runs.records import check_settings, read_record
from course_lib.runs.run import Run, load_run, recorded_plan
from course_lib.runs.systems import NeuralSystem, known_systems

DIGEST = "published_weights"  # the key of a record that holds the digest of the committed file
EMBEDDING = "embedding.weight"


def any_run(name: str) -> Run:
    """A finished run by its folder (see ``run_folder``), or a recorded network by its id; raises as
    ``load_run`` and ``load_recorded``, and ``DataError`` for a folder that holds no finished run.
    """
    check_network(name)
    folder = run_folder(name)
    return load_run(folder) if is_run(folder) else load_recorded(name)


def load_recorded(name: str) -> Run:
    """The run with that id, its network ready to read, from ``results/`` alone and on the CPU.

    Its ``corpus`` is loaded when asked for, so that reading a text takes no dataset. ``DataError``
    lists what there is if nothing of that id is recorded; it names a file that is missing, damaged
    or not the record's, or vectors that are not. ``StaleRun`` if the settings have changed.
    """
    recorded, path = recorded_path(name), weights_path(name)
    record = read_record(recorded) if recorded else {}
    if DIGEST not in record:
        raise DataError(f"no recorded network {name!r}; {instead_of(name)}")
    advice = (
        f"Restore it (git checkout -- {from_repository(path)}), or write it again from its run "
        f"(attention-course author weights runs/{name})."
    )
    verify(path, record[DIGEST], advice)
    system = untrained(record, path)
    fill(system.model, path, advice)
    return Run(record, system)


def untrained(record: dict[str, Any], where: Path) -> NeuralSystem:
    """The network of a record as its settings alone make it, in evaluation mode.

    ``DataError`` if the vectors are not those that the run was trained with.
    """
    plan = recorded_plan(record, where)
    check_settings(record, plan, where)
    spec, corpus_card = plan.spec, card(plan.spec.dataset, "corpus")
    system = known_systems()[spec.system](plan.settings, corpus_card.classes, corpus_card.tokeniser)
    system.build({}, spec.seed)
    if system.vectors != record["vectors"]:
        raise DataError(
            f"{where} was trained with other vectors than {plan.settings.text.vectors} now: "
            f"{record['vectors']}, not {system.vectors}"
        )
    system.model.eval()
    return system


def stored_names(model: nn.Module) -> set[str]:
    """The names of what a file holds: every parameter that learns, except the word vectors."""
    return {name for name, each in model.named_parameters() if each.requires_grad} - {EMBEDDING}


def fill(model: nn.Module, path: Path, advice: str) -> None:
    """Load what is stored into a network that has everything else."""
    try:
        stored = load_file(path)
        if wrong := stored.keys() ^ stored_names(model):
            raise ValueError(f"too many or too few tensors: {', '.join(sorted(wrong))}")
        model.load_state_dict(model.state_dict() | stored)
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise DataError(f"{path} does not hold this network ({error}). {advice}") from error


def from_repository(path: Path) -> Path:
    """The path as it is named from the repository, where it lies there."""
    return path.relative_to(REPOSITORY) if path.is_relative_to(REPOSITORY) else path
