"""Lesson 05: the price of steps that overlap, what fools it, and a better one."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from course_kit.exercises.cases import Case, masks, normal, plural
from course_kit.exercises.comparison import largest
from course_kit.exercises.judge import Checker
from course_lib.faithfulness.word_attention import iram_steps
from course_lib.models.iram import step_penalty
from course_lib.models.layers import masked_softmax, visible


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
    columns = torch.arange(words - 1, words - 1 + STEPS_PRICES)
    return torch.eye(words + STEPS_PRICES - 1)[columns]


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


STEPS_PRICES = 3
CHEAP, SOME, DEAR = 0.05, 0.25, 0.5  # what steps may cost that are apart, nearly so, or alike


class Way(NamedTuple):
    """A way to spend three steps, what it must cost at ``least`` and at ``most``, and a hint."""

    says: str
    least: float = 0.0
    most: float = math.inf
    hint: str = ""


SUMMARIES = " Which words is each summary made of?"
WAYS = (
    Way("all steps look at one and the same word", least=DEAR),
    Way(
        "all steps look at all words alike",
        least=DEAR,
        hint=" Small products need not be different rows.",
    ),
    Way("steps 2 and 3 read nothing but summaries", least=DEAR, hint=SUMMARIES),
    Way("each step reads a word of its own", most=CHEAP),
    Way("each step reads a third of the words", most=CHEAP),
    Way("each step reads a word of its own and gives 0.3 to the summary before it", most=DEAR),
    Way(
        "steps 2 and 3 give 0.7 to the summary before them and 0.3 to a new word",
        least=DEAR,
        hint=SUMMARIES,
    ),
    Way(
        "step 2 alone gives 0.6 to a summary, of all words that the other steps do not read",
        most=SOME,
        hint=SUMMARIES,
    ),
)


def _unrolled_cosine(attention: Tensor, mask: Tensor) -> Tensor:
    """Mean cosine of what the summaries are made of, in words."""
    unit = torch.nn.functional.normalize(iram_steps(attention, mask), dim=2)
    products = unit @ unit.transpose(1, 2)
    same = products.diagonal(dim1=1, dim2=2).sum(1)
    return (products.sum((1, 2)) - same) / (STEPS_PRICES * (STEPS_PRICES - 1))


def _documents(words: int) -> Tensor:
    """A document for each of ``WAYS``, ``(8, 3, words + 2)``."""
    made = torch.zeros(len(WAYS), STEPS_PRICES, words + STEPS_PRICES - 1)
    made[0, :, words // 2] = 1
    made[1, :, :words] = 1 / words
    made[2, torch.arange(STEPS_PRICES), torch.tensor([words - 1, words, words + 1])] = 1
    made[3, torch.arange(STEPS_PRICES), torch.tensor([words - 1, 0, 2])] = 1
    for step, part in enumerate(torch.arange(words).chunk(STEPS_PRICES)):
        made[4, step, part] = 1 / len(part)
    made[5:7] = made[3]
    for place, share in ((5, 0.3), (6, 0.7)):
        made[place, 1:] = (1 - share) * made[3, 1:] + share * made[2, 1:]
    made[7, 0, 2:words] = 1 / (words - 2)
    made[7, 1, 0], made[7, 1, words], made[7, 2, 1] = 0.4, 0.6, 1
    return made


def _cases() -> list[Case]:
    cases = []
    for words, padding in ((5, 0), (5, 3), (12, 0), (40, 8)):
        of_words, of_summaries = _documents(words).split([words, STEPS_PRICES - 1], 2)
        attention = torch.cat(
            [of_words, torch.zeros(len(WAYS), STEPS_PRICES, padding), of_summaries], 2
        ).requires_grad_()  # so that a checker can tell whether a price could be trained with
        mask = (torch.arange(words + padding) < words).repeat(len(WAYS), 1)
        what = f"eight documents of {words} words, {padding} positions of padding"
        cases.append(Case(what, (attention, mask)))
    return cases


def _about_price(attention: Tensor, mask: Tensor, price: Tensor) -> str:
    """What is wrong with these prices, or nothing."""
    if not price.requires_grad:
        return (
            "the price has no gradient, so no training can lower it: comparisons, argmax and "
            "detach cut it off."
        )
    if not price.isfinite().all():
        return "a price is no number: weights are often exactly 0, so mind a division and a log."
    for place, (way, cost) in enumerate(zip(WAYS, price.tolist(), strict=True)):
        if not way.least <= cost <= way.most:
            asked = f"at least {way.least:g}" if cost < way.least else f"at most {way.most:g}"
            return f"in document {place} {way.says}, and cost {cost:.2f}: {asked}.{way.hint}"
    return ""


check_step_price = Checker(
    name="step_price",
    about="""``f(attention, mask)``, ``(n, 3, words + 2)`` and ``(n, words)`` → a price for each
    document, ``(n,)``, with a gradient: at most ``CHEAP`` where every step reads words of its own,
    at most ``DEAR`` where it also gives 0.3 to the summary before, at most ``SOME`` where one step
    gives 0.6 to a summary of other words, at least ``DEAR`` where all look at one word, all look at
    everything alike, or later steps give 0.7 or more to summaries of the same word.""",
    reference=_unrolled_cosine,
    cases=_cases,
    returns=("price",),
    start="say for each step which words it has read by then, its summaries counted as the words "
    "they are made of; then compare these rows.",
    span="eight ways to spend three steps, 5 to 40 words",
    shapes="one price for each document",
    requirement=_about_price,
)
