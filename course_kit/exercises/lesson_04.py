"""Lesson 04: SANet's block, and attention made of positions alone."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from course_kit.exercises.building import building, network
from course_kit.exercises.cases import Case, CaseResult, Inputs, masked_cases, normal
from course_kit.exercises.comparison import largest, same
from course_kit.exercises.judge import Checker
from course_lib.models.layers import masked_softmax, positions
from course_lib.models.sanet import Block, FeedForward, SANetConfig, SelfAttention


class OurBlock(Block):
    """The library's block without dropout, whose scores are multiplied by ``scale``."""

    def __init__(self, hidden: int, scale: float = 1.0) -> None:
        super().__init__(SANetConfig(hidden=hidden, dropout=0.0))
        self.mixer.scale = scale

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """→ the words ``(n, words, hidden)`` and their attention ``(n, words, words)``."""
        return super().forward(x, mask, with_weights=True)


def _block(
    ours: OurBlock,
    x: Tensor,
    mask: Tensor,
    seen: Callable[[Tensor], Tensor] = lambda mask: mask.unsqueeze(1) & mask.unsqueeze(2),
    scale: Callable[[OurBlock], float] = lambda ours: ours.mixer.scale,
    score: Callable[[Tensor, Tensor], Tensor] = lambda q, x: q @ x.mT,
    keep: tuple[bool, bool] = (True, True),
    bend: Callable[[Tensor], Tensor] = torch.relu,
    before: Callable[[Tensor], Tensor] = lambda x: x,
    after: Callable[[Tensor], Tensor] = lambda x: x,
) -> tuple[Tensor, Tensor]:
    """The block with another mask, scale, order of the scores or residuals, or with another
    nonlinearity between the two maps of its feed-forward layer, ``before`` or ``after`` them."""
    mixer, forward = ours.mixer, ours.feed_forward
    alpha = masked_softmax(score(mixer.w_qk(x), x) * scale(ours), seen(mask))
    x = ours.norms[0](keep[0] * x + alpha @ mixer.w_v(x))
    changed = after(forward.w_2(bend(forward.w_1(before(x)))))
    return ours.norms[1](keep[1] * x + changed), alpha


