"""The study's texts: words in lower case, cut; and planted ones, of which we know what decides.

``HELD_OUT`` holds the digests of every split and of each measured text. It is committed with the
plan, so that whoever has the corpora can check that a record is of these texts.
"""

import hashlib
import json
import random
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from course_kit.research.sanity_checks.synthetic import BAD, FILLERS, GOOD
from course_lib.data.corpus import load_corpus
from course_lib.files import DataError
from course_lib.runs.folders import RESULTS

FOLDER = RESULTS / "crossover"
HELD_OUT = FOLDER / "held_out.json"
FIRST_HELD_OUT = RESULTS / "faithful" / "held_out.json"  # of the first edition
SPLITS = ("train", "validation", "test")
MOST_WORDS = 60  # that are read of a text
LEAST_WORDS = 16  # of a measured text, so that 8 words are at most half of it
MEASURED = 100  # texts of the test split
PLANTED_WORDS = 18
SAME_BEGINNING = 25  # letters by which a film sentence is known again


@dataclass(frozen=True)
class Split:
    """Texts as ``words`` with their ``labels``, and the places of the words that decide where these
    are known."""

    words: list[list[str]]
    labels: np.ndarray
    decides: list[tuple[int, ...]]

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


Splits = dict[str, Split]


@dataclass(frozen=True)
class Source:
    """Where a corpus comes from, how many classes it has, and the sizes of its splits."""

    load: Callable[[], list[Split]]  # training, validation and test texts, at least as many
    classes: int
    sizes: tuple[int, int, int]


def digest_of(words: Sequence[str]) -> str:
    """16 digits of the sha256 of a text's words."""
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:16]


def digest_of_splits(splits: Splits) -> dict[str, str]:
    """16 digits of the sha256 of each split: its texts' digests and labels."""
    lines = {
        name: "".join(f"{d} {label}\n" for d, label in zip(split.digests, split.labels.tolist()))
        for name, split in splits.items()
    }
    return {name: hashlib.sha256(text.encode()).hexdigest()[:16] for name, text in lines.items()}


@cache
def load(corpus: str) -> Splits:
    """The three splits; ``DataError`` if ``HELD_OUT`` knows the corpus and its texts differ."""
    source = CORPORA[corpus]
    parts = zip(SPLITS, source.load(), source.sizes, strict=True)
    splits = {name: split.part(range(size)) for name, split, size in parts}
    known = json.loads(HELD_OUT.read_text(encoding="utf-8")) if HELD_OUT.exists() else {}
    if corpus in known and known[corpus] != described(splits):
        raise DataError(f"{corpus}: these are not the texts of {HELD_OUT.name}")
    return splits


def described(splits: Splits) -> dict[str, object]:
    """What ``HELD_OUT`` holds of a corpus."""
    return {"splits": digest_of_splits(splits), "measured": measured(splits["test"]).digests}


def measured(test: Split, count: int = MEASURED) -> Split:
    """The first texts that are long enough."""
    long = [n for n, words in enumerate(test.words) if len(words) >= LEAST_WORDS]
    return test.part(long[:count])


def _prepared(name: str) -> list[Split]:
    """The splits of a corpus of the library; without validation texts, the end of the training
    half is taken for them."""
    splits = load_corpus(name).splits
    learned, test = _split(splits["train"]), _split(splits["test"])
    if "validation" in splits:
        return [learned, _split(splits["validation"]), test]
    return [learned, learned.part(range(len(learned) - 1000, len(learned))), test]


def _films() -> list[Split]:
    """Scored film sentences that the first edition has not read.

    Its sentences are from the same reviews. Whatever begins like one of them is left out.
    """
    seen = load_corpus("sst2_sentences").splits
    listed = set(json.loads(FIRST_HELD_OUT.read_text(encoding="utf-8"))["sst2_sentences"])
    tests = [words for words in _split(seen["test"]).words if digest_of(words) in listed]
    read = [*seen["train"][:4400]["tokens"], *seen["validation"][:400]["tokens"], *tests]
    known = set(map(_beginning, read))
    every = _joined([_split(split) for split in load_corpus("movies2").splits.values()])
    new = every.part(n for n, words in enumerate(every.words) if _beginning(words) not in known)
    return _in_turn(new, CORPORA["films"].sizes)


def _beginning(words: Sequence[str]) -> str:
    return re.sub("[^a-z0-9]", "", "".join(words).lower())[:SAME_BEGINNING]


def _split(rows: Iterable[dict]) -> Split:
    words = [[word.lower() for word in tokens[:MOST_WORDS]] for tokens in rows["tokens"]]
    return Split(words, np.array(rows["label"], dtype=np.int64), [()] * len(words))


def _joined(parts: Sequence[Split]) -> Split:
    words = [text for part in parts for text in part.words]
    decides = [places for part in parts for places in part.decides]
    return Split(words, np.concatenate([part.labels for part in parts]), decides)


def _in_turn(split: Split, sizes: Sequence[int]) -> list[Split]:
    """One part after the other."""
    ends = np.cumsum(sizes)
    return [split.part(range(end - size, end)) for end, size in zip(ends, sizes, strict=True)]


def _planted(deciding: int) -> list[Split]:
    """Fillers and ``deciding`` words of judgement, all of them good or all of them bad.

    Texts come in twins, which differ in these words alone.
    """
    source, words, decides = random.Random(f"planted {deciding}"), [], []
    sizes = CORPORA[PLANTED[deciding]].sizes
    for _ in range(sum(sizes) // 2):
        places = tuple(source.sample(range(PLANTED_WORDS), deciding))
        text = [source.choice(FILLERS) for _ in range(PLANTED_WORDS)]
        for judgements in (BAD, GOOD):
            for place in places:
                text[place] = source.choice(judgements)
            words.append(list(text))
            decides.append(places)
    labels = np.tile(np.array([0, 1]), sum(sizes) // 2)
    return _in_turn(Split(words, labels, decides), sizes)


PLANTED = {1: "planted", 3: "planted_three"}
FEW = (1000, 200, 200)
CORPORA: dict[str, Source] = {
    "huffpost": Source(partial(_prepared, "huffpost"), 4, (4000, 400, 600)),
    "films": Source(_films, 2, (4000, 400, 600)),
    "products": Source(partial(_prepared, "products2"), 2, (2509, 337, 754)),
    # the first edition's, for a pilot
    "sst2_sentences": Source(partial(_prepared, "sst2_sentences"), 2, (4000, 400, 600)),
    **{name: Source(partial(_planted, deciding), 2, FEW) for deciding, name in PLANTED.items()},
}
NEW = ("huffpost", "films", "products")  # that the first edition has not read
