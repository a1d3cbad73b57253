"""Lesson 10: heads, hidden keys, attention between words, and what each word adds."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_kit.exercises.cases import (
    Case,
    Inputs,
    Kinds,
    cases,
    generator,
    named,
    normal,
    plural,
    ragged,
)
from course_kit.exercises.judge import Checker
from course_kit.exercises.pretrained import by_word


def hidden_keys(mask: Tensor) -> Tensor:
    """Our mask ``(batch, length)``, True = real, as PyTorch's ``key_padding_mask``, True = hidden.

    A row without any key would be NaN there, so a document without words keeps its first place
    open; whoever pools must leave that place out.
    """
    hidden = ~mask
    hidden[:, 0] &= mask.any(1)
    return hidden


def _mask_cases() -> list[Case]:
    empty = ragged(3, 4)
    empty[1] = False
    further = {
        "3 texts, the second without a word": (empty,),
        "1 text without a word": (torch.zeros(1, 2, dtype=torch.bool),),
        "2 texts, the padding in front of their words": (ragged(2, 3).flip(1),),
    }
    sizes = (1, 1), (1, 3), (2, 3), (3, 5), (4, 12)
    some = cases("{:text}, {:place}, some padded", sizes, lambda *size: (ragged(*size),))
    return some() + named(further)


check_hidden_keys = Checker(
    name="hidden_keys",
    about="""``f(mask)``, ``(batch, length)`` with True = real → PyTorch's ``key_padding_mask`` of
    the same shape, True = hidden, in which a row without real words keeps its first place open.""",
    reference=hidden_keys,
    cases=_mask_cases,
    returns=("hidden",),
    start="~mask turns the meaning round; mask.any(1) says which rows have a word.",
    span="with and without texts that have no word",
    shapes="one entry for each key of each text, as in the mask",
    mistakes=(
        (lambda mask: mask.clone(),
         "yours is True where a word is real: PyTorch hides exactly what is True."),
        (lambda mask: ~mask,
         "a text without a word has all its keys hidden: its softmax is over nothing, and gives "
         "NaN. Leave its first place open."),
    ),
)  # fmt: skip


def _weights_of(
    x: Tensor, w: Tensor, b: Tensor, part: Callable[[Tensor], Tensor], root: float
) -> Tensor:
    """Attention of the features that ``part`` takes of all queries and keys ``(n, d)``."""
    d = x.shape[1]
    q, k = x @ w[:d].T + b[:d], x @ w[d : 2 * d].T + b[d : 2 * d]
    return (part(q) @ part(k).T / root).softmax(-1)


def _head_weights(x: Tensor, w: Tensor, b: Tensor, heads: int, head: int) -> Tensor:
    size = x.shape[1] // heads
    return _weights_of(x, w, b, lambda f: f[:, head * size : (head + 1) * size], size**0.5)


def _like(change: Callable[..., Tensor]) -> Callable[..., Tensor]:
    return lambda x, w, b, heads, head: change(x, w, b, heads, head, x.shape[1] // heads)


def _head_inputs(n: int, d: int, heads: int) -> Kinds:
    x, w, b = normal((n, d, heads), (n, d), (3 * d, d), (3 * d,))
    return {f"head {head} of {heads}": (x, w, b, heads, head) for head in range(heads)}


check_head_weights = Checker(
    name="head_weights",
    about="""``f(x, w, b, heads, head)`` → the attention ``(n, n)`` of one head of
    ``nn.MultiheadAttention``: ``x`` ``(n, d)``, ``w`` its ``in_proj_weight`` ``(3 d, d)``, ``b``
    its ``in_proj_bias`` ``(3 d,)``.""",
    reference=_head_weights,
    cases=cases(
        "{:word} of {:number}, {:head}",
        ((1, 2, 1), (2, 4, 2), (3, 6, 3), (4, 8, 2), (12, 16, 4)),
        _head_inputs,
    ),
    returns=("attention",),
    start="q = x @ w[:d].T + b[:d] are the queries of all heads side by side.",
    span="one word to twelve, one head to four",
    shapes="a row for each word that attends, a column for each that is attended to",
    mistakes=(
        (_like(lambda x, w, b, heads, head, size: _weights_of(
            x, w, b, lambda f: f[:, head * size : (head + 1) * size], x.shape[1] ** 0.5)),
         "you divide by √d. A head's dot product adds d / heads terms: divide by their root."),
        (_like(lambda x, w, b, heads, head, size: _weights_of(
            x, w, b, lambda f: f[:, head * size : (head + 1) * size], 1.0)),
         "the scores are not divided by the root of the head's size."),
        (_like(lambda x, w, b, heads, head, size: _weights_of(
            x, w, b, lambda f: f[:, head::heads], size**0.5)),
         "you deal the features out one by one: a head has neighbouring features."),
        (_like(lambda x, w, b, heads, head, size: _weights_of(
            x, w, b, lambda f: f, size**0.5)),
         "all features are in the score: take the head's alone."),
        (lambda x, w, b, heads, head: _head_weights(x, w.unflatten(0, (3, -1)).mT.flatten(0, 1), b,
                                                    heads, head),
         "nn.Linear computes x @ w.T, and yours x @ w."),
        (lambda x, w, b, heads, head: _head_weights(x, w.roll(-w.shape[1], 0),
                                                    b.roll(-w.shape[1]), heads, head),
         "queries are the first d rows and keys the next d; yours takes keys and values."),
    ),
)  # fmt: skip


def _without(w_o: Tensor, heads: int, head: int) -> Tensor:
    size, kept = len(w_o) // heads, w_o.clone()
    kept[:, head * size : (head + 1) * size] = 0
    return kept


def _heads_to_drop(d: int, heads: int) -> Kinds:
    (w_o,) = normal((d, heads), (d, d))
    return {f"without head {head}": (w_o, heads, head) for head in range(heads)}


check_without_head = Checker(
    name="without_head",
    about="""``f(w_o, heads, head)``, ``w_o`` the ``out_proj.weight`` ``(d, d)`` → the same without
    what the head adds.""",
    reference=_without,
    cases=cases("{:feature}, {:head}", ((2, 2), (6, 3), (8, 2), (12, 4)), _heads_to_drop),
    returns=("w_o",),
    start="out_proj computes side_by_side @ w_o.T: which part of w_o meets the head's features?",
    span="two heads to four",
    shapes="the matrix keeps its size",
    mistakes=(
        (lambda w_o, heads, head: _without(w_o.T, heads, head).T,
         "you clear rows, which are outputs and belong to no head. nn.Linear computes x @ w.T, so "
         "a head's features meet columns."),
        (lambda w_o, heads, head: w_o - _without(w_o, heads, head),
         "the head alone is left: take it away and keep the others."),
        (lambda w_o, heads, head: _without(w_o, heads, (head - 1) % heads),
         "that is the head before it: they count from 0."),
        (lambda w_o, heads, head: _without(w_o, heads, (head + 1) % heads),
         "that is the head behind it: they count from 0."),
        (lambda w_o, heads, head: _without(w_o, heads, head) * heads / max(1, heads - 1),
         "the other heads are made larger: their part is to stay as it is."),
        (lambda w_o, heads, head: _without(_without(w_o, heads, head).T, heads, head).T,
         "you clear rows, too: they are outputs, and every head writes to all of them."),
    ),
)  # fmt: skip


def _piece_cases() -> list[Case]:
    cases = []
    for words in ([-1, 0, -1], [-1, 0, 1, -1], [-1, 0, 0, 1, -1], [-1, 0, 1, 1, 1, 2, -1],
                  [-1, 0, 0, 1, 2, 2, 3, 4, 4, 4, -1, -1]):  # fmt: skip
        of, source = torch.tensor(words), generator(len(words))
        attention = (2 * torch.randn(len(of), len(of), generator=source)).softmax(-1)
        count = f"{plural(int(of.max()) + 1, 'word')} in {plural(int((of >= 0).sum()), 'piece')}"
        cases.append(Case(f"{count}, {int((of < 0).sum())} special tokens", (attention, of)))
    return cases


def _reduced(
    attention: Tensor, word_of: Tensor, rows: str = "mean", columns: str = "sum"
) -> Tensor:
    """``by_word`` with another way to join the pieces of a word."""
    words = int(word_of.max()) + 1
    joined = [word_of == word for word in range(words)]
    wide = [getattr(attention[:, of], columns)(1) for of in (*joined, word_of < 0)]
    table = torch.stack(wide, 1)  # (pieces, words + 1)
    return torch.stack([getattr(table[of], rows)(0) for of in joined])


check_by_word = Checker(
    name="by_word",
    about="""``f(attention, word_of)``: attention between pieces ``(pieces, pieces)``, and the word
    of each piece ``(pieces,)``, −1 for a special token → attention of words ``(words, words + 1)``,
    the last column of all special tokens.""",
    reference=by_word,
    cases=_piece_cases,
    returns=("attention",),
    start="first add the columns of each word's pieces, then take the mean of the rows.",
    span="one word to five, up to three pieces a word",
    shapes="a row for each word, and a column more than words for the special tokens",
    mistakes=(
        (lambda attention, word_of: _reduced(attention, word_of, columns="mean"),
         "columns are averaged. What a word receives is what its pieces receive together: add."),
        (lambda attention, word_of: _reduced(attention, word_of, rows="sum"),
         "rows are added, so they sum to the number of pieces: each piece asks for itself, and the "
         "word's row is their mean."),
        (lambda attention, word_of: _reduced(attention, word_of, rows="sum", columns="mean"),
         "it is the other way round: add columns, and average rows."),
    ),
)  # fmt: skip


def _paths(x: Tensor, attention: Tensor, w: Tensor) -> list[Tensor]:
    """What word j adds to place i by each of the four ways, ``(n, n, d)`` each."""
    (first, second), (w_1, w_2) = attention, w
    return [
        torch.eye(len(x)).unsqueeze(2) * x,
        first.unsqueeze(2) * (x @ w_1),
        second.unsqueeze(2) * (x @ w_2),
        (second @ first).unsqueeze(2) * (x @ w_1 @ w_2),
    ]


def _contributions(x: Tensor, attention: Tensor, w: Tensor) -> Tensor:
    return sum(_paths(x, attention, w)).norm(dim=2)


def _contribution_inputs(n: int, d: int) -> Inputs:
    x, w, scores = normal((n, d), (n, d), (2, d, d), (2, n, n))
    return x, (2 * scores).softmax(-1), w


def _some_paths(*kept: int) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    def lengths(x: Tensor, attention: Tensor, w: Tensor) -> Tensor:
        paths = _paths(x, attention, w)
        return sum(paths[place] for place in kept).norm(dim=2)

    return lengths


check_contributions = Checker(
    name="contributions",
    about="""``f(x, attention, w)`` → the length of what word j adds to place i, ``(n, n)``, above
    two layers x ← x + A x W: ``x`` ``(n, d)``, ``attention`` ``(2, n, n)``, ``w`` ``(2, d,
    d)``.""",
    reference=_contributions,
    cases=cases(
        "{:word} of {:number}", ((1, 2), (2, 2), (3, 4), (5, 3), (8, 6)), _contribution_inputs
    ),
    returns=("lengths",),
    start="multiply (I + A₂ · W₂)(I + A₁ · W₁) out: four ways lead from a word to a place.",
    span="one word to eight",
    shapes="a row for each place above, a column for each word below",
    mistakes=(
        (_some_paths(0, 1, 2),
         "one way is missing: from the word through layer 1, and from there through layer 2."),
        (_some_paths(0, 3),
         "two ways are missing: a word may pass one layer by attention and the other by the "
         "residual connection."),
        (_some_paths(1, 2, 3),
         "the word's own vector is missing: residual connections carry it past both layers."),
        (_some_paths(3),
         "only what passes both layers by attention is there: the residual connections add three "
         "further ways."),
        (lambda x, attention, w: sum(path.norm(dim=2) for path in _paths(x, attention, w)),
         "you add the lengths of the four ways. They are vectors, and may cancel: add them first."),
        (lambda x, attention, w: _contributions(x, attention.flip(0), w.flip(0)),
         "the layers are exchanged: layer 1 reads the words, and layer 2 what layer 1 made."),
    ),
)  # fmt: skip
