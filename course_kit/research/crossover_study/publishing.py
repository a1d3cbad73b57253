"""From the runs' folder to what is committed: tables, records and the ruler's decision."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from course_kit.research.crossover_study import corpora, planted
from course_kit.research.crossover_study.cell import code_digest, record_path
from course_kit.research.crossover_study.design import Cell, cells
from course_lib.files import DataError, atomic_path
from course_lib.runs.records import write_json


def publish(chosen: Sequence[Cell], folder: Path, results: Path = corpora.FOLDER) -> list[str]:
    """Copy the records of finished cells and write one table a corpus; return the cells' names.

    What was published before stays, unless the folder has the same cell again.
    """
    done = [cell for cell in chosen if record_path(cell, folder).exists()]
    for corpus in dict.fromkeys(cell.corpus for cell in done):
        here, path = [cell for cell in done if cell.corpus == corpus], results / f"{corpus}.parquet"
        tables = [
            pd.read_parquet(record_path(cell, folder).with_suffix(".parquet")) for cell in here
        ]
        if path.exists():
            tables.append(pd.read_parquet(path))
        unit = ["encoder", "attention", "training", "seed", "text"]
        with atomic_path(path) as temporary:
            together = pd.concat(tables).drop_duplicates(unit).sort_values(unit)
            together.to_parquet(temporary, index=False, compression="zstd")
        for cell in here:
            with atomic_path(record_path(cell, results / "runs")) as temporary:
                shutil.copyfile(record_path(cell, folder), temporary)
    return [cell.name for cell in done]


def decide(folder: Path) -> dict[str, Any]:
    """Write the planted networks' rows and what they decide about the ruler; return the latter."""
    groups = cells("ruler", "ruler_minilm")
    done = [cell for cell in groups if record_path(cell, folder).exists()]
    if not done:
        raise DataError(f"{folder} has no network of the planted corpora")
    records = [json.loads(record_path(cell, folder).read_text(encoding="utf-8")) for cell in done]
    tables = [pd.read_parquet(record_path(cell, folder).with_suffix(".parquet")) for cell in done]
    table = pd.concat(tables, ignore_index=True)
    with atomic_path(planted.TABLE) as temporary:
        table.to_parquet(temporary, index=False, compression="zstd")
    found = {
        "command": "attention-course author crossover ruler",
        "networks": len(done),
        "missing": [cell.name for cell in groups if cell not in done],
        "code": sorted({record["code"] for record in records}),
        "code now": code_digest(),
        "texts": {record["cell"]["corpus"]: record["texts"] for record in records},
        "device": sorted({record["environment"]["device"] for record in records}),
        "accuracy": min(record["accuracy"] for record in records),
        **planted.decision(table),
    }
    write_json(planted.DECISION, found)
    return found


def list_texts() -> dict[str, Any]:
    """Write the digests of the new corpora's texts; return them."""
    found = {name: corpora.described(corpora.load(name)) for name in corpora.NEW}
    write_json(corpora.HELD_OUT, found)
    return found
