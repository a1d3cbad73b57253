"""Right answers to lessons 08 to 10, and wrong ones with what they are told."""

import math

import numpy as np
import torch
from scipy.spatial.distance import jensenshannon
from scipy.stats import binomtest
from torch import nn
from torch.nn.functional import linear

from course_kit.exercises import (
    check_adversary,
    check_by_word,
    check_constant_answer,
    check_contributions,
    check_diagnosis,
    check_divergence,
    check_guided,
    check_head_weights,
    check_hidden_keys,
    check_permutation_change,
    check_power,
    check_text_by_text,
    check_without_head,
)


def change_by_gain(answer, attention, orders, tell=torch.median):
    gains = answer(attention[orders]) - answer(attention.view(1, -1))
    return tell(gains.clamp(min=0).sum(1))


def divergence_by_scipy(first, second):
    return float(jensenshannon(first.double().numpy(), second.double().numpy()) ** 2)


def adversary_one_by_one(
    answer, attention, shares, tolerance, beyond=lambda change, most: change > most
):
    best, most = attention, -1.0
    for share in shares:
        for place in range(len(attention)):
            moved = attention * (1 - share)
            moved[place] += share
            change = float((answer(moved[None]) - answer(attention[None])).clamp(min=0).sum())
            found = divergence_by_scipy(moved, attention)
            if change <= tolerance and found > most + 1e-7:
                best, most = moved, found
    return best


class GuidedByEinsum(nn.Module):
    def __init__(self, width, hidden, classes):
        super().__init__()
        self.words = nn.Linear(width, hidden)
        self.classifier = nn.Linear(hidden, classes)

    def pooled(self, alpha, states):
        return torch.einsum("bl,blh->bh", alpha, states.tanh())

    def forward(self, x, alpha):
        return self.classifier(self.pooled(alpha, self.words(x)))


class GuidedByMaximum(GuidedByEinsum):
    def pooled(self, alpha, states):
        return states.tanh()[torch.arange(len(alpha)), alpha.argmax(1)]


class GuidedByMean(GuidedByEinsum):
    def pooled(self, alpha, states):
        return states.tanh().mean(1)


class GuidedLate(GuidedByEinsum):
    def pooled(self, alpha, states):
        return torch.einsum("bl,blh->bh", alpha, states).tanh()


def diagnosis_by_table(training, validation, floor):
    flags = training[-1] > floor * 0.95, any(validation[-1] > 1.1 * v for v in validation)
    return {(False, False): "neither", (False, True): "over-fitted"}.get(flags, "stuck")


def diagnosis_drifting(training, validation, floor):
    turned = validation[-1] > 1.1 * min(validation)
    return "over-fitted" if turned else diagnosis_by_table(training, validation, floor)


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
    check_permutation_change: change_by_gain,
    check_divergence: divergence_by_scipy,
    check_adversary: adversary_one_by_one,
    check_guided: GuidedByEinsum,
    check_hidden_keys: hidden_by_where,
    check_head_weights: head_by_view,
    check_without_head: without_by_view,
    check_by_word: by_word_in_matrices,
    check_contributions: contributions_of_paths,
    check_text_by_text: p_by_scipy,
    check_diagnosis: diagnosis_by_table,
    check_constant_answer: constant_by_mode,
    check_power: power_in_numpy,
}
WRONG = {
    check_permutation_change: [
        (lambda *given: change_by_gain(*given, tell=torch.mean), "that is the mean over the sh"),
        (lambda *given: change_by_gain(*given, tell=torch.max), "that is the largest change"),
        (
            lambda f, alpha, orders: (f(alpha[orders]) - f(alpha[None])).norm(dim=1).median(),
            "Euclidean",
        ),
    ],
    check_divergence: [
        (lambda *pair: divergence_by_scipy(*pair) ** 0.5, "Jensen–Shannon distance"),
        (lambda *pair: divergence_by_scipy(*pair) / np.log(2), "has base 2"),
        (
            lambda p, q: (p * (2 * p / (p + q)).log() + q * (2 * q / (p + q)).log()).sum() / 2,
            "your divergence is nan",
        ),
    ],
    check_adversary: [
        (lambda f, a, s, most: adversary_one_by_one(f, a, s, 1.0), "changes too much"),
        (lambda f, a, s, most: adversary_one_by_one(f, a, s, most / 2), "is half that sum"),
        (lambda f, a, s, most: a, "differs least"),
    ],
    check_guided: [
        (GuidedLate, "tanh comes after the sum"),
        (GuidedByMean, "alpha is not used"),
        (GuidedByMaximum, "logits at"),
    ],
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
    check_diagnosis: [
        (diagnosis_drifting, "drift and no over-fitting"),
        (lambda t, v, floor: diagnosis_by_table(t, v, t[0]), "Compare with the floor"),
        (lambda t, v, floor: diagnosis_by_table(v, t, floor), "t and v are exchanged"),
        (lambda t, v, floor: "overfitted", "'overfitted' is none of the three names"),
    ],
    check_constant_answer: [
        (lambda train, test: constant_by_mode(test, test), "seen the training labels alone"),
        (lambda *labels: constant_by_mode(*labels)[::-1], "the results are exchanged: return"),
        (lambda *labels: constant_by_mode(*labels)[0], "2 results are expected"),
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
