"""Lesson 04: pooling by the maximum, untrained attention, and attention made to order."""

import torch
from torch import Tensor

from course_kit.exercises.cases import Case, CaseResult, Kinds, cases, generator, masks, normal
from course_kit.exercises.comparison import largest
from course_kit.exercises.judge import Checker
from course_lib.metrics.attention import diagonality, gini, uniform_diagonality
from course_lib.models.layers import positions
from course_lib.models.sanet import masked_maximum, pooled_word_attention


def _maximum_inputs(rows: int, length: int, hidden: int) -> Kinds:
    (x,) = normal((rows, length, hidden), (rows, length, hidden))
    real, some, empty = masks(rows, length)
    return {
        "all real": (x, real),
        "some padded": (x, some),
        "some padded, all values negative": (-x.abs() - 1, some),
        "the last without a word": (x, empty),
    }


def _with_zeros(x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """The maximum over padding, too, which is 0."""
    values, places = (x * mask.unsqueeze(2)).max(1)
    return values, places


def _about_maximum(result: CaseResult) -> str | None:
    (yours, places), (expected, _) = result.yours, result.expected
    empty = ~result.case.inputs[1].any(1)
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


check_masked_maximum = Checker(
    name="masked_maximum",
    about="""``f(x, mask)``, ``x`` ``(batch, length, hidden)`` and ``mask`` ``(batch, length)`` →
    the largest value of each dimension over the real words and the place of that word, both
    ``(batch, hidden)``; 0 and −1 in a document without words.""",
    reference=masked_maximum,
    cases=cases(
        "{:document} of {:place}, {} wide",
        ((1, 1, 1), (1, 2, 1), (2, 2, 2), (3, 5, 4), (8, 30, 16)),
        _maximum_inputs,
    ),
    returns=("values", "places"),
    shapes="the maximum runs over the words, axis 1, for each dimension",
    start="values, places = x.max(1): what must padding hold so that it never wins?",
    span="from one word to 30, some documents empty",
    mistakes=(
        (lambda x, mask: (masked_maximum(x, mask)[0], _with_zeros(x, mask)[1]),
         "the values are right, but the places are those of a maximum in which padding, at 0, "
         "competed: take both from one call."),
        (_with_zeros,
         "padding is set to 0, which wins wherever all words are negative: −∞ never wins. And a "
         "document without words has the places −1."),
        (lambda x, mask: tuple(x.max(2)),
         "you take the largest dimension of each word: the maximum runs over the words, axis 1."),
    ),
    diagnoses=(_about_maximum,),
)  # fmt: skip


def _shares_inputs(rows: int, length: int, hidden: int) -> Kinds:
    (x,) = normal((rows, length, hidden), (rows, length, hidden))
    real, some, empty = masks(rows, length)
    kinds = {"all real": real, "some padded": some, "the last without a word": some & empty}
    return {kind: (masked_maximum(x, mask)[1], mask) for kind, mask in kinds.items()}


def _counted(places: Tensor, mask: Tensor) -> Tensor:
    return pooled_word_attention(places, mask) * places.shape[1]


def _about_shares(result: CaseResult) -> str | None:
    yours, expected = result.yours[0], result.expected[0]
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


check_pooled_shares = Checker(
    name="pooled_shares",
    about="""``f(places, mask)``, ``places`` ``(batch, hidden)`` as the maximum gives them, −1 where
    no word is real → the share of the dimensions that come from each word, as ``mask`` ``(batch,
    length)``.""",
    reference=pooled_word_attention,
    cases=cases(
        "{:document} of {:place}, {:dimension}",
        ((1, 1, 1), (1, 2, 4), (2, 3, 4), (3, 6, 5), (8, 30, 128)),
        _shares_inputs,
    ),
    returns=("shares",),
    shapes="one share for each place of the mask, by counting over the dimensions",
    start="for one document: how often does the place t occur among its places?",
    span="from one word to 30, some documents empty",
    mistakes=(
        (lambda places, mask: _counted(places, mask) / mask.shape[1],
         "you divide by the number of places; the shares are of the dimensions, places.shape[1]."),
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


def _about_untrained(result: CaseResult) -> str | None:
    kinds = result.case.description.split(": ")[1].split(", ")
    told = {
        "columns": "its diagonality is like chance, as the untrained one's, but its words have "
                   "learned to agree on a few.",
        "band": "no word receives more than others, but to look at neighbours had to be learned.",
    }  # fmt: skip
    place = result.yours[0]
    kind = kinds[place] if place in range(3) else ""
    return f"your place is that of the {kind}: {told[kind]}" if kind in told else None


check_untrained = Checker(
    name="untrained",
    about="""``f(attention, mask)``, ``(3, length, length)`` and ``(3, length)``: of three
    documents, one read by an untrained network and two by trained ones → the place of the former,
    0, 1 or 2.""",
    reference=_untrained,
    cases=_untrained_cases,
    returns=("place",),
    start="the three values of gini(attention, mask): which matrix has learned where to look?",
    span="three documents of 12 to 60 words",
    mistakes=(
        (lambda attention, mask: int(gini(attention, mask).argmax()),
         "the sparsest one is a trained one here: training sharpens what chance began."),
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


SHARP, NEAR, BANDS = 0.8, 0.05, (1, 2, 3, 4, 5)
PLACES, ENOUGH = 30, 0.9  # words, and the weight that the right one must get
OFF = 1e-3  # so far may a row's sum be from 1


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
        (row,) = largest(off)
        return f"row {row} sums to {attention[row].sum():.3g}: each row of attention sums to 1."
    sharpness = float(gini(attention[None], torch.ones(1, n, dtype=torch.bool)))
    if sharpness < SHARP:
        return f"the Gini is {sharpness:.2f}, below {SHARP}: put each word's weight on fewer words."
    received = attention.mean(0)
    if received.max() > 2 / n + OFF:
        return (
            f"word {largest(received)[0]} receives {received.max():.0%} of all attention, and "
            f"the mean is {1 / n:.0%}: that is a column. Every word should be chosen about once."
        )
    excess = _excess(attention[None])[:, 0]
    if excess.abs().max() > NEAR:
        (place,) = largest(excess.abs())
        side = "above" if excess[place] > 0 else "below"
        return (
            f"at b = {BANDS[place]} the diagonality lies {abs(excess[place]):.2f} {side} uniform "
            f"attention's: {'a band' if side == 'above' else 'the opposite of a band'}."
        )
    return ""


check_scattered_attention = Checker(
    name="scattered_attention",
    about="""``f(n)`` → attention ``(n, n)``, rows that sum to 1, with a Gini of at least ``SHARP``,
    a diagonality within ``NEAR`` of uniform attention's at every bandwidth of ``BANDS``, and no
    word that receives more than twice the mean.""",
    reference=_scattered,
    cases=lambda: [Case(f"{n} words", (n,)) for n in (20, 40, 60)],
    returns=("attention",),
    start="torch.eye(n)[torch.randperm(n)]: what are its Gini, its columns and its diagonality?",
    span="20 to 60 words",
    shapes="a row for each word that attends, a column for each that is attended to",
    requirement=_about_attention,
)  # fmt: skip


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
    weights = (p @ w.detach().float() @ p.T).log_softmax(1)
    attention = weights.exp()
    if not attention.isfinite().all():
        return "the attention is no number: the scores are too large for float32."
    rows = torch.arange(max(0, -k), min(PLACES, PLACES - k))
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
            f"{where}, and attends to itself: the sine and cosine of pair m stand side "
            "by side, in dimensions 2m and 2m + 1. Does your matrix turn these two?"
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
