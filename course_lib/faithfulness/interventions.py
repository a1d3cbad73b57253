"""Alternative attention for one document: shuffled, partly zeroed, or chosen by an adversary.

Its ``attention`` has the shape ``(…, positions)``; each row is a distribution over the positions
where ``real``, of the same shape, is True (all of them by default). ``answer`` runs the model with
given attention: from ``(m, …, positions)`` to class probabilities ``(m, classes)``.
"""

from collections.abc import Callable
from itertools import chain
from typing import NamedTuple

import numpy as np

from course_lib.faithfulness.agreement import jensen_shannon, total_variation

Answer = Callable[[np.ndarray], np.ndarray]

SHUFFLES = 100  # as in Jain and Wallace
EPSILON = 0.05
ROUNDS, PROPOSALS = 15, 64  # of random moves, from each of two starts
PAIRS, HALVINGS = 8, 8  # ways that are searched, and how finely: to a 256th of their length
TURNS = 4  # of moving rows together: all, then a random half of them at a time
GROW, SHRINK = 1.5, 0.6  # of the next moves, after a round that improved and one that did not
NUMBERS_AT_ONCE = 1 << 22  # weights in one question: a square attention has many


class Adversary(NamedTuple):
    """An ``attention`` like the given one, the Jensen-Shannon ``divergence`` between both (mean
    over the rows), and the ``change`` of the output, as a total variation."""

    attention: np.ndarray
    divergence: float
    change: float


