"""Writing recorded networks: float16 weights that are checked against their run, and a card.

``attention-course author weights runs/<id>`` writes ``results/weights/<id>.safetensors`` and the
card beside it; ``course_lib.runs.load_recorded`` reads them.
"""

import argparse
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from course_kit.publishing.site import TEMPLATES
from course_lib.data.batches import Batches, Documents
from course_lib.data.catalog import CARDS, card
from course_lib.data.config import OF_VECTORS
from course_lib.files import DataError, atomic_path, file_digest, write_text
from course_lib.metrics.classification import Predictions, classification_metrics
from course_lib.runs import folders, records, weights
from course_lib.runs.folders import run_folder
from course_lib.runs.predictions import FILE, read_predictions
from course_lib.runs.records import StaleRun, publish, write_json
from course_lib.runs.run import Run, load_run, recorded_plan, split_rows
from course_lib.runs.settings import SpecError
from course_lib.runs.spec import Plan, RunSpec
from course_lib.runs.systems import NeuralSystem, known_systems
from course_lib.runs.systems.neural import PREDICTED
from course_lib.runs.weights import DIGEST, stored_names
from course_lib.training.loop import measure
from course_lib.training.weights import save_weights

LARGEST = 6_000_000  # bytes of a file, since it is committed
CLOSE = 2e-3  # so near must the logits be to the run's, relative to the largest if that is above 1
SAME = 1e-5  # two machines may round standardised vectors differently
NEEDS = (
    "a recorded network is made again from its settings, so it needs word vectors of the catalog "
    f"(text.vectors), their words as its vocabulary (text.vocabulary_from={OF_VECTORS!r}), and "
    "vectors that are not trained (model.frozen=true or training.embedding_rate=0); or a "
    "pre-trained network of the catalog that is frozen but for its adapters and classifier"
)


def publish_weights(folder: Path) -> Path:
    """Copy a finished run's weights, with its record, to ``results/``; returns the weights' path.

    The file is kept only if the network loaded from it gives the run's logits for the validation
    texts, but for ``CLOSE``. ``SpecError`` for settings from which a network cannot be made again,
    ``StaleRun`` for a folder that is not this run's in ``runs/``, ``DataError`` for more than
    ``LARGEST`` bytes or other logits.
    """
    run, folder = load_run(folder), run_folder(folder)
    plan = recorded_plan(run.record, folder)
    if folder.resolve() != (folders.RUNS / plan.id).resolve():
        raise StaleRun(f"{folder} holds {plan.id}: move it to {folders.RUNS / plan.id} first")
    if "predictions" in run.record:  # published below with the record: nothing is kept without
        read_predictions(folder / FILE, run.record["predictions"])
    check_recordable(plan)
    system = weights.untrained(run.record, folder)
    _check_the_rest(system.model, run.model, plan.id)
    path = weights.weights_path(plan.id)
    with atomic_path(path) as temporary:
        _write(run.model, temporary)
        measured = _measured(system, run, temporary)
    record = run.record | {DIGEST: f"sha256:{file_digest(path)}"}
    write_text(path.with_suffix(".md"), model_card(record, measured))
    write_json(folder / "record.json", record)  # so that publishing the run again keeps the digest
    publish(plan)
    return path


def check_recordable(plan: Plan) -> None:
    """Raise ``SpecError`` unless settings alone give the vocabulary and the word vectors."""
    settings, system = plan.settings, known_systems()[plan.spec.system]
    if not issubclass(system, NeuralSystem):
        raise SpecError(
            f"{plan.id}: {plan.spec.system} is no network, so it has no weights to record"
        )
    if not system.remade(settings):
        text = settings.text
        raise SpecError(
            f"{plan.id}: text.vectors is {text.vectors!r} and text.vocabulary_from is "
            f"{text.vocabulary_from!r}; {NEEDS}"
        )


def _check_the_rest(made: nn.Module, trained: nn.Module, name: str) -> None:
    """Raise ``SpecError`` if training has changed what is not stored."""
    before, after = made.state_dict(), trained.state_dict()
    changed = [
        name
        for name in sorted(after.keys() - stored_names(trained))
        if not torch.allclose(before[name].double(), after[name].double(), rtol=0, atol=SAME)
    ]
    if changed:
        raise SpecError(f"{name}: {', '.join(changed)} changed in training; {NEEDS}")


def _write(model: nn.Module, path: Path) -> None:
    """Write what is stored of a network; ``DataError`` if it is too much."""
    state = model.state_dict()
    save_weights({name: state[name].half() for name in stored_names(model)}, path)
    if (size := path.stat().st_size) > LARGEST:
        raise DataError(
            f"the weights of this network take {size / 1e6:.1f} MB, and files of at most "
            f"{LARGEST / 1e6:g} MB are committed: train a smaller one"
        )


def model_card(record: dict[str, Any], measured: dict[str, float]) -> str:
    """What the network was made of, how good it is and its limits, in Markdown: from a record that
    has the file's digest, the catalog's cards and what was measured."""
    spec, cards = RunSpec(**record["spec"]), [(CARDS[v["name"]], v) for v in record["vectors"]]
    text = TEMPLATES.get_template("model_card.md.in").render(
        record=record,
        spec=spec,
        data=card(spec.dataset),
        cards=cards,
        digest=record[DIGEST],
        what="network" if cards[0][0].kind == "network" else "vectors",
        measured=measured,
        path=records.published_record(spec, record["id"]).relative_to(folders.RESULTS).as_posix(),
        kept=records.kept_accuracy(record),
        kept_epoch=records.KEPT_EPOCH,
    )
    return f"{text}\n"


def _measured(system: NeuralSystem, run: Run, path: Path) -> dict[str, float]:
    """The float16 form in a file beside its run, on ``texts`` validation texts: its ``accuracy``,
    how many texts get another class (``changed``), the largest ``difference`` of a logit, and its
    size; ``DataError`` if they differ too much."""
    weights.fill(system.model, path, "")
    plan = recorded_plan(run.record, path)
    rows = split_rows(run.corpus, plan.spec.limit, system.settings.text.validation_share)
    documents = system.encode(rows["validation"])
    predictions, logits = _logits(system.model, documents, "in float16")
    _, expected = _logits(run.model, documents, "the run")
    difference = (logits - expected).abs().max().item()
    allowed = CLOSE * max(1.0, expected.abs().max().item())
    if not difference <= allowed:  # which refuses NaN, too
        raise DataError(
            f"{plan.id}: in float16 its logits differ by up to {difference:.2g}, and at most "
            f"{allowed:.2g} is allowed; nothing was kept"
        )
    return dict(
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


def command(options: argparse.Namespace) -> int:
    """Publish the weights of some runs, and say where they are and how large."""
    for folder in options.runs:
        path = publish_weights(folder)
        print(f"{weights.from_repository(path)} ({path.stat().st_size / 1e6:.1f} MB)")
    return 0
