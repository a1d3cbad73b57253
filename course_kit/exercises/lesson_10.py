"""Lesson 10: heads, a block and a causal mask for a language model, and a score for its heads."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch import Tensor, nn

from course_kit.exercises.building import building, network
from course_kit.exercises.cases import (
    Case,
    Inputs,
    Kinds,
    cases,
    generator,
    masked_cases,
    masks,
    normal,
)
from course_kit.exercises.judge import Checker, Remark
from course_kit.exercises.lesson_02_self_attention import by_heads, wrong_heads
from course_lib.models.decoder import causal_mask
from course_lib.models.transformer import Block, MultiHeadAttention, TransformerConfig


def _config(**sizes: int) -> TransformerConfig:
    return TransformerConfig(**sizes, dropout=0.0, attention_dropout=0.0)


def _pairs(mask: Tensor) -> Tensor:
    """Pairs ``(batch, n, n)`` of two real tokens, of a mask ``(batch, n)``."""
    return mask.unsqueeze(1) & mask.unsqueeze(2)


def _pair_cases(ours: Callable[..., nn.Module], *sizes: int) -> Callable[[], list[Case]]:
    """A network of ours on vectors of several shapes, with every kind of pairs."""

    def inputs(batch: int, n: int, heads: int, size: int) -> Kinds:
        (x,) = normal((batch, n, heads, size), (batch, n, heads * size))
        made = network(ours, heads * size, heads, *sizes, seed=n)
        real, some, empty = map(_pairs, masks(batch, n))
        return {
            "all pairs": (made, x, real),
            "causal": (made, x, real.tril()),
            "some padded": (made, x, some),
            "the last one empty": (made, x, empty),
        }

    shapes = ((1, 2, 1, 2), (1, 3, 2, 2), (2, 4, 2, 3), (3, 9, 4, 4))
    return cases("{:text} of {}, {:head} of {}", shapes, inputs)


class OurHeads(MultiHeadAttention):
    """The library's multi-head attention without W_O's bias, which returns each head's part."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__(width, _config(heads=heads))
        self.output.register_parameter("bias", None)

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """→ what each head adds ``(batch, heads, n, width)``, and its attention."""
        _, attention, v = super().forward(x, mask, None, True)
        return _through(self, attention @ v), attention


def _through(ours: OurHeads, found: Tensor) -> Tensor:
    """What each head found, ``(batch, heads, n, size)``, through its columns of W_O."""
    return found @ ours.output.weight.T.unflatten(0, (ours.heads, -1))


def _heads(
    ours: OurHeads,
    x: Tensor,
    mask: Tensor,
    *,
    stripes: bool = False,
    w_o: Callable[[Tensor], Tensor] = lambda w: w,
    **changes: Any,
) -> tuple[Tensor, Tensor]:
    """The layer, and what becomes of it: every so many features in place of neighbouring ones,
    another W_O, and the ``changes`` of ``by_heads``."""

    def split(features: Tensor) -> Tensor:
        if stripes:
            return features.unflatten(2, (-1, ours.heads)).permute(0, 3, 1, 2)
        return features.unflatten(2, (ours.heads, -1)).transpose(1, 2)

    found, alpha = by_heads(ours, x, mask.unsqueeze(1), split, **changes)
    return found @ w_o(ours.output.weight).T.unflatten(0, (ours.heads, -1)), alpha


check_heads = building(
    ours=OurHeads,
    weights=lambda ours: dict(ours.named_parameters()),
    sizes=lambda ours: (ours.query.in_features, ours.heads),
    forbidden=(MultiHeadAttention, nn.MultiheadAttention),
    name="heads",
    about="""``f(x, mask)``, ``x`` ``(batch, n, width)``, ``mask`` ``(batch, n, n)``, True where the
    row may attend to the column → what each head adds ``(batch, heads, n, width)`` and its
    attention ``(batch, heads, n, n)``, 0 where the mask is False. A head has the next width / heads
    features of queries, keys and values, and as many columns of W_O.""",
    cases=_pair_cases(OurHeads),
    returns=("added", "attention"),
    start="unflatten(2, (self.heads, -1)).transpose(1, 2) cuts features into heads.",
    shapes="both have an axis of heads after the batch; what a head adds is as wide as x",
    span="up to four heads and nine positions",
    mistakes=(
        *wrong_heads(_heads),
        (
            lambda ours, x, mask: _heads(ours, x, mask, stripes=True),
            "you deal the features out one by one: a head has neighbouring ones.",
        ),
        (
            lambda ours, x, mask: _heads(ours, x, mask, w_o=lambda w: w.T),
            "you cut W_O by its rows, which are outputs and belong to no head: nn.Linear computes "
            "x @ weight.T, so a head's features meet columns of the weight.",
        ),
        (
            lambda ours, x, mask: _heads(ours, x, mask.mT),
            "the mask is transposed: its rows are those that attend, as in the scores.",
        ),
    ),
)


