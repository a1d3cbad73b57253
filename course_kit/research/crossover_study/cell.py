"""One network of the design: trained, measured on held-out texts, recorded."""

import hashlib
import subprocess
import time
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from course_kit.research.crossover_study import corpora, measures, ruler
from course_kit.research.crossover_study.corpora import Split
from course_kit.research.crossover_study.design import DESIGN, PLAN, Cell
from course_kit.research.crossover_study.network import DROPOUT
from course_kit.research.crossover_study.training import TRAININGS, VECTORS, accuracy, train
from course_kit.research.recording import DIGITS, Stopwatch
from course_lib.files import REPOSITORY, DataError, atomic_path
from course_lib.runs.records import write_json

CODE = Path(__file__).parent
BEAM_SEEDS = 2  # seeds of a setting whose limits are searched for further


def record_path(cell: Cell, folder: Path) -> Path:
    """Where a cell's record is. Its texts' rows are beside it, and are written before."""
    return folder / f"{cell.name}.json"


def run(cell: Cell, folder: Path, plan: str | None) -> dict[str, Any]:
    """Train a cell, measure it, and write its texts' rows and then its record."""
    watch, start = Stopwatch(threads=1), time.process_time()
    splits = corpora.load(cell.corpus)
    reader, history = train(cell.corpus, cell.encoder, cell.attention, cell.seed, cell.training)
    trained = time.process_time() - start
    measured = corpora.measured(splits["test"])
    found = measures.measure(reader, measured, beam=cell.seed < BEAM_SEEDS)
    right = accuracy(reader, splits["test"])
    record = {
        "command": f"attention-course author crossover run --only {cell.name}",
        "cell": asdict(cell),
        "plan": plan,
        "code": code_digest(),
        "texts": corpora.digest_of_splits(splits),
        "settings": {
            "training": asdict(TRAININGS[cell.training]),
            "dropout": DROPOUT,
            "vectors": VECTORS,
            "sizes": ruler.SIZES,
            "shares": ruler.SHARES,
            "draws": ruler.DRAWS,
            "random rankings": ruler.RANDOM_RANKINGS,
        },
        "measured": len(measured),
        **watch.about(),
        "processor_seconds": {
            "training": round(trained, 1),
            "measures": round(time.process_time() - start - trained, 1),
        },
        "epochs": [
            {"loss": round(epoch.validation_loss, 4), "accuracy": epoch.validation_accuracy}
            for epoch in history.epochs
        ],
        "accuracy": round(right, DIGITS),
        "means": {name: mean(found[name]) for name in (*ruler.RULERS, "truth", "contextuality")},
    }
    path = record_path(cell, folder)
    with atomic_path(path.with_suffix(".parquet")) as temporary:
        table = rows(cell, measured, found, right)
        table.to_parquet(temporary, index=False, compression="zstd")
    write_json(path, record)
    return record


def mean(values: np.ndarray) -> float | None:
    """The mean over the texts that have a value."""
    return None if np.isnan(values).all() else round(float(np.nanmean(values)), DIGITS)


def rows(cell: Cell, split: Split, found: dict[str, np.ndarray], accuracy: float) -> pd.DataFrame:
    """A row for each measured text: its digest, every column in float32 to four digits, and the
    network's ``accuracy``."""
    columns = {name: values.round(4).astype(np.float32) for name, values in found.items()}
    start = {**asdict(cell), "accuracy": accuracy, "text": split.digests}
    return pd.DataFrame(start | columns)


@cache
def code_digest() -> str:
    """16 digits of the sha256 of the study's code and design."""
    files = [*sorted(CODE.rglob("*.py")), DESIGN]
    return hashlib.sha256(b"\n".join(path.read_bytes() for path in files)).hexdigest()[:16]


def plan_commit() -> str:
    """The commit that last changed the plan; ``DataError`` where plan, design, code or the list of
    texts differ from it."""
    guarded = [str(p.relative_to(REPOSITORY)) for p in (PLAN, DESIGN, CODE, corpora.HELD_OUT)]
    commit = _git("log", "-1", "--format=%H", "--", guarded[0])
    if not commit:
        raise DataError(f"{PLAN.name} is not committed: the plan comes before the first run")
    changed = _git("status", "--porcelain", "--", *guarded)
    changed = changed or _git("diff", "--name-only", commit, "HEAD", "--", *guarded)
    if changed:
        message = "these differ from the plan's commit, which every record names"
        raise DataError(
            f"{message} ({commit[:12]}); commit them together with the plan:\n{changed}"
        )
    return commit[:12]


def _git(*words: str) -> str:
    command = ["git", *words]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    return done.stdout.strip()
