"""The records of finished runs, and whether they are those of a plan.

A record is a JSON file of ``VERSION``: what was asked for (``spec``), every setting, the digests of
data, weights, words and predictions, the environment, and what came out. It is read without its
system: a record that names a ``finished`` study has none any more, and is only shown.
"""

import json
import platform
import shutil
import subprocess
import time
import warnings
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import torch

from course_lib.data.catalog import card
from course_lib.data.corpus import prepared_content
from course_lib.files import REPOSITORY, atomic_path, write_text
from course_lib.runs import folders
from course_lib.runs.predictions import FILE, ItemPredictions, read_predictions
from course_lib.runs.settings import SpecError, flat_settings
from course_lib.runs.spec import BESIDE_SETTINGS, Plan, RunSpec, dataset_in_names, identity_of

VERSION = 2  # of records; what a change of it takes is in CONTRIBUTING.md
CPUINFO = Path("/proc/cpuinfo")  # of Linux
VERSIONS = ("torch", "numpy", "nltk", "datasets", "accelerate", "scikit-learn")
ASIDE = ".stale-"  # in the names of folders that were moved aside
# The caveat of ``kept_accuracy``, for whoever shows it in a table.
KEPT_EPOCH = (
    "Validation accuracies are optimistic: the epoch that was kept was chosen on the same texts."
)


class StaleRun(SpecError):
    """A folder or record that is damaged, belongs to another run, or was made from other data.

    The message says which.
    """


def describe_environment(device: torch.device, threads: int) -> dict[str, Any]:
    """What a rerun would need to match: versions, commit, processor, threads.

    CPUs with other instructions add numbers in another order. The same run may then differ in its
    last digits and so in its best epoch; therefore the processor and its instructions are recorded.
    """
    cuda = device.type == "cuda"
    return {
        "device": f"{device.type} ({processor_name(device)})",
        "instructions": None if cuda else torch.backends.cpu.get_cpu_capability(),
        "threads": threads,
        "python": platform.python_version(),
        "versions": {package: version(package) for package in VERSIONS},
        "commit": current_commit(),
    }


def processor_name(device: torch.device) -> str:
    """The model of the processor, or of the GPU."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    try:
        lines = CPUINFO.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return ", ".join([platform.machine(), *models[:1]])


def current_commit() -> str:
    """The commit of the project's folder, ``-dirty`` if files differ from it that are no records
    (else each record would make the next one dirty); ``"unknown"`` without git or a checkout."""
    if not shutil.which("git") or not (REPOSITORY / ".git").exists():  # or of a folder around us
        return "unknown"
    head = _git("rev-parse", "--short=12", "HEAD")
    changed = _git(
        "status", "--porcelain", "--untracked-files=no", "--", ".", ":(exclude,glob)**/results/**"
    )
    return f"{head}-dirty" if head and changed else head or "unknown"


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=REPOSITORY, capture_output=True, text=True)
    return done.stdout.strip()


def read_record(path: Path, ended: bool = True) -> dict[str, Any]:
    """The record in a file; ``StaleRun`` naming the file if it holds no complete record of today's
    version. Without ``ended`` it needs no results."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        if (found := record.get("version", 1)) != VERSION:
            raise ValueError(f"its version is {found!r}, and today's is {VERSION}")
        if missing := {"id", "spec", "settings", "data"} - record.keys():
            raise KeyError(*missing)
        if not isinstance(record["data"]["content"], str):
            raise TypeError("data.content is no digest")
        identity_of(record["spec"], record["settings"])  # raises KeyError if a field is missing
        if ended:
            _check_results(record)
    except OSError as error:
        why = f"{path} cannot be read: {error.strerror}"
        if isinstance(error, FileNotFoundError):
            why = f"{path.parent}: no finished run; attention-course run prints the folder of one"
        raise StaleRun(why) from error
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise StaleRun(
            f"{path} is no record ({type(error).__name__}: {error}). Move it or delete it."
        ) from error
    return record


def _check_results(record: dict[str, Any]) -> None:
    """Raise ``KeyError``, ``TypeError`` or ``ValueError`` unless accuracies are there and are
    shares, the best epoch is one of those, and digests are text."""
    for name in ("weights", "words", "predictions"):
        if not isinstance(record.get(name, ""), str):
            raise TypeError(f"{name} is no digest, but {record[name]!r}")
    if "epochs" in record and record["best_epoch"] not in range(1, len(record["epochs"]) + 1):
        raise ValueError(f"its best epoch is {record['best_epoch']!r} of {len(record['epochs'])}")
    tested = [record["test"]["accuracy"]] if record["spec"]["test"] else []
    for accuracy in (kept_accuracy(record), *tested):
        if not 0 <= accuracy <= 1:  # NaN is not
            raise ValueError(f"its accuracy is {accuracy}")


def check_record(record: dict[str, Any], plan: Plan, where: Path) -> None:
    """Raise ``StaleRun`` unless this is a record of that plan, on any device and number of threads,
    made from the data that its dataset has now."""
    check_settings(record, plan, where)
    check_data(record, plan.spec.dataset, where)


