"""Comprehensiveness at equal numbers of removed words, and the first edition's, side by side.

The first k words of a ranking are removed, and the loss of the predicted class, p(x)_j − p(x∖k)_j,
is averaged over the numbers k of a *ruler*. The result is placed between the least and the largest
that rankings of the same text reach at the same k: 1 is best.

Words of equal weight come in a random order, by random numbers that nothing else uses, and the
result is the mean over several such orders. So sparse attention, like any other, loses k words.
"""

from collections.abc import Sequence
from typing import NamedTuple
from zlib import crc32

import numpy as np

from course_lib.faithfulness.documents import Variant, ask, predicted
from course_lib.faithfulness.erasure import counts
from course_lib.faithfulness.rankers import leave_one_out

Text = Sequence[str]
SIZES = (1, 2, 4, 8)
SHARES = (0.1, 0.2, 0.5)
EQUAL_K, FIRST_WORD, EQUAL_SHARES = "equal k", "first word", "equal shares"
OLD = "up to the support"  # the first edition's: no more words than have weight
RULERS = (EQUAL_K, EQUAL_SHARES, FIRST_WORD, OLD)
DRAWS = 10  # orders of words of equal weight
RANDOM_RANKINGS = 12  # among those that bound a text's losses
LEAST_ROOM = 0.01  # between the limits; below, no ranking of a text matters
BEAM = 5  # sets that are kept at each size
TIES, RANDOM = 1, 2  # streams of random numbers


class Place(NamedTuple):
    """Where a ranking lies between a text's limits, ``(texts,)`` each: its ``value``, NaN without
    room; and the mean ``loss`` that it causes, ``lower`` and ``upper`` limit."""

    value: np.ndarray
    loss: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


def stream(text: Text, which: int) -> np.random.Generator:
    """Random numbers of a text's own, of one of the two streams."""
    return np.random.default_rng([which, crc32("\n".join(text).encode())])


def sizes(words: int, support: int) -> dict[str, tuple[int, ...]]:
    """How many words each ruler removes of a text, if ``support`` of them have weight."""
    shares = tuple(int(count) for count in counts(words, SHARES))
    return {
        EQUAL_K: tuple(min(k, words - 1) for k in SIZES),
        EQUAL_SHARES: shares,
        FIRST_WORD: (1,),
        OLD: tuple(min(count, max(1, support)) for count in shares),
    }


def orders(text: Text, importance: np.ndarray, draws: int = DRAWS) -> np.ndarray:
    """Places of the words, the most important first, ``(draws, words)``; a single order where no
    two words have the same importance."""
    if len(np.unique(importance)) == len(importance):
        draws = 1
    lots = stream(text, TIES).random((draws, len(text)))
    return np.array([np.lexsort((lot, -np.asarray(importance))) for lot in lots])


def random_orders(text: Text) -> np.ndarray:
    """``RANDOM_RANKINGS`` random orders, the same for every network."""
    source = stream(text, RANDOM)
    return np.array([source.permutation(len(text)) for _ in range(RANDOM_RANKINGS)])


def losses(
    model: object,
    texts: Sequence[Text],
    ranked: Sequence[np.ndarray],
    numbers: Sequence[Sequence[int]],
    filler: str | None = None,
) -> list[np.ndarray]:
    """What the predicted class loses without the first k words of an order.

    Parameters
    ----------
    ranked: per text the orders ``(orders, words)``
    numbers: per text the numbers k
    filler: stands in the place of a removed word; by default the word is deleted

    Returns
    -------
    Per text ``(orders, numbers)``.
    """
    classes, full = predicted(model, texts)
    variants: list[Variant] = []
    asked: list[tuple[np.ndarray, int]] = []  # per text: which variant each loss is of
    for text, some, ks in zip(texts, ranked, numbers, strict=True):
        known: dict[bytes, int] = {}
        rows = np.empty((len(some), len(ks)), dtype=int)
        for row, order in enumerate(some):
            for column, k in enumerate(ks):
                keep = np.ones(len(text), dtype=bool)
                keep[order[:k]] = False
                if keep.tobytes() not in known:
                    known[keep.tobytes()] = len(variants)
                    variants.append(Variant(text, keep, filler))
                rows[row, column] = known[keep.tobytes()]
        asked.append(rows)
    answers = ask(model, variants, "erasure")
    return [full[n] - answers[rows, classes[n]] for n, rows in enumerate(asked)]


