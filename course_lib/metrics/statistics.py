"""What a difference between two models means: paired tests, chance, and the power of a few seeds.

Example: ``mcnemar(first, second)`` of bool ``(texts,)``, whether each of two models is right, is
the p-value of "they are right equally often"; ``crossed(first[None], second[None]).interval`` is
the 95 % interval of the difference of their accuracies.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

LEVEL = 0.05  # of the two-sided tests: how often they find a difference where there is none
POWER = 0.8  # how often they are to find one that there is


def rank_correlation(first: Tensor, second: Tensor) -> Tensor:
    """Spearman's rank correlation along the last axis, in [−1, 1]: 1 for the same order.

    ``first`` and ``second`` ``(…, n)``, of shapes that broadcast → ``(…,)`` in float64. Equal
    values share the mean of their ranks. NaN where all values of one are equal or not all are
    finite.
    """
    from scipy.stats import rankdata  # imported here: it takes half a second

    both = torch.broadcast_tensors(first, second)
    ranks = [torch.from_numpy(rankdata(values.detach().cpu(), axis=-1)) for values in both]
    one, other = (rank - rank.mean(-1, keepdim=True) for rank in ranks)
    spread = (one.square().sum(-1) * other.square().sum(-1)).sqrt()
    finite = both[0].isfinite().all(-1) & both[1].isfinite().all(-1)
    return ((one * other).sum(-1) / spread).masked_fill(~finite.cpu(), torch.nan).to(first.device)


def mcnemar(first: np.ndarray, second: np.ndarray) -> float:
    """The two-sided p-value of McNemar's exact test that two models are right equally often.

    ``first`` and ``second`` are bool ``(texts,)``: whether each model is right. Only the texts
    count that exactly one of them gets right; if the models are equally good, each of those is a
    fair coin's throw. 1 if there are none. ``ValueError`` for no texts or unequal numbers of them.
    """
    from scipy.stats import binomtest

    _check_texts(first, second)
    only_first, only_second = int((first & ~second).sum()), int((second & ~first).sum())
    throws = only_first + only_second
    return float(binomtest(only_first, throws).pvalue) if throws else 1.0


class Estimate(NamedTuple):
    """A mean or a difference of means, and its variance in two parts: ``by_texts`` with
    ``texts − 1`` degrees of freedom, and ``by_seeds`` with ``freedom`` of its own."""

    value: float
    by_texts: float
    texts: int
    by_seeds: float = 0.0
    freedom: float = math.inf

    def half_width(self, share: float = 1 - LEVEL) -> float:
        """Half the width of the interval that holds the true value in ``share`` of the studies.

        Each part of the variance has the t quantile of its own degrees of freedom. A common one by
        Satterthwaite covered as little as 88 % in simulations with two or three seeds.
        """
        from scipy.special import stdtrit

        t_texts, t_seeds = stdtrit([self.texts - 1, self.freedom], (1 + share) / 2)
        return float((t_texts**2 * self.by_texts + t_seeds**2 * self.by_seeds) ** 0.5)

    @property
    def interval(self) -> tuple[float, float]:
        """The ends of the 95 % interval."""
        half_width = self.half_width()
        return self.value - half_width, self.value + half_width

    @property
    def p(self) -> float:
        """The two-sided p-value of "it is 0 in truth": the interval of 1 − p just reaches 0. At
        least 1e-9, unless there is no variance."""
        return self._reaching(abs(self.value))

    def margin_p(self, margin: float) -> float:
        """The p-value of a test of the true value against ±``margin``.

        If |value| < ``margin``, it is the test of equivalence, two one-sided tests (TOST): a small
        p shows that the true value lies within ±``margin``. Otherwise it is one one-sided test: a
        small p shows that the true value lies beyond.
        """
        return self._reaching(abs(margin - abs(self.value))) / 2

    def equivalent(self, margin: float) -> str:
        """Whether the true value lies within ``margin`` of 0, by two one-sided tests at 5 % (TOST):
        ``"equivalent"``, ``"different"`` if it is shown to lie beyond, else ``"inconclusive"``."""
        if self.margin_p(margin) >= LEVEL:
            return "inconclusive"
        return "equivalent" if abs(self.value) < margin else "different"

    def _reaching(self, distance: float) -> float:
        """The p for which ``half_width(1 − p)`` is ``distance``."""
        from scipy.optimize import brentq

        if not distance or not (self.by_texts or self.by_seeds):
            return 0.0 if distance else 1.0
        least = 1e-9
        if self.half_width(1 - least) <= distance:
            return least
        # its default tolerance is as large as the last digits of a p of 1e-8
        return brentq(lambda p: self.half_width(1 - p) - distance, least, 1, xtol=1e-16)


def crossed(first: np.ndarray, second: np.ndarray | None = None) -> Estimate:
    """The mean of ``first`` ``(seeds, texts)``, minus that of ``second``, of trained networks on
    the same texts; the numbers of seeds may differ.

    The score of seed s on text t is μ + a_s + b_t + e_st, two crossed random factors with one value
    per cell. So the mean over S seeds and T texts has the variance σ_a²/S + σ_b²/T + σ_e²/(S T).
    The parts are estimated from mean squares, as in the analysis of variance (Searle, Casella and
    McCulloch 1992, *Variance Components*): the variance of the seeds' means, divided by S, is the
    first and the last part (Welch's way for two sides); that of the texts' means, divided by T and
    less σ_e²/(S T), is the middle one. A single seed says nothing of other trainings. 95 %
    intervals held the true value in 95 to 99 % of simulated studies (``tests/test_statistics.py``
    asks for 93). ``ValueError`` unless all have the same number of texts, at least 2.
    """
    sides = [np.asarray(side, float) for side in ([first] if second is None else [first, second])]
    _check_texts(sides[0], sides[-1])
    texts = sides[0].shape[1]
    if texts < 2:
        raise ValueError("an interval over texts takes at least 2, got 1")
    gaps = sides[0].mean(0) - (0 if second is None else sides[1].mean(0))
    by_texts = gaps.var(ddof=1) / texts
    by_seeds = []  # each side's variance and degrees of freedom
    for side in sides:
        if len(side) == 1:  # it has no spread over seeds
            continue
        means, seeds = side.mean(1), len(side)
        error = (side - means[:, None]).var(0, ddof=1).sum() / (texts - 1)  # σ_e²
        by_texts -= error / (seeds * texts)
        by_seeds.append((means.var(ddof=1) / seeds, seeds - 1))
    return Estimate(float(gaps.mean()), max(float(by_texts), 0.0), texts, *welch(by_seeds))


def welch(parts: Sequence[tuple[float, int]]) -> tuple[float, float]:
    """The sum of independent variances and its degrees of freedom (Welch and Satterthwaite)."""
    total = float(sum(variance for variance, _ in parts))
    return total, (total**2 / sum(v**2 / freedom for v, freedom in parts) if total else math.inf)


def holm(p: Sequence[float]) -> list[float]:
    """The p-values of a family of tests, corrected for their number by Holm's method."""
    order = np.argsort(p)
    larger = np.maximum.accumulate(np.asarray(p)[order] * np.arange(len(p), 0, -1))
    return np.minimum(larger, 1)[np.argsort(order)].tolist()


def constant_loss(old: list[int], new: list[int]) -> float:
    """Mean cross-entropy of giving every text the class shares of ``old``, on texts with the
    class counts ``new``: the loss of a network that has learned the shares and nothing else."""
    if any(new_count and not old_count for old_count, new_count in zip(old, new, strict=True)):
        return math.inf  # it gives probability 0 to what does occur
    shares = [count / sum(old) for count in old]
    return -sum(n * math.log(s) for n, s in zip(new, shares, strict=True) if n) / sum(new)


def power(difference: float, deviation: float, seeds: int) -> float:
    """How often a two-sided t-test at 5 % finds a difference between two models whose mean scores
    differ by ``difference``, with ``seeds`` runs of each and the standard deviation ``deviation``
    over seeds. ``ValueError`` for fewer than two seeds or a deviation that is not above 0.
    """
    from scipy.special import ncfdtr, stdtrit

    if seeds < 2:
        raise ValueError(f"seeds is {seeds}: a deviation can be estimated from two seeds on")
    if deviation <= 0:
        raise ValueError(f"deviation is {deviation}: it must be above 0")
    freedom = 2 * seeds - 2
    shift = difference / (deviation * math.sqrt(2 / seeds))
    critical = stdtrit(freedom, 1 - LEVEL / 2)
    # t² has a noncentral F distribution, which holds both sides
    return float(1 - ncfdtr(1, freedom, shift**2, critical**2))


def detectable_difference(deviation: float, seeds: int) -> float:
    """The smallest difference of two models that ``power`` finds in 80 % of the experiments, in the
    unit of ``deviation``. ``ValueError`` as ``power``."""
    from scipy.optimize import brentq

    high = deviation
    while power(high, deviation, seeds) < POWER:
        high *= 2
    return brentq(lambda size: power(size, deviation, seeds) - POWER, 0, high)


def _check_texts(first: np.ndarray, second: np.ndarray) -> None:
    texts = first.shape[-1]
    if not texts or texts != second.shape[-1]:
        raise ValueError(f"needs texts, and the same texts, got {texts} and {second.shape[-1]}")
