"""One document or many: what a trained system predicts and attended to, and which to show first."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import datasets
import numpy as np

from course_lib.metrics.classification import Predictions
from course_lib.runs.systems import NeuralSystem, System
from course_lib.runs.systems.system import Text
from course_lib.views.reading import Reading

ATTENTION = "attention"  # what a document model calls it
AT_ONCE = 100  # documents in a batch of read_rows
CONFIDENT = 0.9  # the probability of a prediction that is clear
LENGTHS = (0.1, 0.5)  # quantiles: neither the shortest documents nor the longer half
# no page of the course opens with these words; whoever looks further may meet them
WORDS = (
    "arse arsehole ass asses asshole assholes bastard bastards bitch bitches boobs bullshit cock "
    "crap crappy cunt cunts dick dicks dildo fag faggot fags fuck fucked fucker fuckers fucking "
    "fucks hooker masturbate masturbating masturbation motherfucker nigger niggers orgasm orgy "
    "penis piss pissed porn porno pussy rape raped rapes raping retard retarded shit shits shitty "
    "slut sluts tits vagina wank wanker whore whores"
)
PROFANITY = frozenset(WORDS.split())


def system_of(source: Any) -> System:
    """The system of a run; anything else is taken as a system itself."""
    return getattr(source, "system", source)


def read_text(source: Any, text: Text) -> Reading:
    """What a run or a system makes of a text: as typed, as ``TokenisedText``, or a corpus row."""
    return system_of(source).read(text)


def read_rows(source: Any, rows: datasets.Dataset) -> list[Reading]:
    """``read_text`` of every row, in their order, and much sooner: a network reads documents that
    are equally long together, so that none of them is padded."""
    system = system_of(source)
    if not isinstance(system, NeuralSystem):
        return [system.read(row) for row in rows]
    readings: dict[int, Reading] = {}
    alike = defaultdict(list)
    texts = list(rows)
    for place, text in enumerate(texts):
        lengths = tuple(map(len, system.cut(text)))
        alike[lengths if system.reads_sentences else sum(lengths)].append(place)
    for places in alike.values():
        for start in range(0, len(places), AT_ONCE):
            some = places[start : start + AT_ONCE]
            read = system.read_together([texts[place] for place in some])
            readings.update(zip(some, read, strict=True))
    return [readings[place] for place in range(len(texts))]


def is_profane(tokens: Iterable[str]) -> bool:
    """Whether one of the tokens is in ``PROFANITY``, in whatever case."""
    return not PROFANITY.isdisjoint(token.lower() for token in tokens)


def reading_order(documents: Sequence[Sequence[str]], predictions: Predictions) -> list[int]:
    """The places of all documents: clear successes, then all mistakes, then the other successes.

    Documents are given by their tokens. A clear one is without profanity, is predicted with
    ``CONFIDENT`` or more, and has a length between the quantiles ``LENGTHS`` of all. Mistakes
    begin with the clear ones. Without any clear success, the nearest to one comes first: length
    gives way first, then confidence, and profanity last. Of several, the surest stands first.
    """
    confidence, guess = predictions.probabilities.max(1)
    right = (guess == predictions.labels).tolist()
    lengths = np.array([len(tokens) for tokens in documents])
    low, high = np.quantile(lengths, LENGTHS)
    lacks = [
        (4 * is_profane(tokens) + 2 * (sure < CONFIDENT) + (not low <= length <= high), -sure)
        for tokens, sure, length in zip(documents, confidence.tolist(), lengths, strict=True)
    ]
    order = sorted(range(len(lacks)), key=lacks.__getitem__)
    successes = [place for place in order if right[place]]
    count = sum(lacks[place][0] == 0 for place in successes) or 1
    mistakes = [place for place in order if not right[place]]
    return successes[:count] + mistakes + successes[count:]