def _norms_inside(ours: OurBlock, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    mixed, alpha = ours.mixer(x, mask)
    x = x + ours.norms[0](mixed)
    return x + ours.norms[1](ours.feed_forward(x)), alpha


def _norms_first(ours: OurBlock, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    mixed, alpha = ours.mixer(ours.norms[0](x), mask)
    x = x + mixed
    return x + ours.feed_forward(ours.norms[1](x)), alpha


def _about_block(result: CaseResult) -> str | None:
    if result.wrong == 1:
        mask, rows = result.case.inputs[2], result.yours[1].sum(2)
        off = (rows - mask.to(rows)).abs()
        if not (off <= 1e-4).all():
            text, row = largest(off.nan_to_num(torch.inf))
            return (
                f"row {row} of text {text} sums to {rows[text, row]:.3g}: a row is a softmax over "
                "the real words, and all zeros where word i is padding."
            )
        return "the attention differs: softmax over j of scale · (x_i W_QK) · x_j."
    real, yours, right = result.case.inputs[2], result.yours[0], result.expected[0]
    if same(yours[real], right[real]):
        return "only rows of padding are wrong, and not in the attention: the equations hold there."
    return "the attention is right, and what becomes of it is not: go through (2) to (4) again."


def _block_inputs(mask: Tensor, n: int, words: int, hidden: int, scale: float) -> Inputs:
    (x,) = normal((n, words, hidden), (n, words, hidden))
    return network(OurBlock, hidden, scale, seed=words), x, mask


def _names(block: Block) -> dict[str, Tensor]:
    """The values of a block by the names that the stub gives."""
    parts = {
        "w_qk": block.mixer.w_qk,
        "w_v": block.mixer.w_v,
        "w_1": block.feed_forward.w_1,
        "w_2": block.feed_forward.w_2,
        "norm_1": block.norms[0],
        "norm_2": block.norms[1],
    }
    return {
        f"{part}.{name}": value
        for part, module in parts.items()
        for name, value in module.named_parameters()
    }


check_sanet_block = building(
    ours=OurBlock,
    weights=_names,
    sizes=lambda ours: (ours.mixer.w_v.in_features, ours.mixer.scale),
    forbidden=(Block, SelfAttention, FeedForward),
    name="sanet_block",
    about="""``f(x, mask)``, ``x`` ``(n, words, hidden)`` and ``mask`` ``(n, words)`` → the words
    after the block, as ``x``, and the attention ``(n, words, words)``, whose rows are softmax over
    the real words of scale · x_i W_QK · x_j, and all zeros where word i is padding.""",
    cases=masked_cases(
        "{0:text} of {1} words, scale {3:g}",
        ((1, 2, 2, 1.0), (2, 3, 4, 0.5), (3, 7, 6, 1.0)),
        _block_inputs,
    ),
    returns=("words", "attention"),
    start="scores = self.scale * self.w_qk(x) @ x.mT is (n, words, words).",
    shapes="the words are like x; the attention has a row and a column for each word",
    span="up to three texts of seven words",
    mistakes=(
        (
            lambda *given: _block(*given, seen=lambda mask: mask.unsqueeze(1)),
            (
                "rows of padding attend to words: hide them too, "
                "mask.unsqueeze(1) & mask.unsqueeze(2)."
            ),
        ),
        (
            lambda *given: _block(*given, scale=lambda ours: 1.0),
            "the scores are not multiplied by self.scale.",
        ),
        (
            lambda *given: _block(*given, score=lambda q, x: x @ q.mT),
            "your scores are transposed: row i holds x_i W_QK · x_j, so w_qk(x) comes first.",
        ),
        (
            lambda *given: _block(*given, keep=(False, True)),
            "the residual of (3) is missing: x + SelfAtt(x) goes into the first LayerNorm.",
        ),
        (
            lambda *given: _block(*given, keep=(True, False)),
            "the residual of (4) is missing: x + FFN(x) goes into the second LayerNorm.",
        ),
        (
            lambda *given: _block(*given, bend=nn.Identity(), after=torch.relu),
            "the ReLU comes after W_2: in (2) it stands between W_1 and W_2.",
        ),
        (
            lambda *given: _block(*given, bend=nn.Identity(), before=torch.relu),
            "the ReLU comes before W_1: in (2) it stands between W_1 and W_2.",
        ),
        (
            lambda *given: _block(*given, bend=nn.Identity()),
            "the max(0, ·) of (2) is missing: without it the feed-forward layer is one linear map.",
        ),
        (_norms_first, "you norm before each part: here the norm comes last, LayerNorm(x + …)."),
        (
            _norms_inside,
            "the norm is inside the residual, x + LayerNorm(…): here it is around the sum, "
            "LayerNorm(x + …).",
        ),
    ),
    diagnoses=(_about_block,),
)


POSITIONS, ENOUGH = 30, 0.9  # words, and the weight that the right one must get


def _rotation(d: int, k: int, gain: float = 30.0) -> Tensor:
    """``gain`` times the matrix that turns the pairs of positions by k words."""
    angle = k / 10000 ** (torch.arange(0, d, 2).double() / d)
    blocks = [torch.tensor([[a.cos(), -a.sin()], [a.sin(), a.cos()]]) for a in angle]
    return gain * torch.block_diag(*blocks).float()


def _about_matrix(d: int, k: int, w: Tensor) -> str:
    """What is wrong with the attention that the matrix makes, or nothing."""
    p = positions(POSITIONS, d)
    weights = (p @ w.detach().float() @ p.T).log_softmax(1)
    attention = weights.exp()
    if not attention.isfinite().all():
        return "the attention is no number: the scores are too large for float32."
    rows = torch.arange(max(0, -k), min(POSITIONS, POSITIONS - k))
    right = attention[rows, rows + k]
    if right.min() >= ENOUGH:
        return ""
    row = int(rows[largest(-weights[rows, rows + k])])
    (top,) = largest(attention[row])
    where = f"word {row} should attend to word {row + k}"
    if top == row + k:
        return (
            f"{where}, and does so most, but with {right.min():.2f} only: larger scores make a "
            "softmax sharper."
        )
    if top == row and torch.equal(w, w.diag().diag()):
        return (
            f"{where}, and attends to itself: with W = I a score is p_i · p_j, which is largest at "
            "j = i. The matrix must first turn p_i into p_{i+k}."
        )
    if top == row:
        return (
            f"{where}, and attends to itself: the sine and cosine of pair m are side by "
            "side, in dimensions 2m and 2m + 1. Does your matrix turn these two?"
        )
    if top == row - k:
        return f"{where}, and attends to word {top}: your matrix turns the other way."
    return f"{where}, and attends most to word {top}: is each pair turned by its own angle?"


check_shifted_attention = Checker(
    name="shifted_attention",
    about="""``f(d, k)`` → a matrix W ``(d, d)`` with which, for P = ``positions(30, d)``, each row
    i of softmax(P W Pᵀ) puts at least ``ENOUGH`` on the word i + k wherever there is one.""",
    reference=_rotation,
    cases=lambda: [
        Case(
            f"d = {d}, {abs(k)} {'word' if abs(k) == 1 else 'words'} {'on' if k > 0 else 'back'}",
            (d, k),
        )
        for d in (16, 64)
        for k in (1, -1, 4, -3)
    ],
    returns=("w",),
    start="sin(a + ω) = sin a · cos ω + cos a · sin ω: which 2 × 2 matrix turns one pair?",
    span="one to four words on and back",
    shapes="W stands between two positions of d numbers",
    requirement=_about_matrix,
)