class OurBlock(Block):
    """The library's block, with its attention."""

    def __init__(
        self, width: int, heads: int, feed_forward: int, attention: Callable | None = None
    ) -> None:
        super().__init__(width, _config(heads=heads, feed_forward=feed_forward))

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """→ as ``x``, and the attention."""
        x, attention, _ = super().forward(x, mask, with_weights=True)
        return x, attention


def _block(
    ours: OurBlock,
    x: Tensor,
    mask: Tensor,
    *,
    kept: tuple[int, int] = (1, 1),
    before: bool = False,
    inside: bool = False,
    bias: int = 1,
    bend: Callable[[Tensor], Tensor] = torch.relu,
    reads: str = "between",
) -> tuple[Tensor, Tensor]:
    """The block, and what becomes of it: how often each residual is ``kept``, norms ``before`` the
    layers or ``inside`` the sums, no bias, no ReLU, a feed-forward layer that reads the input."""
    first, second = ours.norms
    mixed, alpha, _ = ours.attention(first(x) if before else x, mask, None, True)
    mixed = mixed - (1 - bias) * ours.attention.output.bias
    after = [nn.Identity()] * 2 if before or inside else (first, second)
    between = after[0](kept[0] * x + (first(mixed) if inside else mixed))
    read = x if reads == "x" else second(between) if before else between
    change = ours.w_2(bend(ours.w_1(read)))
    return after[1](kept[1] * between + (second(change) if inside else change)), alpha


check_block = building(
    ours=OurBlock,
    weights=lambda ours: {
        name.replace("attention.output.bias", "bias"): value
        for name, value in ours.named_parameters()
    },
    sizes=lambda ours: (
        ours.w_2.out_features,
        ours.attention.heads,
        ours.w_1.out_features,
        OurHeads,
    ),
    forbidden=(Block, nn.TransformerEncoderLayer),
    name="block",
    about="""``f(x, mask)``, ``x`` ``(batch, n, width)``, ``mask`` ``(batch, n, n)`` → as ``x``, and
    the attention. x ← Norm(x + Σ heads + b_O), then x ← Norm(x + W_2 max(0, W_1 x)), with
    biases.""",
    cases=_pair_cases(OurBlock, 5),
    returns=("x", "attention"),
    start="added, attention = self.attention(x, mask); the heads are the second axis of added.",
    shapes="x keeps its shape; sum the heads away",
    span="up to four heads and nine positions",
    mistakes=(
        (
            lambda *given: _block(*given, kept=(0, 0)),
            "both residual connections are missing: each layer adds to what it reads.",
        ),
        (
            lambda *given: _block(*given, kept=(0, 1)),
            "the residual connection around attention is missing: x + …",
        ),
        (
            lambda *given: _block(*given, kept=(1, 0)),
            "the residual connection around the feed-forward layer is missing.",
        ),
        (
            lambda *given: _block(*given, before=True),
            "you normalise what each layer reads (pre-norm, as later "
            "Transformers do): here the norm "
            "comes after the sum.",
        ),
        (
            lambda *given: _block(*given, inside=True),
            "you normalise what is added: add first, then normalise the sum.",
        ),
        (
            lambda *given: _block(*given, bias=0),
            "b_O is missing: self.bias belongs to no head and is added once.",
        ),
        (
            lambda *given: _block(*given, bend=lambda x: x),
            "the feed-forward layer is linear: the ReLU between W_1 and W_2 is missing.",
        ),
        (
            lambda *given: _block(*given, reads="x"),
            "the feed-forward layer reads the block's input: it should read what the first norm "
            "returned.",
        ),
    ),
)


def _causal(mask: Tensor) -> Tensor:
    return _pairs(mask) & causal_mask(mask.shape[1])


def _boolean(answer: Any) -> Any:
    """The answer, with a remark on a mask of numbers, which ``masked_softmax`` does not take."""
    if not callable(answer):
        return answer

    @wraps(answer)
    def checked(mask: Tensor) -> Any:
        pairs = answer(mask)
        if isinstance(pairs, Tensor) and pairs.dtype != torch.bool:
            raise Remark("return booleans, True where the row may attend to the column.")
        return pairs

    return checked


