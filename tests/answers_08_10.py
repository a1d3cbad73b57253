"""Right answers to lessons 08 to 10, and wrong ones with what they are told."""

import math
from functools import partialmethod
from itertools import product

import numpy as np
import torch
from scipy.spatial.distance import jensenshannon
from scipy.stats import binomtest
from torch import nn

from course_kit.exercises import (
    check_adversary,
    check_block,
    check_constant_answer,
    check_diagnosis,
    check_divergence,
    check_encoder,
    check_guided,
    check_heads,
    check_permutation_change,
    check_power,
    check_rollout,
    check_text_by_text,
)
from course_kit.exercises.lesson_10 import OurHeads


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


def like(right, **methods):
    return type("Other", (right,), methods)


class HeadsByEinsum(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.output = nn.Linear(width, width, bias=False)

    def weigh(self, scores, mask):
        scores = scores.masked_fill(~mask[:, None, None], -torch.inf).softmax(-1).nan_to_num(0.0)
        return scores * mask[:, None, :, None]

    def out(self, turned=False):
        w_o = self.output.weight.T if turned else self.output.weight
        return w_o.unflatten(1, (self.heads, -1))  # (width, heads, size)

    def forward(self, x, mask):
        q, k, v = (f(x).unflatten(2, (self.heads, -1)) for f in (self.query, self.key, self.value))
        alpha = self.weigh(torch.einsum("bihs,bjhs->bhij", q, k) / q.shape[-1] ** 0.5, mask)
        return torch.einsum("bhij,bjhs,whs->bhiw", alpha, v, self.out()), alpha


class BlockByParts(nn.Module):
    def __init__(self, width, heads, feed_forward, attention):
        super().__init__()
        self.attention, self.bias = attention(width, heads), nn.Parameter(torch.zeros(width))
        self.w_1, self.w_2 = nn.Linear(width, feed_forward), nn.Linear(feed_forward, width)
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])

    def join(self, norm, x, change):
        return norm(x + change)

    def forward(self, x, mask):
        added, alpha = self.attention(x, mask)
        x = self.join(self.norms[0], x, self.bias + sum(added.unbind(1)))
        return self.join(self.norms[1], x, self.w_2(self.w_1(x).clamp(min=0))), alpha


class EncoderByReduce(nn.Module):
    def __init__(self, width, heads, layers, positions, block):
        super().__init__()
        self.positions = nn.Embedding(positions, width)
        made = [block(width, heads, 4 * width, OurHeads) for _ in range(layers)]
        self.blocks = nn.ModuleList(made)

    def start(self, x, first=0, times=1):
        return x + times * self.positions(torch.arange(first, first + x.shape[1]))

    def forward(self, x, mask):
        read = [(self.start(x), None)]
        for block in self.blocks:
            read.append(block(read[-1][0], mask))
        return read[-1][0], torch.stack([alpha for _, alpha in read[1:]], dim=1)


def rollout_by_paths(attention, turned=False, residual=1.0):
    """The sum over all ways upwards, each layer passed by attention or by the residual."""
    layers, _, n, _ = attention.shape
    means, total = attention.sum(1) / attention.shape[1], torch.zeros(n, n)
    for ways in product((0, 1), repeat=layers):
        path = torch.eye(n)
        for by_attention, alpha in zip(ways, means.flip(0) if turned else means, strict=True):
            path = alpha @ path if by_attention else residual * path
        total += path
    return total / 2**layers


RIGHT = {
    check_permutation_change: change_by_gain,
    check_divergence: divergence_by_scipy,
    check_adversary: adversary_one_by_one,
    check_guided: GuidedByEinsum,
    check_heads: HeadsByEinsum,
    check_block: BlockByParts,
    check_encoder: EncoderByReduce,
    check_rollout: rollout_by_paths,
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
    check_heads: [
        (like(HeadsByEinsum, weigh=lambda self, scores, mask: scores.softmax(-1)), "gets weight"),
        (like(HeadsByEinsum, weigh=lambda self, scores, mask: scores.sigmoid()), "attention at"),
        (like(HeadsByEinsum, out=partialmethod(HeadsByEinsum.out, turned=True)), "to no head"),
    ],
    check_block: [
        (like(BlockByParts, join=lambda self, norm, x, new: norm(new)), "both residual"),
        (like(BlockByParts, join=lambda self, norm, x, new: x + norm(new)), "normalise the sum"),
        (
            like(BlockByParts, join=lambda self, _, x, new: self.norms[0](x + new)),
            "reaches norms.1",
        ),
    ],
    check_encoder: [
        (like(EncoderByReduce, start=lambda self, x: x), "no gradient reaches positions"),
        (like(EncoderByReduce, start=partialmethod(EncoderByReduce.start, first=1)), "from 0"),
        (like(EncoderByReduce, start=partialmethod(EncoderByReduce.start, times=0)), "the order"),
    ],
    check_rollout: [
        (lambda attention: rollout_by_paths(attention, turned=True), "the wrong order"),
        (lambda attention: rollout_by_paths(attention, residual=0.0), "rollout at"),
        (lambda attention: 4 * rollout_by_paths(attention), "rollout"),
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
