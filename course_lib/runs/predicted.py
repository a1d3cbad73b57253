"""The table that ``attention-course predict`` writes: its columns, its forms, what it may replace.

Nothing here imports torch, so a place that is taken is told within a second.
"""

import csv
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from course_lib.files import DataError, check_free

HEAVIEST = 5  # words of a text
FORMS = {".csv": pyarrow.csv.CSVWriter, ".parquet": pq.ParquetWriter}


def table_schema(classes: Iterable[str]) -> pa.Schema:
    """Return the columns: row, class, a probability for each class, counts, the heaviest words."""
    words = [
        field
        for place in range(1, HEAVIEST + 1)
        for field in [(f"word {place}", pa.string()), (f"weight {place}", pa.float32())]
    ]
    shares = [(f"P({name})", pa.float32()) for name in classes]
    counts = [("words", pa.int64()), ("known words", pa.int64())]
    return pa.schema([("row", pa.int64()), ("class", pa.string()), *shares, *counts, *words])


def check_target(path: Path, replace: bool) -> None:
    """Raise ``DataError`` unless predictions can be written there: in one of ``FORMS``, where
    nothing stands, or with ``replace`` over a file that has exactly the columns of predictions."""
    if path.suffix.lower() not in FORMS:
        raise DataError(f"{path}: predictions are written as {' or '.join(FORMS)}")
    if not (replace and _holds_predictions(path)):
        check_free(path, advice=" by --to" + "; --force replaces predictions" * (not replace))


def _holds_predictions(path: Path) -> bool:
    """Whether a file can only be a table of predictions, by the names of its columns."""
    if not path.is_file():
        return False
    try:
        if path.suffix.lower() == ".parquet":
            names = pq.read_schema(path).names
        else:
            with path.open(encoding="utf-8", newline="") as file:
                names = next(csv.reader(file), [])
    except (OSError, ValueError, csv.Error, pa.ArrowException):
        return False
    classes = [name[2:-1] for name in names if name.startswith("P(")]
    return bool(classes) and names == table_schema(classes).names
