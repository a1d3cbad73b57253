"""What chance alone gives, and how large a difference must be before a few seeds can show it."""

import math

from scipy.special import ncfdtr, stdtrit
from torch import Tensor

LEVEL = 0.05  # of the two-sided test: so often it finds a difference where there is none


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
    """How often a two-sided t-test at 5 % tells two models apart, whose mean scores differ by
    ``difference`` and whose scores deviate by ``deviation`` from seed to seed; ``seeds`` of each.

    ``ValueError`` for fewer than two seeds or a deviation that is not above 0.
    """
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
    if not LEVEL < share < 1:
        raise ValueError(f"share is {share}: it must lie between {LEVEL} and 1")
    low, high = 0.0, deviation
    while power(high, deviation, seeds) < share:
        low, high = high, 2 * high
    while high - low > 1e-6 * deviation:
        middle = (low + high) / 2
        low, high = (middle, high) if power(middle, deviation, seeds) < share else (low, middle)
    return high
