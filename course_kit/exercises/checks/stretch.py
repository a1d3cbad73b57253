"""Checkers of the stretch problems (●●●●): lessons 00, 01 and 02."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from course_kit.exercises.checks.core import Case, Checker, Trial, check, generator, plural
from course_lib.models.layers import masked_softmax

Judge = Callable[[list[str]], float]  # words → P(positive)


def check_words_to_flip(function: Callable[[Judge, list[str], Tensor], int]) -> None:
    """``f(predict, words, weights)`` → how many words, the heaviest first, must go until
    ``predict(words)`` is on the other side of 0.5; all of them if that never happens.

    ``weights`` is ``(words,)``, no two alike; ``predict`` takes a list of at least one word.
    """
    check(WORDS_TO_FLIP, function)


def check_multi_head(
    function: Callable[[Tensor, Tensor, Tensor, Tensor, Tensor, int], Tensor],
) -> None:
    """``f(x, w_q, w_k, w_v, w_o, heads)`` → causal multi-head self-attention ``(batch, n, d)``.

    ``x`` is ``(batch, n, d)``, the weights ``(d, d)``; queries are ``x @ w_q``. Head by head the
    next d / heads features, scores divided by the root of so many; place i attends to 0 … i; the
    heads' outputs side by side, times ``w_o``.
    """
    check(MULTI_HEAD, function)


def check_gru_jacobian(
    function: Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor],
) -> None:
    """``f(x, h, U, W, b)``, ``x`` ``(inputs,)``, ``h`` ``(hidden,)``, the weights stacked in the
    order r, z, candidate → ∂h'/∂h of the report's step, ``(hidden, hidden)``, row i being the next
    state's unit i."""
    check(GRU_JACOBIAN, function)


SCORES = {"wonderful": 3.0, "fine": 0.8, "dull": -1.0, "awful": -3.0, "not": -1.5}


def _adds_up(words: list[str]) -> float:
    """A bag of words: their scores, summed."""
    _some(words)
    return _probability(sum(SCORES.get(word, 0.0) for word in words))


def _on_average(words: list[str]) -> float:
    """The mean score, as attention with equal weights would have it."""
    _some(words)
    return _probability(4 * sum(SCORES.get(word, 0.0) for word in words) / len(words))


def _turned_by_not(words: list[str]) -> float:
    """A "not" turns the sign of the whole."""
    _some(words)
    total = sum(SCORES.get(word, 0.0) for word in words if word != "not")
    return _probability(-total if "not" in words else total)


def _by_its_first(words: list[str]) -> float:
    """Whatever stands first."""
    _some(words)
    return _probability(SCORES.get(words[0], 0.2))


def _some(words: list[str]) -> None:
    if not words:
        raise ValueError("predict was asked about a text without a word: stop one word before")


def _probability(score: float) -> float:
    return torch.tensor(score + 0.1).sigmoid().item()  # never 0.5, which is on no side


JUDGES = {
    "scores that add up": _adds_up,
    "the mean score": _on_average,
    "a not that turns the sign": _turned_by_not,
    "the first word alone": _by_its_first,
}


def _flip_cases() -> list[Case]:
    texts = (
        ["wonderful", "awful"],
        ["wonderful", "film"],
        ["not", "wonderful", "film"],
        ["fine", "dull", "film", "fine", "fine"],
        ["wonderful", "the", "film", "dull", "awful"],
        ["awful", "but", "the", "wonderful", "fine", "film", "dull", "not"],
    )
    return [
        Case(
            f"“{' '.join(words)}”, judged by {kind}",
            (predict, words, torch.randperm(len(words), generator=generator(place)) / 10 + 0.05),
        )
        for place, words in enumerate(texts)
        for kind, predict in JUDGES.items()
    ]


def _flip(
    predict: Judge, words: list[str], order: Sequence[int], start: int = 1, never: int = 0,
    changed: Callable[[float, float], bool] = lambda now, before: (now > 0.5) != (before > 0.5),
) -> int:  # fmt: skip
    before = predict(words)
    for count in range(start, len(words)):
        gone = set(order[:count])
        if changed(predict([w for place, w in enumerate(words) if place not in gone]), before):
            return count
    return never or len(words)


def _heaviest_first(weights: Tensor) -> list[int]:
    return weights.argsort(descending=True).tolist()


