"""What a difference between two models means: paired tests, chance, and the power of a few seeds.

Example: ``mcnemar(first, second)`` of bool ``(texts,)``, whether each of two models is right, is
the p-value of "they are right equally often"; ``paired_bootstrap(first[None], second[None])`` is
the 95 % interval of the difference of their accuracies.
"""

import math

import numpy as np
import torch
from torch import Tensor

LEVEL = 0.05  # of the two-sided tests: how often they find a difference where there is none
DRAWS = 10_000


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
    fair coin's throw. 1 if there are none. ``ValueError`` unless the texts are as many, at least 1.
    """
    from scipy.stats import binomtest

    _check_texts(first, second)
    only_first, only_second = int((first & ~second).sum()), int((second & ~first).sum())
    throws = only_first + only_second
    return float(binomtest(only_first, throws).pvalue) if throws else 1.0


def paired_bootstrap(
    first: np.ndarray, second: np.ndarray, draws: int = DRAWS, seed: int = 0, share: float = 0.95
) -> tuple[float, float]:
    """The bounds that contain ``share`` of the differences of two mean accuracies over ``draws``.

    ``first`` and ``second`` are bool ``(seeds, texts)``: whether each run is right; their numbers
    of seeds may differ. Each draw takes as many texts as there are, with replacement, and averages
    over the seeds the difference on each. To that it adds the mean of deviations drawn from the
    seeds of either side (see ``_seed_deviations``), ``n − 1`` of ``n`` with replacement: with
    ``n`` draws the variance of their mean would be too small by a factor ``(n − 1) / n``.

    A single seed has no deviations, so its spread is missing. Where the seeds' spread outweighs
    that of the texts, a few seeds make the interval too short: with three, an eighth of the
    intervals missed the true difference in a simulation, where a twentieth should.
    ``ValueError`` unless the texts are as many, at least 1.
    """
    _check_texts(first, second)
    random = np.random.default_rng(seed)
    # Times both numbers of seeds these are whole numbers of few kinds, whose counts can be drawn.
    gaps = first.sum(0) * len(second) - second.sum(0) * len(first)
    kinds, counts = np.unique(gaps, return_counts=True)
    texts = len(gaps)
    by_texts = random.multinomial(texts, counts / texts, size=draws) @ kinds / texts
    differences = by_texts / (len(first) * len(second))
    for side, sign in ((first, 1), (second, -1)):
        if len(side) > 1:
            chosen = random.integers(len(side), size=(draws, len(side) - 1))
            differences += sign * _seed_deviations(side)[chosen].mean(1)
    low, high = np.quantile(differences, [(1 - share) / 2, (1 + share) / 2])
    return float(low), float(high)


def constant_loss(old: list[int], new: list[int]) -> float:
    """Mean cross-entropy of giving every text the class shares of ``old``, on texts with the
    class counts ``new``: the loss of a network that has learned the shares and nothing else."""
    if any(new_count and not old_count for old_count, new_count in zip(old, new, strict=True)):
        return math.inf  # it gives probability 0 to what does occur
    shares = [count / sum(old) for count in old]
    return -sum(n * math.log(s) for n, s in zip(new, shares, strict=True) if n) / sum(new)


def prior_corrected(logits: Tensor, old: Tensor, new: Tensor) -> Tensor:
    """Probabilities ``(batch, classes)`` of a network trained where the classes have the shares
    ``old`` ``(classes,)``, for texts where they have the shares ``new`` (Saerens et al. 2002).

    Right if the texts *of each class* are alike in both places, and if the network's probabilities
    are right in the first.
    """
    return (logits + (new / old).log()).softmax(-1)


def power(difference: float, deviation: float, seeds: int) -> float:
    """How often a two-sided t-test at 5 % finds a difference between two models, whose mean scores
    differ by ``difference`` and whose scores deviate by ``deviation`` from seed to seed; ``seeds``
    of each. ``ValueError`` for fewer than two seeds or a deviation that is not above 0.
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


def detectable_difference(deviation: float, seeds: int, share: float = 0.8) -> float:
    """The smallest difference of two models that ``power`` finds in that ``share`` of the
    experiments, in the unit of ``deviation``; ``ValueError`` for a share outside (0.05, 1)."""
    from scipy.optimize import brentq

    if not LEVEL < share < 1:
        raise ValueError(f"share is {share}: it must lie between {LEVEL} and 1")
    high = deviation
    while power(high, deviation, seeds) < share:
        high *= 2
    return brentq(lambda size: power(size, deviation, seeds) - share, 0, high)


def _seed_deviations(right: np.ndarray) -> np.ndarray:
    """How far the accuracy of each seed lies from their mean, without what the texts explain.

    Seeds that are equally good disagree on single texts, so their accuracies differ by chance. The
    differences on the texts hold that part already; counted again it would widen the interval. The
    deviations are therefore shrunk until their variance is what is beyond it, or 0.
    """
    accuracies = right.mean(1)
    deviations = accuracies - accuracies.mean()
    by_chance = (right - accuracies[:, None]).var(0, ddof=1).mean() / right.shape[1]
    beyond = max(0.0, deviations.var(ddof=1) - by_chance)
    return deviations * (beyond / (beyond + by_chance)) ** 0.5 if beyond else 0 * deviations


def _check_texts(first: np.ndarray, second: np.ndarray) -> None:
    texts = first.shape[-1]
    if not texts or texts != second.shape[-1]:
        raise ValueError(f"a paired test needs the same texts, got {texts} and {second.shape[-1]}")
