"""Make a dataset of one's own labelled texts, with a card like those of the catalog.

``custom_texts("reviews.csv")`` reads the file twice, from front to back: once to learn its classes
and to split it, once to store it as the catalog's datasets are stored. Its name for settings is
``reviews.csv@0123456789ab``, and everything else works as for a dataset of the catalog.
"""

import hashlib
import json
import math
import os
import re
import unicodedata
from array import array
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import datasets
import numpy as np
import pandas as pd

from course_lib.data import naming
from course_lib.data.catalog import CARDS, Card
from course_lib.data.corpus import Corpus, Provenance, prepare
from course_lib.data.naming import CUSTOM, DEFAULT, HUB, OFFERED, Columns
from course_lib.data.readers import Row, clean, order_key
from course_lib.data.tables import FORMS, Rows, check_columns, encoding_of, read_table, rows_of
from course_lib.data.text import TOKENISERS, fetch_punkt, normalised
from course_lib.files import DataError, unchanged_digest

SPLITS = {  # their names in folders and on the hub
    "train": ("train", "training"),
    "validation": ("validation", "valid", "val", "dev"),
    "test": ("test", "testing"),
}
SHARES = {"test": 0.2, "validation": 0.1}  # of each class, where nobody has split the texts
LEAST = 3  # different texts of a class, one for each split
MOST_CLASSES = 256  # predictions are stored in one byte
# Rows are stored in the order of their keys, and a split must not be one end of that order. This
# factor makes other keys to split by; it is odd, so different keys stay different.
SCATTER = 0x9E3779B97F4A7C15
WHOLE = re.compile(r"(-?\d+)(?:\.0+)?")
LETTERS_FROM = 1000  # texts whose letters are looked at
FOREIGN = 0.1  # share of letters beyond a to z above which the other tokeniser is mentioned


class Part(NamedTuple):
    """One table of texts and labels."""

    split: str | None  # None: to be split
    rows: Callable[[], Rows]
    place: str  # stands before a row's number in messages
    digest: str
    encoding: str | None = None  # of a file


def custom_texts(source: str | Path, columns: Columns = DEFAULT) -> str:
    """Prepare labelled texts of one's own on first use; return their name for settings.

    Parameters
    ----------
    source
        A file, a folder with files named train, test and perhaps validation, or ``hf:`` and the
        name of a dataset of the Hugging Face hub.

    Raises
    ------
    DataError
        Names file, row and column of what cannot be used.
    """
    if columns.tokeniser not in OFFERED:
        raise DataError(f"no tokeniser {columns.tokeniser!r}; there are: {', '.join(OFFERED)}")
    on_hub = str(source).startswith(HUB)
    title = str(source).removeprefix(HUB) if on_hub else Path(os.path.realpath(source)).name
    parts = _on_hub(str(source), columns) if on_hub else _on_disk(Path(source), columns)
    encodings = {} if on_hub else {name: part.encoding for name, part in parts.items()}
    digests = {name: f"sha256:{part.digest}" for name, part in parts.items()}
    reading = {"columns": {"text": columns.text, "label": columns.label}, "encoding": encodings}
    about = json.dumps([digests, reading, columns.tokeniser, naming.FORMAT], sort_keys=True)
    name = naming.custom_name(title, hashlib.sha256(about.encode()).hexdigest())
    folder = naming.custom_folder("text", name)
    if not folder.exists():
        survey = Survey(title, list(parts.values()), columns)
        card = Card(
            name,
            title,
            "the labels of a file of one's own",
            "Those of whoever wrote the texts.",
            "none",
            classes=survey.classes,
            sizes=survey.sizes,
            tokeniser=columns.tokeniser,
        )
        counts = {split: dict(zip(card.classes, sizes)) for split, sizes in card.sizes.items()}
        told = reading | {"tokeniser": columns.tokeniser, "counts": counts, **survey.counted}
        from_ = "Hugging Face hub" if on_hub else "own file"
        origin = Provenance(name, from_, digests, content="", reading=told)
        punkt = fetch_punkt() if columns.tokeniser == "english" else None
        prepare(card, survey.rows, origin, folder, punkt)
    return name


