"""Checkers of the exercises on SANet: the block, its masked maximum, and what describes it."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import layer_norm

from course_kit.exercises.checks.core import Case, Checker, Trial, check, generator, plural, ragged
from course_lib.metrics.attention import diagonality, gini
from course_lib.models.sanet import masked_maximum, pooled_word_attention


def check_masked_maximum(function: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]) -> None:
    """``f(x, mask)``, ``x`` ``(batch, length, hidden)`` and ``mask`` ``(batch, length)`` → the
    largest value of each dimension over the real words and the place of that word, both
    ``(batch, hidden)``; 0 and −1 in a document without words."""
    check(MASKED_MAXIMUM, function)


def check_pooled_shares(function: Callable[[Tensor, Tensor], Tensor]) -> None:
    """``f(places, mask)``, ``places`` ``(batch, hidden)`` as the maximum gives them, −1 where no
    word is real → the share of the dimensions that come from each word, as ``mask``
    ``(batch, length)``."""
    check(POOLED_SHARES, function)


def check_block(function: Callable[..., Tensor]) -> None:
    """``f(x, w_qk, w_v, w_1, b_1, w_2, b_2)``, ``x`` ``(length, hidden)``, matrices
    ``(hidden, hidden)`` that stand to its right → a SANet block's output, as ``x``; without
    dropout, and with a LayerNorm that has no parameters of its own."""
    check(BLOCK, function)


def check_untrained(function: Callable[[Tensor, Tensor], int]) -> None:
    """``f(attention, mask)``, ``(3, length, length)`` and ``(3, length)``: of three documents, one
    read by an untrained network and two by trained ones → the place of the former, 0, 1 or 2."""
    check(UNTRAINED, function)


def _maximum_cases() -> list[Case]:
    cases = []
    for rows, length, hidden in ((1, 1, 1), (1, 2, 1), (2, 2, 2), (3, 5, 4), (8, 30, 16)):
        x = torch.randn(rows, length, hidden, generator=generator(rows, length, hidden))
        size = f"{plural(rows, 'document')} of {plural(length, 'place')}, {hidden} wide"
        real = torch.ones(rows, length, dtype=torch.bool)
        last = torch.arange(rows).unsqueeze(1) == rows - 1
        cases += [
            Case(f"{size}, all real", (x, real)),
            Case(f"{size}, some padded", (x, ragged(rows, length))),
            Case(f"{size}, some padded, all values negative", (-x.abs() - 1, ragged(rows, length))),
            Case(f"{size}, the last without a word", (x, real & ~last)),
        ]
    return cases


def _largest(x: Tensor, mask: Tensor, filling: float) -> tuple[Tensor, Tensor]:
    values, places = x.masked_fill(~mask.unsqueeze(2), filling).max(1)
    return values, places


def _values_blanked(x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    values, places = _largest(x, mask, -torch.inf)
    return values.masked_fill(~mask.any(1, keepdim=True), 0), places


def _about_maximum(trial: Trial) -> str | None:
    (yours, places), (expected, _) = trial.yours, trial.expected
    empty = ~trial.case.inputs[1].any(1)
    if (places[~empty] == -1).any():
        return (
            "−1 stands in a document that has words: which rows does your condition mean? A "
            "condition (batch,) needs a second axis beside (batch, hidden)."
        )
    if yours[~empty].isneginf().any():
        return (
            "real words are hidden: masked_fill fills where its mask is True, and yours is True "
            "at words."
        )
    if ((yours == 0) & (expected < 0)).any():
        return "padding is set to 0, which wins wherever all words are negative: −∞ never wins."
    if ((yours[empty] != 0) | (places[empty] != -1)).any():
        return "a document without words has the values 0 and the places −1: yours has others."
    return None


MASKED_MAXIMUM = Checker(
    name="masked_maximum",
    reference=masked_maximum,
    cases=_maximum_cases,
    returns=("values", "places"),
    shapes="the maximum runs over the words, axis 1, for each dimension",
    start="values, places = x.max(1): what must padding hold so that it never wins?",
    span="from one word to 30, some documents empty",
    mistakes=(
        (lambda x, mask: _largest(x, torch.ones_like(mask), 0),
         "padding competes for the maximum: what a document's vector is then depends on how long "
         "its neighbours in the batch are."),
        (lambda x, mask: (masked_maximum(x, mask)[0], _largest(x, mask, 0)[1]),
         "the values are right, but the places are those of a maximum in which padding, at 0, "
         "competed: take both from one call."),
        (lambda x, mask: _largest(x, mask, 0),
         "padding is set to 0, which wins wherever all words are negative: −∞ never wins. And a "
         "document without words has the places −1."),
        (lambda x, mask: masked_maximum(x, mask)[::-1],
         "the two results are exchanged: first the values, then the places."),
        (lambda x, mask: tuple(x.max(2)),
         "you take the largest dimension of each word: the maximum runs over the words, axis 1."),
        (_values_blanked,
         "a document without words has no place its maximum came from: −1, not 0, which is its "
         "first place."),
        (lambda x, mask: _largest(x, mask, -torch.inf),
         "a document without words gives −∞, which no classifier survives: its vector is 0, its "
         "places are −1."),
    ),
    diagnoses=(_about_maximum,),
)  # fmt: skip


def _shares_cases() -> list[Case]:
    cases = []
    for rows, length, hidden in ((1, 1, 1), (1, 2, 4), (2, 3, 4), (3, 6, 5), (8, 30, 128)):
        x = torch.randn(rows, length, hidden, generator=generator(rows, length, hidden))
        last = torch.arange(rows).unsqueeze(1) == rows - 1
        masks = {
            "all real": torch.ones(rows, length, dtype=torch.bool),
            "some padded": ragged(rows, length),
            "the last without a word": ragged(rows, length) & ~last,
        }
        for what, mask in masks.items():
            places = masked_maximum(x, mask)[1]
            size = f"{plural(rows, 'document')} of {plural(length, 'place')}"
            size += f", {plural(hidden, 'dimension')}"
            cases.append(Case(f"{size}, {what}", (places, mask)))
    return cases


def _counted(places: Tensor, mask: Tensor) -> Tensor:
    return pooled_word_attention(places, mask) * places.shape[1]


def _minus_one_counted(places: Tensor, mask: Tensor) -> Tensor:
    """As if −1 were a place: Python's last."""
    return torch.nn.functional.one_hot(places % mask.shape[1], mask.shape[1]).float().mean(1)


