"""Alternative attention for one document: shuffled, partly zeroed, or chosen by an adversary.

Its ``attention`` has the shape ``(…, positions)``; each row is a distribution over the positions
where ``real``, of the same shape, is True (all of them by default). ``answer`` runs the model with
given attention: from ``(m, …, positions)`` to class probabilities ``(m, classes)``.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from course_lib.faithfulness.agreement import jensen_shannon, total_variation

Answer = Callable[[np.ndarray], np.ndarray]

SHUFFLES = 100  # as in Jain and Wallace
EPSILON = 0.05
ROUNDS, PROPOSALS = 15, 64  # of random moves, from each of two starts
PAIRS, HALVINGS = 8, 8  # pairs of ends that are searched between, down to a 256th of the way
TURNS = 4  # of moving rows together: once all, then a random half in each
GROW, SHRINK = 1.5, 0.6  # factors of the next moves, after a success and after a failure
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
        if real_rows.all():  # the same as below, eight times as fast
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
) -> Adversary:
    """Search row by row for the allowed attention that is furthest from the given one.

    An attention is allowed if it changes the output by at most ``epsilon``. The divergence is
    convex, so it is largest on the boundary of the allowed attentions: where a row has all its
    weight on one position, a corner; or where it shares its weight between two corners, of which
    one lowers the output and the other raises it. The search has two parts.

    1. For each row in turn, it tries the row's corners and the points between two of them.
    2. It moves weight at random between positions, once from the best attention so far and once
       from the given one. The moves grow after a success and shrink after a failure.

    The search of Jain and Wallace (2019) follows gradients. Ours needs none, so it works for any
    model. Its result is a lower bound of the largest divergence: with three positions it came
    within 0.01 of the optimum in more than 95 % of random cases (in the tests, by a grid). For
    thousands of rows, as in a square attention, use ``adversarial_attention_together``.
    ``ValueError`` for an epsilon outside [0, 1], and for rows that are no distributions over their
    real positions.
    """
    search, random = _search(answer, attention, real, epsilon), np.random.default_rng(seed)
    given = best = Adversary(search.rows, 0.0, 0.0)
    for row in search.movable:
        best = search.between_corners(best, search.corners(best, np.array([row])))
    if len(search.movable):
        ends = [search.random_moves(start, random) for start in (best, given)]
        best = max(ends, key=lambda end: end.divergence)
    return best._replace(attention=best.attention.reshape(search.shape).copy())


def adversarial_attention_together(
    answer: Answer,
    attention: np.ndarray,
    real: np.ndarray | None = None,
    epsilon: float = EPSILON,
    seed: int = 0,
    turns: int = TURNS,
) -> Adversary:
    """Search as ``adversarial_attention`` does, but move many rows at the same time.

    First all rows move to their corners, then, in each further turn, a random half of them. Each
    time the search tries these attentions and two kinds of points in between.

    1. Between an attention that lowers the output and one that raises it, it looks for the output
       of the given attention.
    2. Between the best attention so far and each of the new ones, it looks for the last that is
       allowed.

    Two attentions are not averaged: a point between them takes some rows from one and the other
    rows from the other. With a hundred rows this came as far as the search row by row, or up to
    0.05 less, in three cases of four (in the tests), and asked the model a tenth as often. Fewer
    ``turns`` ask less and may find less.
    ``ValueError`` as in ``adversarial_attention``.
    """
    search, random = _search(answer, attention, real, epsilon), np.random.default_rng(seed)
    best, half = Adversary(search.rows, 0.0, 0.0), len(search.movable) // 2
    halves = [random.permutation(search.movable)[:half] for _ in range(1, turns)]
    for moved in [search.movable, *halves]:
        corners = search.corners(best, moved)
        best = search.between_corners(best, corners)
        best = search.up_to_boundary(best, corners[:PAIRS])
    return best._replace(attention=best.attention.reshape(search.shape).copy())


class _Search(NamedTuple):
    """What stays the same during a search. Attentions have the shape ``(rows, positions)`` here;
    several of them, the candidates, ``(m, rows, positions)``. A method that takes the ``best``
    attention so far returns it, or a better one that it found."""

    answer: Answer
    shape: tuple[int, ...]  # of an attention outside of the search
    rows: np.ndarray  # the given attention
    real: np.ndarray
    output: np.ndarray  # of the given attention, ``(1, classes)``
    epsilon: float

    @property
    def movable(self) -> np.ndarray:
        """The indices of the rows with at least two real positions."""
        return (self.real.sum(-1) > 1).nonzero()[0]

    @property
    def at_once(self) -> int:
        """The number of candidates in one question to the model."""
        return min(PROPOSALS, max(2, NUMBERS_AT_ONCE // self.rows.size))

    def tried(self, best: Adversary, candidates: np.ndarray) -> "_Tried":
        """Ask the model about candidates ``(m, rows, positions)``, at least one."""
        answers = _ask(self.answer, candidates, self.shape)
        changes, label = total_variation(answers, self.output), self.output.argmax()
        allowed, divergences = changes <= self.epsilon, np.full(len(candidates), -1.0)
        over_rows = jensen_shannon(candidates[allowed], self.rows).sum(-1)
        divergences[allowed] = over_rows / self.real.any(-1).sum()
        top = divergences.argmax()
        if divergences[top] > best.divergence:
            best = Adversary(candidates[top], float(divergences[top]), float(changes[top]))
        return _Tried(best, answers[:, label] < self.output[0, label], allowed)

    def corners(self, best: Adversary, moved: np.ndarray) -> np.ndarray:
        """Candidates like the best attention, but with all weight of each ``moved`` row on one
        position.

        The first candidate takes the position with the least weight in each row, the second that
        with the second least, and so on; a row without further positions begins again.
        """
        real = self.real[moved]
        counts = real.sum(-1)
        weights = np.where(real, best.attention[moved], np.inf)
        places = np.argsort(weights, axis=-1, kind="stable")
        count = min(self.at_once, counts.max(initial=1))
        corners = np.repeat(best.attention[None], count, axis=0)
        for rank, corner in enumerate(corners):
            place = places[np.arange(len(moved)), rank % counts]
            corner[moved] = np.eye(self.rows.shape[1])[place]
        return corners

    def between_corners(self, best: Adversary, corners: np.ndarray) -> Adversary:
        """Try the corners; then find, by halving, the point where the predicted class's probability
        is that of the given attention, between a corner that lowers it and one that does not."""
        best, lowers, _ = self.tried(best, corners)
        low, high = _opposite(corners[lowers], corners[~lowers], self.rows)
        for _ in range(HALVINGS if (low != high).any() else 0):
            middle = _middle(low, high)
            best, lowers, _ = self.tried(best, middle)
            low, high = _nearer(middle, lowers, low, high)
        return best

    def up_to_boundary(self, best: Adversary, corners: np.ndarray) -> Adversary:
        """Find, by halving, the point where the output stops being allowed, between the best
        attention and a corner."""
        inside, outside = np.repeat(best.attention[None], len(corners), axis=0), corners
        for _ in range(HALVINGS if (inside != outside).any() else 0):
            middle = _middle(inside, outside)
            best, _, allowed = self.tried(best, middle)
            inside, outside = _nearer(middle, allowed, inside, outside)
        return best

    def random_moves(self, best: Adversary, random: np.random.Generator) -> Adversary:
        """Move weight at random, further after a success and less far after a failure."""
        step = 1.0
        for _ in range(ROUNDS):
            before, moved = best, self.moved_weight(best, step, random)
            best = self.tried(best, moved).best
            step = min(1.0, step * (SHRINK if best is before else GROW))
        return best

    def moved_weight(self, best: Adversary, step: float, random: np.random.Generator) -> np.ndarray:
        """Candidates in which weight has moved between two random positions of a row.

        What moves is the share ``step`` of a position's weight, or a random fraction of that. About
        half of the candidates have a second such move.
        """
        count = self.at_once
        candidates, every = np.repeat(best.attention[None], count, axis=0), np.arange(count)
        for moving in (np.ones(count), random.random(count) < 0.5):
            row = random.choice(self.movable, count)
            real = self.real[row]
            keys = np.where(real, random.random(real.shape), -1)
            source, target = keys.argsort(-1)[:, -2:].T  # the real positions with the largest keys
            share = np.where(random.random(count) < 0.25, 1.0, random.random(count))
            weight = candidates[every, row, source] * step * share * moving
            candidates[every, row, source] -= weight
            candidates[every, row, target] += weight
        return candidates


class _Tried(NamedTuple):
    """The ``best`` attention after candidates were tried: the most divergent of those that are
    allowed, if it exceeds the best before. And for each candidate, bool ``(m,)``, whether it
    ``lowers`` the predicted class's probability, and whether it is ``allowed``."""

    best: Adversary
    lowers: np.ndarray
    allowed: np.ndarray


