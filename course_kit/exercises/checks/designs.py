"""Checkers of lesson 04's exercises in design: attention, or the matrix behind it, to order."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_kit.exercises.checks.core import Case, Checker, check, generator
from course_lib.metrics.attention import diagonality, gini, uniform_diagonality
from course_lib.models.layers import positions

SHARP, NEAR, BANDS = 0.8, 0.05, (1, 2, 3, 4, 5)
PLACES, ENOUGH = 30, 0.9  # words, and the weight that the right one must get
OFF = 1e-3  # so far may a row's sum be from 1


def check_scattered_attention(function: Callable[[int], Tensor]) -> None:
    """``f(n)`` → attention ``(n, n)``, rows that sum to 1, with a Gini of at least ``SHARP``, a
    diagonality within ``NEAR`` of uniform attention's at every bandwidth of ``BANDS``, and no word
    that receives more than twice the mean."""
    check(SCATTERED_ATTENTION, function)


def check_shifted_attention(function: Callable[[int, int], Tensor]) -> None:
    """``f(d, k)`` → a matrix W ``(d, d)`` with which, for P = ``positions(30, d)``, each row i of
    softmax(P W Pᵀ) puts at least ``ENOUGH`` on the word i + k wherever there is one."""
    check(SHIFTED_ATTENTION, function)


def _scattered(n: int) -> Tensor:
    """The random permutation, of a thousand, whose diagonality is nearest to uniform."""
    source = generator(n)
    tried = torch.stack([torch.eye(n)[torch.randperm(n, generator=source)] for _ in range(1000)])
    return tried[_excess(tried).abs().amax(0).argmin()]


def _excess(attention: Tensor) -> Tensor:
    """Diagonality beyond uniform attention's, ``(bands, n)``."""
    size = attention.shape[-1]
    mask = torch.ones(attention.shape[:2], dtype=torch.bool)
    return torch.stack(
        [diagonality(attention, mask, b) - uniform_diagonality(torch.tensor(size), b)
         for b in BANDS]
    )  # fmt: skip


def _about_attention(n: int, attention: Tensor) -> str:
    """What is wrong with it as scattered attention, or nothing."""
    attention = attention.detach().float()
    if not attention.isfinite().all() or attention.min() < 0:
        return "a weight is negative or no number: attention lies between 0 and 1."
    off = (attention.sum(1) - 1).abs()
    if off.max() > OFF:
        row = int(off.argmax())
        return f"row {row} sums to {attention[row].sum():.3g}: each row of attention sums to 1."
    sharpness = float(gini(attention[None], torch.ones(1, n, dtype=torch.bool)))
    if sharpness < SHARP:
        return f"the Gini is {sharpness:.2f}, below {SHARP}: put each word's weight on fewer words."
    received = attention.mean(0)
    if received.max() > 2 / n + OFF:
        return (
            f"word {int(received.argmax())} receives {received.max():.0%} of all attention, and "
            f"the mean is {1 / n:.0%}: that is a column. Every word should be chosen about once."
        )
    excess = _excess(attention[None])[:, 0]
    if excess.abs().max() > NEAR:
        place = int(excess.abs().argmax())
        side = "above" if excess[place] > 0 else "below"
        return (
            f"at b = {BANDS[place]} the diagonality lies {abs(excess[place]):.2f} {side} uniform "
            f"attention's: {'a band' if side == 'above' else 'the opposite of a band'}."
        )
    return ""


SCATTERED_ATTENTION = Checker(
    name="scattered_attention",
    reference=_scattered,
    cases=lambda: [Case(f"{n} words", (n,)) for n in (20, 40, 60)],
    returns=("attention",),
    start="torch.eye(n)[torch.randperm(n)]: what are its Gini, its columns and its diagonality?",
    span="20 to 60 words",
    shapes="a row for each word that attends, a column for each that is attended to",
    requirement=_about_attention,
)


def _rotation(d: int, k: int, gain: float = 30.0) -> Tensor:
    """``gain`` times the matrix that turns the positions' pairs by k places."""
    angle = k / 10000 ** (torch.arange(0, d, 2).double() / d)
    blocks = [
        torch.tensor([[a.cos(), -a.sin()], [a.sin(), a.cos()]], dtype=torch.float32)
        for a in angle
    ]  # fmt: skip
    return gain * torch.block_diag(*blocks)


def _about_matrix(d: int, k: int, w: Tensor) -> str:
    """What is wrong with the attention that the matrix makes, or nothing."""
    p = positions(PLACES, d)
    attention = (p @ w.detach().float() @ p.T).softmax(1)
    if not attention.isfinite().all():
        return "the attention is no number: the scores are too large for float32."
    rows = torch.arange(max(0, -k), min(PLACES, PLACES - k))
    right = attention[rows, rows + k]
    if right.min() >= ENOUGH:
        return ""
    row = int(rows[right.argmin()])
    top = int(attention[row].argmax())
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
            f"{where}, and attends to itself: the sine and cosine of pair m stand side "
            "by side, in dimensions 2m and 2m + 1. Does your matrix turn these two?"
        )
    if top == row - k:
        return f"{where}, and attends to word {top}: your matrix turns the other way."
    return f"{where}, and attends most to word {top}: is each pair turned by its own angle?"


SHIFTED_ATTENTION = Checker(
    name="shifted_attention",
    reference=_rotation,
    cases=lambda: [
        Case(f"d = {d}, {abs(k)} {'word' if abs(k) == 1 else 'words'} "
             f"{'on' if k > 0 else 'back'}", (d, k))
        for d in (16, 64) for k in (1, -1, 4, -3)
    ],
    returns=("w",),
    start="sin(a + ω) = sin a · cos ω + cos a · sin ω: which 2 × 2 matrix turns one pair?",
    span="one to four words on and back",
    shapes="W stands between two positions of d numbers",
    requirement=_about_matrix,
)  # fmt: skip
