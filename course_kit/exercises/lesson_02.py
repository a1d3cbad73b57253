"""Lesson 02: softmax with a mask, and attention that pools."""

import torch
from torch import Tensor

from course_kit.exercises.cases import CaseResult, Kinds, cases, masks, normal
from course_kit.exercises.judge import Checker
from course_lib.models.layers import masked_softmax

LENGTHS, WIDTHS = (1, 2, 3, 4, 6, 10, 30, 200), (1, 2, 2, 3, 4, 6, 8, 16)


def about_weights(scores: Tensor, mask: Tensor, weights: Tensor) -> str | None:
    """What is wrong with the softmax of these scores, None if nothing that we know."""
    for diagnosis in (_mask_turned_round, _nan, _negative, _nothing_real, _padding, _sums):
        if message := diagnosis(scores, mask, weights):
            return message
    return None


def _mask_turned_round(scores: Tensor, mask: Tensor, weights: Tensor) -> str | None:
    weight_of_words = (weights.nan_to_num(0) * mask).sum(-1)[mask.any(-1)]
    if (
        len(weight_of_words) == 0 or weight_of_words.any() or scores.abs().max() > 80
    ):  # exp overflows
        return None
    return "the real tokens get no weight: the mask is True on real tokens, so hide ~mask."


def _nan(scores: Tensor, mask: Tensor, weights: Tensor) -> str | None:
    wild = ~weights.isfinite().all(-1)
    if not wild.any():
        return None
    row = int(wild.nonzero()[0])
    if not mask[row].any():
        return (
            f"a fully masked row gives NaN: row {row} has no real token, so its sum is 0 and "
            "you divide by it. Make such a row all zeros."
        )
    top, highest = scores[row].max().item(), scores.max().item()
    if top < highest - 80 and not wild[scores.amax(-1).argmax()]:
        return (
            f"row {row} becomes NaN because its largest score is {top:.0f} and the batch's is "
            f"{highest:.0f}: subtract each row's own maximum, not the batch's."
        )
    return (
        f"scores of {top:.0f} overflow: exp({top:.0f}) is {scores[row].max().exp().item():.0f} "
        "in float32. Subtract the row's maximum before exp; that changes no ratio."
    )


def _negative(scores: Tensor, mask: Tensor, weights: Tensor) -> str | None:
    if not (weights < 0).any():
        return None
    return "some weights are negative: these are scores, or made of them; the softmax is missing."


def _nothing_real(scores: Tensor, mask: Tensor, weights: Tensor) -> str | None:
    empty = ~mask.any(-1)
    if not weights[empty].any():
        return None
    return (
        f"row {int(empty.nonzero()[0])} has no real token, yet a weight of "
        f"{weights[empty].max().item():.2f}: a fully masked row should be all zeros."
    )


def _padding(scores: Tensor, mask: Tensor, weights: Tensor) -> str | None:
    if not weights[~mask].any():
        return None
    return (
        f"padding gets weight {weights[~mask].max().item():.2f}; it should get exactly 0. "
        "Give it a score of −inf before the softmax."
    )


def _sums(scores: Tensor, mask: Tensor, weights: Tensor) -> str | None:
    total = weights.sum(-1)
    wrong = mask.any(-1) & ((total - 1).abs() > 1e-4)
    if not wrong.any():
        return None
    row = int(wrong.nonzero()[0])
    if total[row] == 0:
        return (
            f"row {row} has real tokens, but all its weights are 0: exp of something far below 0 "
            "is 0. Subtract each row's own maximum over its real places, not another number."
        )
    hint = (
        "if you zero the padding after the softmax, divide by what is left."
        if total[row] < 1
        else "divide by the sum along the last axis."
    )
    return f"row {row} sums to {total[row].item():.3g}, not 1: {hint}"


def _softmax_inputs(rows: int, length: int) -> Kinds:
    (scores,) = normal((length, rows), (rows, length))
    full, some, empty = masks(rows, length)
    levels = torch.tensor([1000.0, -1000.0, 0.0])[:rows]
    around = ", ".join(f"{level:.0f}" for level in levels.tolist())
    far = torch.where(some, scores + levels.unsqueeze(1), 3000.0)
    return {
        "all real": (scores, full),
        "some padded": (scores, some),
        f"scores around {around}, 3000 on padding": (far, some),
        "the last row without any real one": (scores, empty),
    }


