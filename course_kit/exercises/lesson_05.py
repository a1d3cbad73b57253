"""Lesson 05: IRAM's highway and steps, the price of steps, and what fools it."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_kit.exercises.cases import (
    Case,
    CaseResult,
    Inputs,
    Kinds,
    cases,
    masks,
    normal,
    plural,
)
from course_kit.exercises.comparison import largest
from course_kit.exercises.judge import Checker
from course_lib.faithfulness.word_attention import iram_steps
from course_lib.metrics.steps import step_cosine, step_overlap, summary_share
from course_lib.models.iram import step_penalty, visible
from course_lib.models.layers import masked_softmax

Refine = Callable[[Tensor], Tensor]
Control = Callable[[Tensor, Tensor], Tensor]


def _highway(
    x: Tensor, w_g: Tensor, b_g: Tensor, w_f: Tensor, b_f: Tensor,
    bend: Callable[[Tensor], Tensor] = torch.relu,
    squash: Callable[[Tensor], Tensor] = torch.sigmoid,
) -> Tensor:  # fmt: skip
    g, f = squash(x @ w_g + b_g), bend(x @ w_f + b_f)
    return g * x + (1 - g) * f


def _gated_the_other_way(x: Tensor, w_g: Tensor, b_g: Tensor, w_f: Tensor, b_f: Tensor) -> Tensor:
    g = torch.sigmoid(x @ w_g + b_g)
    return g * torch.relu(x @ w_f + b_f) + (1 - g) * x


def _highway_inputs(n: int, width: int) -> Kinds:
    matrix = (width, width)
    x, w_g, w_f, b_f = normal((n, width), (n, width), matrix, matrix, (width,))
    return {
        f"gates' bias {bias:g}": (x, w_g, torch.full((width,), bias), w_f, 0.5 * b_f)
        for bias in (1.0, -2.0)
    }


check_carrying_highway = Checker(
    name="carrying_highway",
    about="""``f(x, w_g, b_g, w_f, b_f)``, ``x`` ``(n, width)``, matrices ``(width, width)`` that
    stand to its right, biases ``(width,)`` → g ∘ x + (1 − g) ∘ max(0, x W_f + b_f), g = σ(x W_g +
    b_g).""",
    reference=_highway,
    cases=cases(
        "{:row} of width {}", ((1, 1), (1, 2), (2, 3), (5, 8), (30, 16)), _highway_inputs
    ),
    returns=("y",),
    start="g = torch.sigmoid(x @ w_g + b_g): where g is 1, y must be x.",
    span="from one number to 30 rows of 16",
    mistakes=(
        (_gated_the_other_way,
         "your gate opens the transformation, as in Srivastava et al.; here it carries: where g is "
         "1, y is x."),
        (lambda *given: _highway(*given, bend=torch.tanh),
         "f is bent by tanh; here it is max(0, ·)."),
        (lambda *given: _highway(*given, bend=lambda f: f),
         "f is not bent at all: max(0, x W_f + b_f)."),
        (lambda *given: _highway(*given, squash=lambda g: g),
         "the gate has no sigmoid, so it is no share between 0 and 1."),
        (lambda x, w_g, b_g, w_f, b_f: _highway(x, w_g.T, b_g, w_f.T, b_f),
         "the matrices stand to the right of x: x @ w_g, not x @ w_g.T."),
        (lambda x, w_g, b_g, w_f, b_f: x + torch.relu(x @ w_f + b_f),
         "that is a residual, x + f(x): there is no gate in it."),
    ),
)  # fmt: skip


def _half(x: Tensor) -> Tensor:
    return 0.5 * x + 0.1


def _turned(x: Tensor) -> Tensor:
    return x.flip(0) + torch.relu(x)


def _mixed(s: Tensor, q: Tensor) -> Tensor:
    return torch.tanh(q - 2 * s)


def _mostly_summary(s: Tensor, q: Tensor) -> Tensor:
    return 1.5 * s + 0.25 * q


def _take_steps(
    h: Tensor, q: Tensor, w: Tensor, steps: int, refine: Refine, control: Control,
    append: Callable[[Tensor, Tensor], Tensor] = lambda s_hat, s: s,
    grows: bool = True,
) -> Tensor:  # fmt: skip
    rows, words = [], len(h)
    for _ in range(steps):
        a = (q @ w @ h.T).softmax(0)
        s_hat = a @ h
        s = refine(s_hat)
        row = a.new_zeros(words + steps - 1)
        row[: len(a)] = a
        rows.append(row)
        h = torch.cat([h, append(s_hat, s).unsqueeze(0)]) if grows else h
        q = control(s, q)
    return torch.stack(rows)


WAYS = {1: (_half, _mixed), 2: (_half, _mixed), 3: (_turned, _mixed), 5: (_turned, _mostly_summary)}


def _steps_inputs(n: int, d: int, steps: int) -> Inputs:
    h, w, q = normal((n, d, steps), (n, d), (d, d), (d,))
    return h, q, w, steps, *WAYS[steps]


def _about_steps(result: CaseResult) -> str | None:
    yours, (h, *_) = result.yours[0], result.case.inputs
    late = ~visible(torch.ones(1, len(h), dtype=torch.bool), len(yours))[0]
    if yours[late].any():
        row, column = (yours * late).nonzero()[0].tolist()
        return (
            f"step {row + 1} attends to summary {column - len(h) + 1}, which is not written yet: "
            "there the weight is exactly 0."
        )
    if torch.allclose(yours.sort(1)[0], result.expected[0].sort(1)[0], atol=1e-4):
        return "the weights are right, in other columns: words first, then s1, s2 and so on."
    sums = yours.sum(1)
    if ((sums - 1).abs() > 1e-4).any():
        (row,) = largest((sums - 1).abs())
        return (
            f"row {row + 1} sums to {sums[row]:.3g}: a softmax over what exists at that step, "
            "then zeros behind it."
        )
    return None


check_steps = Checker(
    name="steps",
    about="""``f(h, q, w, steps, refine, control)``, ``h`` ``(n, d)``, ``q`` ``(d,)``, ``w`` ``(d,
    d)`` → attention ``(steps, n + steps − 1)``.

    Each step attends by softmax(q W hᵀ), makes its summary with ``refine`` and appends it; the next
    query is ``control(summary, query)``.""",
    reference=_take_steps,
    cases=cases(
        "{:word} of size {}, {:step}",
        [(*size, steps) for size in ((1, 2), (2, 2), (3, 4), (6, 8), (20, 16)) for steps in WAYS],
        _steps_inputs,
    ),
    returns=("attention",),
    shapes="the last summary is never attended to, so words + steps − 1 columns",
    start="one loop over the steps; each makes a row of the attention, h and q for the next.",
    span="from one word to 20, one step to five",
    mistakes=(
        (lambda *given: _take_steps(*given, append=lambda s_hat, s: s_hat),
         "what you append is Σ a h itself: later steps attend to the refined summary."),
        (lambda *given: _take_steps(*given, grows=False),
         "the summary is never appended to h, so no step sees what the ones before it found."),
        (lambda h, q, w, steps, refine, control: _take_steps(
            h, q, w, steps, refine, lambda s, q: q),
         "the query stays the same, so every step asks the same question: control(s, q)."),
        (lambda h, q, w, steps, refine, control: _take_steps(
            h, q, w, steps, refine, lambda s, q: control(q, s)),
         "control takes the summary first, then the query it replaces."),
        (lambda h, q, w, steps, refine, control: _take_steps(
            h, q, w, steps, refine, lambda s, q: s),
         "the summary itself becomes the query: it should go through control."),
        (lambda h, q, w, steps, refine, control: _take_steps(
            h, q, w, steps, lambda x: x, control),
         "refine is never called: the summary is refine(a @ h)."),
    ),
    diagnoses=(_about_steps,),
)  # fmt: skip


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
        (lambda a, gamma: _penalty_like(a, gamma, diagonal=True),
         "the diagonal is in it, i = j: with it even a single step would be charged."),
        (lambda a, gamma: _penalty_like(a, gamma, factor=0.5),
         "each pair is counted once; the sum over i ≠ j holds (i, j) and (j, i)."),
        (lambda a, gamma: _penalty_like(a, gamma, factor=2 / max(1, a.shape[1] - 1)),
         "you divide by the number of pairs, T (T − 1); the paper's factor is 1/(2T)."),
        (lambda a, gamma: _penalty_like(a, gamma, factor=a.shape[1] ** 2),
         "/ 2 * T divides by 2 and multiplies by T: / (2 * T)."),
        (lambda a, gamma: _penalty_like(a, gamma, factor=a.shape[1] / a.shape[2]),
         "you divide by the columns; T is the number of steps, attention.shape[1]."),
        (lambda a, gamma: _penalty_like(a, 1.0),
         "γ is missing."),
    ),
)  # fmt: skip


def _cosines(attention: Tensor, diagonal: bool = False, dim: int = 2) -> Tensor:
    unit = torch.nn.functional.normalize(attention, dim=dim)
    products, steps = unit @ unit.transpose(1, 2), attention.shape[1]
    if diagonal:
        return products.mean((1, 2))
    same = products.diagonal(dim1=1, dim2=2).sum(1)
    return (products.sum((1, 2)) - same) / (steps * (steps - 1))


check_step_cosine = Checker(
    name="step_cosine",
    about="""``f(attention)``, ``(n, T, columns)`` with T ≥ 2 → the mean cosine of the pairs of rows
    of each document, ``(n,)``.""",
    reference=lambda attention: step_cosine(
        attention,
        torch.ones(
            len(attention), attention.shape[2] - attention.shape[1] + 1, dtype=torch.bool
        ),
    ),
    cases=lambda: [
        Case(size, (attention,))
        for size, attention, _ in _tensor_cases(((1, 2, 2), (1, 3, 3), (3, 3, 6), (4, 5, 30)))
    ],
    returns=("cosine",),
    shapes="one number for each document, the mean over its pairs of steps",
    start="unit = torch.nn.functional.normalize(attention, dim=2): rows of length 1.",
    span="two steps to five, up to 30 words",
    mistakes=(
        (lambda a: step_overlap(
            a, torch.ones(len(a), a.shape[2] - a.shape[1] + 1, dtype=torch.bool)),
         "that is the overlap: a cosine divides each product by the lengths of both rows."),
        (lambda a: _cosines(a, diagonal=True),
         "each row's cosine with itself, always 1, is in your mean: i ≠ j alone."),
        (lambda a: _cosines(a) * (a.shape[1] - 1) / a.shape[1],
         "you divide by T²: without the diagonal T (T − 1) products are left."),
        (lambda a: _cosines(a, dim=1),
         "normalize takes axis 1 unless told otherwise: a row's weights lie along dim=2."),
        (lambda a: _cosines(a) * (a.shape[1] - 1) / (2 * a.shape[1]),
         "the zeros of triu or tril are in your mean: T (T − 1) / 2 pairs are left."),
        (lambda a: _cosines(a) * a.shape[1] * (a.shape[1] - 1),
         "that is the sum over the pairs, not their mean."),
    ),
)  # fmt: skip


def _passes_cases() -> list[Case]:
    cases = []
    for n, steps, words in ((1, 2, 2), (2, 2, 3), (3, 3, 6), (6, 4, 12)):
        for size, attention, mask in _tensor_cases(((n, steps, words),)):
            # every other document hands its summary on, in all steps or in all but the last
            passing = attention.clone()
            passing[::2, 1:, :words] *= 0.02
            passing[::2, 1:] /= passing[::2, 1:].sum(2, keepdim=True).clamp(min=1e-9)
            broken = passing.clone()
            broken[:, -1] = attention[:, -1]
            cases += [Case(f"{size}, some pass on", (passing, mask, 0.8))]
            halves, last = torch.zeros_like(attention), torch.zeros_like(attention)
            halves[:, :, 0], last[:, :, words - 1] = 0.5, 1.0
            halves[:, 1:, words] = 0.5
            halves[:, 0, 0] = 1.0
            everything = torch.ones_like(mask)
            cases += [Case(f"{size}, half on the first summary", (halves, everything, 0.5)),
                      Case(f"{size}, all on the last word", (last, everything, 0.5))]  # fmt: skip
            chain = 0.02 * attention
            chain[:, 0] = attention[:, 0]
            chain[:, range(1, steps), range(words, words + steps - 1)] += 0.98
            chain *= mask.any(1)[:, None, None]
            cases.append(Case(f"{size}, each to the summary before", (chain, mask, 0.9)))
            if steps > 2:
                cases.append(Case(f"{size}, the last step looks at words", (broken, mask, 0.7)))
                first = attention.clone()  # step 3 goes back to the first summary, not the second
                first[:, 1:] = 0.02 * first[:, 1:]
                first[:, 1:, words] += 0.98 * mask.any(1).float().unsqueeze(1)
                cases.append(Case(f"{size}, all return to the first summary", (first, mask, 0.9)))
    return cases


def _later(attention: Tensor, mask: Tensor) -> Tensor:
    return summary_share(attention, mask)[:, 1:]


check_passes_on = Checker(
    name="passes_on",
    about="""``f(attention, mask, threshold)``, ``(n, T, words + T − 1)`` with T ≥ 2 and ``(n,
    words)`` → whether every step after the first puts at least ``threshold`` on summaries, bool
    ``(n,)``.""",
    reference=lambda attention, mask, threshold: (_later(attention, mask) >= threshold).all(1),
    cases=_passes_cases,
    returns=("passes",),
    shapes="one answer for each document: .all(1) goes over its steps",
    start="one share for each step but the first: what lies on the columns behind the words.",
    span="two steps to four, up to 12 words",
    mistakes=(
        (lambda a, mask, t: (_later(a, mask) >= t).any(1),
         "one step that passes on is enough in yours: every step after the first must."),
        (lambda a, mask, t: (_later(a, mask) > t).all(1),
         "exactly the threshold is enough: at least means ≥."),
        (lambda a, mask, t: (a[:, 1:, -a.shape[1] :].sum(2) >= t).all(1),
         "the last word counts as a summary in yours: the first summary's column is "
         "mask.shape[1]."),
        (lambda a, mask, t: _later(a, mask).mean(1) >= t,
         "you average over the steps: each of them must reach the threshold."),
        (lambda a, mask, t: (summary_share(a, mask) >= t).all(1),
         "yours is never true. Step 1 has no summary to attend to and is not asked; the first "
         "summary's column is mask.shape[1]."),
        (lambda a, mask, t: (a[:, 1:, mask.shape[1] :].amax(2) >= t).all(1),
         "only the heaviest summary counts in yours: sum over the summaries."),
    ),
)  # fmt: skip


STEPS_PRICES = 3
CHEAP, DEAR = 0.05, 0.5  # the most that steps apart may cost, and the least for steps alike


def _unrolled_cosine(attention: Tensor, mask: Tensor) -> Tensor:
    """Mean cosine of what the summaries are made of, in words."""
    unit = torch.nn.functional.normalize(iram_steps(attention, mask), dim=2)
    products = unit @ unit.transpose(1, 2)
    same = products.diagonal(dim1=1, dim2=2).sum(1)
    return (products.sum((1, 2)) - same) / (STEPS_PRICES * (STEPS_PRICES - 1))


def _documents(words: int) -> Tensor:
    """Five ways to spend three steps, ``(5, 3, words + 2)``: a word thrice, everything thrice, a
    word handed on, a word each, a third of the words each."""
    made = torch.zeros(5, STEPS_PRICES, words + STEPS_PRICES - 1)
    made[0, :, words // 2] = 1
    made[1, :, :words] = 1 / words
    made[2, torch.arange(STEPS_PRICES), torch.tensor([words - 1, words, words + 1])] = 1
    made[3, torch.arange(STEPS_PRICES), torch.tensor([words - 1, 0, 2])] = 1
    for step, part in enumerate(torch.arange(words).chunk(STEPS_PRICES)):
        made[4, step, part] = 1 / len(part)
    return made


def _cases() -> list[Case]:
    cases = []
    for words, padding in ((5, 0), (5, 3), (12, 0), (40, 8)):
        of_words, of_summaries = _documents(words).split([words, STEPS_PRICES - 1], 2)
        attention = torch.cat(
            [of_words, torch.zeros(5, STEPS_PRICES, padding), of_summaries], 2
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


check_step_price = Checker(
    name="step_price",
    about="""``f(attention, mask)``, ``(n, 3, words + 2)`` and ``(n, words)`` → a price for each
    document, ``(n,)``, with a gradient: at most ``CHEAP`` where every step reads words of its own,
    at least ``DEAR`` where all look at one word, all look at everything alike, or later steps read
    nothing but summaries.""",
    reference=_unrolled_cosine,
    cases=_cases,
    returns=("price",),
    start="say for each step which words it has read by then, its summaries counted as the words "
    "they are made of; then compare these rows.",
    span="five ways to spend three steps, 5 to 40 words",
    shapes="one price for each document",
    requirement=_about_price,
)  # fmt: skip