def places(
    model: object,
    texts: Sequence[Text],
    rankings: dict[str, Sequence[np.ndarray]],
    support: Sequence[int],
    filler: str | None = None,
) -> dict[tuple[str, str], Place]:
    """Where each ranking lies by each ruler, by names of ruler and ranking.

    ``rankings`` holds one array of importances per text. ``"random"`` is added. The limits are
    those of all these rankings and of the words by their own effect, falling and rising.
    """
    alone = leave_one_out(model, texts, filler)
    groups = {name: [orders(t, i) for t, i in zip(texts, each)] for name, each in rankings.items()}
    groups["random"] = [random_orders(text) for text in texts]
    groups["limits"] = [np.stack([np.argsort(-a), np.argsort(a)]) for a in alone]
    ranked = [np.concatenate(of_text) for of_text in zip(*groups.values())]
    wanted = [sizes(len(text), n) for text, n in zip(texts, support, strict=True)]
    numbers = [sorted({k for ks in each.values() for k in ks}) for each in wanted]
    lost = losses(model, texts, ranked, numbers, filler)
    found = {}
    for ruler in RULERS:
        areas = [
            loss[:, np.searchsorted(ks, each[ruler])].mean(1)
            for loss, ks, each in zip(lost, numbers, wanted)
        ]
        lower, upper = (np.array([end(area) for area in areas]) for end in (np.min, np.max))
        start = np.zeros(len(texts), dtype=int)
        for name, of_texts in groups.items():
            stop = start + [len(each) for each in of_texts]
            loss = np.array([area[a:b].mean() for area, a, b in zip(areas, start, stop)])
            found[ruler, name] = Place(between(loss, lower, upper), loss, lower, upper)
            start = stop
    return found


def between(loss: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """(loss − lower) / (upper − lower); NaN where no ranking has room."""
    room = upper - lower
    value = np.full(len(loss), np.nan)
    np.divide(loss - lower, room, out=value, where=room > LEAST_ROOM)
    return value


def beam_limits(model: object, texts: Sequence[Text], filler: str | None = None) -> np.ndarray:
    """The largest mean loss at ``SIZES`` that a beam search finds, ``(texts,)``.

    Word after word, the ``BEAM`` sets with the largest sum of losses so far are kept, and among
    equal sums those with the larger loss of their own.
    """
    classes, full = predicted(model, texts)
    beams: list[dict[frozenset, float]] = [{frozenset(): 0.0} for _ in texts]
    for size in range(1, max(SIZES) + 1):
        grown = [grow(beam, len(text)) for beam, text in zip(beams, texts, strict=True)]
        variants = [
            Variant(text, ~np.isin(np.arange(len(text)), list(gone)), filler)
            for text, sums in zip(texts, grown)
            for gone in sums
        ]
        answers = np.split(ask(model, variants, "beam"), np.cumsum(list(map(len, grown)))[:-1])
        for n, (sums, left) in enumerate(zip(grown, answers)):
            lost = full[n] - left[:, classes[n]]
            totals = np.array(list(sums.values())) + (size in SIZES) * lost
            best = np.lexsort((-lost, -totals))[:BEAM]
            sets = list(sums)
            beams[n] = {sets[place]: float(totals[place]) for place in best}
    return np.array([max(beam.values()) for beam in beams]) / len(SIZES)


def grow(beam: dict[frozenset, float], words: int) -> dict[frozenset, float]:
    """Each set with each further word, and the largest sum that leads to it."""
    sums: dict[frozenset, float] = {}
    for gone, total in beam.items():
        for word in set(range(words)) - gone:
            larger = gone | {word}
            sums[larger] = max(total, sums.get(larger, -np.inf))
    return sums