def named_texts(value: str, base: Path = Path(), columns: Columns = DEFAULT) -> str:
    """Replace a path (relative to ``base``) by the name of its texts.

    Names of the catalog, and what is neither a name nor a path, stay. Raises ``DataError`` as
    ``custom_texts`` does.
    """
    if value in CARDS or CUSTOM.fullmatch(value):
        return value
    if value.startswith(HUB):
        return custom_texts(value, columns)
    path = base / value
    is_file = path.exists() or path.suffix.lower() in FORMS
    return custom_texts(path, columns) if is_file else value


def summary_of(corpus: Corpus) -> list[str]:
    """Return what was found in custom texts, in sentences."""
    card, reading = corpus.card, corpus.provenance.reading
    encodings = {name for name in reading["encoding"].values() if name}
    sizes = {split: sum(counts) for split, counts in card.sizes.items()}
    totals = np.sum(list(card.sizes.values()), axis=0)
    classes = ", ".join(f"{name} {count:,}" for name, count in zip(card.classes, totals))
    split = ", ".join(f"{count:,} {name}" for name, count in sizes.items())
    how = "as the files are" if reading["split"] == "given" else "by us, at random, by class"
    lines = [
        f"{card.title}: {sum(sizes.values()):,} texts in {len(card.classes)} classes ({classes})"
        + (f", read as {' and '.join(sorted(encodings))}" if encodings else ""),
        f"split {how}: {split}",
        f"words: {TOKENISERS[card.tokeniser]}",
    ]
    remarks = {
        "empty": "texts are empty",
        "rewritten": "texts hold other apostrophes than the typewriter's, references such as "
        "&amp; or invisible characters, which are read as what they stand for",
        "repeated": "texts repeat another one",
        "two_labels": "texts occur with more than one label",
        "across_splits": "texts stand in more than one split: test results are too good by as much "
        "as the network remembers them",
    }
    lines += [f"{reading[name]:,} {says}" for name, says in remarks.items() if reading[name]]
    if reading["foreign_letters"] > FOREIGN and card.tokeniser == "english":
        lines.append(
            f"{reading['foreign_letters']:.0%} of the letters are not a to z: if this is not "
            "English, read it with --words unicode"
        )
    return lines


def checked_text(value: Any, at: str, column: str) -> str:
    """Return a text as it is stored; ``DataError`` names its place if it is none."""
    if isinstance(value, str) and "\0" in value:
        raise DataError(
            f"{at}: holds NUL characters; is the file UTF-16? Then say --encoding utf-16"
        )
    if not isinstance(value, str):
        raise DataError(f"{at}, column {column!r}: {value!r} is not a text")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise DataError(
            f"{at}, column {column!r}: {value[error.start]!r} is half of a character"
        ) from error
    return normalised(value)


def _checked_label(value: Any, at: str, column: str) -> str:
    label = "" if value is None or isinstance(value, dict | list) else str(value).strip()
    label = unicodedata.normalize("NFC", label)  # of two forms of "é" one class
    if not label or value != value:  # NaN is unequal to itself
        raise DataError(f"{at}, column {column!r}: {value!r} is no label")
    checked_text(label, at, column)
    return label


