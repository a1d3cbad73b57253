"""Lesson 07: attention that is changed by hand, and integrated gradients."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_kit.exercises.cases import Case, CaseResult, Kinds, cases, generator, named, normal
from course_kit.exercises.judge import Checker

Answer = Callable[[Tensor], Tensor]  # attention ``(m, places)`` → probabilities ``(m, classes)``


def _zeroing_cases() -> list[Case]:
    kinds = {
        "one place stays": ([[0.7, 0.3]], [[True, False]]),
        "nothing goes": ([[0.2, 0.8]], [[False, False]]),
        "the heaviest of three": ([[0.6, 0.3, 0.1]], [[True, False, False]]),
        "everything goes": ([[0.5, 0.5]], [[True, True]]),
        "two rows that lose different places":
            ([[0.6, 0.3, 0.1], [0.2, 0.2, 0.6]], [[True, False, False], [False, False, True]]),
        "all that weighs anything": ([[1.0, 0.0, 0.0]], [[True, False, False]]),
        "a row with padding": ([[0.5, 0.4, 0.1, 0.0]], [[False, True, False, False]]),
        "four rows of nine places": (torch.randn(4, 9, generator=generator(4, 9)).softmax(1),
                                     torch.rand(4, 9, generator=generator(9, 4)) < 0.4),
    }  # fmt: skip
    return named({kind: tuple(map(torch.as_tensor, given)) for kind, given in kinds.items()})


def _zeroed(attention: Tensor, gone: Tensor) -> Tensor:
    left = attention.masked_fill(gone, 0.0)
    total = left.sum(-1, keepdim=True)
    return left / total.masked_fill(total == 0, 1.0)


def _where_empty(attention: Tensor, gone: Tensor, instead: Tensor) -> Tensor:
    empty = attention.masked_fill(gone, 0.0).sum(-1, keepdim=True) == 0
    return torch.where(empty, instead, _zeroed(attention, gone))


def _about_sums(result: CaseResult) -> str | None:
    found, gone = result.yours[0], result.case.inputs[1]
    if found[gone].any():
        return "a place that should be zero has a weight."
    return None


check_zeroed = Checker(
    name="zeroed",
    about="""``f(attention, gone)``, ``(rows, places)`` twice → attention that is 0 where ``gone``
    and sums to 1; a row that loses all its weight is zero.""",
    reference=_zeroed,
    cases=_zeroing_cases,
    returns=("weights",),
    start="left = attention.masked_fill(gone, 0.0), then its sum along the last axis.",
    shapes="weights of the shape that attention has",
    span="one row to four, some of which lose everything",
    mistakes=(
        (lambda attention, gone: attention.masked_fill(gone, 0.0),
         "what is left does not sum to 1: the pooled state would shrink, and the output answer "
         "two changes at once."),
        (lambda attention, gone: _where_empty(attention, gone, torch.tensor(torch.nan)),
         "0 / 0 is NaN: a row that loses all its weight stays zero."),
        (lambda attention, gone: _where_empty(attention, gone, attention),
         "a row that loses all its weight must not get it back: it stays zero."),
        (lambda attention, gone: _where_empty(
            attention, gone, torch.full_like(attention, 1 / attention.shape[1])),
         "a row that loses all its weight becomes uniform in yours: then the zeroed places weigh "
         "again."),
        (lambda attention, gone: attention.masked_fill(gone, 0.0).softmax(-1),
         "you take a second softmax: weights that are shares already become nearly alike, and "
         "exp(0) is 1, so zeroed places weigh again."),
        (lambda attention, gone: attention.masked_fill(gone, -torch.inf).softmax(-1).nan_to_num(),
         "you take a second softmax over what is left: dividing by its sum keeps the ratios."),
    ),
    diagnoses=(_about_sums,),
)  # fmt: skip


VALUES = torch.tensor(  # of each word for each class
    [[2.0, -1.0, 0.0, 1.0], [-1.5, 0.5, 1.0, 0.0], [0.0, 2.5, -1.0, 0.5], [0.5, -0.5, 1.5, -1.0]]
)


def mixes(attention: Tensor) -> Tensor:
    """A model with four classes that takes the mean of its words' values."""
    return (3 * attention @ VALUES[: attention.shape[1]]).softmax(1)


