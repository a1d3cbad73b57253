"""Lesson 09: constant answers."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_kit.exercises.cases import Case, generator, named
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