def zeroed(attention: np.ndarray, gone: np.ndarray) -> np.ndarray:
    """Attention ``(…, positions)`` that is 0 where ``gone``, each row scaled to sum to 1 again.

    Without the scaling the pooled state would also shrink, and the output would reflect two changes
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
    by attention can be faithful. Every row is shuffled on its own, over its real positions.
    """
    rows, real_rows = _rows(attention, real)
    random, shape = np.random.default_rng(seed), np.shape(attention)

    def shuffled() -> np.ndarray:
        if real_rows.all():  # as below, in an eighth of the time
            return random.permuted(rows, axis=1)
        other = rows.copy()
        for row, places in zip(other, real_rows):
            row[places] = random.permutation(row[places])
        return other

    output = _ask(answer, rows[None], shape)
    at_once = max(1, NUMBERS_AT_ONCE // rows.size)
    counts = [min(at_once, shuffles - start) for start in range(0, shuffles, at_once)]
    changes = [
        total_variation(_ask(answer, np.stack([shuffled() for _ in range(count)]), shape), output)
        for count in counts
    ]
    return float(np.median(np.concatenate(changes)))


def adversarial_attention(
    answer: Answer,
    attention: np.ndarray,
    real: np.ndarray | None = None,
    epsilon: float = EPSILON,
    seed: int = 0,
    together: bool = False,
) -> Adversary:
    """The attention furthest from the given one that a search finds within ``epsilon`` of its
    output (after Jain and Wallace 2019, whose search follows gradients).

    Ours needs no gradients, so it works for any model. The divergence is convex, so it is largest
    on the boundary of the set of attentions whose output stays within ``epsilon``: with all of a
    row's weight on one position, or shared by two if the first lowers the output and the second
    raises it. Each row in turn is tried there. Random moves of weight follow, from the best that
    was found and from the attention itself; they become larger after a success and smaller after a
    failure. What is found is a lower bound of the largest divergence. With three positions it came
    within 0.01 of the optimum in more than 95 % of random cases (in the tests, by a grid).

    A square attention has thousands of rows, too many for trying each: ``together`` all of them go
    to corners, then random halves. Between two such attentions, whose rows are exchanged instead of
    mixed, the search looks for the same output; and between the best and each for the last allowed.
    With a hundred rows it came as far as by turns, or up to 0.05 less, in three cases of four (in
    the tests), and asked a tenth as often.
    ``ValueError`` for an epsilon outside [0, 1].
    """
    if not 0 <= epsilon <= 1:
        raise ValueError(f"epsilon takes a total variation from 0 to 1, got {epsilon}")
    rows, real_rows = _rows(attention, real)
    random, shape = np.random.default_rng(seed), np.shape(attention)
    output = _ask(answer, rows[None], shape)
    label = output.argmax()

    def better(best: Adversary, candidates: np.ndarray) -> tuple[Adversary, np.ndarray, np.ndarray]:
        """The most divergent candidate that is allowed, if it exceeds the best so far; and for each
        candidate whether it lowers the predicted class's probability, and whether it is allowed."""
        answers = _ask(answer, candidates, shape)
        changes = total_variation(answers, output)
        allowed, distances = changes <= epsilon, np.full(len(candidates), -1.0)
        found = jensen_shannon(candidates[allowed], rows).sum(-1)
        distances[allowed] = found / real_rows.any(-1).sum()
        top, lower = distances.argmax(), answers[:, label] < output[0, label]
        if distances[top] > best.divergence:
            best = Adversary(candidates[top], float(distances[top]), float(changes[top]))
        return best, lower, allowed

    def between(best: Adversary, near: np.ndarray, far: np.ndarray, side: int) -> Adversary:
        """The best on the ways from ``near``, which are on one ``side`` (0: they lower the
        probability, 1: they are allowed), to ``far``, which need not be."""
        for _ in range(HALVINGS if (near != far).any() else 0):
            middle = _middle(near, far)
            best, *sides = better(best, middle)
            stays = sides[side][:, None, None]
            near, far = np.where(stays, middle, near), np.where(stays, far, middle)
        return best

    origin = best = Adversary(rows, 0.0, 0.0)
    movable = (real_rows.sum(-1) > 1).nonzero()[0]
    many = min(PROPOSALS, max(2, NUMBERS_AT_ONCE // rows.size))
    halves = (random.permutation(movable)[: len(movable) // 2] for _ in range(1, TURNS))
    for moved in chain([movable], halves) if together else movable[:, None]:
        corners = _corners(best.attention, moved, real_rows[moved], many)
        best, lower, _ = better(best, corners)
        best = between(best, *_opposite(corners[lower], corners[~lower], rows), side=0)
        if together:
            corners = corners[:PAIRS]
            best = between(best, np.stack([best.attention] * len(corners)), corners, side=1)
    found = []
    for current in (best, origin) if len(movable) and not together else ():
        step = 1.0
        for _ in range(ROUNDS):
            before = current
            moved = _moved(current.attention, movable, real_rows, step, many, random)
            current, *_ = better(current, moved)
            step = min(1.0, step * (SHRINK if current is before else GROW))
        found.append(current)
    best = max(found, key=lambda one: one.divergence, default=best)
    return best._replace(attention=best.attention.reshape(shape).copy())


def _corners(rows: np.ndarray, moved: np.ndarray, real: np.ndarray, most: int) -> np.ndarray:
    """Copies of all rows ``(m, rows, positions)``, in which each ``moved`` row has all its weight
    on one position: in the first on that with the least, in the next on the second, and so on."""
    counts = real.sum(-1)
    places = np.argsort(np.where(real, rows[moved], np.inf), axis=-1, kind="stable")
    corners = np.repeat(rows[None], min(most, counts.max(initial=1)), axis=0)
    for rank, corner in enumerate(corners):
        corner[moved] = np.eye(rows.shape[1])[places[np.arange(len(moved)), rank % counts]]
    return corners


def _opposite(low: np.ndarray, high: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of all pairs, one of ``low`` and one of ``high``, those whose middle is furthest away."""
    low, high = low[:PAIRS], high[:PAIRS]
    distances = [jensen_shannon(_middle(one, other), rows).sum() for one in low for other in high]
    furthest = np.argsort(-np.array(distances), kind="stable")[:PAIRS]
    return low[furthest // max(1, len(high))], high[furthest % max(1, len(high))]


def _middle(near: np.ndarray, far: np.ndarray) -> np.ndarray:
    """Halfway between attentions: of the rows in which they differ the first half as in ``near``,
    the others as in ``far``; the mean where it is a single row."""
    differ = (near != far).any(-1)
    total = differ.sum(-1, keepdims=True)
    first = differ.cumsum(-1) <= total // 2
    exchanged = np.where(first[..., None], near, far)
    return np.where((total == 1)[..., None], (near + far) / 2, exchanged)


def _moved(
    rows: np.ndarray,
    movable: np.ndarray,
    real: np.ndarray,
    step: float,
    count: int,
    random: np.random.Generator,
) -> np.ndarray:
    """Copies of all rows, in each of which one or two positions have given weight to others: all of
    a share ``step`` of it, or a random part of that."""
    candidates, every = np.repeat(rows[None], count, axis=0), np.arange(count)
    for moving in (np.ones(count), random.random(count) < 0.5):
        row = random.choice(movable, count)
        keys = np.where(real[row], random.random((count, real.shape[1])), -1)
        source, target = keys.argsort(-1)[:, -2:].T  # the two real positions with the largest keys
        share = np.where(random.random(count) < 0.25, 1.0, random.random(count))
        weight = candidates[every, row, source] * step * share * moving
        candidates[every, row, source] -= weight
        candidates[every, row, target] += weight
    return candidates


def _rows(attention: np.ndarray, real: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """The attention and its real positions as ``(rows, positions)``; ``ValueError`` unless each row
    is a distribution over its real positions."""
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
