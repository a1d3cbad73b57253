"""Lesson 11: BERT's block from its file, shares of heads, norms, adapters and patches."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch.nn.functional import gelu, layer_norm, linear

from course_kit.exercises.cases import Inputs, Kinds, cases, generator, normal
from course_kit.exercises.judge import Checker

Layer = dict[str, Tensor]  # a layer's weights by BERT's names
SHAPES = {
    "attention.self.query": "dd",
    "attention.self.key": "dd",
    "attention.self.value": "dd",
    "attention.output.dense": "dd",
    "attention.output.LayerNorm": "d",
    "intermediate.dense": "fd",
    "output.dense": "df",
    "output.LayerNorm": "d",
}


def _layer(d: int, source: torch.Generator) -> Layer:
    """A layer of random weights, twice as wide inside."""
    sizes, layer = {"d": d, "f": 2 * d}, {}
    for name, axes in SHAPES.items():
        shape = [sizes[axis] for axis in axes]
        layer[f"{name}.weight"] = torch.randn(shape, generator=source) + (axes == "d")
        layer[f"{name}.bias"] = torch.randn(shape[0], generator=source)
    return layer


def _apply(x: Tensor, layer: Layer, name: str) -> Tensor:
    return linear(x, layer[f"{name}.weight"], layer[f"{name}.bias"])


def _norm(x: Tensor, layer: Layer, name: str, epsilon: float = 1e-12) -> Tensor:
    return layer_norm(x, x.shape[-1:], layer[f"{name}.weight"], layer[f"{name}.bias"], epsilon)


def _attention(
    x: Tensor, layer: Layer, heads: int, root: Callable[[int, int], float] = lambda d, s: s**0.5
) -> Tensor:
    parts = (_apply(x, layer, f"attention.self.{name}") for name in ("query", "key", "value"))
    q, k, v = (part.unflatten(1, (heads, -1)).transpose(0, 1) for part in parts)  # (heads, n, s)
    alpha = (q @ k.mT / root(x.shape[1], q.shape[2])).softmax(-1)
    return _apply((alpha @ v).transpose(0, 1).flatten(1), layer, "attention.output.dense")


def _side_by_side(x: Tensor, layer: Layer, heads: int) -> Tensor:
    """Without W_O."""
    width = len(x.T)
    bare = layer | {
        "attention.output.dense.weight": torch.eye(width),
        "attention.output.dense.bias": torch.zeros(width),
    }
    return _attention(x, bare, heads)


def _inputs(n: int, d: int, heads: int) -> Inputs:
    (x,) = normal((n, d, heads), (n, d))
    return x, _layer(d, generator(n, d, heads)), heads


def _block_inputs(n: int, d: int, heads: int) -> Kinds:
    """Ordinary weights, and some with which both norms read small numbers, so that ε matters."""
    x, layer, heads = _inputs(n, d, heads)
    read = "attention.output.dense", "attention.output.LayerNorm", "output.dense"
    small = {
        name: weight * (SMALL if name.rpartition(".")[0] in read else 1)
        for name, weight in layer.items()
    }
    return {"": (x, layer, heads), "small variances": (SMALL * x, small, heads)}


SIZES = ((1, 2, 1), (2, 4, 2), (3, 6, 3), (5, 8, 2))
SIZE = "{:piece} of {:number}, {:head}"
SMALL = 2.0**-10  # about 1e-6 as a variance: far above 1e-12, and below 1e-5

check_bert_attention = Checker(
    name="bert_attention",
    about="""``f(x, layer, heads)``: states ``(n, d)`` and a layer's weights by BERT's names → what
    multi-head attention gives, W_O and its bias included, ``(n, d)``.""",
    reference=_attention,
    cases=cases(SIZE, SIZES, _inputs),
    returns=("mixed",),
    start="q = x @ layer['attention.self.query.weight'].T + its bias, and so for k and v; each "
    "head has d / heads consecutive columns of them.",
    span="one piece to five, one head to three",
    shapes="a row for each piece, as in x",
    mistakes=(
        (
            lambda x, layer, heads: _attention(x, layer, heads, lambda d, s: d**0.5),
            "you divide by √d: a head's dot product adds d / heads terms, so divide by the root "
            "of that.",
        ),
        (
            lambda x, layer, heads: _attention(x, layer, heads, lambda d, s: 1.0),
            "the scores are not divided by the root of the head's size.",
        ),
        (
            _side_by_side,
            "W_O is missing (attention.output.dense): the heads only stand side by side.",
        ),
        (
            lambda x, layer, heads: _attention(x, layer, 1),
            "all columns are one head: split queries, keys and values first.",
        ),
    ),
)


Norm = Callable[[Tensor, Layer, str], Tensor]


def _block(
    x: Tensor,
    layer: Layer,
    heads: int,
    residual: tuple[float, float] = (1, 1),
    bend: Callable[[Tensor], Tensor] = gelu,
    norm: Norm = _norm,
) -> Tensor:
    """BERT's block; other residuals, nonlinearities and norms make it a wrong one."""
    first = residual[0] * x + _attention(x, layer, heads)
    x = norm(first, layer, "attention.output.LayerNorm")
    change = _apply(bend(_apply(x, layer, "intermediate.dense")), layer, "output.dense")
    return norm(residual[1] * x + change, layer, "output.LayerNorm")


