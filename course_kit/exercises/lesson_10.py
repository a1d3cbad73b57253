"""Lesson 10: a Transformer's encoder in three steps, and attention rollout."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from course_kit.exercises.building import building, network
from course_kit.exercises.cases import Inputs, cases, masked_cases, normal
from course_kit.exercises.judge import Checker
from course_kit.exercises.lesson_02_self_attention import by_heads, head_cases, wrong_heads
from course_lib.faithfulness.word_attention import rollout
from course_lib.models.transformer import Block, MultiHeadAttention, Transformer, TransformerConfig


def _config(**sizes: int) -> TransformerConfig:
    return TransformerConfig(**sizes, dropout=0.0, attention_dropout=0.0)


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

    pairs = (mask.unsqueeze(1) & mask.unsqueeze(2)).unsqueeze(1)
    found, alpha = by_heads(ours, x, pairs, split, **changes)
    return found @ w_o(ours.output.weight).T.unflatten(0, (ours.heads, -1)), alpha


check_heads = building(
    ours=OurHeads,
    weights=lambda ours: dict(ours.named_parameters()),
    sizes=lambda ours: (ours.query.in_features, ours.heads),
    forbidden=(MultiHeadAttention, nn.MultiheadAttention),
    name="heads",
    about="""``f(x, mask)``, ``x`` ``(batch, n, width)``, ``mask`` ``(batch, n)`` → what each head
    adds ``(batch, heads, n, width)`` and its attention ``(batch, heads, n, n)``, 0 in rows and
    columns of padding. A head has the next width / heads features of queries, keys and values, and
    as many columns of W_O.""",
    cases=head_cases(OurHeads),
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


class BareBlock(OurBlock):
    """The block without its residual connections: each layer replaces what it reads."""

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """As ``OurBlock``."""
        return _block(self, x, mask, kept=(0, 0))


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
    about="""``f(x, mask)``, ``x`` ``(batch, n, width)``, ``mask`` ``(batch, n)`` → as ``x``, and
    the attention. x ← Norm(x + Σ heads + b_O), then x ← Norm(x + W_2 max(0, W_1 x)), with
    biases.""",
    cases=head_cases(OurBlock, 5),
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


class LibraryEncoder(Transformer):
    """The library's Transformer from the vectors of its tokens to the states of its top layer."""

    def __init__(self, width: int, heads: int, layers: int, positions: int) -> None:
        sizes = {"heads": heads, "layers": layers, "positions": positions, "width": width}
        super().__init__(_config(**sizes, feed_forward=4 * width), 1, 1)

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """→ states ``(batch, n, width)``, attention ``(batch, layers, heads, n, n)``."""
        output = self.read(x, mask, return_attention=True, return_states=True)
        return output.states[:, -1], output.attention


class OurEncoder(nn.Module):
    """Positions and blocks, of whatever kind."""

    def __init__(
        self, width: int, heads: int, layers: int, positions: int, block: Callable
    ) -> None:
        super().__init__()
        self.positions = nn.Embedding(positions, width)
        nn.init.normal_(self.positions.weight, std=0.1)
        self.blocks = nn.ModuleList(
            [block(width, heads, 4 * width, OurHeads) for _ in range(layers)]
        )

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """As ``LibraryEncoder``."""
        x, found = x + self.positions.weight[: x.shape[1]], []
        for block in self.blocks:
            x, attention = block(x, mask)
            found.append(attention)
        return x, torch.stack(found, 1)


def _encode(
    ours: LibraryEncoder,
    x: Tensor,
    mask: Tensor,
    *,
    order: int = 1,
    positions: float = 1.0,
    first: int = 0,
    each: bool = False,
    sees: bool = True,
) -> tuple[Tensor, Tensor]:
    """The encoder, and what becomes of it: blocks in another ``order``, positions with a factor,
    from another ``first`` one on or in ``each`` layer, blocks that do not see the one below."""
    place = positions * ours.positions.weight[first : first + x.shape[1]]
    below, found = x + place, []
    x = below
    for number, block in enumerate(ours.blocks[::order]):
        read = x if sees else below
        x, alpha, _ = block(read + place if each and number else read, mask, None, True)
        found.append(alpha)
    return x, torch.stack(found, 1)


def _encoder_inputs(mask: Tensor, batch: int, n: int, layers: int) -> Inputs:
    (x,) = normal((batch, n, layers), (batch, n, 6))
    return network(LibraryEncoder, 6, 2, layers, 8, seed=n), x, mask


