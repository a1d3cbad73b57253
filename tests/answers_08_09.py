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


def defect_by_table(training, validation):
    flags = training[-1] > training[0] * 0.95, any(validation[-1] > 1.1 * v for v in validation)
    return {(False, False): "under-trained", (False, True): "over-fitted"}.get(flags, "stuck")


def defect_drifting(training, validation):
    turned = validation[-1] > 1.1 * min(validation)
    return "over-fitted" if turned else defect_by_table(training, validation)


def unknown_in_numpy(known, sentences):
    return float(np.mean(~np.isin(np.concatenate(sentences), list(known))))


def unlike(first, second):
    return [k for k in first.keys() | second.keys() if first.get(k, "–") != second.get(k, "–")]


def one_change_by_combinations(runs, unlike=unlike):
    numbered = combinations(enumerate(runs), 2)
    return [(i, j) for (i, a), (j, b) in numbered if len(unlike(a, b)) == 1]


def unlike_where_both_have_it(first, second):
    return [k for k in first if k in second and first[k] != second[k]]


def p_by_scipy(first, second):
    throws = int((first != second).sum())
    return binomtest(int((first & ~second).sum()), throws).pvalue if throws else 1.0


def p_corrected(first, second):
    one, other = int((first & ~second).sum()), int((~first & second).sum())
    gap = max(0, abs(one - other) - 1)
    return math.erfc(gap / (2 * (one + other)) ** 0.5) if one + other else 1.0


def constant_by_mode(train, test):
    accuracy = (test == train.mode().values).double().mean().item()
    return accuracy, (accuracy * (1 - accuracy) / len(test)) ** 0.5


def corrected_by_text(logits, old, new):
    return torch.stack([torch.softmax(row + torch.log(new) - torch.log(old), 0) for row in logits])


def power_in_numpy(first, second, critical):
    a, b = first.double().numpy(), second.double().numpy()
    error = np.sqrt((a.var(1, ddof=1) + b.var(1, ddof=1)) / a.shape[1])
    return float((np.abs(a.mean(1) - b.mean(1)) > critical * error).mean())


def hidden_by_where(mask):
    first = torch.arange(mask.shape[1]) == 0
    return torch.where(mask.any(1, keepdim=True), mask.logical_not(), ~first)