def _one_at_a_time(predict: Judge, words: list[str], weights: Tensor) -> int:
    before = predict(words) > 0.5
    for count, place in enumerate(_heaviest_first(weights), start=1):
        left = words[:place] + words[place + 1 :]
        if (predict(left) > 0.5) != before:
            return count
    return len(words)


def _words_gone(
    predict: Judge, words: list[str], weights: Tensor, copies: int | None = None
) -> int:
    """Words are taken out by name: ``copies`` of each, or all."""
    before, left = predict(words) > 0.5, list(words)
    for count, place in enumerate(_heaviest_first(weights)[:-1], start=1):
        if copies:
            left.remove(words[place])
        else:
            left = [word for word in left if word != words[place]]
        if not left or (predict(left) > 0.5) != before:
            return count if left else len(words)
    return len(words)


def _weighed(predict: Judge, words: list[str], weights: Tensor) -> Tensor:
    """The words by their own effect when each is taken out."""
    before = predict(words)
    left = [words[:place] + words[place + 1 :] for place in range(len(words))]
    return torch.tensor([abs(before - predict(some)) for some in left])


def _about_flip(trial: Trial) -> str | None:
    yours, words = trial.yours[0], trial.case.inputs[1]
    if not 1 <= yours <= len(words):
        return f"{yours} of {plural(len(words), 'word')}: it lies between 1 and all of them."
    return None


WORDS_TO_FLIP = Checker(
    name="words_to_flip",
    reference=lambda predict, words, weights: _flip(predict, words, _heaviest_first(weights)),
    cases=_flip_cases,
    returns=("count",),
    start="remove the heaviest word, predict, then the two heaviest, and so on.",
    span="up to eight words, four ways to judge them",
    mistakes=(
        (lambda predict, words, weights: _flip(predict, words, weights.argsort().tolist()),
         "you begin with the lightest word: the heaviest goes first."),
        (lambda predict, words, weights: _flip(predict, words, range(len(words))),
         "you remove the words in reading order: the weights say which goes first."),
        (_one_at_a_time,
         "each time you put the words removed before back: they stay away."),
        (lambda predict, words, weights: _flip(predict, words, _heaviest_first(weights),
                                               changed=lambda now, before: now <= 0.5),
         "you wait until P falls below 0.5, but a text may begin there: wait for the other side."),
        (lambda predict, words, weights: _flip(predict, words, _heaviest_first(weights)) - 1,
         "you count one too few: the word whose removal turns the prediction counts, too."),
        (lambda predict, words, weights: _flip(
            predict, words, _heaviest_first(weights),
            changed=lambda now, before: abs(now - before) > 0.5),
         "you wait until P has moved by 0.5: only the side of 0.5 counts."),
        (lambda predict, words, weights: _flip(predict, words, _heaviest_first(weights),
                                               never=len(words) - 1),
         "where nothing turns it, the answer is the number of all words."),
        (lambda predict, words, weights: _flip(predict, words, _heaviest_first(
            _weighed(predict, words, weights))),
         "you remove the most effective word first: the heaviest one is asked for."),
        (_words_gone,
         "a word that stands twice goes twice in yours: remove places, not words."),
        (lambda *given: _words_gone(*given, copies=1),
         "of a word that stands twice you remove the first, whichever is heavier: remove places, "
         "not words."),
    ),
    diagnoses=(_about_flip,),
)  # fmt: skip


def _multi_head(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor, heads: int, *,
    causal: int = 0, divisor: float | None = None, blocks: bool = True, values: bool = True,
    joined: bool = True,
) -> Tensor:  # fmt: skip
    """The layer, and what becomes of it: ``causal`` is the last diagonal that may be seen."""
    n, d = x.shape[1:]
    width = d // heads

    def split(features: Tensor) -> Tensor:  # (batch, heads, n, width)
        if blocks:
            return features.unflatten(2, (heads, width)).transpose(1, 2)
        return features.unflatten(2, (width, heads)).permute(0, 3, 1, 2)

    q, k, v = (split(x @ w) for w in (w_q, w_k, w_v))
    seen = torch.ones(n, n, dtype=torch.bool).tril(causal)
    scores = q @ k.transpose(2, 3) / (divisor or width) ** 0.5
    mixed = masked_softmax(scores, seen) @ (v if values else split(x))
    together = mixed.transpose(1, 2).flatten(2)  # the heads side by side
    return together @ w_o if joined else together