check_encoder = building(
    ours=OurEncoder,
    weights=lambda ours: {
        name: value
        for name, value in ours.named_parameters()
        if name.startswith(("positions", "blocks"))
    },
    sizes=lambda ours: (ours.positions.embedding_dim, 2, len(ours.blocks), 8, OurBlock),
    forbidden=(Transformer, nn.TransformerEncoder),
    name="encoder",
    about="""``f(x, mask)``, ``x`` ``(batch, n, width)``, ``mask`` ``(batch, n)`` → states of the
    top layer ``(batch, n, width)``, attention ``(batch, layers, heads, n, n)``. The vectors of the
    positions 0 to n − 1 are added once, at the bottom; then block after block.""",
    cases=masked_cases(
        "{:text} of {}, {:layer}", ((1, 2, 1), (1, 3, 2), (2, 4, 2), (3, 7, 3)), _encoder_inputs
    ),
    returns=("states", "attention"),
    start="self.positions.weight[: x.shape[1]] is (n, width): one vector for each position.",
    shapes="the attention has an axis of layers after the batch",
    span="up to three layers and seven positions",
    mistakes=(
        (
            lambda *given: _encode(*given, positions=0.0),
            "the vectors of the positions are missing, so the encoder does not know the order.",
        ),
        (
            lambda *given: _encode(*given, first=1),
            "positions count from 0: the first token gets self.positions.weight[0].",
        ),
        (
            lambda *given: _encode(*given, each=True),
            "you add the positions in every layer: residual connections carry them up.",
        ),
        (
            lambda *given: _encode(*given, order=-1),
            "the blocks run from the top down: begin with self.blocks[0].",
        ),
        (
            lambda *given: _encode(*given, sees=False),
            "every block reads the words: each should read what the one below it returned.",
        ),
    ),
)


def _rollout(attention: Tensor) -> Tensor:
    return rollout(attention.mean(1)[None], torch.ones(1, attention.shape[-1]).bool())[0]


def _rolled(
    attention: Tensor, residual: float = 0.5, kept: float = 0.5, turned: bool = False
) -> Tensor:
    """Rollout with other shares of attention and residual, or the layers in the other order."""
    mixed = eye = torch.eye(attention.shape[-1])
    for alpha in attention.mean(1):
        step = kept * alpha + residual * eye
        mixed = mixed @ step if turned else step @ mixed
    return mixed


check_rollout = Checker(
    name="rollout",
    about="""``f(attention)``, ``(layers, heads, n, n)``, layer 1 first → rollout ``(n, n)``: the
    product of ½ (A + I), A the mean of a layer's heads, layer 1 on the right.""",
    reference=_rollout,
    cases=cases(
        "{:layer} of {:head}, {:word}",
        ((1, 1, 2), (2, 1, 2), (2, 2, 3), (3, 4, 6)),
        lambda layers, heads, n: (
            (2 * normal((layers, heads, n), (layers, heads, n, n))[0]).softmax(-1),
        ),
    ),
    returns=("rollout",),
    start="attention.mean(1) is (layers, n, n), and torch.eye(n) the identity.",
    shapes="one row for each position above all layers, one column for each word",
    span="up to three layers of four heads",
    mistakes=(
        (
            lambda attention: _rolled(attention, turned=True),
            (
                "the layers are in the wrong order: layer 1 reads the words, "
                "so it stands on the right."
            ),
        ),
        (
            lambda attention: _rolled(attention, residual=0.0, kept=1.0),
            "the residual connections are missing: ½ (A + I).",
        ),
        (
            lambda attention: _rolled(attention, residual=1.0, kept=1.0),
            "the half is missing: rows of A + I sum to 2, and those of the product to more.",
        ),
        (
            lambda attention: _rolled(attention, residual=1.0, kept=0.5),
            "only A is halved: ½ (A + I) halves both.",
        ),
        (
            lambda attention: _rolled(attention.mean(0, keepdim=True)),
            "you take the mean of the layers: they follow each other, so their matrices multiply.",
        ),
        (
            lambda attention: torch.stack(
                [_rolled(attention[:, [head]]) for head in range(attention.shape[1])]
            ).mean(0),
            "you roll out each head alone: a layer reads all heads below it, so take their mean "
            "first.",
        ),
    ),
)
