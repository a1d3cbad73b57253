"""The checker of lesson 09's stretch problem: what each word adds above two layers."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_kit.exercises.checks.core import Case, Checker, check, generator, plural


def check_contributions(function: Callable[[Tensor, Tensor, Tensor], Tensor]) -> None:
    """``f(x, attention, w)`` → the length of what word j adds to place i, ``(n, n)``, above two
    layers x ← x + A x W: ``x`` ``(n, d)``, ``attention`` ``(2, n, n)``, ``w`` ``(2, d, d)``."""
    check(CONTRIBUTIONS, function)


def _paths(x: Tensor, attention: Tensor, w: Tensor) -> list[Tensor]:
    """What word j adds to place i by each of the four ways, ``(n, n, d)`` each."""
    (first, second), (w_1, w_2) = attention, w
    return [
        torch.eye(len(x)).unsqueeze(2) * x,
        first.unsqueeze(2) * (x @ w_1),
        second.unsqueeze(2) * (x @ w_2),
        (second @ first).unsqueeze(2) * (x @ w_1 @ w_2),
    ]


def _contributions(x: Tensor, attention: Tensor, w: Tensor) -> Tensor:
    return sum(_paths(x, attention, w)).norm(dim=2)


def _contribution_cases() -> list[Case]:
    cases = []
    for n, d in ((1, 2), (2, 2), (3, 4), (5, 3), (8, 6)):
        source = generator(n, d)
        x, w = torch.randn(n, d, generator=source), torch.randn(2, d, d, generator=source)
        attention = (2 * torch.randn(2, n, n, generator=source)).softmax(-1)
        cases.append(Case(f"{plural(n, 'word')} of {d} numbers", (x, attention, w)))
    return cases


def _some_paths(*kept: int) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    def lengths(x: Tensor, attention: Tensor, w: Tensor) -> Tensor:
        paths = _paths(x, attention, w)
        return sum(paths[place] for place in kept).norm(dim=2)

    return lengths


def _shares(attention: Tensor) -> Tensor:
    first, second = attention + torch.eye(attention.shape[1])
    return second @ first


CONTRIBUTIONS = Checker(
    name="contributions",
    reference=_contributions,
    cases=_contribution_cases,
    returns=("lengths",),
    start="multiply (I + A₂ · W₂)(I + A₁ · W₁) out: four ways lead from a word to a place.",
    span="one word to eight",
    shapes="a row for each place above, a column for each word below",
    mistakes=(
        (_some_paths(0, 1, 2),
         "one way is missing: from the word through layer 1, and from there through layer 2."),
        (_some_paths(0, 3),
         "two ways are missing: a word may pass one layer by attention and the other by the "
         "residual connection."),
        (_some_paths(1, 2, 3),
         "the word's own vector is missing: residual connections carry it past both layers."),
        (_some_paths(3),
         "only what passes both layers by attention is there: the residual connections add three "
         "further ways."),
        (lambda x, attention, w: sum(path.norm(dim=2) for path in _paths(x, attention, w)),
         "you add the lengths of the four ways. They are vectors, and may cancel: add them first."),
        (lambda x, attention, w: _contributions(x, attention.flip(0), w.flip(0)),
         "the layers are exchanged: layer 1 reads the words, and layer 2 what layer 1 made."),
        (lambda x, attention, w: _contributions(x, attention, w.mT),
         "the vectors are rows: x @ w, not x @ w.T."),
        (lambda x, attention, w: _contributions(x, attention.mT, w),
         "attention is turned: row i holds what place i attends to."),
        (lambda x, attention, w: torch.linalg.multi_dot(
            [(a + torch.eye(len(x))) / 2 for a in attention.flip(0)]),
         "that is rollout, which knows nothing of the vectors or of W."),
        (lambda x, attention, w: _contributions(x, attention, w).T,
         "rows and columns are exchanged: row i is of place i above, column j of word j below."),
        (lambda x, attention, w: _contributions(x, attention, w).square(),
         "these are squares of lengths: take the root."),
        (lambda x, attention, w: sum(_paths(x, attention, w)).abs().sum(2),
         "you add absolute values: a length is the root of the sum of squares, norm(dim=2)."),
        (lambda x, attention, w: sum(_paths(x, attention, w)).sum(2),
         "you add the numbers of a vector: its length is norm(dim=2)."),
        (lambda x, attention, w: _contributions(x, attention, w) / 4,
         "the halves are rollout's assumption: here x ← x + A x W takes both whole."),
        (lambda x, attention, w: _shares(attention) * x.norm(dim=1),
         "you multiply shares by the lengths of the words' vectors: W turns and stretches them on "
         "the way."),
        (lambda x, attention, w: sum([
            *_paths(x, attention, w)[:3], _paths(x, attention, w.flip(0))[3]]).norm(dim=2),
         "on the way through both layers the first matrix comes first: x @ w[0] @ w[1]."),
        (lambda x, attention, w: sum([
            *_paths(x, attention, w)[:3],
            (attention[0] @ attention[1]).unsqueeze(2) * (x @ w[0] @ w[1])]).norm(dim=2),
         "on the way through both layers the upper attention stands to the left: A₂ @ A₁."),
    ),
)  # fmt: skip
