"""Lesson 02: scaled dot products, and several heads of them as a network that a learner writes."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from course_kit.exercises.building import building, network
from course_kit.exercises.cases import (
    Case,
    CaseResult,
    Inputs,
    Kinds,
    cases,
    masked_cases,
    masks,
    normal,
)
from course_kit.exercises.comparison import same
from course_kit.exercises.judge import Checker
from course_kit.exercises.lesson_02 import about_weights
from course_lib.models.layers import masked_softmax
from course_lib.models.transformer import MultiHeadAttention


def _scores(q: Tensor, k: Tensor) -> Tensor:
    return q @ k.transpose(1, 2)


def _attend(scores: Tensor, v: Tensor, mask: Tensor, dim: int = -1) -> tuple[Tensor, Tensor]:
    alpha = masked_softmax(scores, mask, dim)
    return alpha @ v, alpha


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
    rows = (
        part.flatten(0, 1)
        for part in (scores, mask.unsqueeze(1).expand_as(scores), result.yours[1])
    )
    return about_weights(*rows)


check_self_attention = Checker(
    name="self_attention",
    about="""``f(q, k, v, mask)`` → output ``(batch, n, values)`` and attention ``(batch, n, n)``.

    ``q`` and ``k`` are ``(batch, n, d)``, ``v`` ``(batch, n, values)``, ``mask`` ``(batch, n)`` of
    the keys. Row i of the attention is the masked softmax of q_i · k_j / √d over j.""",
    reference=lambda q, k, v, mask: _attend(
        _scores(q, k) / q.shape[-1] ** 0.5, v, mask.unsqueeze(1)
    ),
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
        (
            lambda q, k, v, mask: _attend(_scores(q, k), v, mask.unsqueeze(1)),
            "the scores are not divided by √d (a network in lesson 04 does without).",
        ),
        (
            lambda q, k, v, mask: _attend(_scores(q, k) / q.shape[-1], v, mask.unsqueeze(1)),
            "you divide by d; the standard deviation of q · k is √d.",
        ),
        (
            lambda q, k, v, mask: _attend(_scores(q, k) / q.shape[1] ** 0.5, v, mask.unsqueeze(1)),
            "you divide by the root of n, the number of tokens: d is the last size of q.",
        ),
        (
            lambda q, k, v, mask: _attend(_scores(q, k) * q.shape[-1] ** 0.5, v, mask.unsqueeze(1)),
            "you multiply by √d, which makes the softmax spikier still: divide.",
        ),
        (
            lambda q, k, v, mask: _attend(
                _scores(q, k) / q.shape[-1] ** 0.5, v, mask.unsqueeze(1), dim=1
            ),
            "your columns sum to 1: each row i is a distribution over the keys j, the last axis.",
        ),
        (
            lambda q, k, v, mask: _attend(_scores(q, k) / q.shape[-1] ** 0.5, v, mask.unsqueeze(2)),
            "the mask is laid over the queries, mask.unsqueeze(2): it should hide keys, columns.",
        ),
    ),
    diagnoses=(_about_self_attention,),
)


class MultiHead(nn.Module):
    """Multi-head attention without biases, behind the interface of the lesson's class."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, width, bias=False)
        self.value = nn.Linear(width, width, bias=False)
        self.output = nn.Linear(width, width, bias=False)

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """``x`` ``(batch, n, width)``, ``mask`` ``(batch, n)`` of the keys → as ``x``, and the
        attention ``(batch, heads, n, n)``."""
        return _multi_head(self, x, mask)


def by_heads(
    ours: nn.Module,
    x: Tensor,
    real: Tensor,
    split: Callable[[Tensor], Tensor],
    divisor: float | None = None,
    dim: int = -1,
    asks: str = "query",
) -> tuple[Tensor, Tensor]:
    """What each head found ``(batch, heads, n, size)`` and its attention, where queries, keys and
    values are ``split`` into heads; and what becomes of it with another divisor, the softmax along
    ``dim``, or keys that ask."""
    others = {"query": "key", "key": "query"}
    q, k, v = (split(getattr(ours, name)(x)) for name in (asks, others[asks], "value"))
    scores = q @ k.mT / (divisor or q.shape[-1]) ** 0.5
    alpha = masked_softmax(scores, real.expand_as(scores), dim)
    return alpha @ v, alpha


