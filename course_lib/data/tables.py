"""Rows of tables of one's own, read from front to back: CSV, TSV, JSON Lines and Parquet.

A row is told with its number, as a spreadsheet or an editor shows it: of CSV and TSV the heading is
row 1, of JSON Lines it is the line. No more than one row, or one batch of Parquet, is in memory.
"""

import codecs
import csv
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from tqdm.auto import tqdm

from course_lib.files import DataError

FORMS = (".csv", ".tsv", ".jsonl", ".parquet")
DELIMITERS = {".csv": ",", ".tsv": "\t"}
LONGEST = 1 << 24  # characters of a field or a line: an open quote must not swallow the rest
BATCH = 1000  # rows of Parquet at a time
MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
UTF8 = ("utf-8", "utf-8-sig")


class TableRow(NamedTuple):
    """The number of a row, and the values of the columns asked for; of text forms strings."""

    number: int
    values: tuple[Any, ...]


def detected_encoding(path: Path) -> str | None:
    """The encoding that a file's first bytes tell, UTF-8 without any; None for Parquet.

    Whether all of the file is in it shows when it is read.
    """
    if path.suffix.lower() == ".parquet":
        return None
    with path.open("rb") as file:
        head = file.read(4)
    return next((name for mark, name in MARKS.items() if head.startswith(mark)), "utf-8")


def placed(path: Path, number: int) -> str:
    """The file and the number of a row, in words."""
    return f"{path} {'line' if path.suffix.lower() == '.jsonl' else 'row'} {number}"


def check_encoding(name: str) -> str:
    """The encoding's usual name; ``DataError`` for one that Python does not know."""
    try:
        return codecs.lookup(name).name
    except LookupError as error:
        raise DataError(f"encoding {name!r} is unknown; try utf-8, utf-16 or cp1252") from error


def read_table(path: Path, columns: tuple[str, ...], encoding: str | None) -> Iterator[TableRow]:
    """Rows of a file of one of ``FORMS``; ``DataError`` names file, row and what is wrong.

    A progress bar counts them. ``columns`` must exist; ``encoding`` is None for Parquet alone.
    """
    rows = _reader(path)(path, columns, encoding)
    return iter(tqdm(rows, desc=f"{path.name}: read", unit=" rows", delay=1.0))


def _reader(path: Path) -> Callable[[Path, tuple[str, ...], str | None], Iterator[TableRow]]:
    readers = dict.fromkeys(DELIMITERS, _delimited) | {".jsonl": _json_lines, ".parquet": _parquet}
    if path.suffix.lower() not in readers:
        raise DataError(f"{path}: the form {path.suffix!r} is not read; {', '.join(FORMS)} are")
    return readers[path.suffix.lower()]


def _delimited(path: Path, columns: tuple[str, ...], encoding: str) -> Iterator[TableRow]:
    number = 0
    try:
        for number, record in enumerate(_records(path, encoding), 1):
            if number == 1:
                heading = record
                places = _places(path, heading, columns)
            elif record:
                if len(record) != len(heading):
                    raise DataError(
                        f"{path} row {number}: {len(record)} columns, and the heading has "
                        f"{len(heading)}; a text that holds the delimiter needs quotes around it"
                    )
                yield TableRow(number, tuple(record[place] for place in places))
    except csv.Error as error:
        raise DataError(
            f"{path} row {number + 1}: {error}; quotes inside a quoted text are written twice"
        ) from error
    except UnicodeDecodeError as error:
        raise _wrongly_encoded(path, encoding, _undecodable_field(path, encoding)) from error
    if number == 0:
        raise DataError(f"{path}: is empty")


def _records(path: Path, encoding: str) -> Iterator[list[str]]:
    csv.field_size_limit(LONGEST)
    with path.open(encoding=encoding, newline="") as file:
        yield from csv.reader(file, delimiter=DELIMITERS[path.suffix.lower()], strict=True)


def _places(path: Path, heading: list[str], columns: tuple[str, ...]) -> list[int]:
    """Where the columns stand; ``DataError`` lists what there is if one is missing or twice."""
    for column in columns:
        if heading.count(column) != 1:
            how = "no column" if column not in heading else "more than one column"
            raise DataError(f"{path} row 1: {how} {column!r}; {_listed(heading)}")
    return [heading.index(column) for column in columns]


def _listed(names: list[str]) -> str:
    if any("\0" in name for name in names):
        return "the heading holds NUL bytes: is it UTF-16? Say --encoding utf-16"
    hint = ""
    if len(names) == 1 and (found := [sign for sign in ";\t|," if sign in names[0]]):
        hint = f". It seems to be separated by {found[0]!r}: .csv takes commas, .tsv tabs"
    shown = ", ".join(repr(name[:40]) for name in names[:20])
    return f"there are: {shown}. Name yours by --text and --label{hint}"


def _undecodable_field(path: Path, encoding: str) -> str:
    """Row and column of the first field that is no UTF-8; in words."""
    if encoding in UTF8:
        with suppress(csv.Error):
            heading: list[str] = []
            for number, record in enumerate(_records(path, "latin-1"), 1):
                heading = heading or record
                for place, field in enumerate(record):
                    try:
                        field.encode("latin-1").decode("utf-8")
                    except UnicodeDecodeError:
                        name = heading[place] if place < len(heading) else place + 1
                        return f" row {number}, column {name!r}"
    return ""


def _wrongly_encoded(path: Path, encoding: str, where: str) -> DataError:
    advice = (
        "Old spreadsheets and Windows programs write cp1252 or latin-1: say --encoding cp1252"
        if encoding in UTF8
        else "say another --encoding"
    )
    return DataError(f"{path}{where}: is not {encoding}. {advice}")


def _json_lines(path: Path, columns: tuple[str, ...], encoding: str) -> Iterator[TableRow]:
    number = 0
    try:
        with path.open(encoding=encoding) as file:
            for number, line in enumerate(iter(lambda: file.readline(LONGEST), ""), 1):
                if line.strip():
                    yield TableRow(number, _of_object(line, columns, f"{path} line {number}"))
    except UnicodeDecodeError as error:
        raise _wrongly_encoded(path, encoding, _undecodable_line(path, encoding)) from error
    if number == 0:
        raise DataError(f"{path}: is empty")


def _of_object(line: str, columns: tuple[str, ...], where: str) -> tuple[Any, ...]:
    if len(line) == LONGEST:
        raise DataError(f"{where}: is too long; every line of .jsonl holds one object")
    try:
        item = json.loads(line)
    except ValueError as error:
        raise DataError(f"{where}: is not JSON ({error})") from error
    if not isinstance(item, dict):
        raise DataError(f"{where}: is no object with {' and '.join(map(repr, columns))}")
    for column in columns:
        if column not in item:
            raise DataError(f"{where}: no {column!r}; {_listed(list(item))}")
    return tuple(item[column] for column in columns)


def _undecodable_line(path: Path, encoding: str) -> str:
    with path.open("rb") as file:
        for number, line in enumerate(iter(lambda: file.readline(LONGEST), b""), 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return f" line {number}" if encoding in UTF8 else ""
    return ""


def _parquet(path: Path, columns: tuple[str, ...], _: str | None) -> Iterator[TableRow]:
    try:
        with pq.ParquetFile(path) as file:
            _places(path, file.schema_arrow.names, columns)
            number = 0
            for batch in file.iter_batches(BATCH, columns=list(columns)):
                for values in zip(*(batch.column(name).to_pylist() for name in columns)):
                    number += 1
                    yield TableRow(number, values)
    except pa.ArrowException as error:
        raise DataError(f"{path}: cannot be read as Parquet ({error})") from error
