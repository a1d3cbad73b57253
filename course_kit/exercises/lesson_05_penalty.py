"""Lesson 05: the penalty for steps that overlap, what fools it, and what each step has read."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_kit.exercises.cases import Case, masks, normal, plural
from course_kit.exercises.comparison import largest
from course_kit.exercises.judge import Checker
from course_lib.faithfulness.word_attention import iram_steps
from course_lib.models.iram import step_penalty
from course_lib.models.layers import masked_softmax, visible

STEPS = 3  # of a shortcut


def _attention(n: int, steps: int, mask: Tensor) -> Tensor:
    """Rows that sum to 1 over what each step can see, with zeros elsewhere."""
    length = mask.shape[1]
    (scores,) = normal((n, steps, length), (n, steps, length + steps - 1))
    return masked_softmax(2 * scores, visible(mask, steps))


def _tensor_cases(sizes: tuple[tuple[int, int, int], ...]) -> list[tuple[str, Tensor, Tensor]]:
    """Says, attention, mask: ordinary ones, padded ones, and steps that all look alike."""
    cases = []
    for n, steps, words in sizes:
        size = f"{plural(n, 'document')}, {plural(steps, 'step')}, {plural(words, 'word')}"
        full, padded, _ = masks(n, words)
        cases += [
            (f"{size}, all real", _attention(n, steps, full), full),
            (f"{size}, some padded", _attention(n, steps, padded), padded),
        ]
    return cases


def _penalty_like(
    attention: Tensor, gamma: float, diagonal: bool = False, factor: float = 1.0
) -> Tensor:
    overlap = attention @ attention.transpose(1, 2)
    total = overlap.sum((1, 2))
    if not diagonal:
        total = total - overlap.diagonal(dim1=1, dim2=2).sum(1)
    return factor * gamma * total / (2 * attention.shape[1])


check_step_penalty = Checker(
    name="step_penalty",
    about="""``f(attention, gamma)``, ``(n, T, columns)`` → γ/(2T) Σ_{i≠j} [A Aᵀ]_ij of each
    document, ``(n,)``.""",
    reference=lambda attention, gamma: gamma * step_penalty(attention),
    cases=lambda: [
        Case(f"{size}, γ = {gamma:g}", (attention, gamma))
        for size, attention, _ in _tensor_cases(((1, 1, 2), (1, 2, 2), (2, 3, 4), (5, 5, 12)))
        for gamma in (1.0, 0.1)
    ],
    returns=("penalty",),
    shapes="one number for each document, so sum over the steps' two axes, (1, 2)",
    start="overlap = attention @ attention.transpose(1, 2) holds every pair (i, j), also i = j.",
    span="one step to five, γ = 1 and 0.1",
    mistakes=(
        (
            lambda a, gamma: _penalty_like(a, gamma, diagonal=True),
            "the diagonal is in it, i = j: with it even a single step would be charged.",
        ),
        (
            lambda a, gamma: _penalty_like(a, gamma, factor=0.5),
            "each pair is counted once; the sum over i ≠ j holds (i, j) and (j, i).",
        ),
        (
            lambda a, gamma: _penalty_like(a, gamma, factor=2 / max(1, a.shape[1] - 1)),
            "you divide by the number of pairs, T (T − 1); the paper's factor is 1/(2T).",
        ),
        (
            lambda a, gamma: _penalty_like(a, gamma, factor=a.shape[1] ** 2),
            "/ 2 * T divides by 2 and multiplies by T: / (2 * T).",
        ),
        (
            lambda a, gamma: _penalty_like(a, gamma, factor=a.shape[1] / a.shape[2]),
            "you divide by the columns; T is the number of steps, attention.shape[1].",
        ),
        (lambda a, gamma: _penalty_like(a, 1.0), "γ is missing."),
    ),
)


def _cost_of_shortcut(words: int, attention: Tensor) -> str:
    """What is wrong with a shortcut, or nothing."""
    mask = torch.ones(1, words, dtype=torch.bool)
    sums = attention.sum(1)
    if (attention < 0).any() or ((sums - 1).abs() > 1e-5).any():
        (row,) = largest((sums - 1).abs())
        return f"each row is a distribution; row {row + 1} sums to {sums[row]:.3g}."
    if (attention[None] * ~visible(mask, len(attention))).any():
        return "a step attends to a summary that is not written yet: step 1 sees words alone."
    price = float(step_penalty(attention[None]))
    if price > 1e-6:
        return f"it costs {price:.2f}: two rows have weight in the same column."
    if attention[1:, :words].any():
        return "it costs nothing, but a later step still reads words: only step 1 may."
    return ""


def _shortcut(words: int) -> Tensor:
    """Step 1 at the last word, each later step at the summary before it."""
    columns = torch.arange(words - 1, words - 1 + STEPS)
    return torch.eye(words + STEPS - 1)[columns]


check_shortcut = Checker(
    name="shortcut",
    about="""``f(words)`` → attention of three steps, ``(3, words + 2)``, for which the penalty is 0
    although only step 1 reads words.""",
    reference=_shortcut,
    cases=lambda: [Case(plural(words, "word"), (words,)) for words in (2, 5, 30)],
    returns=("attention",),
    start="the rows are free as long as no two have weight in the same column.",
    span="two words to 30",
    shapes="three steps, and a column for each word and for s1 and s2",
    requirement=_cost_of_shortcut,
)


def _words(attention: Tensor) -> Tensor:
    """What the rows give to words themselves, ``(n, T, words)``."""
    return attention[:, :, : attention.shape[2] - attention.shape[1] + 1]


def _unrolled(attention: Tensor) -> Tensor:
    """What each step has read, ``(n, T, words)``."""
    every = torch.ones(_words(attention)[:, 0].shape, dtype=torch.bool)
    return iram_steps(attention, every)


def _unrolled_like(
    attention: Tensor,
    reads: Callable[[Tensor, Tensor], Tensor] = lambda row, words: row,
    weigh: Callable[[Tensor], Tensor] = lambda share: share,
    sees: Callable[[int, int], bool] = lambda before, step: True,
) -> Tensor:
    """The loop with something else that a summary is made of, other shares, or fewer summaries."""
    words, rows, made_of = _words(attention), [], []
    for step in range(attention.shape[1]):
        row = words[:, step]
        for before in range(step):
            share = attention[:, step, words.shape[2] + before, None]
            row = row + weigh(share) * made_of[before] * sees(before, step)
        rows.append(row)
        made_of.append(reads(row, words[:, step]))
    return torch.stack(rows, 1)


check_unrolled = Checker(
    name="unrolled",
    about="""``f(attention)``, ``(n, T, words + T − 1)`` → what each step has read, ``(n, T,
    words)``: its row over the words, and every summary that it looks at counted as the words which
    that summary is made of. The rows sum to 1, as those of ``attention`` do.""",
    reference=_unrolled,
    cases=lambda: [
        Case(says, (attention,))
        for says, attention, mask in _tensor_cases(((1, 1, 2), (1, 2, 2), (2, 3, 4), (4, 4, 9)))
        if mask.any(1).all()
    ],
    returns=("read",),
    shapes="a row for each step and a column for each word: no columns for summaries are left",
    start="go through the steps in order, and keep what each has read: later steps need it.",
    span="one step to four",
    mistakes=(
        (
            _words,
            "the summaries are left out, so a row sums to less than 1: add what each summary is "
            "made of, times the weight that the step gives it.",
        ),
        (
            lambda a: torch.nn.functional.normalize(_words(a), p=1, dim=2),
            "you scale the words' weights up until they sum to 1: a summary is made of certain "
            "words, and its weight belongs to them.",
        ),
        (
            lambda a: _unrolled_like(a, reads=lambda row, words: words),
            "summary 2 is counted as its own words alone, but step 2 may have looked at summary 1: "
            "use what step 2 has read, not its row of the attention.",
        ),
        (
            lambda a: _unrolled_like(a, sees=lambda before, step: before == step - 1),
            "step 3 sees summary 1, too, not only the one before it.",
        ),
        (
            lambda a: _unrolled_like(a, sees=lambda before, step: before == 0),
            "only summary 1 is unrolled: step 3 also sees summary 2.",
        ),
        (
            lambda a: _unrolled_like(a, weigh=torch.ones_like),
            "you add what a summary is made of whole: it counts by the weight that the step gives "
            "to this summary.",
        ),
    ),
)