class Survey:
    """The first reading of custom texts: classes, the split of every row, and what was counted.

    ``rows`` reads the texts again. In between, some dozens of bytes a row are in memory, however
    long the texts are.
    """

    def __init__(self, title: str, parts: list[Part], columns: Columns) -> None:
        self.title, self.parts, self.columns = title, parts, columns
        self.first: dict[str, str] = {}  # the place of each label's first row
        number: dict[str, int] = {}
        keys, labels, splits = array("Q"), array("i"), array("b")
        empty, rewritten, ascii_letters = 0, 0, []
        for at, split, text, label, changed in self._read():
            rewritten += changed
            self.first.setdefault(label, at)
            if len(self.first) > MOST_CLASSES:
                raise DataError(
                    f"{at}, column {columns.label!r}: more than {MOST_CLASSES} different labels; "
                    "is it the right column?"
                )
            if len(keys) < LETTERS_FROM:
                ascii_letters += [letter.isascii() for letter in text if letter.isalpha()]
            empty += not text
            keys.append(order_key(text) * SCATTER % 2**64)
            labels.append(number.setdefault(label, len(number)))
            splits.append(list(SPLITS).index(split or "train"))
        if not keys:
            raise DataError(f"{title}: holds no rows")
        self.classes, self.class_of = self._classes()
        table = pd.DataFrame({"key": np.array(keys), "split": np.array(splits)})
        table["label"] = np.array([self.class_of[label] for label in number])[np.array(labels)]
        given = parts[0].split is not None
        if not given:
            table["split"] = self._split(table)
        self.splits = [list(SPLITS)[split] for split in table["split"]]
        self.sizes = self._sizes(table)
        several = table.groupby("key").nunique() > 1  # of each text: more than one label, one split
        self.counted = {
            "split": "given" if given else dict(SHARES),
            "empty": empty,
            "rewritten": rewritten,
            "repeated": int(table["key"].duplicated().sum()),
            "two_labels": int(several["label"].sum()),
            "across_splits": int(several["split"].sum()),
            "foreign_letters": round(1 - float(np.mean(ascii_letters or [1])), 3),
        }

    def rows(self) -> Iterator[Row]:
        """Yield the rows of the second reading with their splits."""
        for (_, _, text, label, _), split in zip(self._read(), self.splits):
            yield Row(split, text, self.class_of.get(label, len(self.classes)))

    def _read(self) -> Iterator[tuple[str, str | None, str, str, bool]]:
        """Yield place, given split, text and label of every row, and whether it was rewritten."""
        for part in self.parts:
            for number, (text, label) in part.rows():
                at = f"{part.place} {number}"
                read = checked_text(text, at, self.columns.text)
                label = _checked_label(label, at, self.columns.label)
                yield at, part.split, read, label, read != clean(text)

    def _classes(self) -> tuple[tuple[str, ...], dict[str, int]]:
        """Return the classes in order and the class of each label.

        ``1.0`` is ``1`` where both occur.
        """
        where, labels = f"{self.title}, column {self.columns.label!r}", set(self.first)
        whole = {label: match[1] for label in labels if (match := WHOLE.fullmatch(label))}
        if whole and {label.casefold() for label in labels} & {"true", "false"}:
            raise DataError(f"{where}: numbers beside True or False; write each class in one way")
        name_of = {label: n if (n := whole.get(label)) in labels else label for label in labels}
        classes = tuple(sorted(set(name_of.values()), key=_in_order(labels)))
        if len(classes) == 1:
            raise DataError(f"{where}: every label is {classes[0]!r}; a classifier needs two")
        return classes, {label: classes.index(name) for label, name in name_of.items()}

    def _split(self, table: pd.DataFrame) -> pd.Series:
        """Return the split of each row: the same shares of every class, by the hash of the text.

        So equal texts stay together. A text with two labels is split as its first row is.
        """
        texts = table.drop_duplicates("key").sort_values("key")
        of_class = texts.groupby("label")["key"]
        for label, count in of_class.size().items():
            if count < LEAST:
                name = self.classes[label]
                raise DataError(
                    f"{self.first[name]}, column {self.columns.label!r}: {name!r} has {count} "
                    f"of the {LEAST} different texts that a split takes; is it mistyped?"
                )
        rank, size = of_class.cumcount(), of_class.transform("size")
        test, held_out = (np.maximum(1, (share * size).round()) for share in SHARES.values())
        train, validation, testing = range(len(SPLITS))
        split = np.where(rank < test, testing, np.where(rank < test + held_out, validation, train))
        return table["key"].map(pd.Series(split, texts["key"]))

    def _sizes(self, table: pd.DataFrame) -> dict[str, tuple[int, ...]]:
        """Count the rows of each class in every split.

        ``DataError`` names a split without rows, and a label that does not occur in train.
        """
        counts = {
            split: np.bincount(table["label"][table["split"] == n], minlength=len(self.classes))
            for n, split in enumerate(SPLITS)
        }
        asked = {part.split for part in self.parts} | {"train"}
        for split in SPLITS:
            if split in asked and not counts[split].any():
                raise DataError(f"{self.title}: {split} holds no rows")
        for name, count in zip(self.classes, counts["train"]):
            if not count:
                raise DataError(f"{self.first[name]}: label {name!r} does not occur in train")
        return {split: tuple(rows.tolist()) for split, rows in counts.items() if rows.any()}