def _pre_norm(x: Tensor, layer: Layer, heads: int) -> Tensor:
    x = x + _attention(_norm(x, layer, "attention.output.LayerNorm"), layer, heads)
    inner = gelu(_apply(_norm(x, layer, "output.LayerNorm"), layer, "intermediate.dense"))
    return x + _apply(inner, layer, "output.dense")


def _without_biases(x: Tensor, layer: Layer, heads: int) -> Tensor:
    """Neither of the two linear layers adds its bias."""
    bare = {
        f"{name}.bias": layer[f"{name}.bias"] * 0 for name in ("intermediate.dense", "output.dense")
    }
    return _block(x, layer | bare, heads)


check_bert_block = Checker(
    name="bert_block",
    about="""``f(x, layer, heads)`` → the states ``(n, d)`` above a block: attention, then a
    feed-forward layer with GELU, each added to what it read and then normalised.""",
    reference=_block,
    cases=cases(SIZE, SIZES, _block_inputs, ordinary=1),
    returns=("states",),
    start="x = norm(x + attention(x)), then x = norm(x + W₂ GELU(W₁ x)).",
    span="one piece to five, one head to three, two sizes of weights",
    shapes="a row for each piece, as in x",
    mistakes=(
        (
            partial(_block, residual=(0, 1)),
            "the first residual connection is missing: x + attention.",
        ),
        (partial(_block, residual=(1, 0)), "the second residual connection is missing."),
        (partial(_block, bend=torch.relu), "BERT bends by GELU, yours by ReLU."),
        (
            partial(_block, bend=lambda x: x),
            "nothing bends between W₁ and W₂: GELU is missing.",
        ),
        (
            lambda x, layer, heads: _attention(x, layer, heads),
            "that is attention alone: residuals, norms and the feed-forward layer are missing.",
        ),
        (
            partial(_block, norm=partial(_norm, epsilon=1e-5)),
            "your norms add ε = 1e-5, PyTorch's own; BERT's add 1e-12, which matters where the "
            "numbers differ little.",
        ),
        (
            _pre_norm,
            "you normalise what attention and the feed-forward layer read: in BERT a norm comes "
            "after each sum.",
        ),
        (_without_biases, "the biases b₁ and b₂ of the feed-forward layer are missing."),
    ),
)


def _special(heads: int, n: int) -> Inputs:
    (scores,) = normal((heads, n), (heads, n, n))
    special = torch.zeros(n, dtype=torch.bool)
    special[[0, -1]] = True
    return (2 * scores).softmax(-1), special


check_special_share = Checker(
    name="special_share",
    about="""``f(attention, special)``, ``(heads, n, n)`` and which of the tokens are special
    ``(n,)`` → the mean share that the other tokens give to special ones, ``(heads,)``.""",
    reference=lambda attention, special: attention[:, ~special][..., special].sum(-1).mean(-1),
    cases=cases("{:head}, {:token}", ((1, 3), (2, 4), (3, 6), (12, 9)), _special),
    returns=("share",),
    start="rows of the other tokens, columns of the special ones.",
    span="one head to twelve",
    shapes="one number a head",
    mistakes=(
        (
            lambda attention, special: attention[..., special].sum(-1).mean(-1),
            "the special tokens' own rows are in the mean: take the other rows alone.",
        ),
        (
            lambda attention, special: attention[:, ~special][..., special].mean((-1, -2)),
            "you average over the special tokens: what both receive is a sum.",
        ),
        (
            lambda attention, special: attention[:, special][..., ~special].sum(-1).mean(-1),
            "that is what special tokens give to the others: rows attend, columns are attended to.",
        ),
    ),
)