def _viewed(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, heads: int) -> Tensor:
    """The features cut by a view that takes the places for heads; joined as they should be."""
    batch, n, d = x.shape
    q, k, v = ((x @ w).reshape(batch, heads, n, d // heads) for w in (w_q, w_k, w_v))
    return _mixed(q, k, v).transpose(1, 2).flatten(2)


def _joined_too_soon(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, heads: int) -> Tensor:
    q, k, v = ((x @ w).unflatten(2, (heads, -1)).transpose(1, 2) for w in (w_q, w_k, w_v))
    return _mixed(q, k, v).reshape(x.shape)


def _mixed(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    seen = torch.ones(q.shape[2], q.shape[2], dtype=torch.bool).tril()
    return masked_softmax(q @ k.transpose(2, 3) / q.shape[3] ** 0.5, seen) @ v


def _backwards(x: Tensor, *weights: Any) -> Tensor:
    """Every place sees itself and what comes after it."""
    return _multi_head(x.flip(1), *weights).flip(1)


def _multi_head_cases() -> list[Case]:
    cases = []
    for batch, n, heads, width in ((1, 1, 1, 2), (1, 2, 1, 2), (1, 3, 2, 2), (2, 4, 2, 3),
                                   (1, 5, 4, 2), (3, 12, 3, 8)):  # fmt: skip
        source, d = generator(batch, n, heads, width), heads * width
        x = torch.randn(batch, n, d, generator=source)
        weights = [torch.randn(d, d, generator=source) / d**0.5 for _ in range(4)]
        what = f"{plural(n, 'place')}, {plural(heads, 'head')} of width {width}"
        cases.append(Case(what, (x, *weights, heads)))
    return cases


MULTI_HEAD = Checker(
    name="multi_head",
    reference=_multi_head,
    cases=_multi_head_cases,
    returns=("output",),
    start="write it for heads = 1 first: it is Exercise 3 with a causal mask and w_o.",
    shapes="as many places and features as x",
    span="up to four heads and twelve places",
    mistakes=(
        (lambda *given: _multi_head(*given, causal=100),
         "every place sees the places after it: row i may look at 0 … i alone."),
        (_backwards,
         "the mask is upside down: a place sees itself and what comes before it, tril, not triu."),
        (lambda *given: _multi_head(*given, causal=-1),
         "a place does not see itself: the diagonal belongs to the mask, too."),
        (lambda x, *rest: _multi_head(x, *rest, divisor=x.shape[2]),
         "you divide by √d of the whole layer: a head's queries have d / heads numbers."),
        (lambda *given: _multi_head(*given, divisor=1.0),
         "the division by the root of the head's width is missing."),
        (lambda *given: _multi_head(*given, divisor=given[5]),
         "you divide by the root of the number of heads: a head's queries have d / heads numbers."),
        (lambda *given: _multi_head(*given, divisor=(given[0].shape[2] // given[5]) ** 2),
         "you divide by the head's width: the root of it is asked for."),
        (lambda x, w_q, w_k, w_v, w_o, heads: _viewed(x, w_q, w_k, w_v, heads) @ w_o,
         "view(batch, heads, n, …) mixes places with features: cut the last axis, "
         "unflatten(2, (heads, -1)), then move the heads forward, transpose(1, 2)."),
        (lambda x, w_q, w_k, w_v, w_o, heads: _joined_too_soon(x, w_q, w_k, w_v, heads) @ w_o,
         "the heads are joined while their axis still stands before the places: transpose(1, 2) "
         "first, then flatten."),
        (lambda *given: _multi_head(*given, blocks=False),
         "the features are dealt out to the heads one by one: head 0 gets the first d / heads of "
         "them, head 1 the next."),
        (lambda *given: _multi_head(*given, joined=False),
         "w_o is missing: it mixes what the heads put side by side."),
        (lambda *given: _multi_head(*given, values=False),
         "you average x itself: the values are x @ w_v."),
        (lambda x, w_q, w_k, w_v, w_o, heads: _multi_head(x, w_q, w_k, w_v, w_o, 1),
         "yours has one head, whatever heads says."),
        (lambda x, w_q, w_k, w_v, w_o, heads: _multi_head(x, w_q.T, w_k.T, w_v.T, w_o.T, heads),
         "the weights are transposed: queries are x @ w_q, where nn.Linear takes x @ w.T."),
    ),
)  # fmt: skip


def _jacobian(
    x: Tensor, h: Tensor, U: Tensor, W: Tensor, b: Tensor, *,
    kept: bool = True, gate: bool = True, taken: bool = True, reset: bool = True, sense: int = 1,
    slope: bool = True, old: bool = True, squash: bool = True, product: bool = True,
) -> Tensor:  # fmt: skip
    """∂h'/∂h of h' = (1 − z) ∘ h + z ∘ tanh(U_h x + W_h (r ∘ h) + b_h), term by term."""
    (U_r, U_z, U_h), (W_r, W_z, W_h), (b_r, b_z, b_h) = U, W, b
    r = torch.sigmoid(U_r @ x + W_r @ h + b_r)
    z = torch.sigmoid(U_z @ x + W_z @ h + b_z)
    candidate = torch.tanh(U_h @ x + W_h @ (r * h) + b_h)
    through_r = torch.diag(h * r * (1 - r)) @ W_r if reset else 0.0
    inner = W_h @ (torch.diag(r) + through_r) if product else W_h
    total = torch.zeros(len(h), len(h))
    if kept:
        total = total + torch.diag(1 - z)
    if gate:
        total = (
            total
            + sense
            * torch.diag((candidate - (h if old else 0)) * (z * (1 - z) if slope else 1))
            @ W_z
        )
    if taken:
        total = total + torch.diag(z * (1 - candidate**2 if squash else 1)) @ inner
    return total


def _jacobian_cases() -> list[Case]:
    cases = []
    for hidden, inputs in ((1, 1), (2, 1), (2, 3), (3, 2), (5, 4), (20, 10)):
        source = generator(hidden, inputs, 7)
        U, W, b, x, h = (
            torch.randn(*shape, generator=source)
            for shape in ((3, hidden, inputs), (3, hidden, hidden), (3, hidden), (inputs,),
                          (hidden,))
        )  # fmt: skip
        what = f"{plural(hidden, 'unit')}, {plural(inputs, 'input')}"
        cases.append(Case(what, (x, h.tanh(), U, W, b)))
    return cases


GRU_JACOBIAN = Checker(
    name="gru_jacobian",
    reference=_jacobian,
    cases=_jacobian_cases,
    returns=("jacobian",),
    start="h' is a sum of two products; differentiate each by the product rule, one factor at a "
    "time.",
    shapes="a row for each unit of the next state, a column for each of the old one",
    span="from one unit to 20",
    mistakes=(
        (lambda *given: _jacobian(*given, gate=False),
         "z depends on h, too: the term with ∂z/∂h = diag(z (1 − z)) W_z is missing."),
        (lambda *given: _jacobian(*given, gate=False, taken=False),
         "that is the way that is kept, diag(1 − z), alone: z and the candidate depend on h, too."),
        (lambda *given: _jacobian(*given, taken=False),
         "the candidate depends on h, too: its term is missing."),
        (lambda *given: _jacobian(*given, kept=False),
         "the old state itself is missing: ∂((1 − z) ∘ h)/∂h begins with diag(1 − z)."),
        (lambda *given: _jacobian(*given, reset=False),
         "r depends on h, too: ∂(r ∘ h)/∂h is diag(r) + diag(h r (1 − r)) W_r."),
        (lambda *given: _jacobian(*given, sense=-1),
         "the term of z has the wrong sign: z moves h' from h towards the candidate, so it is "
         "candidate − h."),
        (lambda *given: _jacobian(*given).T,
         "rows and columns are exchanged: row i belongs to unit i of the next state."),
        (lambda *given: _jacobian(*given, squash=False),
         "the derivative of tanh is missing in the candidate's term: 1 − candidate²."),
        (lambda *given: _jacobian(*given, slope=False),
         "the derivative of the sigmoid is missing in the term of z: z (1 − z)."),
        (lambda *given: _jacobian(*given, old=False),
         "z stands twice in h': (1 − z) ∘ h falls when z rises, so its term has candidate − h."),
        (lambda *given: _jacobian(*given, product=False),
         "W_h multiplies r ∘ h, not h: differentiate the product r ∘ h as well."),
    ),
)  # fmt: skip
