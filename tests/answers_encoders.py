"""Right and wrong answers to lesson 09's exercises."""

import torch
from torch.nn.functional import linear, multi_head_attention_forward

from course_kit.exercises.checks.contributions import CONTRIBUTIONS
from course_kit.exercises.checks.encoders import BY_WORD, HEAD_WEIGHTS, HIDDEN_KEYS, WITHOUT_HEAD


def hidden_by_rows(mask):
    hidden = ~mask
    for row in hidden:
        if row.all():
            row[0] = False
    return hidden


def hidden_by_where(mask):
    first = torch.arange(mask.shape[1]) == 0
    return torch.where(mask.any(1, keepdim=True), mask.logical_not(), ~first)


def hidden_in_numbers(mask):
    opened = mask.long()
    opened[:, 0] += (opened.sum(1) == 0).long()
    return opened == 0


def hidden_but_the_first(mask):
    return ~mask & (torch.arange(mask.shape[1]) > 0)


def hidden_of_an_empty_batch(mask):
    hidden = ~mask
    if hidden.all():
        hidden[0, 0] = False
    return hidden


def hidden_of_float(mask):
    return hidden_by_rows(mask).float()


def head_by_torch(x, w, b, heads, head):
    d = x.shape[1]
    _, weights = multi_head_attention_forward(
        x[:, None], x[:, None], x[:, None], d, heads, w, b, None, None, False, 0.0,
        torch.eye(d), None, average_attn_weights=False,
    )  # fmt: skip
    return weights[0, head]


def head_by_view(x, w, b, heads, head):
    q, k, _ = linear(x, w, b).view(len(x), 3, heads, -1)[:, :, head].unbind(1)
    return torch.softmax(q @ k.T * q.shape[1] ** -0.5, -1)


def head_by_loop(x, w, b, heads, head):
    d = x.shape[1]
    size = d // heads
    rows = range(head * size, (head + 1) * size)
    scores = torch.zeros(len(x), len(x))
    for i in range(len(x)):
        for j in range(len(x)):
            for row in rows:
                scores[i, j] += (w[row] @ x[i] + b[row]) * (w[d + row] @ x[j] + b[d + row])
    return (scores / size**0.5).softmax(1)