check_causal = Checker(
    name="causal",
    about="""``f(mask)``, ``(batch, n)``, True = real token → ``(batch, n, n)``, True where the row
    may attend to the column: both are real, and the column is not further right.""",
    reference=_causal,
    cases=masked_cases(
        "{:text} of {}", ((1, 1), (1, 3), (2, 4), (3, 6)), lambda mask, *sizes: (mask,)
    ),
    returns=("pairs",),
    start="mask.unsqueeze(1) & mask.unsqueeze(2) are the pairs of two real tokens, (batch, n, n).",
    shapes="a row for each position that attends, a column for each that is attended to",
    span="up to three texts of six tokens",
    mistakes=(
        (
            _pairs,
            "each position sees the whole text: hide what stands further right than itself.",
        ),
        (
            lambda mask: _pairs(mask).tril(-1),
            "no position sees itself: the diagonal belongs to what may be seen, tril() keeps it.",
        ),
        (
            lambda mask: _pairs(mask).triu(),
            "each position sees what comes after it: rows attend, so keep the part below the "
            "diagonal, tril().",
        ),
        (
            lambda mask: causal_mask(mask.shape[1]).expand(len(mask), -1, -1).clone(),
            "mask is not used: padding must neither attend nor be attended to.",
        ),
        (
            lambda mask: mask.unsqueeze(1) & causal_mask(mask.shape[1]),
            "rows of padding attend to real tokens: both tokens of a pair must be real.",
        ),
    ),
    adapt=_boolean,
)


def _copies(tokens: Tensor) -> Tensor:
    """Pairs ``(n, n)``: the column holds the row's token, further left."""
    return (tokens.unsqueeze(1) == tokens).tril(-1)


def _induction(attention: Tensor, tokens: Tensor, shift: int = 1) -> Tensor:
    """The weights ``shift`` positions behind earlier copies, summed for each row."""
    return (attention * _copies(tokens).roll(shift, 1)).sum(1)


def _latest(attention: Tensor, tokens: Tensor) -> Tensor:
    copies = _copies(tokens)
    places = (copies * torch.arange(len(tokens))).amax(1)
    after = attention.gather(1, (places + 1).clamp(max=len(tokens) - 1).unsqueeze(1)).squeeze(1)
    return after * copies.any(1)


def _induction_inputs(n: int, words: int) -> Inputs:
    """One text of ``n`` tokens, ``words`` different ones, and causal attention."""
    tokens = torch.randint(words, (n,), generator=generator(n, words))
    tokens[-1] = tokens[0]
    (scores,) = normal((n, words), (n, n))
    weights = scores.masked_fill(~causal_mask(n), -torch.inf).softmax(1)
    return weights, tokens


check_induction = Checker(
    name="induction",
    about="""``f(attention, tokens)``, ``(n, n)`` and ids ``(n,)`` of one text → ``(n,)``: how much
    weight each position gives, in all, to the positions one after earlier copies of its own token;
    0 without a copy.""",
    reference=_induction,
    cases=cases(
        "{:token}, {} different ones",
        ((3, 2), (4, 2), (6, 3), (9, 4), (16, 5)),
        _induction_inputs,
    ),
    returns=("weights",),
    start="tokens[:, None] == tokens compares all pairs of tokens; tril(-1) keeps those further "
    "left.",
    shapes="one number for each position",
    span="up to sixteen tokens",
    mistakes=(
        (
            lambda attention, tokens: _induction(attention, tokens, 0),
            "you add up the weights on the copies themselves: take those one position after them.",
        ),
        (
            lambda attention, tokens: _induction(attention, tokens, -1),
            "you take the position before a copy: the token after it is asked for.",
        ),
        (
            lambda attention, tokens: _induction(attention.T, tokens),
            "the attention is transposed: row i holds the weights that position i gives.",
        ),
        (
            lambda attention, tokens: (attention * _copies(tokens).roll(1, 1)).sum(0),
            "you add up columns: a row holds the weights that a position gives: sum over axis 1.",
        ),
        (
            _latest,
            "you take one earlier copy only: add up the weights after all of them.",
        ),
        (
            lambda attention, tokens: (
                _induction(attention, tokens) / _copies(tokens).sum(1).clamp(min=1)
            ),
            "you average over the copies: the weights of a row are shares, so add them up.",
        ),
    ),
)
