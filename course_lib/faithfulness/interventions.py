"""Other attention for the same text: shuffled, with places zeroed, chosen by an adversary.

All look at one document. Its ``attention`` is ``(…, places)``, each row a distribution over the
places where ``real``, of the same shape, is True (everywhere, if not given). ``answer`` is the
model with its attention given: from many attentions ``(m, …, places)`` to class probabilities
``(m, classes)``.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from course_lib.faithfulness.agreement import jensen_shannon, total_variation

Answer = Callable[[np.ndarray], np.ndarray]

SHUFFLES = 100  # as in Jain and Wallace
EPSILON = 0.05
SHIFTS = (1.0, 0.5, 0.25)  # shares of a row's weight that the adversary first moves to one place
ROUNDS, PROPOSALS = 30, 64
NUMBERS_AT_ONCE = 1 << 22  # weights in one question: a square attention has many


class Adversary(NamedTuple):
    """An ``attention`` like the given one, the Jensen-Shannon ``divergence`` between both (mean
    over the rows), and the ``change`` of the output, as a total variation."""

    attention: np.ndarray
    divergence: float
    change: float


def zeroed(attention: np.ndarray, gone: np.ndarray) -> np.ndarray:
    """Attention ``(…, places)`` that is 0 where ``gone``, each row scaled to sum to 1 again.

    Without the scaling the pooled state would shrink, too, and the output would answer two changes
    at once. A row that loses all its weight stays zero. ``ValueError`` for a negative weight.
    """
    attention = np.asarray(attention, dtype=np.float64)
    if (attention < 0).any():
        raise ValueError(f"attention takes weights from 0, got {attention.min():.3g}")
    left = np.where(gone, 0.0, attention)
    total = left.sum(-1, keepdims=True)
    return left / np.where(total == 0, 1.0, total)


def permutation_change(
    answer: Answer,
    attention: np.ndarray,
    real: np.ndarray | None = None,
    shuffles: int = SHUFFLES,
    seed: int = 0,
) -> float:
    """Median total variation |ŷᵖ − ŷ| over shuffles of each row's weights (Jain and Wallace 2019).

    In [0, 1]; 0 says that the output does not depend on which word has which weight, so no ranking
    by attention can be faithful. Every row is shuffled on its own, over its real places.
    """
    if shuffles < 1:
        raise ValueError(f"shuffles takes a whole number from 1, got {shuffles}")
    rows, real_rows = _rows(attention, real)
    random = np.random.default_rng(seed)

    def shuffled() -> np.ndarray:
        other = rows.copy()
        for row, places in zip(other, real_rows):
            row[places] = random.permutation(row[places])
        return other

    def ask(candidates: np.ndarray) -> np.ndarray:
        return _ask(answer, candidates, np.shape(attention))

    output = ask(rows[None])
    at_once = max(1, NUMBERS_AT_ONCE // rows.size)
    changes = [
        total_variation(ask(np.stack([shuffled() for _ in range(start, end)])), output)
        for start in range(0, shuffles, at_once)
        for end in [min(shuffles, start + at_once)]
    ]
    return float(np.median(np.concatenate(changes)))


def adversarial_attention(
    answer: Answer,
    attention: np.ndarray,
    real: np.ndarray | None = None,
    epsilon: float = EPSILON,
    seed: int = 0,
) -> Adversary:
    """The attention furthest from the given one that a search finds within ``epsilon`` of its
    output (after Jain and Wallace 2019, whose search follows gradients).

    Ours needs none, so it takes any model. The divergence is convex, so it is largest in a corner,
    where a row has all its weight on one place. First each row in turn is moved towards the places
    that have the least weight, wholly or in part, as far as the output allows; then shares of
    weight move between random pairs of places. What is found is a lower bound of the largest
    divergence. ``ValueError`` for an epsilon outside [0, 1].
    """
    if not 0 <= epsilon <= 1:
        raise ValueError(f"epsilon takes a total variation from 0 to 1, got {epsilon}")
    rows, real_rows = _rows(attention, real)
    random = np.random.default_rng(seed)
    shape, output = np.shape(attention), _ask(answer, rows[None], np.shape(attention))

    def better(best: Adversary, candidates: np.ndarray) -> Adversary:
        """The furthest of the candidates whose output is allowed, if further than the best."""
        distances = jensen_shannon(candidates, rows).sum(-1) / max(1, real_rows.any(-1).sum())
        further = distances > best.divergence
        if not further.any():
            return best
        candidates, distances = candidates[further], distances[further]
        changes = total_variation(_ask(answer, candidates, shape), output)
        distances[changes > epsilon] = -1
        top = distances.argmax()
        if distances[top] < 0:
            return best
        return Adversary(candidates[top], float(distances[top]), float(changes[top]))

    best = Adversary(rows, 0.0, 0.0)
    movable = (real_rows.sum(-1) > 1).nonzero()[0]
    for row in movable:
        best = better(best, _towards_corners(best.attention, row, real_rows[row]))
    for _ in range(ROUNDS if len(movable) else 0):
        best = better(best, _between_pairs(best.attention, movable, real_rows, random))
    return best._replace(attention=best.attention.reshape(shape).copy())


def _towards_corners(rows: np.ndarray, row: int, real: np.ndarray) -> np.ndarray:
    """Copies of all rows, in each of which some weight of one row has gone to one place."""
    places = real.nonzero()[0]
    most = min(PROPOSALS, max(1, NUMBERS_AT_ONCE // rows.size)) // len(SHIFTS)
    places = places[np.argsort(rows[row, places], kind="stable")][: max(1, most)]
    candidates = np.repeat(rows[None], len(places) * len(SHIFTS), axis=0)
    shifts = np.tile(SHIFTS, len(places))
    candidates[:, row] *= 1 - shifts[:, None]
    candidates[np.arange(len(candidates)), row, np.repeat(places, len(SHIFTS))] += shifts
    return candidates


def _between_pairs(
    rows: np.ndarray, movable: np.ndarray, real: np.ndarray, random: np.random.Generator
) -> np.ndarray:
    """Copies of all rows, in each of which a share of one place's weight has gone to another."""
    candidates = np.repeat(rows[None], min(PROPOSALS, max(1, NUMBERS_AT_ONCE // rows.size)), axis=0)
    for candidate in candidates:
        row = random.choice(movable)
        source, target = random.choice(real[row].nonzero()[0], 2, replace=False)
        weight = candidate[row, source] * random.choice([1.0, random.random()])
        candidate[row, [source, target]] += [-weight, weight]
    return candidates


def _rows(attention: np.ndarray, real: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """The attention and its real places as ``(rows, places)``; ``ValueError`` unless each row is a
    distribution over its real places."""
    attention = np.asarray(attention, dtype=np.float64)
    real = np.ones(attention.shape, dtype=bool) if real is None else np.asarray(real, dtype=bool)
    if not attention.size or real.shape != attention.shape:
        raise ValueError(f"real has the shape {real.shape}, attention {attention.shape}")
    wrong = real.any(-1) & (np.abs(attention.sum(-1) - 1) > 1e-3)
    if wrong.any() or (attention < 0).any() or attention[~real].any():
        raise ValueError(
            "attention must be distributions over the real places: no weight below 0, none "
            "elsewhere, and rows that sum to 1"
        )
    return attention.reshape(-1, attention.shape[-1]), real.reshape(-1, attention.shape[-1])


def _ask(answer: Answer, candidates: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    return np.asarray(answer(candidates.reshape(-1, *shape)), dtype=np.float64)
