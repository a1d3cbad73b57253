"""What stands in a table of labelled texts: its classes, how it is split, and what is odd in it."""

import difflib
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from course_lib.data.cards import Card
from course_lib.data.readers import Row, clean, order_key
from course_lib.data.tables import TableRow
from course_lib.files import DataError

SPLITS = ("train", "validation", "test")
TRAIN, VALIDATION, TEST = range(3)
SCATTER = 0x9E3779B97F4A7C15  # odd, so no two keys become one
SHARES = {"test": 0.2, "validation": 0.1}  # of each class, where nobody has split the texts
LEAST = 3  # different texts of a class, one for each split
MOST_CLASSES = 256  # predictions are stored in one byte
LETTERS_FROM = 1000  # texts whose letters are looked at


@dataclass(frozen=True)
class Columns:
    """How a table is read: its columns of texts and labels, its ``encoding`` (None: detected), and
    the tokeniser of its texts, one of ``"english"`` and ``"unicode"``."""

    text: str = "text"
    label: str = "label"
    encoding: str | None = None
    tokeniser: str = "english"


DEFAULT = Columns()


class Part(NamedTuple):
    """One table: the ``split`` that it is (None: to be split), its rows, and a row's place in
    words."""

    split: str | None
    rows: Callable[[], Iterator[TableRow]]
    placed: Callable[[int], str]


def split_key(text: str) -> int:
    """A hash to split by, in another order than the one in which rows are stored: a split must not
    be one end of that."""
    return order_key(text) * SCATTER % 2**64


def checked_text(value: Any, place: str, column: str) -> str:
    """A text as it is stored; ``DataError`` for what is none."""
    if not isinstance(value, str):
        raise DataError(f"{place}, column {column!r}: {value!r} is not a text")
    return clean(value)


def _checked_label(value: Any, place: str, column: str) -> str:
    if value is None or isinstance(value, (dict, list)) or not str(value).strip():
        raise DataError(f"{place}, column {column!r}: {value!r} is no label")
    return str(value).strip()