def ignores_attention(attention: Tensor) -> Tensor:
    """A model with two classes that says the same, whatever the attention is."""
    return torch.tensor([[0.9, 0.1]]).repeat(len(attention), 1)


def _shuffles(places: int, shuffles: int) -> Kinds:
    made = generator(places, shuffles)
    attention = torch.randn(places, generator=made).mul(2).softmax(0)
    orders = torch.stack([torch.randperm(places, generator=made) for _ in range(shuffles)])
    if shuffles == 1:
        orders = torch.tensor([[1, 0]])
    return {
        f"a model that {answer.__name__.replace('_', ' ')}": (answer, attention, orders)
        for answer in (mixes, ignores_attention)
    }


def _outputs(answer: Answer, attention: Tensor, orders: Tensor) -> tuple[Tensor, Tensor]:
    """Of the shuffled attentions and of the given one."""
    return answer(attention[orders]), answer(attention.unsqueeze(0))


def _change(told: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    return lambda answer, attention, orders: told(*_outputs(answer, attention, orders))


def _distance(first: Tensor, second: Tensor) -> Tensor:
    return (first - second).abs().sum(1) / 2


check_permutation_change = Checker(
    name="permutation_change",
    about="""``f(answer, attention, orders)``, ``(places,)`` and an odd number of permutations
    ``(shuffles, places)`` → the median total variation between the shuffled attention's output and
    the given one's.""",
    reference=_change(lambda shuffled, own: _distance(shuffled, own).median()),
    cases=cases("{:place}, {:shuffle}", ((2, 1), (2, 3), (3, 3), (4, 5), (4, 21)), _shuffles),
    returns=("change",),
    start="attention[orders] are all shuffled attentions, (shuffles, places).",
    shapes="one number: the median runs over the shuffles",
    span="two models, two places to four, up to 21 shuffles",
    mistakes=(
        (_change(lambda shuffled, own: _distance(shuffled, own).mean()),
         "that is the mean over the shuffles: the median is asked for, which a single shuffle "
         "cannot move."),
        (_change(lambda shuffled, own: _distance(shuffled, own).max()),
         "that is the largest change, which grows with the number of shuffles: take the median."),
        (_change(lambda shuffled, own: (shuffled - own).abs().max(1).values.median()),
         "you take the largest change of a class: total variation is half the sum over the "
         "classes."),
        (_change(lambda shuffled, own: (shuffled - own).abs()[:, own.argmax()].median()),
         "you look at the predicted class alone: the other classes can change places unseen."),
        (_change(lambda shuffled, own: (shuffled - own).square().sum(1).sqrt().median()),
         "that is the Euclidean distance: take absolute values, not squares."),
        (_change(lambda shuffled, own: (shuffled - own).sum(1).median() / 2),
         "without absolute values what one class gains cancels what another loses."),
    ),
)  # fmt: skip


Function = Callable[[Tensor], Tensor]  # word vectors (m, words, d) → one number each, (m,)


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


def _paths(words: int, size: int, steps: int) -> Kinds:
    (x,) = normal((words, size, steps), (words, size))
    return {kind: (model, x, steps) for kind, model in MODELS.items()}


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


check_integrated_gradients = Checker(
    name="integrated_gradients",
    about="""``f(model, x, steps)``, ``x`` ``(words, d)`` → the importance of each word,
    ``(words,)``: its vector times the mean slope of ``model`` at a · x, a in the middle of
    ``steps`` equal parts of [0, 1], summed over the vector. ``model`` takes ``(m, words, d)`` and
    gives ``(m,)``.""",
    reference=_integrated,
    cases=cases(
        "{:word} of {:number}, {:step}", ((2, 1, 1), (2, 2, 2), (5, 3, 4), (8, 4, 50)), _paths
    ),
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
        (lambda model, x, steps: (
            _middles(steps)[:, None, None] * x * _slopes(model, x, _middles(steps))
        ).mean(0).sum(1),
         "you multiply each slope by its own point a · x: the path's direction is x everywhere."),
    ),
)  # fmt: skip
