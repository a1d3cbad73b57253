"""Read the rows of a table from front to back: CSV, TSV, JSON Lines, Parquet, and lines of text.

No more than one row, or one batch of Parquet, is in memory. A row has the number that a spreadsheet
or an editor shows: the heading of CSV and TSV is row 1, and JSON Lines are numbered as lines. A
``.txt`` file is a column of texts, one a line, without a heading or labels.

pandas and ``datasets`` do not serve here. Of JSON Lines, pandas turns whole numbers beside
fractions into fractions, fills in names that a line lacks, and does not count blank lines; of CSV,
it needs more checks than the module csv. ``datasets`` reads a date as a time and refuses a blank
line.
"""

import codecs
import csv
import json
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from course_lib.data.readers import LONGEST
from course_lib.files import DataError
from course_lib.front_end import progress

DELIMITERS = {".csv": ",", ".tsv": "\t"}
FORMS = (*DELIMITERS, ".jsonl", ".parquet")
BATCH = 1000  # rows of Parquet at a time
MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
ESCAPED = re.compile("[\udc80-\udcff]")  # what a byte that is not UTF-8 is read as
UNREADABLE = (OSError, ValueError, TypeError, RecursionError, csv.Error, pa.ArrowException)

Rows = Iterator[tuple[int, tuple[Any, ...]]]  # a row's number, the values of its columns


def encoding_of(path: Path, given: str | None = None) -> str | None:
    """Return the encoding of a file: ``given``, else by its first bytes, else UTF-8.

    It is None for Parquet. ``DataError`` if ``given`` is not an encoding of text.
    """
    if path.suffix.lower() == ".parquet":
        return None
    if given is None:
        with path.open("rb") as file:
            head = file.read(4)
        return next((name for mark, name in MARKS.items() if head.startswith(mark)), "utf-8")
    try:
        "a".encode(given)
        name = codecs.lookup(given).name
        return "utf-8-sig" if name == "utf-8" else name  # which reads files without a mark, too
    except (LookupError, ValueError) as error:
        raise DataError(f"{given!r} is no encoding of text; try utf-8, utf-16 or cp1252") from error


def rows_of(path: Path) -> str:
    """Return what stands before a row's number in messages: the path, and "row" or "line"."""
    return f"{path} {'line' if path.suffix.lower() in ('.jsonl', '.txt') else 'row'}"


def read_table(path: Path, columns: tuple[str, ...], encoding: str | None) -> Rows:
    """Yield each row's number and the values of its ``columns``, with a progress bar.

    The file has one of ``FORMS``; for a single column it may be ``.txt``.

    Raises
    ------
    DataError
        Names the file, the row where it is known, and what is wrong: a column that is missing or
        occurs twice, another encoding, a damaged file.
    """
    readers = dict.fromkeys(DELIMITERS, _delimited) | {".jsonl": _json_lines, ".parquet": _parquet}
    readers |= {".txt": _lines} if len(columns) == 1 else {}
    if path.suffix.lower() not in readers:
        raise DataError(f"{path}: the form {path.suffix!r} is not read; {', '.join(readers)} are")
    rows = readers[path.suffix.lower()](path, columns, encoding)
    number = 0
    try:
        for number, values in progress(rows, desc=f"{path.name}: read", unit=" rows", delay=1.0):
            yield number, values
    except DataError:
        raise
    except UnicodeError as error:
        utf8 = (encoding or "").startswith("utf-8")
        where = f"line {_undecodable(path)}" if utf8 else f"after row {number}"
        raise DataError(
            f"{path} {where}: is not {encoding or 'utf-8'}; say the file's own by "
            "--encoding; old Windows programs write cp1252"
        ) from error
    except UNREADABLE as error:
        hint = "; is each quote that opens closed?" * isinstance(error, csv.Error)
        raise DataError(f"{path} after row {number}: cannot be read ({error}{hint})") from error


def _undecodable(path: Path) -> int:
    """Return the number of the first line that is not UTF-8."""
    with path.open(encoding="utf-8", errors="surrogateescape") as file:
        lines = enumerate(file, 1)
        return next(number for number, line in lines if not line.isascii() and ESCAPED.search(line))


def _delimited(path: Path, columns: tuple[str, ...], encoding: str) -> Rows:
    csv.field_size_limit(LONGEST)
    with path.open(encoding=encoding, newline="") as file:
        delimiter = DELIMITERS[path.suffix.lower()]
        # a quote may open after the blank that people type behind a comma
        records = csv.reader(file, delimiter=delimiter, strict=True, skipinitialspace=True)
        heading = next(records, [])
        if not heading:
            raise DataError(f"{path} has no first row, in which its columns are named")
        check_columns(heading, columns, f"{path} row 1")
        places = [heading.index(column) for column in columns]
        for number, record in enumerate(records, 2):
            if record and len(record) != len(heading):
                raise DataError(
                    f"{path} row {number}: {len(record)} columns, and the heading has "
                    f"{len(heading)}; a text that holds the delimiter needs quotes around it"
                )
            if record:
                yield number, tuple(record[place] for place in places)


def _json_lines(path: Path, columns: tuple[str, ...], encoding: str) -> Rows:
    for number, (line,) in _lines(path, columns, encoding):
        item = json.loads(line)
        if not isinstance(item, dict):
            raise DataError(
                f"{path} line {number}: {line[:40]!r} is no object with names, such as "
                f'{{"{columns[0]}": "…"}}'
            )
        check_columns(list(item), columns, f"{path} line {number}")
        yield number, tuple(item[column] for column in columns)


def _lines(path: Path, _: tuple[str, ...], encoding: str) -> Rows:
    with path.open(encoding=encoding) as file:
        for number, line in enumerate(iter(lambda: file.readline(LONGEST), ""), 1):
            if line.strip():
                yield number, (line.rstrip("\n"),)


def _parquet(path: Path, columns: tuple[str, ...], _: str | None) -> Rows:
    with pq.ParquetFile(path) as file:
        check_columns(file.schema_arrow.names, columns, str(path))
        batches = file.iter_batches(BATCH, columns=list(columns))
        rows = (zip(*(batch[name].to_pylist() for name in columns)) for batch in batches)
        yield from enumerate(chain.from_iterable(rows), 1)


def check_columns(names: list[str], columns: tuple[str, ...], where: str) -> None:
    """Raise ``DataError`` with the columns that exist if one is missing or occurs twice."""
    for column in columns:
        if names.count(column) != 1:
            how = "no column" if column not in names else "more than one column"
            shown = ", ".join(repr(name[:40]) for name in names[:20]) or "none"
            raise DataError(
                f"{where}: {how} {column!r}; there are: {shown}. Name yours by --text and --label; "
                "columns are separated by commas (.csv) or tabs (.tsv)"
            )
