"""Slips that every exercise knows: how a wrong answer may follow from the right one.

Each row says what was done to the right answer, or to the inputs of the reference, and what to tell
a learner whose answers follow from it in every case.
"""

import copy
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

import torch
from torch import Tensor

from course_kit.exercises.cases import CaseResult
from course_kit.exercises.comparison import is_number, parts, same

Change = Callable[[Any], Any]
Candidate = Callable[[CaseResult], tuple]

OF_NUMBERS: tuple[tuple[Change, str], ...] = (
    (lambda a: -a, "the sign of {name} is turned round: multiply it by −1."),
    (lambda a: 1 - a, "that is 1 − {name}: you have measured the opposite."),
    (lambda a: a / 2, "{name} is half of what it should be: is something counted once, or halved?"),
    (lambda a: 2 * a, "{name} is twice what it should be: is something counted twice?"),
    (lambda a: a.sqrt(), "that is the square root of {name}: no root is taken here."),
    (lambda a: a.square(), "that is the square of {name}: a root is missing."),
    (lambda a: a.exp(), "that is the exponential of {name}: no exp is taken here."),
    (lambda a: a.log(), "that is the logarithm of {name}: its exp is asked for."),
    (lambda a: 1 / a, "{name} is upside down: exchange numerator and denominator."),
    (lambda a: 100 * a, "{name} is in percent: leave it a share of 1."),
    (
        lambda a: a.abs(),
        "the sign of {name} is lost: it may be negative, so take no absolute value.",
    ),
    (lambda a: a.clamp(min=0), "{name} is cut off at 0: it may be negative."),
    (lambda a: a.clamp(max=1), "{name} is cut off at 1: it may be larger."),
    (lambda a: a.clamp(0, 1), "{name} is cut off at 0 and 1: it may lie outside."),
    (lambda a: a.nan_to_num(0.0), "{name} is 0 where it is not defined: NaN is expected there."),
    (lambda a: a.tanh(), "there is a tanh around {name}: leave it out."),
    (lambda a: a.sigmoid(), "there is a sigmoid around {name}: leave it out."),
    (lambda a: a - 1, "{name} is one too small: does it count from 0, or a range end too soon?"),
    (lambda a: a + 1, "{name} is one too large: is a range one too long?"),
)
OF_TENSORS: tuple[tuple[Change, str], ...] = (
    (lambda a: a.mT, "{name} is transposed: its rows and columns are exchanged."),
    (lambda a: a.flip(0), "{name} is in reverse order along its first axis."),
    (lambda a: a.flip(-1), "{name} is in reverse order along its last axis."),
    (lambda a: a.roll(1, -1), "{name} is shifted: each value stands one place too late."),
    (lambda a: a.roll(-1, -1), "{name} is shifted: each value stands one place too early."),
    (lambda a: a.softmax(-1), "there is a softmax around {name}: leave it out."),
    (lambda a: a[:1].expand_as(a), "every row of {name} is the first one: each has its own."),
    (
        lambda a: a.mean().expand_as(a),
        "every entry of {name} is the mean of them all: each has its own.",
    ),
)
OF_TRUTHS: tuple[tuple[Change, str], ...] = (
    (lambda a: ~a, "{name} is turned round: True and False are exchanged."),
)
OF_LISTS: tuple[tuple[Change, str], ...] = (
    (lambda a: a[::-1], "{name} is in reverse order."),
    (sorted, "{name} is sorted: keep the order asked for."),
    (lambda a: list(dict.fromkeys(a)), "{name} lacks what occurs a second time: keep repetitions."),
    (lambda a: a[1:], "{name} lacks its first item: places count from 0."),
    (lambda a: a[:-1], "{name} lacks its last item: what comes after the end is missing."),
)
FACTORS = (
    (
        1,
        "{name} is too large by the size of axis {axis} of {given}: a sum stands where a mean "
        "belongs.",
    ),
    (
        -1,
        "{name} is too small by the size of axis {axis} of {given}: a mean stands where a sum "
        "belongs.",
    ),
)
# What happens to an input of some kind on its way into the reference.
OF_INPUTS: tuple[tuple[str, Change, str], ...] = (
    ("matrix", lambda a: a.mT, "{name} is transposed: use {name} as it is given."),
    ("matrix", lambda a: torch.eye(a.shape[-1]).expand_as(a), "{name} is left out."),
    ("numbers", lambda a: 0 * a, "{name} is not used."),
    (
        "numbers",
        lambda a: -a,
        "{name} enters with the wrong sign: its largest value is taken for the smallest.",
    ),
    ("numbers", lambda a: a.abs(), "the sign of {name} is lost: take no absolute value."),
    (
        "truths",
        torch.ones_like,
        "{name} is not used, so what it hides counts as well: before "
        "a softmax or a maximum set it to "
        "−inf, before a sum to 0.",
    ),
    ("truths", lambda a: ~a, "{name} is used the wrong way round: True and False are exchanged."),
    (
        "count",
        lambda a: a - 1,
        "you stop one short of {name}: does a range or a comparison leave out its end?",
    ),
    ("count", lambda a: a + 1, "you go one beyond {name}: is a range one too long?"),
)


