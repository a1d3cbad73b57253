"""The smallest and largest area that any ranking of a document's words reaches.

A model that falls at once without any word gives every ranking a large AOPC, one that never falls a
small one. Where an area lies between its document's limits can be compared between models
(Edin et al. 2025, normalised AOPC).

A set of words is written as the bits of a number: bit i is 1 if word i belongs to the set. Of the
three words "not", "good", "film", 0b011 = 3 is the set {"not", "good"} and 0b100 = 4 is {"film"}.
The ranking "good", "film", "not" removes first 0b010 = 2, then 0b110 = 6 and at last 0b111 = 7.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from course_lib.faithfulness.documents import (
    BAR_AFTER,
    Document,
    Model,
    Variant,
    ask,
    lottery,
    predicted,
    words_of,
)
from course_lib.faithfulness.erasure import SHARES, counts, orders, top_words
from course_lib.front_end import progress

EXACT_UP_TO, BEAM_UP_TO = 8, 20  # words
BEAM = 5  # sets that are kept at each size
SAMPLES = 50  # random rankings of a longer document
MEASURES = ("comprehensiveness", "sufficiency")
# (sets of words, each as the bits of a number) → what the predicted class loses by each
LossesOf = Callable[[Iterable[int]], list[float]]


class Limits(NamedTuple):
    """The least and the largest AOPC of each document, ``lower`` and ``upper`` ``(documents,)``.

    ``how`` says how they were found: ``"exact"``, or by a search, ``"beam"`` or ``"sampled"``. Some
    ranking reaches the limits of a search; the true ones may lie further out.
    """

    lower: np.ndarray
    upper: np.ndarray
    how: tuple[str, ...]


def limits(
    model: Model,
    documents: Sequence[Document],
    measure: str = "comprehensiveness",
    shares: Sequence[float] = SHARES,
    filler: str | None = None,
    seed: int = 0,
    rankings: Sequence[Sequence[np.ndarray]] = (),
    most: Sequence[int] | None = None,
    beam_up_to: int = BEAM_UP_TO,
    samples: int = SAMPLES,
) -> Limits:
    """The least and the largest AOPC of a measure over all rankings of each document.

    They are exact up to 8 words, where the model answers every set of words; a beam search finds
    them up to ``beam_up_to`` words. For longer documents they are the least and the largest of
    ``samples`` random rankings and of two others: the words in the order of the loss that each
    causes alone, rising and falling. On long texts a good ranking passes what such a sample finds,
    so give the ``rankings`` that are to be compared, importances as elsewhere: then none of them
    lies outside. ``filler`` and ``most`` are as in ``comprehensiveness``. ``ValueError`` unless
    ``measure`` is ``"comprehensiveness"`` or ``"sufficiency"``.
    """
    if measure not in MEASURES:
        raise ValueError(f"measure takes one of {', '.join(MEASURES)}, got {measure!r}")
    classes, full = predicted(model, documents)
    keep_top, count = measure == "sufficiency", len(documents)
    by_ranking = [orders(documents, ranking, seed) for ranking in rankings]
    compared = zip(*by_ranking) if by_ranking else [()] * count
    lower, upper, how = [], [], []
    bar = progress(documents, f"limits of {measure}", leave=False, delay=BAR_AFTER)
    each = zip(bar, classes, full, [None] * count if most is None else most, compared)
    for document, label, probability, limit, ranked in each:
        words = len(words_of(document))
        weights = np.bincount(counts(words, shares, limit), minlength=words + 1) / len(shares)
        losses_of = _losses_of(model, document, filler, int(label), probability, keep_top)
        how.append(_way(words, beam_up_to))
        if how[-1] == "exact":
            least, largest = _exact(losses_of, weights)
        elif how[-1] == "beam":
            least, largest = -_beam(losses_of, weights, -1), _beam(losses_of, weights, 1)
        else:
            least, largest = _sampled(losses_of, weights, lottery(document, seed), samples)
        areas = _areas(losses_of, weights, ranked)
        lower.append(min([least, *areas]))
        upper.append(max([largest, *areas]))
    return Limits(np.array(lower), np.array(upper), tuple(how))


def normalised_aopc(areas: np.ndarray, between: Limits) -> np.ndarray:
    """(AOPC − lower) / (upper − lower), ``(documents,)``.

    1 is the best comprehensiveness that any ranking reaches, and 0 the best sufficiency. The
    numbers lie in [0, 1] if the limits are exact or the ranking was among those given to
    ``limits``; otherwise they can lie outside, and we do not cut that off. NaN where all rankings
    give the same area, as in a text of one word.
    """
    room = between.upper - between.lower
    share = np.full(len(areas), np.nan)
    np.divide(areas - between.lower, room, out=share, where=room > 1e-9)
    return share


def _way(words: int, beam_up_to: int) -> str:
    """How the limits of a document of so many words are found."""
    if words <= EXACT_UP_TO:
        return "exact"
    return "beam" if words <= beam_up_to else "sampled"


def _losses_of(
    model: Model, document: Document, filler: str | None, j: int, full: float, keep_top: bool
) -> LossesOf:
    """Make the function that gives the loss p(x)_j − p_j of each set of top words, p(x)_j being
    ``full``. It removes these words, or with ``keep_top`` all others.

    It asks the model about each set only once. Of "not good film", ``losses_of([2, 6])`` are the
    losses without "good" (0b010) and without "good" and "film" (0b110).
    """
    bit_of_word = 1 << np.arange(len(words_of(document)), dtype=object)
    known: dict[int, float] = {}

    def losses_of(sets: Iterable[int]) -> list[float]:
        sets = list(sets)
        new = list(dict.fromkeys(top for top in sets if top not in known))
        if new:
            masks = [(bit_of_word & top).astype(bool) for top in new]
            variants = [Variant(document, top if keep_top else ~top, filler) for top in masks]
            known.update(zip(new, full - ask(model, variants)[:, j], strict=True))
        return [float(known[top]) for top in sets]

    return losses_of


def _exact(losses_of: LossesOf, weights: np.ndarray) -> tuple[float, float]:
    """Compute the least and the largest AOPC of all rankings.

    ``weights[k]`` is the weight of the loss with k top words in the AOPC. The best ranking that
    begins with the words of a set is the best of a set with one word less, followed by that word.
    So 2ⁿ sets tell of all n! rankings: the best way to 0b011 leads through 0b001 or 0b010.
    """
    words = len(weights) - 1
    asked = [top for top in range(1, 1 << words) if weights[top.bit_count()]]
    losses = dict(zip(asked, losses_of(asked), strict=True))
    least, most = [0.0] * (1 << words), [0.0] * (1 << words)
    for top in range(1, 1 << words):
        before = [top ^ (1 << word) for word in range(words) if top >> word & 1]
        gain = weights[top.bit_count()] * losses.get(top, 0.0)
        least[top] = gain + min(least[smaller] for smaller in before)
        most[top] = gain + max(most[smaller] for smaller in before)
    return least[-1], most[-1]


def _beam(losses_of: LossesOf, weights: np.ndarray, sign: int) -> float:
    """Build a ranking word by word; return ``sign`` times its AOPC.

    Each of the sets that are kept grows by each word, so {"good"} = 0b010 becomes 0b011 and 0b110.
    The ``BEAM`` new sets with the largest weighted sum of losses so far are kept; among equal sums,
    those with the larger loss of their own.
    """
    words, beam = len(weights) - 1, {0: 0.0}
    for size in range(1, int(weights.nonzero()[0].max()) + 1):
        sums: dict[int, float] = {}
        for top, total in beam.items():
            for word in range(words):
                larger = top | 1 << word
                if larger != top:
                    sums[larger] = max(total, sums.get(larger, -np.inf))
        losses = {top: sign * loss for top, loss in zip(sums, losses_of(sums), strict=True)}
        sums = {top: total + weights[size] * losses[top] for top, total in sums.items()}
        best = sorted(sums, key=lambda top: (sums[top], losses[top]), reverse=True)[:BEAM]
        beam = {top: sums[top] for top in best}
    return max(beam.values())


def _sampled(
    losses_of: LossesOf, weights: np.ndarray, random: np.random.Generator, samples: int
) -> tuple[float, float]:
    """Return the least and the largest AOPC of some rankings: random ones, and the words by the
    loss that each causes alone, in rising and in falling order."""
    words = len(weights) - 1
    alone = np.argsort(losses_of(1 << word for word in range(words)), kind="stable")
    drawn = [random.permutation(words) for _ in range(samples)]
    areas = _areas(losses_of, weights, [alone, alone[::-1], *drawn])
    return min(areas), max(areas)


def _areas(losses_of: LossesOf, weights: np.ndarray, ranked: Sequence[np.ndarray]) -> list[float]:
    """The AOPC of each order of the words, ``weights`` as in ``_exact``."""
    sizes = weights.nonzero()[0]
    tops = (top_words(order, size).nonzero()[0].tolist() for order in ranked for size in sizes)
    losses = losses_of(sum(1 << word for word in top) for top in tops)
    return (np.reshape(losses, (len(ranked), len(sizes))) @ weights[sizes]).tolist()
