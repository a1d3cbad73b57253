"""Checkers of the lessons on attention: softmax, pooling, sparsity, shares."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.checks.core import Case, Checker, Trial, check, generator, plural
from course_lib.layers import masked_softmax


def _ragged(rows: int, length: int) -> Tensor:
    """A mask ``(rows, length)`` of rows that differ in length, real places first."""
    lengths = torch.arange(rows) * 3 % length + 1
    return torch.arange(length) < lengths.flip(0).unsqueeze(1)


def check_masked_softmax(function: Callable[[Tensor, Tensor], Tensor]) -> bool:
    """``f(scores, mask)``, both ``(batch, length)`` → weights that sum to 1 over each row's real
    tokens, exactly 0 elsewhere; a row without a real token is all zeros."""
    return check(MASKED_SOFTMAX, function)


def _softmax_cases() -> list[Case]:
    ordinary, special = [], []
    for length in (1, 2, 3, 4, 6, 10, 30, 200):
        for rows in (1, 3):
            scores = torch.randn(rows, length, generator=generator(length, rows))
            mask = torch.ones(rows, length, dtype=torch.bool)
            size = f"{plural(rows, 'row')} of {plural(length, 'token')}"
            empty = mask & (torch.arange(rows) != rows - 1).unsqueeze(1)
            levels = torch.tensor([1000.0, -1000.0, 0.0])[:rows].unsqueeze(1)
            around = ", ".join(f"{level:.0f}" for level in levels.flatten().tolist())
            padded = _ragged(rows, length) if rows > 1 else torch.arange(length) * 2 < length
            ordinary += [
                Case(f"{size}, all real", (scores, mask)),
                Case(f"{size}, some padded", (scores, padded.view(rows, length))),
            ]
            special += [
                Case(f"{size}, scores around {around}", (scores + levels, mask)),
                Case(f"{size}, the last row without any real one", (scores, empty)),
            ]
    return ordinary + special


def _nan(trial: Trial) -> str | None:
    (scores, mask), weights = trial.case.inputs, trial.yours[0]
    wild = ~weights.isfinite().all(-1)
    if not wild.any():
        return None
    row = int(wild.nonzero()[0])
    if not mask[row].any():
        return (
            f"a fully masked row gives NaN: row {row} has no real token, so its sum is 0 and "
            "you divide by it. Make such a row all zeros."
        )
    top = scores[row].max().item()
    if top < scores.max().item() - 80:
        return (
            f"row {row} becomes NaN because its largest score is {top:.0f} and the batch's is "
            f"{scores.max().item():.0f}: subtract each row's own maximum, not the batch's."
        )
    return (
        f"scores of {top:.0f} overflow: exp({top:.0f}) is {scores[row].max().exp().item():.0f} "
        "in float32. Subtract the row's maximum before exp; that changes no ratio."
    )


def _nothing_real(trial: Trial) -> str | None:
    mask, weights = trial.case.inputs[1], trial.yours[0]
    empty = ~mask.any(-1)
    if not weights[empty].any():
        return None
    return (
        f"row {int(empty.nonzero()[0])} has no real token, yet a weight of "
        f"{weights[empty].max().item():.2f}: a fully masked row should be all zeros."
    )


def _padding(trial: Trial) -> str | None:
    mask, weights = trial.case.inputs[1], trial.yours[0]
    if not weights[~mask].any():
        return None
    return (
        f"padding gets weight {weights[~mask].max().item():.2f}; it should get exactly 0. "
        "Give it a score of −inf before the softmax."
    )


def _sums(trial: Trial) -> str | None:
    mask, weights = trial.case.inputs[1], trial.yours[0]
    total = weights.sum(-1)
    wrong = mask.any(-1) & ((total - 1).abs() > 1e-4)
    if not wrong.any():
        return None
    row = int(wrong.nonzero()[0])
    hint = (
        "if you zero the padding after the softmax, divide by what is left."
        if total[row] < 1
        else "divide by the sum along the last axis."
    )
    return f"row {row} sums to {total[row].item():.3g}, not 1: {hint}"


MASKED_SOFTMAX = Checker(
    name="masked_softmax",
    reference=masked_softmax,
    cases=_softmax_cases,
    returns=("weights",),
    start="scores.masked_fill(~mask, -torch.inf): what is exp of that?",
    span="from one token to 200",
    mistakes=(
        (lambda scores, mask: masked_softmax(scores, mask, dim=0),
         "your weights sum to 1 down each column; each row should: softmax over the last axis."),
        (lambda scores, mask: mask.to(scores.dtype),
         "every real token gets weight 1: was the softmax taken over an axis of size 1?"),
        (lambda scores, mask: (scores * mask).softmax(-1),
         "you set padded scores to 0, but exp(0) is 1, not 0: set them to −inf."),
        (lambda scores, mask: masked_softmax(scores.tanh(), mask),
         "no two of your weights differ by more than e² ≈ 7.4: there is a tanh around the score, "
         "which keeps it within ±1."),
    ),
    diagnoses=(_nan, _nothing_real, _padding, _sums),
)  # fmt: skip