def head_like(root=lambda d, heads: (d // heads) ** 0.5, dim=1, first=0, second=1, at=0):
    def weights(x, w, b, heads, head):
        d = x.shape[1]
        made = linear(x, w, b).view(len(x), 3, heads, d // heads)[:, :, (head + at) % heads]
        return (made[:, first] @ made[:, second].T / root(d, heads)).softmax(dim)

    return weights


def head_without_softmax(x, w, b, heads, head):
    q, k, _ = linear(x, w, b).view(len(x), 3, heads, -1)[:, :, head].unbind(1)
    return q @ k.T * q.shape[1] ** -0.5


def head_with_heads_first(x, w, b, heads, head):
    q, k, _ = linear(x, w, b).chunk(3, 1)
    q, k = (part.reshape(heads, len(x), -1)[head] for part in (q, k))
    return (q @ k.T / q.shape[1] ** 0.5).softmax(1)


def without_by_loop(w_o, heads, head):
    size, kept = w_o.shape[1] // heads, w_o.clone()
    for column in range(head * size, head * size + size):
        kept[:, column] = 0
    return kept


def without_by_view(w_o, heads, head):
    parts = list(w_o.chunk(heads, 1))
    parts[head] = torch.zeros_like(parts[head])
    return torch.cat(parts, 1)


def without_by_product(w_o, heads, head):
    size = len(w_o) // heads
    kept = torch.ones(heads).index_fill(0, torch.tensor(head), 0).repeat_interleave(size)
    return w_o @ kept.diag()


def rows_cleared(w_o, heads, head):
    return without_by_loop(w_o.T, heads, head).T


def a_block_cleared(w_o, heads, head):
    size, kept = len(w_o) // heads, w_o.clone()
    part = slice(head * size, (head + 1) * size)
    kept[part, part] = 0
    return kept


def heads_for_the_size(w_o, heads, head):
    kept = w_o.clone()
    kept[:, head * heads : head * heads + heads] = 0
    return kept


def without_in_place(w_o, heads, head):
    size = len(w_o) // heads
    w_o[:, head * size : (head + 1) * size] = 0
    return w_o


def by_word_in_loops(attention, word_of):
    words = int(word_of.max()) + 1
    table = torch.zeros(words, words + 1)
    for i, row in enumerate(word_of.tolist()):
        for j, column in enumerate(word_of.tolist()):
            if row >= 0:
                share = attention[i, j] / (word_of == row).sum()
                table[row, column] += share  # column −1 is the last
    return table


def by_word_in_matrices(attention, word_of):
    places = torch.arange(int(word_of.max()) + 1)
    of = (word_of == places[:, None]).float()  # (words, pieces)
    all_of = torch.cat([of, (word_of < 0).float()[None]])
    return of / of.sum(1, keepdim=True) @ attention @ all_of.T


def by_word_with_index_add(attention, word_of):
    words = int(word_of.max()) + 1
    columns = torch.zeros(len(word_of), words + 1).index_add(1, word_of % (words + 1), attention)
    real = word_of >= 0
    rows = torch.zeros(words, words + 1).index_add(0, word_of[real], columns[real])
    return rows / word_of[real].bincount()[:, None]


def by_word_like(rows="mean", columns="sum", special=True):
    def join(attention, word_of):
        groups = [word_of == word for word in range(int(word_of.max()) + 1)]
        taken = [*groups, word_of < 0]
        wide = torch.stack([getattr(attention[:, of], columns)(1) for of in taken], 1)
        table = torch.stack([getattr(wide[of], rows)(0) for of in groups])
        return table if special else table[:, :-1]

    return join


def stretched(table):
    return table / table.sum(1, keepdim=True)


def special_averaged(attention, word_of):
    table = by_word_in_loops(attention, word_of)
    table[:, -1] /= (word_of < 0).sum()
    return table


def first_rows(attention, word_of):
    table = by_word_in_matrices(attention, word_of)
    for word in range(len(table)):
        row = attention[(word_of == word).nonzero()[0, 0]]
        table[word] = torch.stack(
            [row[word_of == other].sum() for other in [*range(len(table)), -1]]
        )
    return table


def special_given_to_all(attention, word_of):
    table = by_word_in_matrices(attention, word_of)
    table[:, :-1] += table[:, -1:] / (table.shape[1] - 1)
    table[:, -1] = 0
    return table


def contributions_one_word_at_a_time(x, attention, w):
    lengths = torch.zeros(len(x), len(x))
    for word in range(len(x)):
        alone = torch.zeros_like(x)
        alone[word] = x[word]
        for alpha, matrix in zip(attention, w):
            alone = alone + alpha @ alone @ matrix
        lengths[:, word] = alone.norm(dim=1)
    return lengths


def contributions_of_paths(x, attention, w):
    (a, b), (u, v) = attention, w
    ways = [(torch.eye(len(x)), x), (a, x @ u), (b, x @ v), (b @ a, x @ u @ v)]
    return sum(torch.einsum("ij,jd->ijd", shares, values) for shares, values in ways).norm(dim=2)


def vectors_above(x, attention, w):
    parts = torch.eye(len(x))[:, :, None] * x
    for alpha, matrix in zip(attention, w):
        parts = parts + torch.einsum("ik,kjd->ijd", alpha, parts @ matrix)
    return parts


def last_way(both):
    """The way through both layers with another order of its factors."""

    def lengths(x, attention, w):
        (a, b), (u, v) = attention, w
        shares, matrix = both(attention, w)
        ways = [(torch.eye(len(x)), x), (a, x @ u), (b, x @ v), (shares, x @ matrix)]
        return sum(s[:, :, None] * values for s, values in ways).norm(dim=2)

    return lengths


def contributions_by_autograd(x, attention, w):
    def top(x):
        for alpha, matrix in zip(attention, w):
            x = x + alpha @ x @ matrix
        return x

    slopes = torch.autograd.functional.jacobian(top, x)  # (places, d, words, d)
    return torch.einsum("iejd,jd->ije", slopes, x).norm(dim=2)


def contributions_like(paths=(1, 1, 1, 1), turn=lambda a, w: (a, w), squared=False):
    def lengths(x, attention, w):
        (a, b), (u, v) = turn(attention, w)
        shares = (torch.eye(len(x)), a, b, b @ a)
        values = (x, x @ u, x @ v, x @ u @ v)
        total = sum(k * s.unsqueeze(2) * value for k, s, value in zip(paths, shares, values))
        return total.square().sum(2) if squared else total.norm(dim=2)

    return lengths


RIGHT = {
    HIDDEN_KEYS: (hidden_by_rows, hidden_by_where, hidden_in_numbers),
    HEAD_WEIGHTS: (head_by_torch, head_by_view, head_by_loop),
    WITHOUT_HEAD: (without_by_loop, without_by_view, without_by_product),
    BY_WORD: (by_word_in_loops, by_word_in_matrices, by_word_with_index_add),
    CONTRIBUTIONS: (
        contributions_one_word_at_a_time,
        contributions_of_paths,
        contributions_by_autograd,
    ),
}
WRONG = {
    HIDDEN_KEYS: [
        (lambda mask: mask > 0, "True where a word is real"),
        (lambda mask: mask.logical_not(), "all its keys hidden"),
        (lambda mask: torch.zeros(mask.shape, dtype=torch.bool), "nothing is hidden"),
        (hidden_but_the_first, "the first place of every text"),
        (hidden_of_an_empty_batch, "or only if all texts are empty"),
        (hidden_of_float, "dtype torch.float32"),
        (lambda mask: hidden_by_rows(mask.flip(1)).flip(1), "its last place open"),
    ],
    HEAD_WEIGHTS: [
        (head_like(root=lambda d, heads: d**0.5), "divide by √d"),
        (head_like(root=lambda d, heads: 1), "not divided"),
        (head_like(first=1, second=0), "queries and keys are exchanged"),
        (head_like(first=1, second=2), "yours takes keys and values"),
        (head_like(dim=0), "your columns sum to 1"),
        (head_like(root=lambda d, heads: d / heads), "take its root"),
        (head_like(root=lambda d, heads: (heads / d) ** 0.5), "you multiply by the root"),
        (head_like(root=lambda d, heads: heads**0.5), "of the number of heads"),
        (head_like(second=0), "queries by queries"),
        (head_like(root=lambda d, heads: 1 + d), "A place to start"),
        (head_without_softmax, "these are scores still"),
        (head_with_heads_first, "mixes words and features"),
        (lambda x, w, b, heads, head: head_by_view(x, w, 0 * b, heads, head), "bias is left out"),
    ],
    WITHOUT_HEAD: [
        (rows_cleared, "you clear rows"),
        (lambda w, heads, head: w - without_by_view(w, heads, head), "the head alone is left"),
        (lambda w, heads, head: without_by_view(w, heads, head - 1), "the head before it"),
        (a_block_cleared, "you clear a block"),
        (lambda w, heads, head: without_by_view(w, heads, head).T, "transposed"),
        (
            lambda w, heads, head: rows_cleared(without_by_loop(w, heads, head), heads, head),
            "you clear rows, too",
        ),
        (lambda w, heads, head: without_by_loop(w, len(w), head), "you clear one column"),
        (heads_for_the_size, "number of heads for their size"),
        (lambda w, heads, head: without_by_loop(w, heads, head) - 1, "A place to start"),
        (without_in_place, "changed in place"),
    ],
    BY_WORD: [
        (by_word_like(columns="mean"), "columns are averaged"),
        (by_word_like(rows="sum"), "rows are added"),
        (by_word_like(rows="sum", columns="mean"), "the other way round"),
        (by_word_like(special=False), "has shape"),
        (special_given_to_all, "A place to start"),
        (
            lambda attention, word_of: stretched(by_word_like(columns="mean")(attention, word_of)),
            "rows stretched to 1",
        ),
        (lambda attention, word_of: by_word_in_loops(attention.T, word_of), "attention is turned"),
        (special_averaged, "special tokens' column is a mean"),
        (first_rows, "only the first piece of a word attends"),
    ],
    CONTRIBUTIONS: [
        (contributions_like((1, 1, 1, 0)), "one way is missing"),
        (contributions_like((0, 1, 1, 1)), "the word's own vector"),
        (contributions_like((1, 0, 0, 1)), "two ways are missing"),
        (contributions_like(turn=lambda a, w: (a.flip(0), w.flip(0))), "layers are exchanged"),
        (contributions_like(turn=lambda a, w: (a, w.mT)), "the vectors are rows"),
        (contributions_like(squared=True), "squares of lengths"),
        (lambda *given: contributions_of_paths(*given).T, "rows and columns are exchanged"),
        (lambda *given: contributions_of_paths(*given) / 4, "rollout's assumption"),
        (lambda x, a, w: vectors_above(x, a, w).abs().sum(2), "you add absolute values"),
        (lambda x, a, w: vectors_above(x, a, w).sum(2), "the numbers of a vector"),
        (
            lambda x, a, w: (torch.eye(len(x)) + a[1]) @ (torch.eye(len(x)) + a[0]) * x.norm(dim=1),
            "you multiply shares",
        ),
        (last_way(lambda a, w: (a[1] @ a[0], w[1] @ w[0])), "the first matrix comes first"),
        (last_way(lambda a, w: (a[0] @ a[1], w[0] @ w[1])), "stands to the left"),
        (lambda *given: contributions_of_paths(*given) + 1, "A place to start"),
    ],
}
