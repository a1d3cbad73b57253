"""The study's texts: words in lower case, cut, and held-out ones on which nothing was measured."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import datasets
import numpy as np

from course_kit.research.sanity_checks.synthetic import write_texts
from course_lib.data.corpus import load_corpus
from course_lib.files import DataError
from course_lib.runs.folders import RESULTS

FOLDER = RESULTS / "faithful"
HELD_OUT = FOLDER / "held_out.json"
SIZES = {"train": 4000, "validation": 400, "test": 600}
PLANTED, PLANTED_SIZES = "planted", {"train": 1000, "validation": 200, "test": 200}
LEAST_WORDS = 9  # shorter texts have few rankings to tell apart
MOST = {"sst2_sentences": 60, "ag_news": 60, "imdb": 80, PLANTED: 60}  # words that are read
MEASURED = {"sst2_sentences": 40, "ag_news": 32, "imdb": 24, PLANTED: 40}  # held-out texts


@dataclass(frozen=True)
class Split:
    """Texts as ``words``, with their ``labels``; of the planted corpus, the word that decides."""

    words: list[list[str]]
    labels: np.ndarray
    decides: list[int]

    def __len__(self) -> int:
        return len(self.words)

    @property
    def digests(self) -> list[str]:
        """What names each text in records."""
        return [digest_of(words) for words in self.words]

    def part(self, places: Iterable[int]) -> "Split":
        """The texts at some places."""
        kept = list(places)
        words, decides = ([each[n] for n in kept] for each in (self.words, self.decides))
        return Split(words, self.labels[kept], decides)


def digest_of(words: Sequence[str]) -> str:
    """16 digits of the sha256 of a text's words in lower case."""
    text = "\n".join(word.lower() for word in words)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@cache
def load(corpus: str) -> dict[str, Split]:
    """Training and validation texts in the corpus's fixed random order, and the held-out texts that
    ``HELD_OUT`` names, which was committed with the plan; the first of them are measured.

    ``DataError`` if they are not in the test half.
    """
    if corpus == PLANTED:
        return _planted()
    splits, most = load_corpus(corpus).splits, MOST[corpus]
    train, rest = SIZES["train"], SIZES["validation"]
    learned = _split(splits["train"].select(range(train + rest)), most)
    if "validation" in splits:
        validation = _split(splits["validation"].select(range(rest)), most)
    else:
        validation = learned.part(range(train, train + rest))
    held_out = _held_out(corpus, splits["test"], most)
    return {"train": learned.part(range(train)), "validation": validation, "test": held_out}


def _held_out(corpus: str, rows: datasets.Dataset, most: int) -> Split:
    wanted = json.loads(HELD_OUT.read_text(encoding="utf-8"))[corpus]
    found: list[int] = []
    for n, tokens in enumerate(rows["tokens"]):  # in the order of the list
        if len(found) < len(wanted) and digest_of(tokens[:most]) == wanted[len(found)]:
            found.append(n)
    if len(found) < len(wanted):
        raise DataError(f"{corpus}: {wanted[len(found)]} of {HELD_OUT.name} is not in its order")
    return _split(rows.select(found), most)


def _split(rows: datasets.Dataset, most: int | None) -> Split:
    words = [[word.lower() for word in tokens[:most]] for tokens in rows["tokens"]]
    return Split(words, np.array(rows["label"], dtype=np.int64), [-1] * len(words))


def _planted() -> dict[str, Split]:
    texts = write_texts(PLANTED, sum(PLANTED_SIZES.values()), seed=35)
    labels = np.array([text.label for text in texts], dtype=np.int64)
    every = Split([list(t.words) for t in texts], labels, [t.decides[0] for t in texts])
    ends = np.cumsum(list(PLANTED_SIZES.values()))
    parts = zip(PLANTED_SIZES, np.split(np.arange(len(texts)), ends[:-1]), strict=True)
    return {split: every.part(places) for split, places in parts}