def _about_shares(trial: Trial) -> str | None:
    yours, expected = trial.yours[0], trial.expected[0]
    sums = yours.sum(1)
    if sums.isnan().any():
        return (
            "0 divided by 0 is no number: an empty document has neither words nor dimensions won. "
            "The number of dimensions, places.shape[1], is never 0."
        )
    if not torch.allclose(sums, expected.sum(1), atol=1e-4):
        return (
            f"your rows sum to {', '.join(f'{value:.3g}' for value in sums[:4].tolist())}: 1 where "
            "a word is real, else 0."
        )
    return None


POOLED_SHARES = Checker(
    name="pooled_shares",
    reference=pooled_word_attention,
    cases=_shares_cases,
    returns=("shares",),
    shapes="one share for each place of the mask, by counting over the dimensions",
    start="for one document: how often does the place t occur among its places?",
    span="from one word to 30, some documents empty",
    mistakes=(
        (_counted, "you count dimensions: divide by how many there are."),
        (lambda places, mask: _counted(places, mask) / mask.shape[1],
         "you divide by the number of places; the shares are of the dimensions, places.shape[1]."),
        (_minus_one_counted,
         "−1 is not a place: as an index it means the last one, so an empty document gives its "
         "padding everything."),
        (lambda places, mask: pooled_word_attention(places.clamp(min=0), mask),
         "an empty document's −1 is counted as place 0: it should get 0 everywhere."),
        (lambda places, mask: (_counted(places, mask) > 0).float()
         / (_counted(places, mask) > 0).sum(1, keepdim=True).clamp(min=1),
         "every word that won anything weighs the same in yours: count how many dimensions each "
         "won."),
        (lambda places, mask: mask.float() / mask.sum(1, keepdim=True).clamp(min=1),
         "that is uniform over the words, whatever the places are."),
    ),
    diagnoses=(_about_shares,),
)  # fmt: skip


def _normed(x: Tensor) -> Tensor:
    return layer_norm(x, x.shape[-1:])


def _attended(x: Tensor, w_qk: Tensor, w_v: Tensor, divisor: float = 1.0, dim: int = -1) -> Tensor:
    return (x @ w_qk @ x.T / divisor).softmax(dim) @ x @ w_v


def _forward(x: Tensor, w_1: Tensor, b_1: Tensor, w_2: Tensor, b_2: Tensor) -> Tensor:
    return torch.relu(x @ w_1 + b_1) @ w_2 + b_2


def _block(x: Tensor, w_qk: Tensor, w_v: Tensor, *rest: Tensor) -> Tensor:
    x = _normed(x + _attended(x, w_qk, w_v))
    return _normed(x + _forward(x, *rest))


