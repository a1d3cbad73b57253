"""Lesson 04: the share of a matrix near its diagonal, and the length that such a share implies."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from course_kit.exercises.cases import Case, CaseResult, generator, plural
from course_kit.exercises.judge import Checker
from course_lib.metrics import attention as metrics


def _square(kind: str, n: int) -> Tensor:
    place = torch.arange(n)
    scores = {
        "uniform": torch.zeros(n, n),
        "one-hot": 200.0 * torch.eye(n)[place * 3 % n],
        "banded": -1.0 * (place.unsqueeze(1) - place).abs(),
        "random": 2 * torch.randn(n, n, generator=generator(n)),
    }[kind]
    return scores.softmax(-1)


KINDS = ("uniform", "one-hot", "banded", "random")
SIZES = (1, 2, 3, 5, 8, 20, 60)


def _one(metric: Callable, attention: Tensor, *arguments: int, **settings: bool) -> Tensor:
    mask = torch.ones(1, len(attention), dtype=torch.bool)
    return metric(attention.unsqueeze(0), mask, *arguments, **settings)[0]


def _beyond(result: CaseResult, name: str) -> str | None:
    value = float(result.yours[0])
    return None if -1e-5 <= value <= 1 + 1e-5 else f"{name} is {value:.3g}, but lies in [0, 1]."


def _band(attention: Tensor, bandwidth: int) -> Tensor:
    place = torch.arange(len(attention))
    return (place.unsqueeze(1) - place).abs() <= bandwidth


check_diagonality = Checker(
    name="diagonality",
    about="""``f(attention, bandwidth)``, ``(n, n)`` of one document → its share of weight with |i −
    j| ≤ bandwidth.""",
    reference=lambda attention, bandwidth: _one(metrics.diagonality, attention, bandwidth),
    cases=lambda: [
        Case(
            f"{kind} attention over {plural(n, 'token')}, bandwidth {bandwidth}",
            (_square(kind, n), bandwidth),
        )
        for n in SIZES
        for bandwidth in (0, 1, 3)
        for kind in KINDS
    ],
    returns=("diagonality",),
    shapes="one number for the whole matrix, so sum over both axes",
    start="i = torch.arange(n): which pairs have (i[:, None] - i).abs() <= bandwidth?",
    span="from one token to 60, bandwidths 0, 1 and 3",
    mistakes=(
        (
            lambda a, b: (a * _band(a, b - 1)).sum() / a.sum(),
            "the band is one too narrow: |i − j| = bandwidth belongs to it (≤, not <).",
        ),
        (
            lambda a, b: (a * _band(a, b).tril()).sum() / a.sum(),
            "only tokens before the diagonal are counted: the band has two sides, |i − j|.",
        ),
        (
            lambda a, b: (a * _band(a, b).triu()).sum() / a.sum(),
            "only tokens after the diagonal are counted: the band has two sides, |i − j|.",
        ),
        (
            lambda a, b: (a * torch.ones_like(a).tril(b)).sum() / a.sum(),
            (
                "j − i ≤ bandwidth takes all tokens before the diagonal: a "
                "distance is |i − j|, .abs()."
            ),
        ),
        (
            lambda a, b: (a * torch.ones_like(a).triu(-b)).sum() / a.sum(),
            "i − j ≤ bandwidth takes all tokens after the diagonal: a distance is |i − j|, .abs().",
        ),
        (
            lambda a, b: _band(a, b).float().mean(),
            "that is the share of pairs in the band, whatever their weight: sum the weights there.",
        ),
    ),
    diagnoses=(lambda result: _beyond(result, "diagonality"),),
)


def _pairs_to_length(share: float, pairs: tuple[float, float], sign: int = 1) -> Tensor:
    """The n at which ``a n − c`` pairs, ``pairs`` = (a, c), are this share of n²."""
    a, c = pairs
    root = math.sqrt(max(0.0, a**2 - 4 * share * c))
    return torch.tensor((a + sign * root) / (2 * share))


def _implied(share: float, bandwidth: int) -> Tensor:
    return _pairs_to_length(share, (2 * bandwidth + 1, bandwidth * (bandwidth + 1)))


def _share_of(n: int, bandwidth: int) -> float:
    """The share of the pairs of n words that are within ``bandwidth`` words, b < n."""
    return (n + sum(2 * (n - k) for k in range(1, bandwidth + 1))) / n**2


check_implied_length = Checker(
    name="implied_length",
    about="""``f(share, bandwidth)``, a share in (0, 1] and b ≥ 1 → the number of words n at which
    uniform attention has this diagonality: n + Σ_{k ≤ b} 2(n − k) = share · n².""",
    reference=_implied,
    cases=lambda: [
        Case(f"the share of {plural(n, 'word')}, bandwidth {b}", (_share_of(n, b), b))
        for n in (6, 10, 41, 64, 200)
        for b in (1, 3, 5)
        if n >= 3 * b
    ],
    returns=("length",),
    shapes="one number of words",
    start="count the pairs of n words within b of each other, then solve for n.",
    span="from six words to 200, bandwidths 1, 3 and 5",
    mistakes=(
        (
            lambda share, b: torch.tensor((2 * b + 1) / share),
            "that is (2b + 1)/n turned around, which counts 2b + 1 words in each row: rows at both "
            "ends have fewer, and in a short text that matters. Use the exact number of pairs.",
        ),
        (
            lambda share, b: _pairs_to_length(share, (2 * b + 1, b * (b + 1)), -1),
            "that is the smaller of the two solutions, a text shorter than the band: take the "
            "larger one.",
        ),
        (
            lambda share, b: _pairs_to_length(share, (b + 1, b * (b + 1) / 2)),
            "you count words to one side only: each distance k has 2(n − k) pairs, i before j and "
            "j before i.",
        ),
        (
            lambda share, b: _pairs_to_length(share, (2 * b, b * (b + 1))),
            "the words' weight on themselves is missing: the n pairs with i = j are in the band.",
        ),
        (
            lambda share, b: _implied(share / 100, b),
            "the share is already between 0 and 1: do not divide it by 100.",
        ),
        (
            lambda share, b: torch.tensor(share),
            "that is the share: the number of words that gives it is asked for.",
        ),
    ),
)
