"""Checkers of lesson 09's exercises: the parts of a Transformer, and what its attention is of."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_kit.exercises.checks.core import Case, Checker, check, generator, plural, ragged
from course_kit.exercises.pretrained import by_word
from course_kit.research.small_transformer.transformer import hidden_keys


def check_hidden_keys(function: Callable[[Tensor], Tensor]) -> None:
    """``f(mask)``, ``(batch, length)`` with True = real → PyTorch's ``key_padding_mask`` of the
    same shape, True = hidden, in which a row without real words keeps its first place open."""
    check(HIDDEN_KEYS, function)


def check_head_weights(function: Callable[[Tensor, Tensor, Tensor, int, int], Tensor]) -> None:
    """``f(x, w, b, heads, head)`` → the attention ``(n, n)`` of one head of
    ``nn.MultiheadAttention``: ``x`` ``(n, d)``, ``w`` its ``in_proj_weight`` ``(3 d, d)``, ``b``
    its ``in_proj_bias`` ``(3 d,)``."""
    check(HEAD_WEIGHTS, function)


def check_without_head(function: Callable[[Tensor, int, int], Tensor]) -> None:
    """``f(w_o, heads, head)``, ``w_o`` the ``out_proj.weight`` ``(d, d)`` → the same without what
    the head adds."""
    check(WITHOUT_HEAD, function)


def check_by_word(function: Callable[[Tensor, Tensor], Tensor]) -> None:
    """``f(attention, word_of)``: attention between pieces ``(pieces, pieces)``, and the word of
    each piece ``(pieces,)``, −1 for a special token → attention of words ``(words, words + 1)``,
    the last column of all special tokens."""
    check(BY_WORD, function)


def _mask_cases() -> list[Case]:
    cases = []
    for rows, length in ((1, 1), (1, 3), (2, 3), (3, 5), (4, 12)):
        size = f"{plural(rows, 'text')}, {plural(length, 'place')}"
        cases.append(Case(f"{size}, some padded", (ragged(rows, length),)))
    empty = ragged(3, 4)
    empty[1] = False
    cases.append(Case("3 texts, the second without a word", (empty,)))
    cases.append(Case("1 text without a word", (torch.zeros(1, 2, dtype=torch.bool),)))
    cases.append(Case("2 texts, the padding in front of their words", (ragged(2, 3).flip(1),)))
    return cases


def _open_last(mask: Tensor) -> Tensor:
    hidden = ~mask
    hidden[:, -1] &= mask.any(1)
    return hidden


def _all_open(mask: Tensor) -> Tensor:
    return ~mask & mask.any(1, keepdim=True)


def _first_open(mask: Tensor) -> Tensor:
    hidden = ~mask
    hidden[:, 0] = False
    return hidden


def _open_if_all_are_empty(mask: Tensor) -> Tensor:
    hidden = ~mask
    hidden[0, 0] &= bool(mask.any())
    return hidden


HIDDEN_KEYS = Checker(
    name="hidden_keys",
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
        (_first_open,
         "you open the first place of every text: where that is padding, it would get weight. Only "
         "a text without a word needs it."),
        (_open_if_all_are_empty,
         "you open a place in the first text alone, or only if all texts are empty: ask each text, "
         "with hidden.all(1) as the index of rows."),
        (lambda mask: torch.zeros_like(mask),
         "nothing is hidden, so padding gets weight."),
        (_open_last,
         "the text without a word keeps its last place open; asked for is the first."),
        (_all_open,
         "the text without a word keeps all its places open; one is enough to have a softmax."),
        (lambda mask: torch.where(mask, 0.0, -torch.inf),
         "you return what is added to scores, 0 and −inf, which PyTorch takes too; asked for are "
         "booleans."),
    ),
)  # fmt: skip


def _weights_of(
    x: Tensor, w: Tensor, b: Tensor, heads: int, part: Callable[[Tensor], Tensor], root: float
) -> Tensor:
    """Attention of the features that ``part`` takes of all queries and keys ``(n, d)``."""
    d = x.shape[1]
    q, k = x @ w[:d].T + b[:d], x @ w[d : 2 * d].T + b[d : 2 * d]
    return (part(q) @ part(k).T / root).softmax(-1)


def _head_weights(x: Tensor, w: Tensor, b: Tensor, heads: int, head: int) -> Tensor:
    size = x.shape[1] // heads
    return _weights_of(x, w, b, heads, lambda f: f[:, head * size : (head + 1) * size], size**0.5)


def _scores_of(x: Tensor, w: Tensor, b: Tensor, heads: int, head: int) -> Tensor:
    d, size = x.shape[1], x.shape[1] // heads
    q, k = (x @ w[a : a + size].T + b[a : a + size] for a in (head * size, d + head * size))
    return q @ k.T / size**0.5


def _like(change: Callable[..., Tensor]) -> Callable[..., Tensor]:
    return lambda x, w, b, heads, head: change(x, w, b, heads, head, x.shape[1] // heads)


def _packed_by_head(x: Tensor, w: Tensor, b: Tensor, heads: int, head: int, size: int) -> Tensor:
    """As if each head's queries, keys and values stood together."""
    start = 3 * size * head
    q, k = (x @ w[a : a + size].T + b[a : a + size] for a in (start, start + size))
    return (q @ k.T / size**0.5).softmax(-1)


