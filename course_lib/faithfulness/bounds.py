"""The smallest and largest area that any ranking of a document's words reaches.

A model that falls at once without any word gives every ranking a large AOPC, one that never falls a
small one. Where an area lies between its document's limits can be compared between models
(Edin et al. 2025, normalised AOPC).
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
from course_lib.faithfulness.erasure import SHARES, counts, first, orders
from course_lib.front_end import progress

EXACT_UP_TO, BEAM_UP_TO = 8, 20  # words
BEAM = 5  # sets that are kept at each size
SAMPLES = 50  # random rankings of a longer document
MEASURES = ("comprehensiveness", "sufficiency")
Score = Callable[[Iterable[int]], list[float]]


class Limits(NamedTuple):
    """``lower`` and ``upper`` ``(documents,)``, and ``how`` each was found: ``"exact"``, ``"beam"``
    or ``"sampled"``. A searched limit is one that some ranking reaches; the true one may lie
    further out."""

    lower: np.ndarray
    upper: np.ndarray
    how: tuple[str, ...]


def limits(
    model: Model,
    documents: Sequence[Document],
    measure: str = "comprehensiveness",
    shares: Sequence[float] = SHARES,
    mask: str | None = None,
    seed: int = 0,
    rankings: Sequence[Sequence[np.ndarray]] = (),
    most: Sequence[int] | None = None,
    beam_up_to: int = BEAM_UP_TO,
    samples: int = SAMPLES,
) -> Limits:
    """The least and the largest AOPC of a measure over all rankings of each document.

    Exact up to 8 words, where all sets of words are asked; a beam search ``beam_up_to`` 20; beyond,
    the best and worst of 50 random ``samples`` and of the words' own scores, in falling and in
    rising order. ``most`` as in ``comprehensiveness``.
    On long texts a good ranker passes what such a sample finds, so give the ``rankings`` that are
    to be compared, importances as elsewhere: then none of them lies outside. ``measure`` is
    ``"comprehensiveness"`` or ``"sufficiency"``, else ``ValueError``.
    """
    if measure not in MEASURES:
        raise ValueError(f"measure takes one of {', '.join(MEASURES)}, got {measure!r}")
    classes, full = predicted(model, documents)
    compared = list(zip(*(orders(documents, ranking, seed) for ranking in rankings)))
    lower, upper, how = [], [], []
    bar = progress(documents, f"limits of {measure}", leave=False, delay=BAR_AFTER)
    for document, j, p, limit in zip(bar, classes, full, most or [None] * len(documents)):
        words = len(words_of(document))
        weights = np.bincount(counts(words, shares, limit), minlength=words + 1) / len(shares)
        score = _score(model, document, mask, int(j), p, measure == "sufficiency")
        if words <= EXACT_UP_TO:
            found, name = _exact(score, weights), "exact"
        elif words <= beam_up_to:
            found, name = (-_beam(score, weights, -1), _beam(score, weights, 1)), "beam"
        else:
            found, name = _sampled(score, weights, lottery(document, seed), samples), "sampled"
        areas = _areas(score, weights, compared[len(how)] if compared else [])
        lower.append(min([found[0], *areas]))
        upper.append(max([found[1], *areas]))
        how.append(name)
    return Limits(np.array(lower), np.array(upper), tuple(how))


def normalised_aopc(areas: np.ndarray, found: Limits) -> np.ndarray:
    """(AOPC − lower) / (upper − lower), ``(documents,)``.

    1 is the best comprehensiveness that any ranking reaches, and 0 the best sufficiency. In [0, 1]
    if the limits are exact or know the ranking; others can be passed, and we do not cut that off.
    NaN where all rankings give the same area, as in a text of one word.
    """
    room = found.upper - found.lower
    share = np.full(len(areas), np.nan)
    np.divide(areas - found.lower, room, out=share, where=room > 1e-9)
    return share


def _score(
    model: Model, document: Document, mask: str | None, j: int, full: float, keep: bool
) -> Score:
    """The loss with sets of top words, each set the bits of a number; every set is asked once."""
    bits, known = 1 << np.arange(len(words_of(document)), dtype=object), {}

    def score(sets: Iterable[int]) -> list[float]:
        sets = list(sets)
        new = list(dict.fromkeys(top for top in sets if top not in known))
        if new:
            tops = [(bits & top).astype(bool) for top in new]
            variants = [Variant(document, top if keep else ~top, mask) for top in tops]
            known.update(zip(new, full - ask(model, variants)[:, j], strict=True))
        return [float(known[top]) for top in sets]

    return score


def _exact(score: Score, weights: np.ndarray) -> tuple[float, float]:
    """By dynamic programming over the sets: the best way to a set leads through the best way to
    one of those with a word less. So 2ⁿ sets tell of all n! rankings."""
    words = len(weights) - 1
    asked = [top for top in range(1, 1 << words) if weights[top.bit_count()]]
    losses = dict(zip(asked, score(asked), strict=True))
    least, most = [0.0] * (1 << words), [0.0] * (1 << words)
    for top in range(1, 1 << words):
        before = [top ^ (1 << word) for word in range(words) if top >> word & 1]
        gain = weights[top.bit_count()] * losses.get(top, 0.0)
        least[top] = gain + min(least[smaller] for smaller in before)
        most[top] = gain + max(most[smaller] for smaller in before)
    return least[-1], most[-1]


def _beam(score: Score, weights: np.ndarray, sign: int) -> float:
    """``sign`` times the AOPC of a ranking found word by word: of all sets a word larger, those
    with the largest sum so far go on; equal sums are told apart by the loss of the set itself."""
    words, beam = len(weights) - 1, {0: 0.0}
    for size in range(1, int(weights.nonzero()[0].max()) + 1):
        sums: dict[int, float] = {}
        for top, total in beam.items():
            for word in range(words):
                larger = top | 1 << word
                if larger != top:
                    sums[larger] = max(total, sums.get(larger, -np.inf))
        losses = {top: sign * loss for top, loss in zip(sums, score(sums), strict=True)}
        sums = {top: total + weights[size] * losses[top] for top, total in sums.items()}
        best = sorted(sums, key=lambda top: (sums[top], losses[top]), reverse=True)[:BEAM]
        beam = {top: sums[top] for top in best}
    return max(beam.values())


def _sampled(
    score: Score, weights: np.ndarray, random: np.random.Generator, samples: int
) -> tuple[float, float]:
    words = len(weights) - 1
    alone = np.argsort(score(1 << word for word in range(words)), kind="stable")
    drawn = [random.permutation(words) for _ in range(samples)]
    areas = _areas(score, weights, [alone, alone[::-1], *drawn])
    return min(areas), max(areas)


def _areas(score: Score, weights: np.ndarray, ranked: Sequence[np.ndarray]) -> list[float]:
    """The AOPC of each order of the words."""
    sizes = weights.nonzero()[0]
    tops = (first(order, size).nonzero()[0].tolist() for order in ranked for size in sizes)
    losses = score(sum(1 << word for word in top) for top in tops)
    return (np.reshape(losses, (len(ranked), len(sizes))) @ weights[sizes]).tolist()
