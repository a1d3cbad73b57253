"""Convert records, runs and grids from before settings were nested to today's form.

``attention-course migrate`` does it for ``results/``, ``runs/`` and ``grid.yaml``; nothing is
trained again. Settings that did not exist then were constants in the code; they are listed here.
"""

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from course_lib.experiments import grid, records
from course_lib.experiments.records import (
    ASIDE,
    StaleRun,
    flat_settings,
    later_settings,
    read_record,
    write_json,
)
from course_lib.experiments.settings import PARTS, Settings, addresses
from course_lib.experiments.spec import RunSpec
from course_lib.experiments.systems import SYSTEMS
from course_lib.files import REPOSITORY, DataError, atomic_path, file_digest

# Today's address of old settings that cannot be found by their own name.
RENAMED = {"vocabulary": "text.vocabulary_limit"}
LOOP = {
    "decay": True, "clip_norm": 1.0, "most_tokens": 0, "best_by": "loss", "optimizer": "adam",
    "momentum": 0.0, "epsilon": 0.0, "embedding_rate": 1.0, "weight_decay": 0.0,
    "precision": "auto",
}  # fmt: skip
FLAT = {"max_sentences": 0, "max_words": 0}
TEXT = {"vocabulary_from": "train", "standardise": False, "validation_share": 0.1}
NATIVE = {"decay": False, "clip_norm": 0.0, "best_by": "accuracy", "precision": "native"}
FIXED: dict[str, dict[str, Any]] = {
    "han": LOOP | TEXT | {"max_tokens": 0, "embedding": 50},
    "sanet": LOOP | TEXT | FLAT | NATIVE
    | {"optimizer": "sgd", "most_tokens": 32_768, "vocabulary_from": "train+validation",
       "sparse": True},
    "iram": LOOP | TEXT | FLAT
    | {"optimizer": "amsgrad", "decay": False, "best_by": "accuracy",
       "vocabulary_from": "train+validation+test"},
    "agt": LOOP | TEXT | FLAT | NATIVE | {"classifier": 0, "sparse": False},
    "tfidf": TEXT | FLAT
    | {"max_tokens": 0, "vocabulary": 1_000_000, "vectors": "none", "tolerance": 1e-4,
       "most_iterations": 300},
}  # fmt: skip
WITHDRAWN = "relaxed "  # AGT figures that broke the median rule where attention is spiky


def migrate_settings(system: str, flat: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Nested settings from flat ones; ``DataError`` for an unknown setting."""
    values = FIXED[system] | flat
    if "trainable" in values:
        values["frozen"] = not values.pop("trainable")
    nested: dict[str, dict[str, Any]] = {part: {} for part in PARTS}
    nested |= later_settings(_today(system))
    for address in addresses_of(system):
        part, _, name = address.partition(".")
        was = next((old for old, new in RENAMED.items() if new == address), name)
        nested[part][name] = values.pop(was)
    if values:
        raise DataError(f"{system} has no setting {', '.join(values)} today")
    return nested


def addresses_of(system: str) -> list[str]:
    """The addresses that a system's settings of then have today, the same for all its presets."""
    today = _today(system)
    later = flat_settings(later_settings(today))
    return [address for address in addresses(today) if address not in later]


def _today(system: str) -> Settings:
    return next(iter(SYSTEMS[system].presets.values()))


def address_of(system: str, name: str) -> str:
    """Today's address of an old setting."""
    if name == "trainable":
        raise DataError("write model.frozen with the opposite value for trainable")
    if name in RENAMED:
        return RENAMED[name]
    for address in addresses_of(system):
        if address.endswith(f".{name}"):
            return address
    raise DataError(f"{system} has no setting {name!r} today")


def is_flat(record: dict[str, Any]) -> bool:
    """Whether a record has the old, flat settings."""
    return not {"text", "model", "training"} <= record["settings"].keys()


def migrate_record(record: dict[str, Any]) -> dict[str, Any]:
    """The record with today's id, nested settings and overrides named by address, without the
    withdrawn figures."""
    spec = record["spec"]
    system = spec["system"]
    overrides = {address_of(system, name): value for name, value in spec["overrides"].items()}
    today = RunSpec(**spec | {"overrides": overrides})
    attention = {
        state: {name: figures for name, figures in values.items()
                if system != "agt" or not name.startswith(WITHDRAWN)}
        if isinstance(values, dict) else values
        for state, values in record.get("attention", {}).items()
    }  # fmt: skip
    changes = {
        "id": today.id,
        "spec": spec | {"overrides": overrides},
        "settings": migrate_settings(system, record["settings"]),
    }
    return record | changes | ({"attention": attention} if attention else {})


def migrate_results(folder: Path) -> list[str]:
    """Rewrite the records of a folder under their new names; returns these names."""
    names = []
    for path, record in _flat_records(folder, "*.json"):
        record = migrate_record(record)
        write_json(folder / f"{record['id']}.json", record)
        if path.stem != record["id"]:
            path.unlink()
        names.append(record["id"])
    return names


def _flat_records(folder: Path, pattern: str) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The records of then and their files; a file that holds no record is named on stderr."""
    for path in sorted(folder.glob(pattern)):
        try:
            record = read_record(path)
        except StaleRun as reason:
            print(reason, file=sys.stderr)
        else:
            if is_flat(record):
                yield path, record


def migrate_runs(folder: Path) -> list[str]:
    """Rename the finished runs of a folder and rewrite their records; returns the names.

    Unfinished ones stay as they are: their checkpoints belong to the code that made them. So do
    those that were moved aside. Weights of HAN, SANet and IRAM load as before, AGT's where their
    names have not changed.
    """
    names = []
    for path, record in _flat_records(folder, "*/record.json"):
        if ASIDE in path.parent.name:
            continue
        record = migrate_record(record)
        home = folder / record["id"]
        if path.parent != home:
            path.parent.rename(home)  # first: the record tells whether this run has been migrated
        weights = home / "model.safetensors"
        if weights.exists():
            record["weights"] = f"sha256:{file_digest(weights)}"
        write_json(home / "record.json", record)
        names.append(record["id"])
    return names


def migrate_grid(path: Path) -> int:
    """Name the overrides of a grid by address; returns the number of changed lines."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    new_lines = [_migrate_line(line) for line in lines]
    if new_lines != lines:
        with atomic_path(path) as temporary:
            temporary.write_text("".join(new_lines), encoding="utf-8")
    return sum(before != after for before, after in zip(lines, new_lines, strict=True))


def _migrate_line(line: str) -> str:
    system = re.search(r"system: (\w+)", line)
    overrides = re.search(r"overrides: (?:&\w+ )?\{([^}]*)\}", line)
    if not system or not overrides:
        return line
    renamed = re.sub(
        r"(?<![\w.])(\w+):", lambda name: f"{address_of(system[1], name[1])}:", overrides[1]
    )
    return line[: overrides.start(1)] + renamed + line[overrides.end(1) :]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command takes no arguments."""


def command(options: argparse.Namespace) -> int:
    """Migrate the grid, the committed records and a reader's own runs."""
    lines = migrate_grid(grid.GRID)
    print(f"{grid.GRID.relative_to(REPOSITORY)}: {lines} entries")
    for folder, names in (
        (records.RESULTS, migrate_results(records.RESULTS)),
        (records.RUNS, migrate_runs(records.RUNS)),
    ):
        print(f"{folder.relative_to(REPOSITORY)}: {len(names)} records")
    return 0