def _search(
    answer: Answer, attention: np.ndarray, real: np.ndarray | None, epsilon: float
) -> _Search:
    """Check the arguments, and ask for the output with the given attention."""
    if not 0 <= epsilon <= 1:
        raise ValueError(f"epsilon takes a total variation from 0 to 1, got {epsilon}")
    rows, real_rows = _rows(attention, real)
    shape = np.shape(attention)
    return _Search(answer, shape, rows, real_rows, _ask(answer, rows[None], shape), epsilon)


def _opposite(low: np.ndarray, high: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The pairs of a candidate of ``low`` and one of ``high`` whose middle is furthest from
    ``rows``, at most ``PAIRS`` of them."""
    low, high = low[:PAIRS], high[:PAIRS]
    distances = [jensen_shannon(_middle(one, other), rows).sum() for one in low for other in high]
    furthest = np.argsort(-np.array(distances), kind="stable")[:PAIRS]
    return low[furthest // max(1, len(high))], high[furthest % max(1, len(high))]


def _middle(near: np.ndarray, far: np.ndarray) -> np.ndarray:
    """Halfway between two attentions: of the rows in which they differ the first half is from
    ``near`` and the other half from ``far``. A single row that differs is their mean."""
    differ = (near != far).any(-1)
    total = differ.sum(-1, keepdims=True)
    first = differ.cumsum(-1) <= total // 2
    exchanged = np.where(first[..., None], near, far)
    return np.where((total == 1)[..., None], (near + far) / 2, exchanged)


def _nearer(
    middle: np.ndarray, like_near: np.ndarray, near: np.ndarray, far: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Put each ``middle`` in the place of the end that it is like: ``near`` where ``like_near``
    ``(m,)`` is True, otherwise ``far``."""
    like_near = like_near[:, None, None]
    return np.where(like_near, middle, near), np.where(like_near, far, middle)


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
