"""The checker of lesson 07's stretch problem: integrated gradients."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_kit.exercises.checks.core import Case, Checker, check, generator, plural

Function = Callable[[Tensor], Tensor]  # word vectors (m, words, d) → one number each, (m,)


def check_integrated_gradients(function: Callable[[Function, Tensor, int], Tensor]) -> None:
    """``f(model, x, steps)``, ``x`` ``(words, d)`` → the importance of each word, ``(words,)``: its
    vector times the mean slope of ``model`` at a · x, a in the middle of ``steps`` equal parts of
    [0, 1], summed over the vector. ``model`` takes ``(m, words, d)`` and gives ``(m,)``."""
    check(INTEGRATED_GRADIENTS, function)


def _adds_up(x: Tensor) -> Tensor:
    return (x * torch.linspace(-1, 2, x.shape[-1])).sum((1, 2))


def _saturates(x: Tensor) -> Tensor:
    """Flat for large sums, where the gradient at x itself shows next to nothing."""
    return torch.tanh(3 * x.sum((1, 2)))


def _attends(x: Tensor) -> Tensor:
    """A softmax over the words, pooled: words compete."""
    weights = (2 * x[..., 0]).softmax(1)
    return 4 * (weights * x.sum(2)).sum(1)


def _multiplies(x: Tensor) -> Tensor:
    """Pairs of neighbours, so that no word counts alone."""
    return (x[:, :-1] * x[:, 1:]).sum((1, 2)) + x[:, 0].square().sum(1)


MODELS = {
    "a sum": _adds_up,
    "a saturated sum": _saturates,
    "products of neighbours": _multiplies,
    "a pooled softmax": _attends,
}


def _cases() -> list[Case]:
    return [
        Case(
            f"{kind}, {plural(words, 'word')} of {plural(size, 'number')}, {plural(steps, 'step')}",
            (model, torch.randn(words, size, generator=generator(words, size, steps)), steps),
        )
        for words, size, steps in ((2, 1, 1), (2, 2, 2), (5, 3, 4), (8, 4, 50))
        for kind, model in MODELS.items()
    ]


def _slopes(model: Function, x: Tensor, scales: Tensor) -> Tensor:
    """``(scales, words, d)``."""
    points = (scales[:, None, None] * x).requires_grad_()
    return torch.autograd.grad(model(points).sum(), points)[0]


def _middles(steps: int) -> Tensor:
    return (torch.arange(steps) + 0.5) / steps


def _integrated(model: Function, x: Tensor, steps: int) -> Tensor:
    return (x * _slopes(model, x, _middles(steps)).mean(0)).sum(1)


def _at(scales: Callable[[int], Tensor]) -> Callable[[Function, Tensor, int], Tensor]:
    """A wrong answer that takes the slopes at other places of the path."""
    return lambda model, x, steps: (x * _slopes(model, x, scales(steps)).mean(0)).sum(1)


def _without_each(model: Function, x: Tensor, steps: int) -> Tensor:
    erased = x * (1 - torch.eye(len(x)))[:, :, None]
    return model(x[None]) - model(erased)


INTEGRATED_GRADIENTS = Checker(
    name="integrated_gradients",
    reference=_integrated,
    cases=_cases,
    returns=("importance",),
    start="a = (torch.arange(steps) + 0.5) / steps; all points at once are a[:, None, None] * x.",
    span="two words to eight, one step to fifty, under four small models",
    shapes="one number a word: sum over its vector, and take the mean over the steps",
    mistakes=(
        (_at(lambda steps: torch.ones(1)),
         "that is gradient × input: take the slope along the whole path from zero to x, not at x "
         "alone."),
        (_at(lambda steps: torch.arange(steps) / steps),
         "you begin each part at its left end, a = 0 among them: take the middle of each part."),
        (_at(lambda steps: (torch.arange(steps) + 1.0) / steps),
         "you take the right end of each part: take its middle, (k + ½) / steps."),
        (lambda model, x, steps: _slopes(model, x, _middles(steps)).mean(0).sum(1),
         "that is the mean slope alone: a word's importance is its vector times that slope."),
        (lambda model, x, steps: steps * _integrated(model, x, steps),
         "you add the slopes up: an integral over [0, 1] is their mean, so divide by the steps."),
        (lambda model, x, steps: _integrated(model, x, steps).abs(),
         "keep the sign: a word can speak against the answer, and the numbers must sum to "
         "f(x) − f(0)."),
        (lambda model, x, steps: (
            _middles(steps)[:, None, None] * x * _slopes(model, x, _middles(steps))
        ).mean(0).sum(1),
         "you multiply each slope by its own point a · x: the path's direction is x everywhere."),
        (_without_each,
         "that is leave-one-out, which erases each word: here the vectors grow from zero to x "
         "together."),
        (lambda model, x, steps: _slopes(model, x, _middles(steps)).mean(0).norm(dim=1),
         "that is the length of the slope: multiply by x and sum, so that signs remain."),
    ),
)  # fmt: skip