def _in_order(labels: set[str]) -> Callable[[str], Any]:
    """Return the key to sort labels by: numbers as numbers, else by the alphabet."""
    try:
        values = {label: float(label) for label in labels}
    except ValueError:
        values = {}
    if not all(map(math.isfinite, values.values())) or not values:  # "nan" has no place in an order
        return lambda label: (label.casefold(), label)
    return lambda label: (values[label], label)


def _on_hub(source: str, columns: Columns) -> dict[str, Part]:
    """Return the splits of a dataset of the hub; without a test split, its training rows alone."""
    name = source.removeprefix(HUB)
    if not name.strip():
        raise DataError(f"{source}: the name of a dataset is missing, such as {HUB}owner/name")
    try:
        found = datasets.load_dataset(name)
    except Exception as error:  # whatever its client, the network or the hub say
        raise DataError(f"{source}: cannot be had from the Hugging Face hub ({error})") from error
    names = {split: n for split, known in SPLITS.items() for n in known[::-1] if n in found}
    if "train" not in names:
        raise DataError(f"{source}: has no split 'train'; it has {', '.join(found)}")
    if "test" not in names:
        names = {"train": names["train"]}
    parts = {}
    for split, name in names.items():
        wanted = (columns.text, columns.label)
        check_columns(found[name].column_names, wanted, f"{source} {split}")
        read = partial(_hub_rows, found[name], columns)
        digest = hashlib.sha256()
        for _, (text, label) in read():
            digest.update(f"{label}\t{text}\n".encode())
        part_of = split if len(names) > 1 else None
        parts[split] = Part(part_of, read, f"{source} {split} row", digest.hexdigest())
    return parts


def _hub_rows(rows: datasets.Dataset, columns: Columns) -> Rows:
    names = getattr(rows.features[columns.label], "names", None)
    for number, row in enumerate(rows.select_columns([columns.text, columns.label]), 1):
        label = row[columns.label]
        if names is not None:  # the hub marks a row without a label by -1
            label = names[label] if isinstance(label, int) and label >= 0 else None
        yield number, (row[columns.text], label)


def _on_disk(path: Path, columns: Columns) -> dict[str, Part]:
    """Return a file, which is to be split, or the files of a folder, which are its splits."""
    if path.is_file():
        return {path.name: _part(path, None, columns)}
    if not path.is_dir():
        raise DataError(f"{path}: no such file of texts, and no dataset of that name")
    files = [file for file in sorted(path.iterdir()) if file.suffix.lower() in FORMS]
    parts = {}
    for split, names in SPLITS.items():
        found = [file for file in files if file.stem.lower() in names]
        if len(found) > 1:
            raise DataError(f"{path}: {found[0].name} and {found[1].name} are both {split}")
        if not found and split != "validation":
            raise DataError(f"{path}: has no file named {split} ({', '.join(FORMS)})")
        parts |= {file.name: _part(file, split, columns) for file in found}
    return parts


def _part(file: Path, split: str | None, columns: Columns) -> Part:
    encoding = encoding_of(file, columns.encoding)
    rows = partial(read_table, file, (columns.text, columns.label), encoding)
    return Part(split, rows, rows_of(file), unchanged_digest(file), encoding)
