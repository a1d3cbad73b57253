"""Synthetic texts for positive controls: we know which words decide the label, and where they are.

Each task writes twins, two texts of opposite label that differ as little as the task allows. So no
single word gives the label away, and we can ask whether an instrument finds the words that do.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from course_lib.data.batches import Documents
from course_lib.data.encoding import encode_sentences
from course_lib.data.vocabulary import Vocabulary
from course_lib.files import DataError

FILLERS = (
    "the",
    "a",
    "of",
    "with",
    "and",
    "for",
    "from",
    "into",
    "under",
    "over",
    "about",
    "some",
    "each",
    "any",
    "house",
    "train",
    "river",
    "table",
    "window",
    "street",
    "garden",
    "letter",
)
ANIMALS = ("cat", "dog", "fox", "hen", "owl", "pig", "rat", "yak", "bee", "ant")
PEOPLE = ("anna", "ben", "cara", "dan", "eva", "finn")
VALUES = ("bad", "good")
NEGATORS, INTENSIFIERS = ("not", "never", "hardly"), ("very", "really", "truly")
BAD, GOOD = ("awful", "dull", "clumsy", "tedious"), ("superb", "tender", "gripping", "charming")
PAIRS, PAIR_LENGTH = 6, 18
FAR = 9  # positions between the words of a distant pair
POINTER_LENGTH, PHRASE_LENGTH, PLANTED_LENGTH = 10, 10, 18
HELD_OUT = 400  # texts to measure on, and as many to choose the epoch by


class Text(NamedTuple):
    """``words`` with their ``label`` 0 or 1, and the positions of the words that decide it, in the
    order in which they must be read, where there is such an order."""

    words: tuple[str, ...]
    label: int
    decides: tuple[int, ...] = ()


class Splits(NamedTuple):
    """Texts to train on, to choose the epoch by, and to measure on."""

    train: list[Text]
    validation: list[Text]
    test: list[Text]


Twins = Iterator[Text]  # a text of label 0 and one of label 1


def write_pairs(source: random.Random, distance: int) -> Twins:
    """Six names of animals and their six young, each young ``distance`` positions after an animal.

    Label 1: every young is that of the animal before it; label 0: none is. Twins hold the same
    words, so no bag of words decides.
    """
    starts = _starts(source, distance)
    animals = source.sample(ANIMALS, PAIRS)
    words = [source.choice(FILLERS) for _ in range(PAIR_LENGTH)]
    decides = tuple(place for start in starts for place in (start, start + distance))
    for label in (0, 1):
        for number, start in enumerate(starts):
            of = animals[number if label else number - 1]
            words[start], words[start + distance] = animals[number], f"{of}'s"
        yield Text(tuple(words), label, decides)


def _starts(source: random.Random, distance: int) -> list[int]:
    """Where the pairs start, no two of which share a position."""
    while True:
        free, starts = set(range(PAIR_LENGTH)), []
        for start in source.sample(range(PAIR_LENGTH - distance), PAIR_LENGTH - distance):
            if len(starts) < PAIRS and {start, start + distance} <= free:
                starts.append(start)
                free -= {start, start + distance}
        if len(starts) == PAIRS:
            return source.sample(starts, PAIRS)


def write_pointer(source: random.Random) -> Twins:
    """A question names a person, ``anna?``, and everybody has a value, ``anna=good``.

    The label is the value of the person in question. Each fact is one word, so a network that
    reads word by word can read it. Twins differ in that one value, and in another person's, so that
    the number of good values tells nothing.
    """
    asked, other = source.sample(PEOPLE, 2)
    values = {person: source.choice(VALUES) for person in PEOPLE}
    rest = [source.choice(FILLERS) for _ in range(POINTER_LENGTH - len(PEOPLE) - 1)]
    order = source.sample(range(POINTER_LENGTH), POINTER_LENGTH)
    decides = (order.index(0), order.index(1 + PEOPLE.index(asked)))
    for label in (0, 1):
        values |= {asked: VALUES[label], other: VALUES[1 - label]}
        words = [f"{asked}?", *(f"{person}={value}" for person, value in values.items()), *rest]
        yield Text(tuple(words[place] for place in order), label, decides)


def write_phrase(source: random.Random) -> Twins:
    """An adjective with a negator or an intensifier before it: ``not superb`` is 0, ``not dull`` 1.

    Each of these words stands as often in texts of either label, so no sum of the words' values
    decides, but the pair does.
    """
    good = source.randrange(2)
    adjective = source.choice(GOOD if good else BAD)
    place = source.randrange(PHRASE_LENGTH - 1)
    words = [source.choice(FILLERS) for _ in range(PHRASE_LENGTH)]
    for label in (0, 1):
        before = source.choice(INTENSIFIERS if good == label else NEGATORS)
        words[place : place + 2] = before, adjective
        yield Text(tuple(words), label, (place, place + 1))


def write_planted(source: random.Random) -> Twins:
    """One word of judgement among fillers; it decides alone."""
    place = source.randrange(PLANTED_LENGTH)
    words = [source.choice(FILLERS) for _ in range(PLANTED_LENGTH)]
    for label, judgements in enumerate((BAD, GOOD)):
        words[place] = source.choice(judgements)
        yield Text(tuple(words), label, (place,))


SYNTHETIC_TASKS: dict[str, Callable[[random.Random], Twins]] = {
    "adjacent": partial(write_pairs, distance=1),
    "distant": partial(write_pairs, distance=FAR),
    "pointer": write_pointer,
    "phrase": write_phrase,
    "planted": write_planted,
}


def write_texts(name: str, rows: int, seed: int = 0) -> list[Text]:
    """``rows`` texts of a task, twin after twin; ``DataError`` for an unknown task, or an odd
    number of rows."""
    if name not in SYNTHETIC_TASKS:
        raise DataError(f"no task {name!r}; there are: {', '.join(SYNTHETIC_TASKS)}")
    if rows < 2 or rows % 2:
        raise DataError(f"{name}: texts come in twins, so rows is an even number, not {rows}")
    source = random.Random(f"{name} {seed}")
    return [text for _ in range(rows // 2) for text in SYNTHETIC_TASKS[name](source)]


def write_splits(name: str, rows: int, seed: int = 0) -> Splits:
    """``rows`` texts of a task to train on, and ``HELD_OUT`` others for each of two ends."""
    texts = write_texts(name, rows + 2 * HELD_OUT, seed)
    return Splits(texts[2 * HELD_OUT :], texts[HELD_OUT : 2 * HELD_OUT], texts[:HELD_OUT])


def vocabulary_of(splits: Splits) -> Vocabulary:
    """All words of these texts, in alphabetical order."""
    return Vocabulary(tuple(sorted({w for texts in splits for text in texts for w in text.words})))


def encode_texts(texts: Sequence[Text], vocabulary: Vocabulary) -> Documents:
    """Texts as input of a network, one sequence each."""
    documents = encode_sentences([[text.words] for text in texts], vocabulary, flat=True)
    return replace(documents, labels=np.array([text.label for text in texts], dtype=np.int64))
