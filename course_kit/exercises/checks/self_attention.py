"""Checkers of the exercises on self-attention: scaled dot products, order, the uniform line."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_kit.exercises.checks.attention import about_weights, exchanged
from course_kit.exercises.checks.core import Case, Checker, Trial, check, generator, plural, ragged
from course_lib.metrics.attention import uniform_diagonality
from course_lib.models.layers import masked_softmax, positions

SetFunction = Callable[[Tensor], Tensor]


def check_self_attention(
    function: Callable[[Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor]],
) -> None:
    """``f(q, k, v, mask)`` → output ``(batch, n, values)`` and attention ``(batch, n, n)``.

    ``q`` and ``k`` are ``(batch, n, d)``, ``v`` ``(batch, n, values)``, ``mask`` ``(batch, n)`` of
    the keys. Row i of the attention is the masked softmax of q_i · k_j / √d over j.
    """
    check(SELF_ATTENTION, function)


def check_order(function: Callable[[SetFunction, Tensor], str]) -> None:
    """``f(function, x)``, ``x`` ``(n, d)`` with n ≥ 2 → ``"invariant"`` if the function's result
    stays however the rows of x are shuffled, ``"equivariant"`` if its rows are shuffled along,
    ``"neither"`` otherwise."""
    check(ORDER, function)


def check_uniform_diagonality(function: Callable[[int, int], float]) -> None:
    """``f(n, bandwidth)`` → the diagonality of uniform attention over n tokens, exactly."""
    check(UNIFORM_DIAGONALITY, function)


def _scores(q: Tensor, k: Tensor) -> Tensor:
    return q @ k.transpose(1, 2)


def _attend(scores: Tensor, v: Tensor, mask: Tensor, dim: int = -1) -> tuple[Tensor, Tensor]:
    return _weighing(masked_softmax(scores, mask, dim), v)


def _weighing(alpha: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    return alpha @ v, alpha


def _self_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    return _attend(_scores(q, k) / q.shape[-1] ** 0.5, v, mask.unsqueeze(1))


def _self_attention_cases() -> list[Case]:
    ordinary, special = [], []
    for n, d, values in ((1, 2, 1), (2, 2, 1), (2, 3, 2), (3, 4, 3), (5, 8, 4), (12, 16, 6),
                         (60, 32, 8)):  # fmt: skip
        for rows in (1, 3):
            source = generator(n, d, rows)
            q, k = (2 * torch.randn(rows, n, d, generator=source) for _ in range(2))
            v = torch.randn(rows, n, values, generator=source)
            real, size = torch.ones(rows, n, dtype=torch.bool), f"{plural(rows, 'document')} of "
            size += f"{plural(n, 'token')}, d = {d}"
            last = torch.arange(rows).unsqueeze(1) == rows - 1
            ordinary += [
                Case(f"{size}, all real", (q, k, v, real)),
                Case(f"{size}, some padded", (q, k, v, ragged(rows, n))),
            ]
            special += [
                Case(f"{size}, queries 20 times as long", (20 * q, k, v, real)),
                Case(f"{size}, the last one without a real token", (q, k, v, real & ~last)),
            ]
    return ordinary + special


def _about_self_attention(trial: Trial) -> str | None:
    q, k, _, mask = trial.case.inputs
    if trial.yours[0].shape == trial.yours[1].shape and exchanged(trial):
        return "the two results are exchanged: return the output first, then the attention."
    scores = _scores(q, k) / q.shape[-1] ** 0.5
    rows = (part.flatten(0, 1) for part in (scores, mask.unsqueeze(1).expand_as(scores),
                                            trial.yours[1]))  # fmt: skip
    return about_weights(*rows)


SELF_ATTENTION = Checker(
    name="self_attention",
    reference=_self_attention,
    cases=_self_attention_cases,
    returns=("output", "alpha"),
    shapes="both have a row for each query",
    start="q @ k.transpose(1, 2) has entry (i, j) = q_i · k_j; mask.unsqueeze(1) fits its rows.",
    span="from one token to 60",
    mistakes=(
        (lambda q, k, v, mask: _attend(_scores(q, k), v, mask.unsqueeze(1)),
         "the scores are not divided by √d: that is SANet's form; here they should be."),
        (lambda q, k, v, mask: _attend(_scores(q, k) / q.shape[-1], v, mask.unsqueeze(1)),
         "you divide by d; the standard deviation of q · k is √d."),
        (lambda q, k, v, mask: _attend(_scores(q, k) / q.shape[1] ** 0.5, v, mask.unsqueeze(1)),
         "you divide by the root of n, the number of tokens: d is the last size of q."),
        (lambda q, k, v, mask: _attend(_scores(q, k) * q.shape[-1] ** 0.5, v, mask.unsqueeze(1)),
         "you multiply by √d, which makes the softmax spikier still: divide."),
        (lambda q, k, v, mask: _attend(_scores(k, q) / q.shape[-1] ** 0.5, v, mask.unsqueeze(1)),
         "queries and keys are exchanged: row i should hold q_i · k_j."),
        (lambda q, k, v, mask: _attend(_scores(q, k) / q.shape[-1] ** 0.5, v,
                                       mask.unsqueeze(1), dim=1),
         "your columns sum to 1: each row i is a distribution over the keys j, the last axis."),
        (lambda q, k, v, mask: _attend(_scores(q, k) / q.shape[-1] ** 0.5, v, mask.unsqueeze(2)),
         "the mask is laid over the queries, mask.unsqueeze(2): it should hide keys, columns."),
        (lambda q, k, v, mask: _weighing(
            _self_attention(q, k, v, mask)[1] * mask.unsqueeze(2), v),
         "the rows of padded queries are set to zero: the mask hides keys alone, these rows are "
         "rows like the others."),
        (lambda q, k, v, mask: _attend(_scores(q, k) / v.shape[-1] ** 0.5, v, mask.unsqueeze(1)),
         "you divide by the root of the size of v: d is the last size of q and k."),
        (lambda q, k, v, mask: _weighing(
            (_scores(q, k) / q.shape[-1] ** 0.5 * mask.unsqueeze(1)).softmax(-1), v),
         "you set padded scores to 0, but exp(0) is 1, not 0: set them to −inf."),
        (lambda q, k, v, mask: (_self_attention(q, k, v, mask)[1].transpose(1, 2) @ v,
                                _self_attention(q, k, v, mask)[1]),
         "alpha is right, but the output mixes the values by its columns: alpha @ v, not alphaᵀ."),
    ),
    diagnoses=(_about_self_attention,),
)  # fmt: skip


def _mean(x: Tensor) -> Tensor:
    return x.mean(0)


def _maximum(x: Tensor) -> Tensor:
    return x.amax(0)


def _attention_pooling(x: Tensor) -> Tensor:
    return x.sum(1).softmax(0) @ x


def _dot_products(x: Tensor) -> Tensor:
    return (x @ x.T / x.shape[1] ** 0.5).softmax(-1) @ x


def _by_token(x: Tensor) -> Tensor:
    return torch.tanh(2 * x + 1)


def _less_the_mean(x: Tensor) -> Tensor:
    return x - x.mean(0)


def _first(x: Tensor) -> Tensor:
    return x[0]


def _both_ends(x: Tensor) -> Tensor:
    return x[:2].sum(0) + x[-2:].sum(0)


def _neighbours(x: Tensor) -> Tensor:
    """A convolution that reads alike in both directions."""
    padded = torch.nn.functional.pad(x, (0, 0, 1, 1))
    return padded[:-2] + x + padded[2:]


def _with_positions(x: Tensor) -> Tensor:
    return _dot_products(x + positions(*x.shape))


def _moved_on(x: Tensor) -> Tensor:
    """Each token at the next place: the rows have the same sum in every order."""
    return x.roll(1, 0)


def _sorted(x: Tensor) -> Tensor:
    """As many rows as x has, but none belongs to a token."""
    return x.sort(0).values


FUNCTIONS = {
    "the mean": (_mean, "invariant"),
    "a function of each token alone": (_by_token, "equivariant"),
    "the first token": (_first, "neither"),
    "the maximum": (_maximum, "invariant"),
    "dot-product self-attention": (_dot_products, "equivariant"),
    "each token moved to the next place": (_moved_on, "neither"),
    "attention pooling": (_attention_pooling, "invariant"),
    "tokens less their mean": (_less_the_mean, "equivariant"),
    "self-attention with positions": (_with_positions, "neither"),
    "each feature sorted": (_sorted, "invariant"),
    "a convolution": (_neighbours, "neither"),
    "the two tokens at each end": (_both_ends, "neither"),
}
KINDS = {function: kind for function, kind in FUNCTIONS.values()}


def _order_cases() -> list[Case]:
    return [
        Case(f"{description}, {n} tokens of size {d}", (function, torch.randn(n, d,
                                                                      generator=generator(n, d))))
        for n, d in ((6, 3), (30, 8)) for description, (function, _) in FUNCTIONS.items()
    ]  # fmt: skip


def _kind(
    function: SetFunction,
    x: Tensor,
    order: Tensor | None = None,
    same: Callable[[Tensor, Tensor], bool] = lambda a, b: torch.allclose(a, b, atol=1e-5),
) -> str:
    """The answer of one shuffle, ``order``."""
    order = torch.randperm(len(x), generator=generator(len(x))) if order is None else order
    before, after = function(x), function(x[order])
    if same(after, before):
        return "invariant"
    fits = len(before) == len(x) and same(after, before[order])
    return "equivariant" if fits else "neither"


def _about_order(trial: Trial) -> str | None:
    yours, expected = trial.yours[0], trial.expected[0]
    if yours not in ("invariant", "equivariant", "neither"):
        return f'you returned {yours!r}; the answers are "invariant", "equivariant", "neither".'
    if (yours, expected) == ("equivariant", "neither"):
        return (
            f"yours says {yours!r}, but the rows do not follow every shuffle: compare "
            "function(x[order]) with function(x)[order], entry by entry."
        )
    if expected == "neither":
        return f"yours says {yours!r}, but another shuffle of the rows shows that it is neither."
    return f"yours says {yours!r}, but it is {expected}."


ORDER = Checker(
    name="order",
    reference=lambda function, x: KINDS[function],
    cases=_order_cases,
    returns=("kind",),
    start="order = torch.randperm(len(x)); compare function(x[order]) with function(x).",
    span="twelve functions, among them pooling, self-attention and positions",
    mistakes=(
        (lambda function, x: _kind(function, x, torch.arange(len(x)).flip(0)),
         "reversing is one shuffle of many, and some functions read alike from both ends: try "
         "random orders."),
        (lambda function, x: _kind(function, x, torch.arange(len(x))),
         "x[order] equals x: the identity is no shuffle, so everything seems invariant."),
        (lambda function, x: "invariant" if _kind(function, x) == "invariant" else "neither",
         "equivariant functions are missing: compare function(x[order]) with "
         "function(x)[order], too."),
        (lambda function, x: "equivariant" if len(function(x)) == len(x) else "invariant",
         "the shape decides in yours: call the function on shuffled rows and compare numbers."),
        (lambda function, x: _kind(function, x, same=lambda a, b: torch.equal(a, b)),
         "sums in another order differ in their last digits: torch.equal is too strict, use "
         "torch.allclose with atol=1e-5."),
        (lambda function, x: _kind(function, x, same=lambda a, b: torch.allclose(
            a.sum(), b.sum(), atol=1e-4)),
         "you compare sums, which hide where the rows went: compare every entry."),
    ),
    diagnoses=(_about_order,),
)  # fmt: skip


def _uniform(n: int, bandwidth: int) -> Tensor:
    return uniform_diagonality(torch.tensor([n]), bandwidth)[0]


def _by_distance(n: int, end: int) -> Tensor:
    """The share of pairs at distances below ``end``, also where there are none so far apart."""
    return torch.tensor((n + sum(2 * (n - k) for k in range(1, end))) / n**2)


UNIFORM_DIAGONALITY = Checker(
    name="uniform_diagonality",
    reference=_uniform,
    cases=lambda: [
        Case(f"{plural(n, 'token')}, bandwidth {bandwidth}", (n, bandwidth))
        for n in (1, 2, 3, 5, 10, 44, 200) for bandwidth in (0, 1, 2, 5)
    ],
    returns=("diagonality",),
    start="of the n² pairs (i, j), how many have |i − j| = 0, how many = 1, … up to bandwidth?",
    span="from one token to 200, bandwidths 0, 1, 2 and 5",
    mistakes=(
        (lambda n, b: torch.tensor((2 * b + 1) / n),
         "(2b + 1)/n holds far from the edges only: the first and last rows have fewer "
         "neighbours, and a share is never above 1."),
        (lambda n, b: torch.tensor(min(1.0, (2 * b + 1) / n)),
         "(2b + 1)/n, cut at 1, still counts neighbours beyond the edges: distance k ≥ 1 occurs "
         "2 (n − k) times."),
        (lambda n, b: (_uniform(n, b) + 1 / n) / 2,
         "only one side is counted: distance k ≥ 1 occurs twice, before and after."),
        (lambda n, b: _uniform(n, b - 1) if b else torch.tensor(0.0),
         "the band is one too narrow: |i − j| = bandwidth belongs to it."),
        (lambda n, b: _by_distance(n, b),
         "two things at the end of the sum: range(1, b) stops before distance b, and in a short "
         "text no distance is larger than n − 1."),
        (lambda n, b: _by_distance(n, min(b, n - 1)),
         "the largest distance is left out: range(1, m) ends at m − 1, so up to m it is "
         "range(1, m + 1)."),
        (lambda n, b: _uniform(n, b) * n,
         "you divide by n; there are n² pairs."),
        (lambda n, b: 2 * _uniform(n, b) - 1 / n,
         "distance k occurs n − k times on each side; yours counts every pair beside the "
         "diagonal twice."),
        (lambda n, b: torch.tensor((n + 2 * n * b - b * (b + 1)) / n**2),
         "where the bandwidth is larger than the text, n − k turns negative: distances end at "
         "n − 1."),
    ),
    diagnoses=(),
)  # fmt: skip