def check_settings(record: dict[str, Any], plan: Plan, where: Path) -> None:
    """Raise ``StaleRun`` unless this is a record of that plan, with its settings."""
    if identity_of(record["spec"], record["settings"]) == plan.identity:
        return
    actual, expected = (
        {name: values[name] for name in BESIDE_SETTINGS}
        for values in (record["spec"], asdict(plan.spec))
    )
    # another system's settings have other names: listing them helps nobody
    if actual["system"] == expected["system"]:
        actual |= flat_settings(record["settings"])
        expected |= flat_settings(plan.settings)
    changes = "; ".join(
        f"{name} is {actual.get(name)!r}, but the spec asks for {expected.get(name)!r}"
        for name in {**actual, **expected}
        if actual.get(name) != expected.get(name)
    )
    raise StaleRun(f"{where} holds another run: {changes}. Move it or delete it.")


def check_data(record: dict[str, Any], dataset: str, where: Path) -> None:
    """Raise ``StaleRun`` if the record was made from other rows than the dataset has now.

    These rows are the whole dataset or what is prepared here; before anything is prepared, those of
    any source in the catalog. Without a known digest the check passes.
    """
    dataset_card, here = card(dataset), prepared_content(dataset)
    subsets = (source for source in dataset_card.sources if source.subset)
    parts = {here} if here else {source.content for source in subsets}
    contents = {dataset_card.content, *parts} - {None}
    if contents and record["data"]["content"] not in contents:
        raise StaleRun(f"{where} was made from other data than {dataset} holds now")


class State(NamedTuple):
    """The path of a run's record, None if it is missing; ``stale`` maps the paths of records that
    do not count to the reason."""

    path: Path | None
    stale: dict[Path, str]


def state(plan: Plan) -> State:
    """Whether a run is done: it has a complete record in ``runs/`` or ``results/`` with today's
    settings and data."""
    stale = {}
    for path in (folders.RUNS / plan.id / "record.json", published_record(plan.spec, plan.id)):
        if path.exists():
            try:
                check_record(read_record(path), plan, path)
            except StaleRun as reason:
                stale[path] = str(reason)
            else:
                return State(path, stale)
    return State(None, stale)


def move_aside(folder: Path) -> Path:
    """Rename a run's folder, so that nothing is lost: the run may have taken hours."""
    target = folder.with_name(f"{folder.name}{ASIDE}{time.time_ns()}")
    folder.rename(target)
    return target


def write_json(path: Path, value: Any) -> None:
    """Write a record, whole or not at all."""
    text = json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False)
    write_text(path, f"{text}\n")


def publish(plan: Plan) -> Path:
    """Copy the record of a finished run, and its test predictions, to ``results/``, which is
    committed and quoted.

    ``StaleRun`` if ``runs/`` holds no complete record of this plan and today's data, ``DataError``
    if the predictions that it names are missing or damaged.
    """
    folder = folders.RUNS / plan.id
    record = read_record(folder / "record.json")
    check_record(record, plan, folder)
    if "predictions" in record:
        read_predictions(folder / FILE, record["predictions"])
        with atomic_path(published_predictions(plan.id)) as temporary:
            shutil.copyfile(folder / FILE, temporary)
    path = published_record(plan.spec, plan.id)
    write_json(path, record)
    return path


def published_record(spec: RunSpec, name: str) -> Path:
    """Where the record of the published run with that spec and that id is."""
    folder = folders.RESULTS / "runs" / spec.system / dataset_in_names(spec.dataset)
    return folder / f"{name}.json"


def published_predictions(name: str) -> Path:
    """Where the test predictions of the published run with that id are."""
    return folders.RESULTS / "predictions" / f"{name}.npz"


def predictions_of(record: dict[str, Any]) -> ItemPredictions | None:
    """The test predictions of a published run; None where its record names none.

    ``DataError`` if the file that the record names is missing, damaged or another one.
    """
    if "predictions" not in record:
        return None
    return read_predictions(published_predictions(record["id"]), record["predictions"])


def load_records() -> list[dict[str, Any]]:
    """All records in ``results/``, sorted by id; ``StaleRun`` names a file that is no record."""
    paths = (folders.RESULTS / "runs").glob("*/*/*.json")
    return [read_record(path) for path in sorted(paths, key=lambda path: path.name)]


def unpublished_records() -> list[dict[str, Any]]:
    """The records of finished runs in ``runs/`` that ``results/`` does not hold, sorted by id; a
    warning names a run that has to be trained again, or is damaged."""
    found = []
    for path in sorted(folders.RUNS.glob("*/record.json")):
        if ASIDE in path.parent.name:
            continue
        try:
            record = read_record(path)
        except StaleRun as error:
            warnings.warn(f"left out: {error}", stacklevel=2)
            continue
        if folders.recorded_path(record["id"]) is None:
            found.append(record)
    return found


def kept_accuracy(record: dict[str, Any]) -> float:
    """Validation accuracy, in [0, 1], of a run's best epoch; optimistic, see ``KEPT_EPOCH``. Of a
    system without epochs, that of its fit."""
    if "epochs" not in record:
        return record["validation"]["accuracy"]
    return record["epochs"][record["best_epoch"] - 1]["validation_accuracy"]


def largest_class(record: dict[str, Any]) -> float:
    """The share of the test texts that have the most frequent label."""
    per_class = [sum(row) for row in record["test"]["confusion"]]
    return max(per_class) / sum(per_class)


def outcome(record: dict[str, Any]) -> str:
    """How good a run's predictions are, in words."""
    if "test" not in record:
        return f"accuracy on the validation texts: {kept_accuracy(record):.1%}"
    test, texts = record["test"], record["sizes"]["test"]
    return (
        f"accuracy on {texts:,} test texts: {test['accuracy']:.1%} "
        f"(always the most frequent class: {largest_class(record):.1%})"
    )