def relation(
    reference: Callable, returns: tuple[str, ...], results: Sequence[CaseResult]
) -> str | None:
    """The sentence of the first slip that turns the right answers into yours in every case.

    ``results`` are all cases of an exercise with their answers; one of them is wrong. None if no
    slip explains them all.
    """
    count = len(returns)
    if any(len(result.yours) != count or len(result.expected) != count for result in results):
        return None
    results = sorted(results, key=lambda result: not result.failed)  # what differs decides soon
    with warnings.catch_warnings(action="ignore"):  # of shapes that a slip makes, not the learner
        slips = chain(_of_answers(returns, results[0]), _of_inputs(reference, results[0]))
        for candidate, sentence in slips:
            if all(_explains(candidate, result) for result in results):
                return sentence
    return None


def _explains(candidate: Candidate, result: CaseResult) -> bool:
    try:
        made = candidate(result)
    except Exception:  # what a slip makes of an odd input is no matter of the learner's
        return False
    return len(made) == len(result.yours) and all(map(same, result.yours, made))


def _of_answers(returns: tuple[str, ...], first: CaseResult) -> Iterator[tuple[Candidate, str]]:
    """What may have become of the right answer, as functions of a case, with their sentences."""
    if len(returns) > 1:
        names = ", then ".join(returns)
        yield lambda result: result.expected[::-1], f"the results are exchanged: return {names}."
        for change, sentence in _table_for(first.expected[0]):
            yield (
                lambda result, of=change: tuple(map(of, result.expected)),
                sentence.format(name=" and ".join(returns)),
            )
    for place, (name, right) in enumerate(zip(returns, first.expected, strict=True)):
        for change, sentence in _table_for(right):
            yield _of_part(place, change), sentence.format(name=name)
        yield from _factors(place, name, first)


def _table_for(right: Any) -> tuple[tuple[Change, str], ...]:
    if isinstance(right, Tensor) and right.dtype == torch.bool:
        return OF_TRUTHS
    if isinstance(right, Tensor):
        return OF_NUMBERS + OF_TENSORS if right.dim() else OF_NUMBERS
    if is_number(right):
        return tuple((_of_python(change), sentence) for change, sentence in OF_NUMBERS)
    return OF_LISTS if isinstance(right, list) else ()


def _of_python(change: Change) -> Change:
    def changed(number: int | float) -> int | float:
        value = change(torch.tensor(number)).item()
        return int(value) if isinstance(number, int) and value == int(value) else value

    return changed


def _of_part(place: int, change: Change) -> Candidate:
    def candidate(result: CaseResult) -> tuple:
        right = result.expected
        return (*right[:place], change(right[place]), *right[place + 1 :])

    return candidate


def _factors(place: int, name: str, first: CaseResult) -> Iterator[tuple[Candidate, str]]:
    """A sum where the mean is asked for, or the mean where the sum is."""
    right = first.expected[place]
    if not isinstance(right, Tensor) or not right.is_floating_point():
        return
    for which, (given, value) in enumerate(first.given.items()):
        for axis in range(value.dim() if isinstance(value, Tensor) else 0):

            def size(result: CaseResult, which: int = which, axis: int = axis) -> int:
                return result.case.inputs[which].shape[axis]

            for power, what in FACTORS:

                def candidate(
                    result: CaseResult, power: int = power, size: Callable = size
                ) -> tuple:
                    return _of_part(place, lambda part: part * float(size(result)) ** power)(result)

                yield candidate, what.format(name=name, axis=axis, given=given)


def _of_inputs(reference: Callable, first: CaseResult) -> Iterator[tuple[Candidate, str]]:
    """The right computation with the wrong inputs."""
    count, inputs, names = len(first.expected), first.case.inputs, list(first.given)

    def with_inputs(change: Callable[[list], Any]) -> Candidate:
        def candidate(result: CaseResult) -> tuple:
            return parts(reference(*change(copy.deepcopy(list(result.case.inputs)))), count)

        return candidate

    def exchanged(i: int, j: int) -> Callable[[list], list]:
        def change(values: list) -> list:
            values[i], values[j] = values[j], values[i]
            return values

        return change

    def changed(place: int, how: Change) -> Callable[[list], list]:
        return lambda values: [*values[:place], how(values[place]), *values[place + 1 :]]

    for i, j in _alike(inputs):
        yield with_inputs(exchanged(i, j)), f"{names[i]} and {names[j]} are exchanged."
    truth = "truths" in _kinds(first.expected[-1])  # False everywhere follows too easily
    for place, value in enumerate(inputs):
        for kind, how, sentence in OF_INPUTS:
            if kind in _kinds(value) and not (truth and kind == "numbers"):
                yield with_inputs(changed(place, how)), sentence.format(name=names[place])


def _alike(inputs: Sequence[Any]) -> Iterator[tuple[int, int]]:
    """Pairs of inputs that could be taken for each other."""
    for j, second in enumerate(inputs):
        for i, first in enumerate(inputs[:j]):
            if type(first) is type(second) and getattr(first, "dtype", 0) == getattr(
                second, "dtype", 0
            ):
                yield i, j


def _kinds(value: Any) -> tuple[str, ...]:
    """What a value is: ``"matrix"``, ``"numbers"``, ``"truths"``, ``"count"``; nothing else."""
    if not isinstance(value, Tensor):
        return ("count",) if type(value) is int else ()
    if value.dtype == torch.bool:
        return ("truths",)
    square = value.dim() > 1 and value.shape[-1] == value.shape[-2]
    return ("matrix", "numbers")[not square :] if value.is_floating_point() else ()