def _head_cases() -> list[Case]:
    cases = []
    for n, d, heads in ((1, 2, 1), (2, 4, 2), (3, 6, 3), (4, 8, 2), (12, 16, 4)):
        source = generator(n, d, heads)
        x, w = torch.randn(n, d, generator=source), torch.randn(3 * d, d, generator=source)
        b = torch.randn(3 * d, generator=source)
        cases += [
            Case(
                f"{plural(n, 'word')} of {d} numbers, head {head} of {heads}",
                (x, w, b, heads, head),
            )
            for head in range(heads)
        ]
    return cases


HEAD_WEIGHTS = Checker(
    name="head_weights",
    reference=_head_weights,
    cases=_head_cases,
    returns=("attention",),
    start="q = x @ w[:d].T + b[:d] are the queries of all heads side by side.",
    span="one word to twelve, one head to four",
    shapes="a row for each word that attends, a column for each that is attended to",
    mistakes=(
        (_like(lambda x, w, b, heads, head, size: _weights_of(
            x, w, b, heads, lambda f: f[:, head * size : (head + 1) * size], x.shape[1] ** 0.5)),
         "you divide by √d. A head's dot product adds d / heads terms: divide by their root."),
        (_like(lambda x, w, b, heads, head, size: _weights_of(
            x, w, b, heads, lambda f: f[:, head * size : (head + 1) * size], 1.0)),
         "the scores are not divided by the root of the head's size."),
        (_like(lambda x, w, b, heads, head, size: _weights_of(
            x, w, b, heads, lambda f: f[:, head::heads], size**0.5)),
         "you deal the features out one by one: a head has neighbouring features."),
        (_like(lambda x, w, b, heads, head, size: _weights_of(
            x, w, b, heads, lambda f: f, size**0.5)),
         "all features are in the score: take the head's alone."),
        (_like(_packed_by_head),
         "the matrix holds the queries of all heads, then all keys, then all values; yours takes "
         "the three of one head together."),
        (lambda x, w, b, heads, head: _head_weights(x, w, torch.zeros_like(b), heads, head),
         "the bias is left out."),
        (lambda x, w, b, heads, head: _head_weights(x, w.unflatten(0, (3, -1)).mT.flatten(0, 1), b,
                                                    heads, head),
         "nn.Linear computes x @ w.T, and yours x @ w."),
        (lambda x, w, b, heads, head: _head_weights(x, w.roll(-w.shape[1], 0),
                                                    b.roll(-w.shape[1]), heads, head),
         "queries are the first d rows and keys the next d; yours takes keys and values."),
        (_like(lambda x, w, b, heads, head, size: _weights_of(
            x, w.unflatten(0, (3, -1))[[1, 0]].flatten(0, 1),
            b.unflatten(0, (3, -1))[[1, 0]].flatten(),
            heads, lambda f: f[:, head * size : (head + 1) * size], size**0.5)),
         "queries and keys are exchanged: row i holds q_i · k_j."),
        (_like(lambda x, w, b, heads, head, size: _weights_of(
            x, w, b, heads, lambda f: f[:, head * size : (head + 1) * size], size)),
         "you divide by the head's size: take its root."),
        (_like(lambda x, w, b, heads, head, size: _weights_of(
            x, w, b, heads, lambda f: f[:, head * size : (head + 1) * size], size**-0.5)),
         "you multiply by the root of the head's size: divide by it."),
        (_like(lambda x, w, b, heads, head, size: _weights_of(
            x, w, b, heads, lambda f: f[:, head * size : (head + 1) * size], heads**0.5)),
         "you divide by the root of the number of heads: a dot product adds d / heads terms."),
        (_like(lambda x, w, b, heads, head, size: _weights_of(
            x, w, b, heads, lambda f: f.reshape(heads, len(x), size)[head], size**0.5)),
         "a view with the heads first mixes words and features: (n, heads, size), then take the "
         "head."),
        (_like(lambda x, w, b, heads, head, size: _scores_of(x, w, b, heads, head).softmax(0)),
         "your columns sum to 1: the softmax runs over the keys, along a row."),
        (_like(lambda x, w, b, heads, head, size: _scores_of(x, w, b, heads, head)),
         "these are scores still: a softmax over the keys makes weights of them."),
        (lambda x, w, b, heads, head: _head_weights(
            x, w[: x.shape[1]].repeat(3, 1), b[: x.shape[1]].repeat(3), heads, head),
         "you multiply queries by queries: the keys are the next d rows."),
    ),
)  # fmt: skip