class Survey:
    """What the first reading found: for every row its text's key, its label and its split.

    They take 13 bytes a row, and several times that while they are counted.
    """

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self.labels: dict[str, int] = {}
        self.first: list[str] = []  # the place of each label's first row
        self.keys, self.ids, self.splits = array("Q"), array("i"), array("b")
        self.empty = self.letters = self.foreign = 0

    def add(self, part: Part) -> None:
        """Read one table."""
        split = SPLITS.index(part.split or SPLITS[TRAIN])
        for number, values in part.rows():
            text, label = self.checked(part, number, values)
            if label not in self.labels:
                self.labels[label] = len(self.labels)
                self.first.append(part.placed(number))
                if len(self.labels) > MOST_CLASSES:
                    raise DataError(
                        f"{part.placed(number)}, column {self.columns.label!r}: more than "
                        f"{MOST_CLASSES} different labels; is it the right column?"
                    )
            if len(self.keys) < LETTERS_FROM:
                letters = [character for character in text if character.isalpha()]
                self.letters += len(letters)
                self.foreign += sum(not letter.isascii() for letter in letters)
            self.empty += not text
            self.keys.append(split_key(text))
            self.ids.append(self.labels[label])
            self.splits.append(split)

    def checked(self, part: Part, number: int, values: tuple[Any, ...]) -> tuple[str, str]:
        """Text and label of a row; ``DataError`` names its place and the column."""
        place, (text, label) = part.placed(number), values
        return (
            checked_text(text, place, self.columns.text),
            _checked_label(label, place, self.columns.label),
        )

    def count(self, name: str, given: bool) -> None:
        """Put the labels in order, split by class unless the split is given, and count."""
        if not self.keys:
            raise DataError(f"{name}: holds no rows")
        self.given, where = given, f"{name}, column {self.columns.label!r}"
        if len(self.labels) == 1:
            raise DataError(
                f"{where}: every label is {next(iter(self.labels))!r}; a classifier needs two"
            )
        self.classes = tuple(sorted(self.labels, key=_in_order(self.labels)))
        order = np.array([self.classes.index(label) for label in self.labels])
        self.places = [self.first[self.labels[label]] for label in self.classes]
        keys = np.frombuffer(self.keys, np.uint64)
        ids = order[np.frombuffer(self.ids, np.int32)]
        self._check_single(np.bincount(ids), where)
        unique, first, copies = np.unique(keys, return_index=True, return_counts=True)
        self.repeated = int((copies - 1).sum())
        # a text with two labels is split as its first row is, so it stands in one split alone
        owners = ids[first]
        disputed = np.unique(keys[ids != owners[np.searchsorted(unique, keys)]])
        owning = owners[np.searchsorted(unique, disputed)]
        self.owner = dict(zip(disputed.tolist(), owning.tolist()))
        splits = np.frombuffer(self.splits, np.int8)
        if not given:
            self._divide(unique, owners, where)
            splits = self._splits_of(keys, ids)
        self.across = _across(keys, splits)
        self.sizes = {
            split: tuple(np.bincount(ids[splits == n], minlength=len(self.classes)).tolist())
            for n, split in enumerate(SPLITS)
            if (splits == n).any()
        }
        for split, place, label in zip(self.sizes["train"], self.places, self.classes):
            if not split:
                raise DataError(f"{place}: label {label!r} does not occur in train")

    def _check_single(self, counts: np.ndarray, where: str) -> None:
        """``DataError`` for a class of one row, which is most often a typing mistake."""
        for place in np.flatnonzero(counts == 1):
            label = self.classes[place]
            others = [name for name in self.classes if name != label]
            folded = {name.casefold(): name for name in others}
            near = difflib.get_close_matches(label.casefold(), folded, n=1)
            hint = f"; do you mean {folded[near[0]]!r}?" if near else "; a class needs more texts"
            raise DataError(
                f"{self.places[place]}, column {self.columns.label!r}: {label!r} is the label of "
                f"this row alone{hint}"
            )

    def _divide(self, keys: np.ndarray, owners: np.ndarray, where: str) -> None:
        """The keys of each class below which a text is for testing, or for validation."""
        self.limits = []
        for place, label in enumerate(self.classes):
            of_class = keys[owners == place]  # in order
            if len(of_class) < LEAST:
                raise DataError(
                    f"{where}: {label!r} has {len(of_class)} different texts (the first in "
                    f"{self.places[place]}); a split into train, validation and test takes {LEAST}"
                )
            test, held_out = (max(1, round(s * len(of_class))) for s in SHARES.values())
            self.limits.append((int(of_class[test]), int(of_class[test + held_out])))

    def _splits_of(self, keys: np.ndarray, ids: np.ndarray) -> np.ndarray:
        if self.owner:
            ids = np.array([self.owner.get(k, i) for k, i in zip(keys.tolist(), ids.tolist())])
        below_test, below_validation = (
            np.array(limits, np.uint64)[ids] for limits in zip(*self.limits)
        )
        rest = np.where(keys < below_validation, VALIDATION, TRAIN)
        return np.where(keys < below_test, TEST, rest)

    def rows(self, parts: list[Part]) -> Iterator[Row]:
        """The second reading: the rows with their splits."""
        numbers = {label: n for n, label in enumerate(self.classes)}
        for part in parts:
            for number, values in part.rows():
                text, name = self.checked(part, number, values)
                label, split = numbers.get(name, len(numbers)), part.split
                if split is None and name in numbers:
                    key = split_key(text)
                    test, validation = self.limits[self.owner.get(key, label)]
                    split = SPLITS[
                        TEST if key < test else VALIDATION if key < validation else TRAIN
                    ]
                yield Row(split or SPLITS[TRAIN], text, label)

    def told(self) -> dict[str, Any]:
        """What was counted, for the record."""
        return {
            "split": "given" if self.given else dict(SHARES),
            "empty": self.empty,
            "repeated": self.repeated,
            "two_labels": len(self.owner),
            "across_splits": self.across,
            "foreign_letters": round(self.foreign / max(1, self.letters), 3),
        }

    def card(self, name: str, title: str) -> Card:
        """The card of these texts."""
        return Card(
            name=name,
            title=title,
            task="the labels of a file of one's own",
            terms="Those of whoever wrote the texts.",
            citation="none",
            classes=self.classes,
            sizes=self.sizes,
            tokeniser=self.columns.tokeniser,
        )


def _in_order(labels: dict[str, int]) -> Callable[[str], Any]:
    """How labels are sorted: numbers as numbers, else by the alphabet."""
    try:
        values = {label: float(label) for label in labels}
    except ValueError:
        return lambda label: (label.casefold(), label)
    return lambda label: (values[label], label)


def _across(keys: np.ndarray, splits: np.ndarray) -> int:
    """How many different texts stand in more than one split."""
    per_split = [np.unique(keys[splits == n]) for n in np.unique(splits)]
    _, copies = np.unique(np.concatenate(per_split), return_counts=True)
    return int((copies > 1).sum())