check_masked_softmax = Checker(
    name="masked_softmax",
    about="""``f(scores, mask)``, both ``(batch, length)`` → weights that sum to 1 over each row's
    real tokens, exactly 0 elsewhere; a row without a real token is all zeros.""",
    reference=masked_softmax,
    cases=cases(
        "{:row} of {:token}",
        [(rows, length) for length in LENGTHS for rows in (1, 3)],
        _softmax_inputs,
        ordinary=2,
    ),
    returns=("weights",),
    start="scores.masked_fill(~mask, -torch.inf): what is exp of that?",
    span="from one token to 200",
    shapes="one weight for each score; a sum or maximum over the row takes keepdim=True",
    mistakes=(
        (
            lambda scores, mask: masked_softmax(scores, mask, dim=0),
            "your weights sum to 1 down each column; each row should: softmax over the last axis.",
        ),
        (
            lambda scores, mask: mask.to(scores.dtype),
            "every real token gets weight 1: was the softmax taken over an axis of size 1?",
        ),
        (
            lambda scores, mask: (scores * mask).softmax(-1),
            "you set padded scores to 0, but exp(0) is 1, not 0: set them to −inf.",
        ),
        (
            lambda scores, mask: masked_softmax(scores.tanh(), mask),
            "no two of your weights differ by more than e² ≈ 7.4: there "
            "is a tanh around the score, "
            "which keeps it within ±1.",
        ),
        (
            lambda scores, mask: scores.masked_fill(~mask, -torch.inf).log_softmax(-1),
            "that is the logarithm of the weights: softmax, not log_softmax.",
        ),
        (
            lambda scores, mask: scores.sigmoid() * mask,
            "a sigmoid weighs each token alone: divide exp of each score by the row's sum.",
        ),
    ),
    diagnoses=(lambda result: about_weights(*result.case.inputs, result.yours[0]),),
)


def _pool(h: Tensor, alpha: Tensor) -> tuple[Tensor, Tensor]:
    return (alpha.unsqueeze(1) @ h).squeeze(1), alpha


def _pooling_inputs(rows: int, length: int, hidden: int) -> Kinds:
    h, context = normal((length, hidden, rows), (rows, length, hidden), (hidden,))
    h, context, (full, some, empty) = 2 * h, 2 * context, masks(rows, length)
    return {
        "all real": (h, full, context),
        "some padded": (h, some, context),
        "a context 500 times as long": (h, full, 500 * context),
        "the last row without any real one": (h, empty, context),
    }


def _about_pooling(result: CaseResult) -> str | None:
    h, mask, context = result.case.inputs
    pooled, alpha = result.yours
    if message := about_weights(h.tanh() @ context, mask, alpha):
        return message
    if result.wrong != 0:
        return None
    difference = (pooled - result.expected[0]).abs().max().item()
    return (
        f"alpha is right, but pooled is off by up to {difference:.2g}: it should be Σ α h, each "
        "state times its weight, summed over the tokens."
    )


check_attention_pooling = Checker(
    name="attention_pooling",
    about="""``f(h, mask, context)`` with ``h`` ``(batch, length, hidden)``, ``mask`` ``(batch,
    length)``, ``context`` ``(hidden,)`` → pooled ``(batch, hidden)`` and attention ``(batch,
    length)``.

    Scores are tanh(h) · context; the weighted mean is of h itself.""",
    reference=lambda h, mask, context: _pool(h, masked_softmax(h.tanh() @ context, mask)),
    cases=cases(
        "{:row} of {:token}, hidden size {}",
        [(rows, length, hidden) for length, hidden in zip(LENGTHS, WIDTHS) for rows in (1, 3)],
        _pooling_inputs,
        ordinary=2,
    ),
    returns=("pooled", "alpha"),
    shapes="pooled has one vector for each row, alpha one weight for each token",
    start="u = torch.tanh(h); a score is u @ context; masked_softmax(scores, mask) weighs h.",
    span="from one token to 200",
    mistakes=(
        (
            lambda h, mask, context: _pool(h.tanh(), masked_softmax(h.tanh() @ context, mask)),
            "you pool tanh(h): alpha is right, but the mean is of the states h themselves.",
        ),
        (
            lambda h, mask, context: _pool(h, masked_softmax(h @ context, mask)),
            "you score h itself: the context vector is compared with u = tanh(h).",
        ),
        (
            lambda h, mask, context: _pool(h, masked_softmax((h.tanh() @ context).tanh(), mask)),
            (
                "no two of your weights differ by more than e² ≈ 7.4: there "
                "is a tanh around the score."
            ),
        ),
        (
            lambda h, mask, context: _pool(h, masked_softmax((h @ context).tanh(), mask)),
            "the tanh is around the score, tanh(h · c), where it keeps any two weights within "
            "e² ≈ 7.4 of each other: it belongs around h.",
        ),
        (
            lambda h, mask, context: _pool(h, mask.to(h.dtype)),
            "every real token gets weight 1, so pooled is a sum: was the "
            "softmax taken over an axis "
            "of size 1?",
        ),
        (
            lambda h, mask, context: _pool(h, masked_softmax(h.tanh() @ context, mask, dim=0)),
            "your weights sum to 1 over the batch: the softmax runs over the tokens of each row.",
        ),
    ),
    diagnoses=(_about_pooling,),
)