def _written(alpha: Tensor, v: Tensor, w_o: Tensor) -> Tensor:
    """What each head writes from j to i, ``(heads, n, n, d)``."""
    of_heads = w_o.unflatten(1, (len(alpha), -1))
    return torch.einsum("hij,hjs,whs->hijw", alpha, v, of_heads)


def _norm_inputs(n: int, d: int, heads: int) -> Inputs:
    scores, v, w_o = normal((n, d, heads), (heads, n, n), (heads, n, d // heads), (d, d))
    return (2 * scores).softmax(-1), v, w_o


check_written_norms = Checker(
    name="written_norms",
    about="""``f(alpha, v, w_o)``, ``(heads, n, n)``, ``(heads, n, size)`` and ``(d, d)`` → the
    length of what position i takes from position j, ‖Σ_h α_ij v_j W_O‖, ``(n, n)``.""",
    reference=lambda alpha, v, w_o: _written(alpha, v, w_o).sum(0).norm(dim=-1),
    cases=cases(SIZE, SIZES, _norm_inputs),
    returns=("norms",),
    start="head h's columns of w_o are h · size to (h + 1) · size; nn.Linear computes v @ w.T.",
    span="one piece to five, one head to three",
    shapes="a row for each position that attends",
    mistakes=(
        (
            lambda alpha, v, w_o: _written(alpha, v, w_o).norm(dim=-1).sum(0),
            "you add the heads' lengths. What they write are vectors that may cancel: add them "
            "first.",
        ),
        (
            lambda alpha, v, w_o: _written(torch.ones_like(alpha), v, w_o).sum(0).norm(dim=-1),
            "the weights are missing.",
        ),
        (
            lambda alpha, v, w_o: _written(alpha, v, w_o.T).sum(0).norm(dim=-1),
            "you take rows of w_o for a head: nn.Linear computes v @ "
            "w.T, so a head's part of w_o is "
            "its columns.",
        ),
        (
            lambda alpha, v, w_o: _written(alpha.mT, v, w_o).sum(0).norm(dim=-1),
            "the weights are transposed, or the positions: row i of alpha holds what position i "
            "takes, and column j of it multiplies v_j.",
        ),
    ),
)


Answer = Callable[[Tensor], Tensor]  # what the heads hand on ``(heads, size)`` → one logit


def _sum(heads: Tensor) -> Tensor:
    return (heads * torch.linspace(-1, 2, heads.numel()).view_as(heads)).sum()


# above the heads; where it bends, single heads restore more or less than their part
NETWORKS: dict[str, Answer] = {
    "adds up": _sum,
    "saturates": lambda heads: torch.tanh(_sum(heads) / 3),
}


def _patches(heads: int, size: int) -> Kinds:
    clean, corrupted = normal((heads, size), (heads, size), (heads, size))
    return {
        f"a network that {name}": (answer, clean, corrupted) for name, answer in NETWORKS.items()
    }


def _single(into: Tensor, source: Tensor) -> Tensor:
    """``into`` with each head in turn from ``source``, ``(heads, heads, size)``."""
    own = torch.eye(len(into), dtype=torch.bool).unsqueeze(2)
    return torch.where(own, source, into)


def _restored(answer: Answer, clean: Tensor, corrupted: Tensor) -> Tensor:
    low, high = answer(corrupted), answer(clean)
    return torch.stack([answer(one) - low for one in _single(corrupted, clean)]) / (high - low)


def _removed(answer: Answer, clean: Tensor, corrupted: Tensor) -> Tensor:
    low, high = answer(corrupted), answer(clean)
    return torch.stack([high - answer(one) for one in _single(clean, corrupted)]) / (high - low)


check_restored = Checker(
    name="restored",
    about="""``f(answer, clean, corrupted)``, what the heads hand on in two texts ``(heads, size)``
    → for each head the share of the gap between both answers that it restores when it alone is
    taken from the clean text, ``(heads,)``.""",
    reference=_restored,
    cases=cases("{:head} of {:number}", ((1, 2), (2, 2), (3, 4), (12, 4)), _patches),
    returns=("share",),
    start="patched = corrupted.clone(); patched[h] = clean[h]; then answer(patched).",
    span="one head to twelve, two networks",
    shapes="one number a head",
    mistakes=(
        (
            lambda answer, clean, corrupted: (
                _restored(answer, clean, corrupted) * (answer(clean) - answer(corrupted))
            ),
            "you return differences of the answer: divide by the gap between both texts.",
        ),
        (
            _removed,
            "you corrupt one head of the clean text. Here one clean head enters the corrupted one, "
            "which need not be the same.",
        ),
    ),
)
