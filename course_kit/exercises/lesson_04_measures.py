"""Lesson 04: the two numbers of an attention matrix, Gini and diagonality."""

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


def _gini_by_ranks(weights: Tensor, first: int = 1) -> Tensor:
    m = weights.numel()
    rank = torch.arange(first, m + first)
    return (weights * (2 * rank - m - 1)).sum() / (m * weights.sum())


def _about_gini(result: CaseResult) -> str | None:
    if math.isnan(float(result.yours[0])) and result.case.inputs[0].numel() == 1:
        return (
            "a single weight gives NaN: did you divide by n − 1? The plain value, without the "
            "correction n/(n − 1), is asked for."
        )
    return _beyond(result, "gini")


check_gini = Checker(
    name="gini",
    about="""``f(attention)``, ``(n, n)`` of one document → the Gini coefficient of its n²
    weights.""",
    reference=lambda attention: _one(metrics.gini, attention),
    cases=lambda: [
        Case(f"{kind} attention over {plural(n, 'token')}", (_square(kind, n),))
        for n in SIZES
        for kind in KINDS
    ],
    returns=("gini",),
    shapes="one number for all n² weights together, so flatten first",
    start="w = attention.flatten().sort().values: which rank i does each weight have?",
    span="from one token to 60",
    mistakes=(
        (
            lambda a: _one(metrics.row_gini, a),
            "that is the mean of each row's own Gini: here all n² weights are sorted together.",
        ),
        (
            lambda a: _one(metrics.gini, a, normalise=True),
            "that is the Gini times n/(n − 1): the plain value, which "
            "reaches only 1 − 1/n, is asked "
            "for.",
        ),
        (
            lambda a: _one(metrics.gini, a) * a.numel() / max(1, a.numel() - 1),
            (
                "that is the sample correction m/(m − 1): the plain value "
                "over all m = n² is asked for."
            ),
        ),
        (
            lambda a: _gini_by_ranks(a.flatten()),
            "the weights are not sorted: its rank is its number in rising order.",
        ),
        (
            lambda a: _gini_by_ranks(a.sort().values.flatten()),
            "each row is sorted on its own: flatten first, then sort all weights together.",
        ),
        (
            lambda a: _gini_by_ranks(a.flatten().sort().values, first=0),
            (
                "the ranks start from 0 (uniform attention should give "
                "exactly 0): i runs from 1 to n²."
            ),
        ),
    ),
    diagnoses=(_about_gini,),
)


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