def _without(w_o: Tensor, heads: int, head: int) -> Tensor:
    size, kept = len(w_o) // heads, w_o.clone()
    kept[:, head * size : (head + 1) * size] = 0
    return kept


def _without_cases() -> list[Case]:
    return [
        Case(f"{d} features, head {head} of {heads}",
             (torch.randn(d, d, generator=generator(d, heads)), heads, head))
        for d, heads in ((2, 2), (6, 3), (8, 2), (12, 4)) for head in range(heads)
    ]  # fmt: skip


def _dealt(w_o: Tensor, heads: int, head: int) -> Tensor:
    kept = w_o.clone()
    kept[:, head::heads] = 0
    return kept


def _block_cleared(w_o: Tensor, heads: int, head: int) -> Tensor:
    size, kept = len(w_o) // heads, w_o.clone()
    part = slice(head * size, (head + 1) * size)
    kept[part, part] = 0
    return kept


WITHOUT_HEAD = Checker(
    name="without_head",
    reference=_without,
    cases=_without_cases,
    returns=("w_o",),
    start="out_proj computes side_by_side @ w_o.T: which part of w_o meets the head's features?",
    span="two heads to four",
    shapes="the matrix keeps its size",
    mistakes=(
        (lambda w_o, heads, head: _without(w_o.T, heads, head).T,
         "you clear rows, which are outputs and belong to no head. nn.Linear computes x @ w.T, so "
         "a head's features meet columns."),
        (_dealt, "you clear every so many columns: a head has neighbouring features."),
        (lambda w_o, heads, head: w_o - _without(w_o, heads, head),
         "the head alone is left: take it away and keep the others."),
        (lambda w_o, heads, head: _without(w_o, heads, (head - 1) % heads),
         "that is the head before it: they count from 0."),
        (lambda w_o, heads, head: _without(w_o, heads, (head + 1) % heads),
         "that is the head behind it: they count from 0."),
        (lambda w_o, heads, head: _without(w_o, heads, head) * heads / max(1, heads - 1),
         "the other heads are made larger: their part is to stay as it is."),
        (lambda w_o, heads, head: _without(w_o, heads, head).T,
         "you return the matrix transposed: clear columns, and leave it as it was."),
        (lambda w_o, heads, head: _without(_without(w_o, heads, head).T, heads, head).T,
         "you clear rows, too: they are outputs, and every head writes to all of them."),
        (_block_cleared,
         "you clear a block: the head's features meet whole columns."),
        (lambda w_o, heads, head: w_o.index_fill(1, torch.tensor(head), 0),
         "you clear one column: a head has d / heads of them."),
        (lambda w_o, heads, head: torch.cat([
            w_o[:, : head * heads], 0 * w_o[:, head * heads : (head + 1) * heads],
            w_o[:, (head + 1) * heads :]], 1),
         "you take the number of heads for their size, which is d / heads."),
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


def _renormalised(attention: Tensor, word_of: Tensor) -> Tensor:
    table = by_word(attention, word_of)
    table = torch.cat([table[:, :-1], torch.zeros(len(table), 1)], 1)
    return table / table.sum(1, keepdim=True)


def _first_pieces(attention: Tensor, word_of: Tensor) -> Tensor:
    first = torch.tensor([int((word_of == word).nonzero()[0]) for word in range(word_of.max() + 1)])
    special = attention[first][:, word_of < 0].sum(1, keepdim=True)
    return torch.cat([attention[first][:, first], special], 1)


def _normal_rows(table: Tensor) -> Tensor:
    return table / table.sum(1, keepdim=True)


def _special_mean(attention: Tensor, word_of: Tensor) -> Tensor:
    table = by_word(attention, word_of)
    return torch.cat([table[:, :-1], table[:, -1:] / (word_of < 0).sum()], 1)


def _rows_of_first(attention: Tensor, word_of: Tensor) -> Tensor:
    first = torch.tensor([int((word_of == word).nonzero()[0]) for word in word_of])
    return by_word(attention[first], word_of)


BY_WORD = Checker(
    name="by_word",
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
        (_renormalised,
         "you divided the special tokens' share among the words. It is often most of the weight: "
         "keep it in the last column."),
        (_first_pieces,
         "only the first piece of each word is counted: its other pieces attend and are attended "
         "to as well."),
        (lambda attention, word_of: by_word(attention, word_of).roll(1, 1),
         "the special tokens' column is the first: it should be the last."),
        (lambda attention, word_of: _normal_rows(_reduced(attention, word_of, columns="mean")),
         "columns are averaged, and then the rows stretched to 1: add the columns, and the rows "
         "sum to 1 by themselves."),
        (lambda attention, word_of: by_word(attention.T, word_of),
         "attention is turned: row i holds what piece i attends to."),
        (_special_mean,
         "the special tokens' column is a mean: it holds their weights together, so add."),
        (_rows_of_first,
         "only the first piece of a word attends in yours: take the mean of its pieces' rows."),
    ),
)  # fmt: skip
