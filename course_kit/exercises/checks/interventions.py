"""Checkers of the exercises on attention that is changed while the text stays: zeroed, shuffled."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_kit.exercises.checks.core import Case, Checker, Trial, check, generator

Answer = Callable[[Tensor], Tensor]  # attention ``(m, places)`` → probabilities ``(m, classes)``


def check_zeroed(function: Callable[[Tensor, Tensor], Tensor]) -> None:
    """``f(attention, gone)``, ``(rows, places)`` twice → attention that is 0 where ``gone`` and
    sums to 1; a row that loses all its weight is zero."""
    check(ZEROED, function)


def check_permutation_change(function: Callable[[Answer, Tensor, Tensor], Tensor]) -> None:
    """``f(answer, attention, orders)``, ``(places,)`` and an odd number of permutations
    ``(shuffles, places)`` → the median total variation between the shuffled attention's output and
    the given one's."""
    check(PERMUTATION_CHANGE, function)


def _zeroing_cases() -> list[Case]:
    cases = {
        "one place stays": ([[0.7, 0.3]], [[True, False]]),
        "nothing goes": ([[0.2, 0.8]], [[False, False]]),
        "the heaviest of three": ([[0.6, 0.3, 0.1]], [[True, False, False]]),
        "everything goes": ([[0.5, 0.5]], [[True, True]]),
        "two rows that lose different places":
            ([[0.6, 0.3, 0.1], [0.2, 0.2, 0.6]], [[True, False, False], [False, False, True]]),
        "all that weighs anything": ([[1.0, 0.0, 0.0]], [[True, False, False]]),
        "a row with padding": ([[0.5, 0.4, 0.1, 0.0]], [[False, True, False, False]]),
    }  # fmt: skip
    made = [Case(name, tuple(map(torch.tensor, given))) for name, given in cases.items()]
    attention = torch.randn(4, 9, generator=generator(4, 9)).softmax(1)
    gone = torch.rand(4, 9, generator=generator(9, 4)) < 0.4
    return [*made, Case("four rows of nine places", (attention, gone))]


def _zeroed(attention: Tensor, gone: Tensor) -> Tensor:
    left = attention.masked_fill(gone, 0.0)
    total = left.sum(-1, keepdim=True)
    return left / total.masked_fill(total == 0, 1.0)


def _where_empty(attention: Tensor, gone: Tensor, instead: Tensor) -> Tensor:
    empty = attention.masked_fill(gone, 0.0).sum(-1, keepdim=True) == 0
    return torch.where(empty, instead, _zeroed(attention, gone))


def _about_sums(trial: Trial) -> str | None:
    found, gone = trial.yours[0], trial.case.inputs[1]
    if found[gone].any():
        return "a place that should be zero has a weight."
    return None


ZEROED = Checker(
    name="zeroed",
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
        (lambda attention, gone: _zeroed(attention, ~gone),
         "you keep what should go: gone is True where the weight becomes 0."),
        (lambda attention, gone: _shared(attention, gone),
         "all places that are left weigh the same in yours: keep the ratios between them."),
        (lambda attention, gone: attention.masked_fill(gone, 0.0)
            / attention.masked_fill(gone, 0.0).sum().clamp(min=1e-9),
         "you divide by the sum of all rows: each row sums to 1 on its own."),
    ),
    diagnoses=(_about_sums,),
)  # fmt: skip


def _shared(attention: Tensor, gone: Tensor) -> Tensor:
    stays = ((attention > 0) & ~gone).float()
    return stays / stays.sum(-1, keepdim=True).clamp(min=1)


VALUES = torch.tensor(  # of each word for each class
    [[2.0, -1.0, 0.0, 1.0], [-1.5, 0.5, 1.0, 0.0], [0.0, 2.5, -1.0, 0.5], [0.5, -0.5, 1.5, -1.0]]
)


def mixes(attention: Tensor) -> Tensor:
    """A model with four classes that takes the mean of its words' values."""
    return (3 * attention @ VALUES[: attention.shape[1]]).softmax(1)


def ignores_attention(attention: Tensor) -> Tensor:
    """A model with two classes that says the same, whatever the attention is."""
    return torch.tensor([[0.9, 0.1]]).repeat(len(attention), 1)


def _shuffle_cases() -> list[Case]:
    cases = []
    for places, shuffles in ((2, 1), (2, 3), (3, 3), (4, 5), (4, 21)):
        made = generator(places, shuffles)
        attention = torch.randn(places, generator=made).mul(2).softmax(0)
        orders = torch.stack([torch.randperm(places, generator=made) for _ in range(shuffles)])
        if shuffles == 1:
            orders = torch.tensor([[1, 0]])
        size = f"{places} places, {'1 shuffle' if shuffles == 1 else f'{shuffles} shuffles'}"
        for answer in (mixes, ignores_attention):
            what = answer.__name__.replace("_", " ")
            cases.append(Case(f"{size}, a model that {what}", (answer, attention, orders)))
    return cases


def _outputs(answer: Answer, attention: Tensor, orders: Tensor) -> tuple[Tensor, Tensor]:
    """Of the shuffled attentions and of the given one."""
    return answer(attention[orders]), answer(attention.unsqueeze(0))


def _change(told: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    return lambda answer, attention, orders: told(*_outputs(answer, attention, orders))


def _distance(first: Tensor, second: Tensor) -> Tensor:
    return (first - second).abs().sum(1) / 2


PERMUTATION_CHANGE = Checker(
    name="permutation_change",
    reference=_change(lambda shuffled, own: _distance(shuffled, own).median()),
    cases=_shuffle_cases,
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
        (_change(lambda shuffled, own: 2 * _distance(shuffled, own).median()),
         "the ½ is missing: what one class gains another loses, and both are in the sum."),
        (_change(lambda shuffled, own: (shuffled - own).abs().max(1).values.median()),
         "you take the largest change of a class: total variation is half the sum over the "
         "classes."),
        (_change(lambda shuffled, own: (shuffled - own).abs()[:, own.argmax()].median()),
         "you look at the predicted class alone: the other classes can change places unseen."),
        (_change(lambda shuffled, own: (shuffled - own).abs().mean(1).median()),
         "you take the mean over the classes: total variation is half their sum."),
        (_change(lambda shuffled, own: (shuffled - own).square().sum(1).sqrt().median()),
         "that is the Euclidean distance: take absolute values, not squares."),
        (_change(lambda shuffled, own: _distance(
            shuffled.median(0).values.unsqueeze(0), own).squeeze(0)),
         "you take the median of the outputs: take the distance of each shuffle first."),
        (_change(lambda shuffled, own: _distance(shuffled, shuffled[:1]).median()),
         "you compare with the first shuffle: compare with the output of the given attention."),
        (_change(lambda shuffled, own: (shuffled - own).sum(1).median() / 2),
         "without absolute values what one class gains cancels what another loses."),
    ),
)  # fmt: skip
