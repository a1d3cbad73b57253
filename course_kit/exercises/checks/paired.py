"""The checker of lesson 08's stretch problem: two models on the same texts."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from course_kit.exercises.checks.core import Case, Checker, Trial, check, generator, plural
from course_lib.metrics import mcnemar


def check_text_by_text(function: Callable[[Tensor, Tensor], float]) -> None:
    """``f(first, second)``, bool ``(texts,)``: whether each of two models is right → the two-sided
    p-value of McNemar's exact test; 1 where no text tells them apart."""
    check(TEXT_BY_TEXT, function)


def _p(first: Tensor, second: Tensor) -> Tensor:
    return torch.tensor(mcnemar(first.numpy(), second.numpy()))


def _cases() -> list[Case]:
    cases = []
    for both, only_first, only_second, neither in (
        (0, 1, 0, 0), (3, 0, 0, 2), (2, 1, 1, 1), (1, 2, 0, 0), (3, 1, 5, 2), (4, 3, 3, 4),
        (30, 9, 2, 9), (400, 20, 41, 239), (500, 35, 34, 131),
    ):  # fmt: skip
        texts = both + only_first + only_second + neither
        order = torch.randperm(texts, generator=generator(texts, only_first))
        right = torch.arange(texts)
        first, second = right < both + only_first, right >= both + only_first
        first = first | (right < both)
        second = (right < both) | (second & (right < texts - neither))
        what = f"{plural(texts, 'text')}, right alone: {only_first} and {only_second}"
        cases.append(Case(what, (first[order], second[order])))
    return cases


def _tail(fewer: int, throws: int) -> float:
    """How often so many throws of a fair coin show heads at most ``fewer`` times."""
    return sum(math.comb(throws, heads) for heads in range(fewer + 1)) / 2**throws


def _alone(first: Tensor, second: Tensor) -> tuple[int, int]:
    return int((first & ~second).sum()), int((second & ~first).sum())


def _like(told: Callable[[int, int], float]) -> Callable[[Tensor, Tensor], Tensor]:
    """A wrong answer made from the numbers of texts that one model alone gets right."""
    return lambda first, second: torch.tensor(float(told(*_alone(first, second))))


def _normal(one: int, other: int, correction: int = 0) -> float:
    if not one + other:
        return 1.0
    return math.erfc(max(0, abs(one - other) - correction) / math.sqrt(2 * (one + other)))


def _all_texts(first: Tensor, second: Tensor) -> Tensor:
    fewer = min(int(first.sum()), int(second.sum()))
    return torch.tensor(min(1.0, 2 * _tail(fewer, len(first))))


def _of_all_right(first: Tensor, second: Tensor) -> Tensor:
    one, other = int(first.sum()), int(second.sum())
    return torch.tensor(min(1.0, 2 * _tail(min(one, other), one + other)))


def _of_all_coins(first: Tensor, second: Tensor) -> Tensor:
    one, other = _alone(first, second)
    share = 2.0 ** (one + other - len(first))
    return torch.tensor(min(1.0, 2 * _tail(min(one, other), one + other) * share))


def _agreements(first: Tensor, second: Tensor) -> Tensor:
    agree = int((first == second).sum())
    return torch.tensor(min(1.0, 2 * _tail(min(agree, len(first) - agree), len(first))))


def _is_probability(trial: Trial) -> str | None:
    value = trial.yours[0]
    if isinstance(value, (int, float)) and not 0 <= value <= 1:
        return "a p-value is a probability: it lies between 0 and 1."
    return None


TEXT_BY_TEXT = Checker(
    name="text_by_text",
    reference=_p,
    cases=_cases,
    returns=("p",),
    start="(first & ~second).sum() texts are the first model's alone.",
    span="from one text to 700",
    shapes="one number for all texts together",
    mistakes=(
        (_like(lambda a, b: _tail(min(a, b), a + b)),
         "that is one tail: a split as uneven the other way would have surprised you as much, so "
         "double it."),
        (_like(lambda a, b: 2 * _tail(min(a, b), a + b)),
         "where both models are right alone equally often, your two tails overlap and their sum is "
         "above 1: take 1 at most."),
        (_like(lambda a, b: min(1.0, 2 * (_tail(min(a, b) - 1, a + b)))),
         "the split that was seen belongs to the tail, too: count heads up to and including the "
         "smaller number."),
        (_like(lambda a, b: min(1.0, 2 * _tail(max(a, b), a + b))),
         "you count up to the larger number: the tail holds splits as uneven or more, so up to the "
         "smaller one."),
        (_like(lambda a, b: min(1.0, 2 * math.comb(a + b, min(a, b)) / 2 ** (a + b))),
         "that is the chance of exactly this split: the tail holds all that are more uneven, too."),
        (_like(lambda a, b: _normal(a, b, correction=1)),
         "that is the normal approximation with its correction: with few texts it is off, so add "
         "up the binomial coefficients."),
        (_like(_normal),
         "that is the normal approximation: with few texts it is far off, so add up the binomial "
         "coefficients."),
        (_all_texts,
         "you throw a coin for every text: those that both models get right, or both wrong, say "
         "nothing about which is better."),
        (_of_all_right,
         "you compare how many texts each model gets right: leave out those that both get right."),
        (_of_all_coins,
         "the coins are the texts that one model alone gets right: divide by 2 to the power of "
         "their number, not of all texts."),
        (_like(lambda a, b: min(1.0, 2 * _tail(a, a + b))),
         "you count up to the first model's number: where that is the larger one, take the other."),
        (_like(lambda a, b: min(1.0, 2 * _tail(min(a, b), a + b)) if a + b else 0.0),
         "where no text tells the models apart, p is 1: nothing speaks against equal models."),
        (_like(lambda a, b: 2 * _tail(min(a, b), a + b)
               - math.comb(a + b, min(a, b)) / 2 ** (a + b)),
         "you take the seen split away once, but unless the split is even it is no part of the "
         "other tail: 2 · tail, and 1 at most."),
        (_agreements,
         "you count where the models agree: only texts that one of them alone gets right tell them "
         "apart."),
        (lambda first, second: 1 - _p(first, second),
         "that is 1 − p: a small p-value means that a fair coin would hardly do this."),
    ),
    diagnoses=(_is_probability,),
)  # fmt: skip
