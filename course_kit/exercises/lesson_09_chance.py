"""Lesson 09: constant answers and power."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_kit.exercises.cases import Case, Inputs, cases, generator, named
from course_kit.exercises.judge import Checker


def _constant(train: Tensor, test: Tensor) -> tuple[Tensor, Tensor]:
    share = (test == train.bincount().argmax()).float().mean()
    return share, (share * (1 - share) / len(test)).sqrt()


def _label_cases() -> list[Case]:
    labels = {
        "one test text": ([1, 1, 0], [1]),
        "another class is the commonest in the test": ([0, 0, 0, 1], [1, 1, 0, 1]),
        "the commonest training class is not in the test": ([2, 2, 2, 0, 1], [0, 1, 1, 0]),
        "three classes": ([0, 1, 1, 2, 1], [1, 2, 0, 1, 1, 2]),
        "many of one class": ([1] * 40 + [0] * 20, [0] * 30 + [1] * 70),
    }
    for classes, texts in ((2, 200), (5, 1101)):
        random = generator(classes, texts)
        old, new = (torch.rand(classes, generator=random) + 0.1 for _ in range(2))
        labels[f"{texts} test texts of {classes} classes"] = [
            torch.multinomial(share, n, True, generator=random)
            for share, n in ((old, 3 * texts), (new, texts))
        ]
    return named({kind: tuple(map(torch.as_tensor, both)) for kind, both in labels.items()})


def _error_like(change: Callable[[Tensor, int, int], Tensor]) -> Callable:
    """A wrong answer whose standard error is ``change(share, training texts, test texts)``."""

    def answer(train: Tensor, test: Tensor) -> tuple[Tensor, Tensor]:
        share = _constant(train, test)[0]
        return share, change(share, len(train), len(test))

    return answer


check_constant_answer = Checker(
    name="constant_answer",
    about="""``f(train, test)``, labels ``(texts,)`` → the test accuracy of always giving the
    commonest training label, and its standard error.""",
    reference=_constant,
    cases=_label_cases,
    returns=("accuracy", "error"),
    start="train.bincount().argmax() is the commonest training label.",
    span="from one test text to 1,101, two classes to five",
    shapes="one number each, for all test texts together",
    mistakes=(
        (
            lambda train, test: _constant(test, test),
            "you take the commonest label of the test: whoever answers "
            "has seen the training labels "
            "alone.",
        ),
        (
            _error_like(lambda share, train, test: (share * (1 - share)).sqrt()),
            "that is the deviation of one answer: divide p (1 − p) by the number of test texts.",
        ),
        (
            _error_like(lambda share, train, test: (share * (1 - share) / train).sqrt()),
            (
                "you divide by the number of training texts: the accuracy is "
                "measured on the test texts."
            ),
        ),
        (
            _error_like(lambda share, train, test: (share / test).sqrt()),
            "1 − p is missing: the variance of an answer that is right or wrong is p (1 − p).",
        ),
        (
            _error_like(lambda share, train, test: (share * (1 - share) / (test - 1)).sqrt()),
            "you divide by n − 1, as std() does, which is 0 for one "
            "text: divide p (1 − p) by n, or "
            "take std(correction=0).",
        ),
        (
            _error_like(lambda share, train, test: (share * (1 - share)).sqrt() / test),
            "only n stands outside the root: it is √(p (1 − p) / n).",
        ),
    ),
)


def _pooled(first: Tensor, second: Tensor) -> Tensor:
    return ((first.var(1) + second.var(1)) / 2).sqrt()


def _t(first: Tensor, second: Tensor, deviation: Callable = _pooled) -> Tensor:
    """The t of each experiment, ``(experiments,)``."""
    error = deviation(first, second) * (2 / first.shape[1]) ** 0.5
    return (first.mean(1) - second.mean(1)) / error


def _found(first: Tensor, second: Tensor, critical: float) -> Tensor:
    return (_t(first, second).abs() > critical).float().mean()


def _experiments(experiments: int, seeds: int, gap: int) -> Inputs:
    first, second = torch.randn(2, experiments, seeds, generator=generator(experiments, seeds))
    critical = {2: 4.303, 3: 2.776, 5: 2.306, 10: 2.101}[seeds]
    return 45 + gap + 1.5 * first, 45 + 1.5 * second, critical


def _power_of(deviation: Callable[[Tensor, Tensor], Tensor]) -> Callable:
    """A wrong answer with another standard deviation."""
    return lambda first, second, critical: (
        (_t(first, second, deviation).abs() > critical).float().mean()
    )


check_power = Checker(
    name="power",
    about="""``f(first, second, critical)``, accuracies ``(experiments, seeds)`` of two models → the
    share of experiments whose pooled t exceeds ``critical`` on either side.""",
    reference=_found,
    cases=cases(
        "{:experiment} of {:seed}, {:point} apart",
        ((1, 2, 1), (4, 2, 6), (8, 3, -3), (500, 2, 4), (500, 3, 3), (500, 5, -2), (500, 10, 0)),
        _experiments,
    ),
    returns=("share",),
    start="sd = ((first.var(1) + second.var(1)) / 2).sqrt().",
    span="up to 500 experiments of two to ten seeds",
    shapes="one number for all experiments together",
    mistakes=(
        (
            lambda first, second, critical: (_t(first, second) > critical).float().mean(),
            "you look on one side alone: a difference counts in both directions, so take |t|.",
        ),
        (
            lambda first, second, critical: (
                ((first.mean(1) - second.mean(1)).abs() > critical).float().mean()
            ),
            "you compare the difference itself: divide it by its standard error first.",
        ),
        (
            _power_of(
                lambda first, second: (
                    (first.var(1, correction=0) + second.var(1, correction=0)) / 2
                ).sqrt()
            ),
            "your deviations divide by n: estimated from n seeds they "
            "divide by n − 1, which is what "
            "var(1) does.",
        ),
        (
            _power_of(lambda first, second: _pooled(first, second) / (2 / first.shape[1]) ** 0.5),
            "you divide by the deviation of one run: the difference of "
            "two means of n runs deviates "
            "by sd · √(2 / n).",
        ),
        (
            _power_of(lambda first, second: _pooled(first, second) / 2**0.5),
            "√(1 / n) is the error of one mean: there are two, so √(2 / n).",
        ),
        (
            _power_of(lambda first, second: _pooled(first, second) * first.shape[1] ** 0.5),
            "√2 is not divided by √n: means of more seeds have a smaller error.",
        ),
        (
            _power_of(lambda first, second: (first.std(1) + second.std(1)) / 2),
            (
                "you average the standard deviations: average the variances, "
                "and take the root of that."
            ),
        ),
        (
            _power_of(lambda first, second: (first.var(1) + second.var(1)).sqrt()),
            "you add the variances: the pooled one is their mean.",
        ),
        (
            _power_of(lambda first, second: (first - second).std(1) / 2**0.5),
            "you take the deviation of the differences, as if run i of "
            "one model belonged to run i of "
            "the other: pool the deviations of both.",
        ),
        (
            _power_of(
                lambda first, second: (
                    _pooled(first, second) * (first.shape[1] / first.shape[0]) ** 0.5
                )
            ),
            "you divide by the root of the number of experiments: a mean is of n seeds, "
            "first.shape[1].",
        ),
        (
            _power_of(lambda first, second: first.std(1)),
            "you take the deviation of the first model alone: pool both.",
        ),
    ),
)