def _attending(attend: Callable[[Tensor, Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    """The block with another self-attention."""

    def block(x: Tensor, w_qk: Tensor, w_v: Tensor, *rest: Tensor) -> Tensor:
        x = _normed(x + attend(x, w_qk, w_v))
        return _normed(x + _forward(x, *rest))

    return block


def _with(first: float = 1.0, second: float = 1.0) -> Callable[..., Tensor]:
    """The block with its residuals multiplied."""

    def block(
        x: Tensor, w_qk: Tensor, w_v: Tensor, w_1: Tensor, b_1: Tensor, w_2: Tensor, b_2: Tensor,
        bend: Callable[[Tensor], Tensor] = torch.relu,
    ) -> Tensor:  # fmt: skip
        x = _normed(first * x + _attended(x, w_qk, w_v))
        return _normed(second * x + bend(x @ w_1 + b_1) @ w_2 + b_2)

    return block


def _no_residuals(x: Tensor, w_qk: Tensor, w_v: Tensor, *rest: Tensor) -> Tensor:
    return _normed(_forward(_normed(_attended(x, w_qk, w_v)), *rest))


def _norm_before(x: Tensor, w_qk: Tensor, w_v: Tensor, *rest: Tensor) -> Tensor:
    x = x + _attended(_normed(x), w_qk, w_v)
    return x + _forward(_normed(x), *rest)


def _norm_at_the_end(x: Tensor, w_qk: Tensor, w_v: Tensor, *rest: Tensor) -> Tensor:
    x = x + _attended(x, w_qk, w_v)
    return _normed(x + _forward(x, *rest))


def _old_residual(x: Tensor, w_qk: Tensor, w_v: Tensor, *rest: Tensor) -> Tensor:
    return _normed(x + _forward(_normed(x + _attended(x, w_qk, w_v)), *rest))


def _relu_last(
    x: Tensor, w_qk: Tensor, w_v: Tensor, w_1: Tensor, b_1: Tensor, w_2: Tensor, b_2: Tensor
) -> Tensor:
    x = _normed(x + _attended(x, w_qk, w_v))
    return _normed(x + torch.relu((x @ w_1 + b_1) @ w_2 + b_2))


def _block_cases() -> list[Case]:
    cases = []
    for length, hidden in ((1, 4), (2, 3), (3, 8), (7, 6), (30, 16)):
        source = generator(length, hidden)
        x = torch.randn(length, hidden, generator=source)
        matrices = [torch.randn(hidden, hidden, generator=source) / hidden**0.5 for _ in range(4)]
        b_1, b_2 = (torch.randn(hidden, generator=source) for _ in range(2))
        inputs = (x, *matrices[:3], b_1, matrices[3], b_2)
        cases.append(Case(f"{plural(length, 'word')}, {hidden} wide", inputs))
    return cases


BLOCK = Checker(
    name="block",
    reference=_block,
    cases=_block_cases,
    returns=("x",),
    start="attended = (x @ w_qk @ x.T).softmax(-1) @ x @ w_v, then x = LayerNorm(x + attended).",
    span="from one word to 30",
    mistakes=(
        (_attending(lambda x, w_qk, w_v: _attended(x, w_qk, w_v, x.shape[1] ** 0.5)),
         "the scores are divided by √d: SANet's are not."),
        (_attending(lambda x, w_qk, w_v: _attended(x, w_qk, w_v, dim=0)),
         "the softmax runs down the columns: row i is what word i attends to and sums to 1."),
        (_attending(lambda x, w_qk, w_v: _attended(x, w_qk.T, w_v)),
         "w_qk is transposed: the score of (i, j) is x_i W_QK x_j, and W_QK is not symmetric."),
        (_attending(lambda x, w_qk, w_v: (x @ w_qk @ x.T).softmax(-1) @ x),
         "W_V is missing: what is mixed are the rows of x @ w_v."),
        (_with(first=0.0), "the first residual is missing: LayerNorm(x + attended)."),
        (_with(second=0.0), "the second residual is missing: LayerNorm(x + what W_2 gives)."),
        (lambda x, w_qk, w_v, w_1, b_1, w_2, b_2: _block(x, w_qk, w_v, w_1, 0 * b_1, w_2, 0 * b_2),
         "both biases are missing, b_1 and b_2."),
        (lambda x, w_qk, w_v, w_1, b_1, w_2, b_2: _block(x, w_qk, w_v, w_1, 0 * b_1, w_2, b_2),
         "b_1 is missing."),
        (lambda x, w_qk, w_v, w_1, b_1, w_2, b_2: _block(x, w_qk, w_v, w_1, b_1, w_2, 0 * b_2),
         "b_2 is missing."),
        (lambda x, w_qk, w_v, w_1, b_1, w_2, b_2: _with()(
            x, w_qk, w_v, w_1, b_1, w_2, b_2, bend=lambda a: a),
         "the ReLU is missing: max(0, x W_1 + b_1)."),
        (_no_residuals, "both residuals are missing: LayerNorm(x + …), twice."),
        (_norm_before,
         "you normalise before each part; this block normalises after the sum, "
         "LayerNorm(x + …)."),
        (_norm_at_the_end, "there are two LayerNorms: one after each sum; yours has the last."),
        (_old_residual,
         "the second residual adds the block's input: it adds what the first LayerNorm gave."),
        (_relu_last, "the ReLU stands between W_1 and W_2, not behind both."),
    ),
)  # fmt: skip


def _specimens(length: int, number: int) -> dict[str, Tensor]:
    """One matrix ``(length, length)`` of each kind: random and spiky, columns, a band."""
    source = generator(length, number)
    noise = torch.randn(3, length, length, generator=source)
    places = torch.arange(length)
    columns = 4.5 * torch.randn(length, generator=source).expand(length, length)
    band = -1.4 * (places.unsqueeze(1) - places).abs().float()
    scores = {"untrained": 1.2 * noise[0], "columns": columns + noise[1], "band": band + noise[2]}
    return {kind: values.softmax(1) for kind, values in scores.items()}


def _untrained_cases() -> list[Case]:
    """Three documents of three lengths, the kinds in every order."""
    orders = (
        ("untrained", "columns", "band"), ("band", "untrained", "columns"),
        ("columns", "band", "untrained"), ("band", "columns", "untrained"),
    )  # fmt: skip
    sizes = ((12, 12, 12), (30, 20, 25), (16, 40, 12), (60, 14, 30))
    cases = []
    for number, lengths in enumerate(sizes):
        for order in orders:
            attention = torch.zeros(3, max(lengths), max(lengths))
            for row, (kind, length) in enumerate(zip(order, lengths, strict=True)):
                attention[row, :length, :length] = _specimens(length, number)[kind]
            mask = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)
            word_counts = f"{lengths[0]}, {lengths[1]} and {lengths[2]} words"
            cases.append(Case(f"{word_counts}: {', '.join(order)}", (attention, mask)))
    return cases


def _untrained(attention: Tensor, mask: Tensor) -> int:
    return int(gini(attention, mask, normalise=True).argmin())


def _about_untrained(trial: Trial) -> str | None:
    kinds = trial.case.description.split(": ")[1].split(", ")
    told = {
        "columns": "its diagonality is like chance, as the untrained one's, but its words have "
                   "learned to agree on a few.",
        "band": "no word receives more than others, but to look at neighbours had to be learned.",
    }  # fmt: skip
    place = trial.yours[0]
    kind = kinds[place] if place in range(3) else ""
    return f"your place is that of the {kind}: {told[kind]}" if kind in told else None


UNTRAINED = Checker(
    name="untrained",
    reference=_untrained,
    cases=_untrained_cases,
    returns=("place",),
    start="the three values of gini(attention, mask): which matrix has learned where to look?",
    span="three documents of 12 to 60 words",
    mistakes=(
        (lambda attention, mask: int(gini(attention, mask).argmax()),
         "the sparsest one is a trained one here: training sharpens what chance began."),
        (lambda attention, mask: int(diagonality(attention, mask, 1).argmin()),
         "a matrix of columns has no more weight near the diagonal than chance, and it is trained: "
         "diagonality cannot tell."),
        (lambda attention, mask: int(diagonality(attention, mask, 1).argmax()),
         "much weight near the diagonal is a band, which had to be learned."),
        (lambda attention, mask: int(gini(attention, torch.ones_like(mask)).argmin()),
         "the padding is counted as cells of weight 0, so that short documents look sparse: give "
         "gini the mask."),
        (lambda attention, mask: int(torch.special.entr(attention).sum(2).mean(1).argmax()),
         "the entropy of a row grows with the number of words: give each document only its real "
         "rows, and divide by the log of their number."),
        (lambda attention, mask: int((-attention * attention.log()).sum(2).mean(1).argmax()),
         "padding has weight 0, and 0 · log 0 is no number (NaN): torch.special.entr knows that it "
         "counts as 0."),
        (lambda attention, mask: 0,
         "it is always the first in yours."),
    ),
    diagnoses=(_about_untrained,),
)  # fmt: skip
