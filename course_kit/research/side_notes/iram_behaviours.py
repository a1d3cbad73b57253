"""What IRAM's steps do in sentences: the paper's three behaviours (Fig. 6) as criteria that any
network can be asked about."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import datasets
import numpy as np

from course_kit.research.report.frames import to_markdown
from course_lib.views.reading import Reading

NEGATORS = frozenset(
    ("not", "n't", "no", "never", "nothing", "without", "hardly", "neither", "nor", "cannot")
)
REACH = 3  # so many places behind a negator may the word stand that it negates
HALF = 0.5  # the share of a step's attention on summaries from which on it hands them on
OFTEN, TIMES = 8, 2.5  # texts that hold a word, and how much likelier it is in one class

Moods = Mapping[str, int]  # +1 or −1 by word, in small letters
Criterion = Callable[[Reading, Moods], bool | None]


class Rate(NamedTuple):
    """Of ``asked`` sentences with a structure, ``met`` show the behaviour."""

    met: int
    asked: int

    @property
    def share(self) -> float:
        """In [0, 1]; 0 if no sentence has the structure."""
        return self.met / max(1, self.asked)


def passes_on(reading: Reading) -> bool:
    """Whether every step after the first gives at least ``HALF`` of its attention to summaries."""
    return bool((_steps(reading)[1:, len(reading.tokens) :].sum(1) >= HALF).all())


def mood_words(rows: datasets.Dataset) -> dict[str, int]:
    """Words of a mood, from labels alone: +1 or −1 for those in at least ``OFTEN`` texts that are
    ``TIMES`` as likely in texts of one of two classes as in the other; negators have none."""
    texts, holding = Counter(rows["label"]), Counter()
    for tokens, label in zip(rows["tokens"], rows["label"], strict=True):
        holding.update((word, label) for word in {token.lower() for token in tokens})
    found = {}
    for word in {word for word, _ in holding} - NEGATORS:
        bad, good = holding[word, 0], holding[word, 1]
        odds = np.log((good + 1) / texts[1]) - np.log((bad + 1) / texts[0])
        if bad + good >= OFTEN and abs(odds) >= np.log(TIMES) and word.isalpha():
            found[word] = int(np.sign(odds))
    return found


def pass_through(reading: Reading, moods: Moods) -> bool | None:
    """One mood and no negator: step 1 looks most at a word of that mood, the others pass on. None
    for a sentence without that structure."""
    signs = _signs(reading, moods)
    if _negators(reading) or len(set(signs) - {0}) != 1:
        return None
    return bool(signs[_heaviest(reading)[0]]) and passes_on(reading)


def negation(reading: Reading, moods: Moods) -> bool | None:
    """A negator with a word of some mood at most ``REACH`` places behind it: step 1 leaves the
    negator out, and a later step joins it to a summary. None likewise.

    To leave out is to give less than uniform attention would. To join is to look at no word more
    than at the negator, and both at it and at the summaries at least as much as uniform attention.
    """
    signs, words = _signs(reading, moods), len(reading.tokens)
    places = [i for i in _negators(reading) if any(signs[i + 1 : i + 1 + REACH])]
    if not places:
        return None
    weights = _steps(reading)
    return any(
        weights[0, place] < 1 / words
        and any(_joins(row, place, words, step) for step, row in enumerate(weights[1:], start=1))
        for place in places
    )


def _joins(row: np.ndarray, place: int, words: int, earlier: int) -> bool:
    """Whether a step after ``earlier`` ones joins the word at ``place`` to summaries."""
    uniform = 1 / (words + earlier)
    top = row[place] >= max(row[:words].max(), uniform)
    return bool(top and row[words:].sum() >= earlier * uniform)


def contrast(reading: Reading, moods: Moods) -> bool | None:
    """Words of both moods and no negator: two steps look most at words of opposite moods. None
    likewise."""
    signs = _signs(reading, moods)
    if _negators(reading) or len(set(signs) - {0}) != 2:
        return None
    return {-1, 1} <= {signs[top] for top in _heaviest(reading) if top < len(signs)}


BEHAVIOURS: dict[str, Criterion] = {
    "pass-through": pass_through,
    "negation": negation,
    "contrast": contrast,
}


def behaviour_rates(
    readings: Sequence[Reading], moods: Moods, criteria: Mapping[str, Criterion] = BEHAVIOURS
) -> dict[str, Rate]:
    """How often readings of an IRAM meet each criterion, among those with its structure."""
    rates = {}
    for name, criterion in criteria.items():
        verdicts = [criterion(reading, moods) for reading in readings]
        rates[name] = Rate(verdicts.count(True), len(verdicts) - verdicts.count(None))
    return rates


def rates_table(rates: Mapping[str, Mapping[str, Rate]]) -> str:
    """``behaviour_rates`` of several networks, by their names, as a markdown table in %."""
    rows = [
        [f"{name}, %", rate.asked, *(f"{100 * of[name].share:.1f}" for of in rates.values())]
        for name, rate in next(iter(rates.values())).items()
    ]
    return to_markdown(["behaviour", "sentences asked", *rates], rows, "lr")


def _steps(reading: Reading) -> np.ndarray:
    if "steps" not in reading.attention:
        raise ValueError(
            f"this reading has no steps, only {list(reading.attention)}: read with an IRAM, and a "
            "text that holds a word"
        )
    return reading.attention["steps"].weights


def _heaviest(reading: Reading) -> list[int]:
    """The column that each step looks at most, words first, then summaries."""
    return _steps(reading).argmax(1).tolist()


def _signs(reading: Reading, moods: Moods) -> list[int]:
    return [moods.get(word.lower(), 0) for word in reading.tokens]


def _negators(reading: Reading) -> list[int]:
    return [place for place, word in enumerate(reading.tokens) if word.lower() in NEGATORS]