def head_by_view(x, w, b, heads, head, root=lambda d, heads: (d // heads) ** 0.5):
    q, k, _ = linear(x, w, b).view(len(x), 3, heads, -1)[:, :, head].unbind(1)
    return torch.softmax(q @ k.T / root(x.shape[1], heads), -1)


def head_of_keys_and_queries(x, w, b, heads, head):
    d = x.shape[1]
    order = torch.tensor([*range(d, 2 * d), *range(d), *range(2 * d, 3 * d)])
    return head_by_view(x, w[order], b[order], heads, head)


def without_by_view(w_o, heads, head):
    parts = list(w_o.chunk(heads, 1))
    parts[head] = torch.zeros_like(parts[head])
    return torch.cat(parts, 1)


def without_in_place(w_o, heads, head):
    size = len(w_o) // heads
    w_o[:, head * size : (head + 1) * size] = 0
    return w_o


def by_word_in_matrices(attention, word_of, rows=True, columns=False):
    """``rows`` and ``columns`` say where the pieces of a word are averaged."""
    of = (word_of == torch.arange(int(word_of.max()) + 1)[:, None]).float()  # (words, pieces)
    all_of = torch.cat([of, (word_of < 0).float()[None]])
    mean, all_mean = (part / part.sum(1, keepdim=True) for part in (of, all_of))
    return (mean if rows else of) @ attention @ (all_mean if columns else all_of).T


def contributions_of_paths(x, attention, w, paths=(0, 1, 2, 3)):
    (a, b), (u, v) = attention, w
    ways = [(torch.eye(len(x)), x), (a, x @ u), (b, x @ v), (b @ a, x @ u @ v)]
    return sum(torch.einsum("ij,jd->ijd", *ways[path]) for path in paths).norm(dim=2)


RIGHT = {
    check_hidden_keys: hidden_by_where,
    check_head_weights: head_by_view,
    check_without_head: without_by_view,
    check_by_word: by_word_in_matrices,
    check_contributions: contributions_of_paths,
    check_text_by_text: p_by_scipy,
    check_defect: defect_by_table,
    check_constant_answer: constant_by_mode,
    check_unknown_share: unknown_in_numpy,
    check_prior_correction: corrected_by_text,
    check_one_change: one_change_by_combinations,
    check_power: power_in_numpy,
}
WRONG = {
    check_hidden_keys: [
        (lambda mask: mask > 0, "True where a word is real"),
        (lambda mask: mask.logical_not(), "all its keys hidden"),
        (lambda mask: hidden_by_where(mask).float(), "dtype torch.float32"),
    ],
    check_head_weights: [
        (lambda *given: head_by_view(*given, root=lambda d, heads: d**0.5), "divide by √d"),
        (lambda *given: head_by_view(*given, root=lambda d, heads: 1), "not divided"),
        (head_of_keys_and_queries, "attention at (1, 0) is 0.988, expected"),
    ],
    check_without_head: [
        (lambda w, heads, head: w - without_by_view(w, heads, head), "the head alone is left"),
        (lambda w, heads, head: without_by_view(w, heads, head - 1), "the head before it"),
        (without_in_place, "changed in place"),
    ],
    check_by_word: [
        (lambda *given: by_word_in_matrices(*given, columns=True), "columns are averaged"),
        (lambda *given: by_word_in_matrices(*given, rows=False), "rows are added"),
        (lambda a, word_of: by_word_in_matrices(a.T, word_of), "a is transposed: use a as"),
    ],
    check_contributions: [
        (lambda *given: contributions_of_paths(*given, paths=(0, 1, 2)), "one way is missing"),
        (lambda *given: contributions_of_paths(*given, paths=(1, 2, 3)), "the word's own vector"),
        (lambda *given: contributions_of_paths(*given).T, "rows and columns are exchanged"),
    ],
    check_text_by_text: [
        (lambda first, second: 1 - p_by_scipy(first, second), "that is 1 − p"),
        (p_corrected, "with its correction"),
        (lambda first, second: float((first & ~second).sum()) + 7, "between 0 and 1"),
        (lambda first, second: p_by_scipy(first, second) / 3, "A place to start: (first & ~sec"),
    ],
    check_defect: [
        (defect_drifting, "drift and no over-fitting"),
        (lambda t, v: defect_by_table(t[-2:], v), "your defect is 'stuck', expected"),
        (lambda t, v: defect_by_table(v, t), "t and v are exchanged"),
        (lambda t, v: "overfitted", "'overfitted' is none of the three names"),
    ],
    check_constant_answer: [
        (lambda train, test: constant_by_mode(test, test), "seen the training labels alone"),
        (lambda *labels: constant_by_mode(*labels)[::-1], "the results are exchanged: return"),
        (lambda *labels: constant_by_mode(*labels)[0], "2 results are expected"),
    ],
    check_unknown_share: [
        (lambda known, texts: float(sum(w not in known for w in chain(*texts))), "that is how m"),
        (lambda known, texts: [0.5], "share is a list, expected a number"),
        (lambda known, texts: 100 * unknown_in_numpy(known, texts), "share is in percent: leave"),
    ],
    check_prior_correction: [
        (lambda logits, old, new: corrected_by_text(logits, new, old), "old and new are exchanged"),
        (lambda logits, old, new: logits.softmax(1) * new / old, "do not sum to 1"),
        (lambda *given: corrected_by_text(*given).log(), "that is the logarithm of probabilities:"),
    ],
    check_one_change: [
        (lambda runs: [pair[::-1] for pair in one_change_by_combinations(runs)], "smaller place c"),
        (
            lambda runs: one_change_by_combinations(runs, unlike_where_both_have_it),
            "one run has and the other lacks",
        ),
        (lambda runs: sorted(one_change_by_combinations(runs), key=max), "in another order"),
        (lambda runs: [list(pair) for pair in one_change_by_combinations(runs)], "is a tuple"),
    ],
    check_power: [
        (lambda *given: 1 - power_in_numpy(*given), "that is 1 − share: you have measured the"),
        (
            lambda a, b, critical: ((a.mean(1) - b.mean(1)).abs() > critical).float().mean(),
            "you compare the difference itself",
        ),
        (lambda a, b, critical: power_in_numpy(a, b, critical / 2**0.5), "√(1 / n) is the error"),
    ],
}