def _multi_head(
    ours: MultiHead,
    x: Tensor,
    mask: Tensor,
    *,
    hidden: int = 1,
    cut: str = "features",
    joined: bool = True,
    of_text: Callable[[Tensor, int], Tensor] = lambda rows, heads: rows.unsqueeze(1),
    **changes: Any,
) -> tuple[Tensor, Tensor]:
    """The layer, and what becomes of it: the ``hidden`` axis of its scores, what is ``cut`` into
    heads, outputs that are not ``joined`` by word, the text ``of_text`` whose mask a head of a text
    gets, and the ``changes`` of ``by_heads``."""
    batch, n, width = x.shape

    def split(features: Tensor) -> Tensor:  # (batch, heads, n, size)
        if cut == "positions":
            return features.view(batch, ours.heads, n, -1)
        if cut == "neighbours":
            return features.view(batch, n, -1, ours.heads).permute(0, 3, 1, 2)
        return features.view(batch, n, ours.heads, -1).transpose(1, 2)

    real = mask[of_text(torch.arange(batch), ours.heads)]  # (batch, 1 or heads, n)
    found, alpha = by_heads(ours, x, real.unsqueeze(hidden + 1), split, **changes)
    mixed = found.transpose(1, 2) if joined else found
    return ours.output(mixed.reshape(batch, n, width)), alpha


def _about_heads(result: CaseResult) -> str | None:
    alpha = _multi_head(*result.case.inputs, cut="neighbours")[1]
    if same(result.yours[1], result.expected[1]) or not same(result.yours[1], alpha):
        return None
    return "neighbouring features go to different heads: unflatten(2, (heads, -1)), heads first."


def head_cases(ours: Callable[..., nn.Module], *sizes: int) -> Callable[[], list[Case]]:
    """A network of ours on vectors of several shapes, with every kind of mask."""

    def inputs(mask: Tensor, batch: int, n: int, heads: int, size: int) -> Inputs:
        (x,) = normal((batch, n, heads, size), (batch, n, heads * size))
        return network(ours, heads * size, heads, *sizes, seed=n), x, mask

    shapes = ((1, 2, 1, 2), (1, 3, 2, 2), (2, 4, 2, 3), (3, 9, 4, 4))
    return masked_cases("{:text} of {}, {:head} of {}", shapes, inputs)


def wrong_heads(layer: Callable[..., Any]) -> tuple[tuple[Callable[..., Any], str], ...]:
    """The mistakes of whoever cuts a layer into heads, and what we say."""
    return (
        (
            lambda ours, x, mask: layer(ours, x, mask, divisor=x.shape[2]),
            (
                "you divide by the root of the whole width: a head's queries "
                "have width / heads numbers."
            ),
        ),
        (
            lambda ours, x, mask: layer(ours, x, mask, divisor=1.0),
            "the division by the root of the head's width is missing.",
        ),
        (
            lambda ours, x, mask: layer(ours, x, mask, dim=-2),
            "your columns sum to 1: the softmax runs over the keys, the last axis.",
        ),
        (lambda ours, x, mask: layer(ours, x, mask, asks="key"), "queries and keys are exchanged."),
    )


check_multi_head = building(
    ours=MultiHead,
    weights=lambda ours: dict(ours.named_parameters()),
    sizes=lambda ours: (ours.query.in_features, ours.heads),
    forbidden=(MultiHeadAttention, nn.MultiheadAttention),
    name="multi_head",
    about="""``f(x, mask)``, ``x`` ``(batch, n, width)`` and the mask ``(batch, n)`` of its keys →
    output ``(batch, n, width)`` and attention ``(batch, heads, n, n)``. Head by head the next
    width / heads features of queries, keys and values, scores divided by the root of so many; the
    heads' outputs side by side through the last matrix.""",
    cases=head_cases(MultiHead),
    returns=("output", "attention"),
    start="self.query(x).view(batch, n, heads, size).transpose(1, 2) is (batch, heads, n, size).",
    shapes="the output is like x; the attention has an axis of heads after the batch",
    span="up to four heads and nine positions",
    mistakes=(
        *wrong_heads(_multi_head),
        (
            lambda ours, x, mask: _multi_head(ours, x, mask, hidden=2),
            "the mask is laid over the queries: it should hide keys, the last axis of the scores.",
        ),
        (
            lambda ours, x, mask: _multi_head(ours, x, mask, cut="positions", joined=False),
            "you cut positions into heads: view as (batch, n, heads, size) first, then transpose.",
        ),
        (
            lambda ours, x, mask: _multi_head(ours, x, mask, joined=False),
            "the heads stand side by side before their positions: .transpose(1, 2) first.",
        ),
        (
            lambda ours, x, mask: _multi_head(
                ours, x, mask, of_text=lambda rows, heads: rows.repeat(heads).view(-1, heads)
            ),
            "the heads get masks of other texts: where the heads of a text follow one another, its "
            "mask is repeated row by row, mask.repeat_interleave(heads, 0), and not as a block by "
            "mask.repeat(heads, 1).",
        ),
        (
            lambda ours, x, mask: _multi_head(
                ours,
                x,
                mask,
                of_text=lambda rows, heads: rows.repeat_interleave(heads).view(heads, -1).T,
            ),
            "the heads get masks of other texts: where all texts of a head follow one another, the "
            "masks are repeated as a block, mask.repeat(heads, 1).",
        ),
    ),
    diagnoses=(_about_heads,),
)
