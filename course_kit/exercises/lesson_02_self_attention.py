"""Lesson 02: scaled dot products, the order of words, and several heads."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_kit.exercises.cases import (
    Case,
    CaseResult,
    Inputs,
    Kinds,
    cases,
    generator,
    masks,
    normal,
)
from course_kit.exercises.judge import Checker
from course_kit.exercises.lesson_02 import about_weights
from course_lib.models.layers import masked_softmax, positions

SetFunction = Callable[[Tensor], Tensor]


def _scores(q: Tensor, k: Tensor) -> Tensor:
    return q @ k.transpose(1, 2)


def _attend(scores: Tensor, v: Tensor, mask: Tensor, dim: int = -1) -> tuple[Tensor, Tensor]:
    return _weighing(masked_softmax(scores, mask, dim), v)


def _weighing(alpha: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    return alpha @ v, alpha


def _self_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    return _attend(_scores(q, k) / q.shape[-1] ** 0.5, v, mask.unsqueeze(1))


def _self_attention_inputs(rows: int, n: int, d: int, values: int) -> Kinds:
    q, k, v = normal((n, d, rows), (rows, n, d), (rows, n, d), (rows, n, values))
    q, k, (real, some, empty) = 2 * q, 2 * k, masks(rows, n)
    return {
        "all real": (q, k, v, real),
        "some padded": (q, k, v, some),
        "queries 20 times as long": (20 * q, k, v, real),
        "the last one without a real token": (q, k, v, empty),
    }


WIDTHS = (1, 2, 1), (2, 2, 1), (2, 3, 2), (3, 4, 3), (5, 8, 4), (12, 16, 6), (60, 32, 8)


def _about_self_attention(result: CaseResult) -> str | None:
    q, k, _, mask = result.case.inputs
    scores = _scores(q, k) / q.shape[-1] ** 0.5
    rows = (part.flatten(0, 1) for part in (scores, mask.unsqueeze(1).expand_as(scores),
                                            result.yours[1]))  # fmt: skip
    return about_weights(*rows)


check_self_attention = Checker(
    name="self_attention",
    about="""``f(q, k, v, mask)`` → output ``(batch, n, values)`` and attention ``(batch, n, n)``.

    ``q`` and ``k`` are ``(batch, n, d)``, ``v`` ``(batch, n, values)``, ``mask`` ``(batch, n)`` of
    the keys. Row i of the attention is the masked softmax of q_i · k_j / √d over j.""",
    reference=_self_attention,
    cases=cases(
        "{:document} of {:token}, d = {}, {:value}",
        [(rows, *sizes) for sizes in WIDTHS for rows in (1, 3)],
        _self_attention_inputs,
        ordinary=2,
    ),
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
        (lambda q, k, v, mask: _attend(_scores(q, k) / q.shape[-1] ** 0.5, v,
                                       mask.unsqueeze(1), dim=1),
         "your columns sum to 1: each row i is a distribution over the keys j, the last axis."),
        (lambda q, k, v, mask: _attend(_scores(q, k) / q.shape[-1] ** 0.5, v, mask.unsqueeze(2)),
         "the mask is laid over the queries, mask.unsqueeze(2): it should hide keys, columns."),
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


def _about_order(result: CaseResult) -> str | None:
    yours, expected = result.yours[0], result.expected[0]
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


check_order = Checker(
    name="order",
    about="""``f(function, x)``, ``x`` ``(n, d)`` with n ≥ 2 → ``"invariant"`` if the function's
    result stays however the rows of x are shuffled, ``"equivariant"`` if its rows are shuffled
    along, ``"neither"`` otherwise.""",
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


def _multi_head(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, heads: int, *,
    causal: int = 0, divisor: float | None = None,
) -> Tensor:  # fmt: skip
    """The layer, and what becomes of it: ``causal`` is the last diagonal that may be seen."""
    n, d = x.shape[1:]
    width = d // heads

    def split(features: Tensor) -> Tensor:  # (batch, heads, n, width)
        return features.unflatten(2, (heads, width)).transpose(1, 2)

    q, k, v = (split(x @ w) for w in (w_q, w_k, w_v))
    seen = torch.ones(n, n, dtype=torch.bool).tril(causal)
    scores = q @ k.transpose(2, 3) / (divisor or width) ** 0.5
    mixed = masked_softmax(scores, seen) @ v
    return mixed.transpose(1, 2).flatten(2) @ w_o  # the heads side by side


def _multi_head_inputs(batch: int, n: int, heads: int, width: int) -> Inputs:
    d = heads * width
    x, *weights = normal((batch, n, heads, width), (batch, n, d), *[(d, d)] * 4)
    return x, *(w / d**0.5 for w in weights), heads


check_multi_head = Checker(
    name="multi_head",
    about="""``f(x, w_q, w_k, w_v, w_o, heads)`` → causal multi-head self-attention ``(batch, n,
    d)``.

    ``x`` is ``(batch, n, d)``, the weights ``(d, d)``; queries are ``x @ w_q``. Head by head the
    next d / heads features, scores divided by the root of so many; place i attends to 0 … i; the
    heads' outputs side by side, times ``w_o``.""",
    reference=_multi_head,
    cases=cases(
        "{:text} of {:place}, {:head} of width {}",
        ((1, 1, 1, 2), (1, 2, 1, 2), (1, 3, 2, 2), (2, 4, 2, 3), (1, 5, 4, 2), (3, 12, 3, 8)),
        _multi_head_inputs,
    ),
    returns=("output",),
    start="write it for heads = 1 first: it is Exercise 3 with a causal mask and w_o.",
    shapes="as many places and features as x",
    span="up to four heads and twelve places",
    mistakes=(
        (lambda *given: _multi_head(*given, causal=100),
         "every place sees the places after it: row i may look at 0 … i alone."),
        (lambda *given: _multi_head(*given, causal=-1),
         "a place does not see itself: the diagonal belongs to the mask, too."),
        (lambda x, *rest: _multi_head(x, *rest, divisor=x.shape[2]),
         "you divide by √d of the whole layer: a head's queries have d / heads numbers."),
        (lambda *given: _multi_head(*given, divisor=1.0),
         "the division by the root of the head's width is missing."),
        (lambda *given: _multi_head(*given, divisor=given[5]),
         "you divide by the root of the number of heads: a head's queries have d / heads numbers."),
        (lambda *given: _multi_head(*given, divisor=(given[0].shape[2] // given[5]) ** 2),
         "you divide by the head's width: the root of it is asked for."),
    ),
)  # fmt: skip
