"""Right answers to lessons 08 to 09, and wrong ones with what they are told."""

import math
from itertools import chain, combinations

import numpy as np
import torch
from scipy.stats import binomtest
from torch.nn.functional import linear

from course_kit.exercises import (
    check_by_word,
    check_constant_answer,
    check_contributions,
    check_defect,
    check_head_weights,
    check_hidden_keys,
    check_one_change,
    check_power,
    check_prior_correction,
    check_text_by_text,
    check_unknown_share,
    check_without_head,
)


def hidden_by_rows(mask):
    hidden = ~mask
    for row in hidden:
        if row.all():
            row[0] = False
    return hidden


def hidden_by_where(mask):
    first = torch.arange(mask.shape[1]) == 0
    return torch.where(mask.any(1, keepdim=True), mask.logical_not(), ~first)


def hidden_of_float(mask):
    return hidden_by_rows(mask).float()


def head_by_view(x, w, b, heads, head):
    q, k, _ = linear(x, w, b).view(len(x), 3, heads, -1)[:, :, head].unbind(1)
    return torch.softmax(q @ k.T * q.shape[1] ** -0.5, -1)


def head_like(root=lambda d, heads: (d // heads) ** 0.5, dim=1, first=0, second=1, at=0):
    def weights(x, w, b, heads, head):
        d = x.shape[1]
        made = linear(x, w, b).view(len(x), 3, heads, d // heads)[:, :, (head + at) % heads]
        return (made[:, first] @ made[:, second].T / root(d, heads)).softmax(dim)

    return weights


def without_by_view(w_o, heads, head):
    parts = list(w_o.chunk(heads, 1))
    parts[head] = torch.zeros_like(parts[head])
    return torch.cat(parts, 1)


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


def by_word_like(rows="mean", columns="sum", special=True):
    def join(attention, word_of):
        groups = [word_of == word for word in range(int(word_of.max()) + 1)]
        taken = [*groups, word_of < 0]
        wide = torch.stack([getattr(attention[:, of], columns)(1) for of in taken], 1)
        table = torch.stack([getattr(wide[of], rows)(0) for of in groups])
        return table if special else table[:, :-1]

    return join


def contributions_of_paths(x, attention, w):
    (a, b), (u, v) = attention, w
    ways = [(torch.eye(len(x)), x), (a, x @ u), (b, x @ v), (b @ a, x @ u @ v)]
    return sum(torch.einsum("ij,jd->ijd", shares, values) for shares, values in ways).norm(dim=2)


def contributions_like(paths=(1, 1, 1, 1), turn=lambda a, w: (a, w), squared=False):
    def lengths(x, attention, w):
        (a, b), (u, v) = turn(attention, w)
        shares = (torch.eye(len(x)), a, b, b @ a)
        values = (x, x @ u, x @ v, x @ u @ v)
        total = sum(k * s.unsqueeze(2) * value for k, s, value in zip(paths, shares, values))
        return total.square().sum(2) if squared else total.norm(dim=2)

    return lengths


def defect_by_falls(training, validation):
    if (training[0] - training[-1]) / training[0] < 0.05:
        return "stuck"
    return "over-fitted" if validation[-1] / min(validation) > 1.1 else "under-trained"


def defect_by_table(training, validation):
    flags = training[-1] > training[0] * 0.95, any(validation[-1] > 1.1 * v for v in validation)
    return {(False, False): "under-trained", (False, True): "over-fitted"}.get(flags, "stuck")


def defect_drifting(training, validation):
    turned = validation[-1] > 1.1 * min(validation)
    return "over-fitted" if turned else defect_by_falls(training, validation)


def constant_by_mode(train, test):
    accuracy = (test == train.mode().values).double().mean().item()
    return accuracy, (accuracy * (1 - accuracy) / len(test)) ** 0.5


def joined(sentences):
    return list(chain.from_iterable(sentences))


def unknown_by_sets(known, sentences):
    words = joined(sentences)
    new = set(words) - known
    return sum(map(words.count, new)) / len(words)


def unknown_in_numpy(known, sentences):
    return float(np.mean(~np.isin(np.concatenate(sentences), list(known))))


def corrected_by_odds(logits, old, new):
    p = logits.softmax(-1) * new / old
    return p / p.sum(-1, keepdim=True)


def corrected_by_text(logits, old, new):
    return torch.stack([torch.softmax(row + torch.log(new) - torch.log(old), 0) for row in logits])


def unlike(first, second):
    return [k for k in first.keys() | second.keys() if first.get(k, "–") != second.get(k, "–")]


def one_change_by_loop(runs):
    pairs = []
    for i, first in enumerate(runs):
        for j in range(i + 1, len(runs)):
            if len(unlike(first, runs[j])) == 1:
                pairs.append((i, j))
    return pairs


def one_change_by_combinations(runs):
    numbered = combinations(enumerate(runs), 2)
    return [(i, j) for (i, a), (j, b) in numbered if len(unlike(a, b)) == 1]


def power_by_loop(first, second, critical):
    found = 0
    for a, b in zip(first, second):
        pooled = ((a.var() + b.var()) / 2) ** 0.5
        found += abs(a.mean() - b.mean()) / (pooled * (2 / len(a)) ** 0.5) > critical
    return float(found) / len(first)


def power_in_numpy(first, second, critical):
    a, b = first.double().numpy(), second.double().numpy()
    error = np.sqrt((a.var(1, ddof=1) + b.var(1, ddof=1)) / a.shape[1])
    return float((np.abs(a.mean(1) - b.mean(1)) > critical * error).mean())


def p_by_scipy(first, second):
    throws = int((first != second).sum())
    return binomtest(int((first & ~second).sum()), throws).pvalue if throws else 1.0


def p_like(told):
    def answer(first, second):
        one, other = int((first & ~second).sum()), int((~first & second).sum())
        return float(told(one, other))

    return answer


def p_corrected(first, second):
    one, other = int((first & ~second).sum()), int((~first & second).sum())
    gap = max(0, abs(one - other) - 1)
    return math.erfc(gap / (2 * (one + other)) ** 0.5) if one + other else 1.0


RIGHT = {
    check_hidden_keys: (hidden_by_where,),
    check_head_weights: (head_by_view,),
    check_without_head: (without_by_view,),
    check_by_word: (by_word_in_matrices,),
    check_contributions: (contributions_of_paths,),
    check_text_by_text: (p_by_scipy,),
    check_defect: (defect_by_table,),
    check_constant_answer: (constant_by_mode,),
    check_unknown_share: (unknown_in_numpy,),
    check_prior_correction: (corrected_by_text,),
    check_one_change: (one_change_by_combinations,),
    check_power: (power_in_numpy,),
}
WRONG = {
    check_hidden_keys: [
        (lambda mask: mask > 0, "True where a word is real"),
        (lambda mask: mask.logical_not(), "all its keys hidden"),
        (
            lambda mask: torch.zeros(mask.shape, dtype=torch.bool),
            "mask is not used, so what it",
        ),
        (hidden_of_float, "dtype torch.float32"),
    ],
    check_head_weights: [
        (head_like(root=lambda d, heads: d**0.5), "divide by √d"),
        (head_like(root=lambda d, heads: 1), "not divided"),
        (head_like(first=1, second=0), "attention at (1, 0) is 0.988, expected"),
        (lambda x, w, b, heads, head: head_by_view(x, w, 0 * b, heads, head), "b is not used."),
    ],
    check_without_head: [
        (lambda w, heads, head: w - without_by_view(w, heads, head), "the head alone is left"),
        (lambda w, heads, head: without_by_view(w, heads, head - 1), "the head before it"),
        (lambda w, heads, head: without_by_view(w, heads, head).T, "transposed"),
        (without_in_place, "changed in place"),
    ],
    check_by_word: [
        (by_word_like(columns="mean"), "columns are averaged"),
        (by_word_like(rows="sum"), "rows are added"),
        (by_word_like(special=False), "has shape"),
        (
            lambda attention, word_of: by_word_in_loops(attention.T, word_of),
            "attention is transposed: use attention as",
        ),
    ],
    check_contributions: [
        (contributions_like((1, 1, 1, 0)), "one way is missing"),
        (contributions_like((0, 1, 1, 1)), "the word's own vector"),
        (contributions_like(turn=lambda a, w: (a, w.mT)), "w is transposed: use w as it is given"),
        (lambda *given: contributions_of_paths(*given).T, "rows and columns are exchanged"),
    ],
    check_text_by_text: [
        (lambda first, second: 1 - p_by_scipy(first, second), "that is 1 − p"),
        (p_corrected, "with its correction"),
        (p_like(lambda a, b: a - b + 7), "between 0 and 1"),
        (
            lambda first, second: torch.full((len(first) + 1,), 0.5),
            "one number for all texts together",
        ),
    ],
    check_defect: [
        (defect_drifting, "drift and no over-fitting"),
        (
            lambda t, v: "stuck" if t[-1] > 0.95 * t[-2] else defect_drifting(t, v),
            "your defect is 'stuck', expected",
        ),
        (lambda t, v: defect_by_falls(v, t), "t and v are exchanged"),
        (lambda t, v: "overfitted", "'overfitted' is none of the three names"),
    ],
    check_constant_answer: [
        (lambda train, test: constant_by_mode(test, test), "seen the training labels alone"),
        (lambda *labels: constant_by_mode(*labels)[::-1], "the results are exchanged: return"),
        (
            lambda *labels: [100 * part for part in constant_by_mode(*labels)],
            "accuracy and error is in percent: leave",
        ),
        (lambda *labels: constant_by_mode(*labels)[0], "2 results are expected"),
    ],
    check_unknown_share: [
        (
            lambda known, texts: 1 - unknown_by_sets(known, texts),
            "that is 1 − share: you have measured the",
        ),
        (
            lambda known, texts: float(sum(word not in known for word in joined(texts))),
            "that is how many",
        ),
        (lambda known, texts: [0.5], "share is a list, expected a number"),
        (
            lambda known, texts: 100 * unknown_by_sets(known, texts),
            "share is in percent: leave it a share of 1",
        ),
    ],
    check_prior_correction: [
        (lambda logits, old, new: corrected_by_odds(logits, new, old), "old and new are exchanged"),
        (lambda logits, old, new: logits.softmax(1) * new / old, "do not sum to 1"),
        (lambda logits, old, new: corrected_by_odds(logits, old, new)[:1, :1], "one row a text"),
        (lambda *given: corrected_by_odds(*given).log(), "that is the logarithm of probabilities:"),
    ],
    check_one_change: [
        (lambda runs: [(j, i) for i, j in one_change_by_loop(runs)], "the smaller place comes fir"),
        (
            lambda runs: [
                (i, j)
                for i, j in combinations(range(len(runs)), 2)
                if sum(runs[i][k] != runs[j][k] for k in runs[i] if k in runs[j]) == 1
            ],
            "one run has and the other lacks",
        ),
        (lambda runs: sorted(one_change_by_loop(runs), key=lambda p: p[::-1]), "in another order"),
        (lambda runs: [list(pair) for pair in one_change_by_loop(runs)], "a pair is a tuple"),
    ],
    check_power: [
        (lambda *given: 1 - power_by_loop(*given), "that is 1 − share: you have measured the"),
        (
            lambda first, second, critical: (
                ((first.mean(1) - second.mean(1)).abs() > critical).float().mean()
            ),
            "you compare the difference itself",
        ),
        (lambda *given: 100 * power_by_loop(*given), "share is in percent: leave it a share of 1"),
        (lambda a, b, critical: torch.ones(len(a)), "one number for all experiments together"),
    ],
}
