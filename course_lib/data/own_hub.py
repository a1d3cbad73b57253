"""A dataset of the Hugging Face hub by its name, where there is a network or a cached copy."""

import hashlib
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import datasets

from course_lib.data.own_survey import Columns, Part
from course_lib.data.tables import TableRow
from course_lib.files import DataError

HUB = "hf:"
AT_ONCE = 1000
SPLIT_NAMES = {"train": ("train",), "validation": ("validation", "valid", "dev"), "test": ("test",)}


def hub_parts(name: str, columns: Columns) -> tuple[list[Part], dict[str, str]]:
    """Its splits, and the digest of each.

    Without a test split, the training rows alone are taken, to be split. ``DataError`` where it
    cannot be had or has no such columns.
    """
    text, label = columns.text, columns.label
    try:
        found = datasets.load_dataset(name.removeprefix(HUB))
    except Exception as error:  # whatever its client, the network or the hub say
        raise DataError(f"{name}: cannot be had from the Hugging Face hub ({error})") from error
    given = {
        split: next((found[n] for n in names if n in found), None)
        for split, names in SPLIT_NAMES.items()
    }
    if given["train"] is None:
        raise DataError(f"{name}: has no split 'train'; it has {', '.join(found)}")
    chosen: dict[str | None, Any] = {k: rows for k, rows in given.items() if rows is not None}
    if "test" not in chosen:
        chosen = {None: given["train"]}
    parts, digests = [], {}
    for split, rows in chosen.items():
        if missing := [column for column in (text, label) if column not in rows.column_names]:
            raise DataError(
                f"{name}: no column {missing[0]!r}; there are: {', '.join(rows.column_names)}. "
                "Name yours by --text and --label"
            )
        part = split or "train"
        read = _reader(rows, text, label)
        digests[part] = f"sha256:{_digest(read())}"
        parts.append(Part(split, read, _placed(name, part)))
    return parts, digests


def _reader(rows: datasets.Dataset, text: str, label: str) -> Callable[[], Iterator[TableRow]]:
    feature = rows.features[label]
    names = feature.names if isinstance(feature, datasets.ClassLabel) else None

    def named(value: Any) -> Any:
        if names is None:
            return value
        return names[value] if isinstance(value, int) and value >= 0 else None

    def read() -> Iterator[TableRow]:
        numbers = count(1)
        for batch in rows.select_columns([text, label]).iter(AT_ONCE):
            for each, value in zip(batch[text], batch[label], strict=True):
                yield TableRow(next(numbers), (each, named(value)))

    return read


def _placed(name: str, part: str) -> Callable[[int], str]:
    return lambda number: f"{name} {part} row {number}"


def _digest(rows: Iterator[TableRow]) -> str:
    digest = hashlib.sha256()
    for _, (text, label) in rows:
        digest.update(f"{label}\t{text}\n".encode())
    return digest.hexdigest()
