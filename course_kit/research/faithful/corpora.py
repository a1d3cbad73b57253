"""The study's texts: words in lower case, cut, and held-out ones on which nothing was measured."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import datasets
import numpy as np

from course_kit.research.sanity_checks.synthetic import Text, write_texts
from course_lib.data.corpus import load_corpus
from course_lib.files import DataError
from course_lib.runs.records import RESULTS

FOLDER = RESULTS / "faithful"
HELD_OUT = FOLDER / "held_out.json"
SIZES = {"train": 4000, "validation": 400, "test": 600}
PLANTED, PLANTED_SIZES = "planted", {"train": 1000, "validation": 200, "test": 200}
LEAST_WORDS = 9  # shorter texts have few rankings to tell apart
STUDIES = ("faithfulness", "agreement", "interventions", "levels")


@dataclass(frozen=True)
class CorpusPlan:
    """The first ``most`` words of each text are read; ``measured`` test texts are measured."""

    most: int
    measured: int


CORPORA = {
    "sst2_sentences": CorpusPlan(most=60, measured=40),
    "ag_news": CorpusPlan(most=60, measured=32),
    "imdb": CorpusPlan(most=80, measured=24),
    PLANTED: CorpusPlan(most=60, measured=40),
}


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
        """What names each text in records: 16 digits of the sha256 of its words."""
        return [digest_of(words) for words in self.words]

    def first(self, count: int) -> "Split":
        """The first texts."""
        return Split(self.words[:count], self.labels[:count], self.decides[:count])


def digest_of(words: Sequence[str]) -> str:
    """16 hexadecimal digits of the sha256 of a text's words."""
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:16]


@cache
def load(corpus: str) -> dict[str, Split]:
    """Training, validation and held-out texts; the first held-out ones are measured.

    ``DataError`` if the held-out texts are not those of ``HELD_OUT``, which was committed with the
    plan.
    """
    if corpus == PLANTED:
        return _planted()
    found = _drawn(corpus)
    committed = json.loads(HELD_OUT.read_text(encoding="utf-8"))[corpus]
    if found["test"].digests != committed:
        raise DataError(f"{corpus}: the held-out texts here are not those of {HELD_OUT.name}")
    return found


def hold_out() -> dict[str, list[str]]:
    """The digests of each corpus's held-out texts: what ``HELD_OUT`` holds."""
    return {corpus: _drawn(corpus)["test"].digests for corpus in CORPORA if corpus != PLANTED}


def _drawn(corpus: str) -> dict[str, Split]:
    """Training and validation texts as the corpus has them in its fixed random order, and test
    texts of at least ``LEAST_WORDS`` that no study has measured and nothing here trains on."""
    splits, most = load_corpus(corpus).splits, CORPORA[corpus].most
    train, rest = SIZES["train"], SIZES["validation"]
    learned = _split(splits["train"].select(range(train + rest)), most)
    if "validation" in splits:
        validation = _split(splits["validation"].select(range(rest)), most)
    else:
        validation = Split(learned.words[train:], learned.labels[train:], learned.decides[train:])
    gone = measured_before() | {*learned.digests, *validation.digests}
    test_half = _split(splits["test"], None)
    cut = [words[:most] for words in test_half.words]
    kept = [
        n
        for n, words in enumerate(test_half.words)
        if len(words) >= LEAST_WORDS and not {digest_of(words), digest_of(cut[n])} & gone
    ][: SIZES["test"]]
    held_out = Split([cut[n] for n in kept], test_half.labels[kept], [-1] * len(kept))
    return {"train": learned.first(train), "validation": validation, "test": held_out}


def _split(rows: datasets.Dataset, most: int | None) -> Split:
    words = [[word.lower() for word in tokens[:most]] for tokens in rows["tokens"]]
    return Split(words, np.array(rows["label"], dtype=np.int64), [-1] * len(words))


@cache
def measured_before() -> frozenset[str]:
    """The digests of all test texts on which a study of ours has measured explanations."""
    samples: dict[str, set[int]] = {}
    for path in (path for study in STUDIES for path in (RESULTS / study).glob("*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        corpus = record["id"].split("-")[1]
        rows = samples.setdefault(corpus, set())
        rows |= _sample(corpus, record["seed"], record["texts"], record.get("classes", []))
    halves = {corpus: load_corpus(corpus).splits["test"] for corpus in samples}
    return frozenset(
        digest_of([word.lower() for word in tokens])
        for corpus, rows in samples.items()
        for tokens in halves[corpus].select(sorted(rows))["tokens"]
    )


@cache
def _labels(corpus: str) -> np.ndarray:
    return np.array(load_corpus(corpus).splits["test"]["label"])


def _sample(corpus: str, seed: int, texts: int, classes: list[str]) -> set[int]:
    """The rows that ``faithfulness_run.choose_run`` drew."""
    rows = np.arange(len(_labels(corpus)))
    if classes:
        names = load_corpus(corpus).card.classes
        rows = rows[np.isin(_labels(corpus), [names.index(name) for name in classes])]
    return set(rows[np.random.default_rng(seed).permutation(len(rows))[:texts]].tolist())


def _planted() -> dict[str, Split]:
    texts = write_texts(PLANTED, sum(PLANTED_SIZES.values()), seed=35)
    found, start = {}, 0
    for split, size in PLANTED_SIZES.items():
        found[split] = _of_texts(texts[start : start + size])
        start += size
    return found


def _of_texts(texts: Sequence[Text]) -> Split:
    labels = np.array([text.label for text in texts], dtype=np.int64)
    return Split([list(t.words) for t in texts], labels, [t.decides[0] for t in texts])
