"""Checker of lesson 05's stretch problem: a price for steps that no shortcut makes cheap."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_kit.exercises.checks.core import Case, Checker, check
from course_lib.faithfulness.attention import iram_steps
from course_lib.metrics.steps import step_overlap, summary_share

STEPS = 3
CHEAP, DEAR = 0.05, 0.5  # the most that steps apart may cost, and the least for steps alike


def check_step_price(function: Callable[[Tensor, Tensor], Tensor]) -> None:
    """``f(attention, mask)``, ``(n, 3, words + 2)`` and ``(n, words)`` → a price for each document,
    ``(n,)``, with a gradient: at most ``CHEAP`` where every step reads words of its own, at least
    ``DEAR`` where all look at one word, all look at everything alike, or later steps read nothing
    but summaries."""
    check(STEP_PRICE, function)


def _unrolled_cosine(attention: Tensor, mask: Tensor) -> Tensor:
    """Mean cosine of what the summaries are made of, in words."""
    unit = torch.nn.functional.normalize(iram_steps(attention, mask), dim=2)
    products = unit @ unit.transpose(1, 2)
    same = products.diagonal(dim1=1, dim2=2).sum(1)
    return (products.sum((1, 2)) - same) / (STEPS * (STEPS - 1))


def _documents(words: int) -> Tensor:
    """Five ways to spend three steps, ``(5, 3, words + 2)``: a word thrice, everything thrice, a
    word handed on, a word each, a third of the words each."""
    made = torch.zeros(5, STEPS, words + STEPS - 1)
    made[0, :, words // 2] = 1
    made[1, :, :words] = 1 / words
    made[2, torch.arange(STEPS), torch.tensor([words - 1, words, words + 1])] = 1
    made[3, torch.arange(STEPS), torch.tensor([words - 1, 0, 2])] = 1
    for step, part in enumerate(torch.arange(words).chunk(STEPS)):
        made[4, step, part] = 1 / len(part)
    return made


def _cases() -> list[Case]:
    cases = []
    for words, padding in ((5, 0), (5, 3), (12, 0), (40, 8)):
        of_words, of_summaries = _documents(words).split([words, STEPS - 1], 2)
        attention = torch.cat(
            [of_words, torch.zeros(5, STEPS, padding), of_summaries], 2
        ).requires_grad_()  # so that a checker can tell whether a price could be trained with
        mask = (torch.arange(words + padding) < words).repeat(5, 1)
        what = f"five documents of {words} words" + f", {padding} places of padding" * bool(padding)
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
    attention, price = attention.detach(), price.detach()
    dear = _unrolled_cosine(attention, mask) > 0.5
    wrong = torch.where(dear, price < DEAR, price > CHEAP).nonzero().flatten().tolist()
    if not wrong:
        return ""
    place = wrong[0]
    cost = f"and cost {price[place]:.2f}"
    if not dear[place]:
        return f"in document {place} each step reads words of its own, {cost}: at most {CHEAP}."
    ask = f"at least {DEAR} is asked"
    one = attention[place : place + 1], mask[place : place + 1]
    if step_overlap(*one) > 0.9:
        return f"in document {place} all steps look at one and the same word, {cost}; {ask}."
    if summary_share(*one)[0, -1] > 0.9:
        return (
            f"in document {place} steps 2 and 3 read nothing but summaries, {cost}; {ask}. Which "
            "words is each summary made of?"
        )
    words = int(one[1].sum())
    return (
        f"in document {place} all steps look at all {words} words alike, {cost}; {ask}. "
        "Small products need not be different rows."
    )


STEP_PRICE = Checker(
    name="step_price",
    reference=_unrolled_cosine,
    cases=_cases,
    returns=("price",),
    start="say for each step which words it has read by then, its summaries counted as the words "
    "they are made of; then compare these rows.",
    span="five ways to spend three steps, 5 to 40 words",
    shapes="one price for each document",
    requirement=_about_price,
)
