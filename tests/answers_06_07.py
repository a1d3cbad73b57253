"""Right answers to lessons 06 to 07, and wrong ones with what they are told."""

import numpy as np
import torch
from scipy.stats import kendalltau
from torch import nn

from course_kit.exercises import (
    check_agt,
    check_areas,
    check_erasure,
    check_gate,
    check_interaction,
    check_kendall,
    check_phrase_lengths,
)


class GateAsAStep(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.gate, self.value = nn.Linear(hidden, hidden), nn.Linear(2 * hidden, hidden, bias=False)

    def opened(self, y, s):
        return self.gate(s).sigmoid()

    def forward(self, y, s):
        for_y, for_s = self.value.weight.chunk(2, 1)
        t = self.opened(y, s)
        return torch.lerp(y, torch.tanh(y @ for_y.T + s @ for_s.T), t), t


class GateOfY(GateAsAStep):
    def opened(self, y, s):
        return self.gate(y).sigmoid()


class AGTByEinsum(nn.Module):
    axis = 2

    def __init__(self, vocabulary, width, hidden, layers, classes):
        super().__init__()
        self.W = nn.Parameter(torch.empty(layers, hidden, hidden))
        self.w = nn.Parameter(torch.empty(layers, hidden))
        self.embedding = nn.Embedding(vocabulary, width)
        self.projection = nn.Linear(width, hidden)
        self.gates = nn.ModuleList([GateAsAStep(hidden) for _ in range(layers - 1)])
        parts = nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, classes)
        self.classifier = nn.Sequential(*parts)

    def climb(self, s):
        y = s[:, 0]
        for gate, s_l in zip(self.gates, s[:, 1:].unbind(1), strict=True):
            y, _ = gate(y, s_l)
        return y

    def forward(self, tokens, mask):
        b = self.projection(self.embedding(tokens)).tanh()
        m = torch.einsum("lh,lnwh->nlw", self.w, torch.einsum("lhk,nwk->lnwh", self.W, b).tanh())
        d = m.masked_fill(~mask[:, None], -1e30).softmax(self.axis) * mask[:, None]
        return self.classifier(self.climb(torch.einsum("nlw,nwh->nlh", d, b))), d


class AGTOverLayers(AGTByEinsum):
    axis = 1


class AGTOfTheLayerBelow(AGTByEinsum):
    def climb(self, s):
        return super().climb(torch.cat([s[:, :1], s[:, :-1]], 1))


def lengths_by_loops(selected, mask, chance=lambda k, n: k * (n - k + 1) / n):
    """Runs counted where they end, sentence by sentence."""
    found = []
    for layer in range(selected.shape[1]):
        words = runs = 0
        expected = np.float64(0)  # over which a division gives infinity
        for marks, real in zip(selected[:, layer].tolist(), mask.sum(1).tolist(), strict=True):
            words += sum(marks)
            runs += sum(now and not after for now, after in zip(marks, [*marks[1:], False]))
            expected += chance(sum(marks), real)
        with np.errstate(divide="ignore"):
            found.append((words / runs, words / expected))
    return tuple(torch.tensor(found, dtype=torch.float32).unbind(1))


def lengths_of_sentences(selected, mask):
    """The mean of each sentence's own; one that selects nothing is left out."""
    k, n = selected.sum(2), mask.sum(1, keepdim=True)
    before = torch.nn.functional.pad(selected, (1, -1))
    runs = (selected & ~before).sum(2), k * (n - k + 1) / n
    return tuple((k / each).nanmean(0) for each in runs)


def interaction_by_differences(score, mask, first, second):
    """How much the worth of the first word changes where the second is gone."""

    def without(keep, at):
        return keep.scatter(1, at.unsqueeze(1), False)

    beside, alone = mask, without(mask, second)
    worth = [score(keep) - score(without(keep, first)) for keep in (beside, alone)]
    return worth[0] - worth[1]


def erasure_by_sets(model, importance, count, tell=lambda whole, part: whole - part):
    top = set(sorted(range(len(importance)), key=lambda i: -importance[i])[:count])
    keep = [[True, place not in top, place in top] for place in range(len(importance))]
    whole, without, alone = model(torch.tensor(keep).T)
    j = whole.argmax()
    return tell(whole, without)[j], tell(whole, alone)[j]


def areas_in_numpy(model, importance, shares, words=lambda n, share: -int(-n * share // 1)):
    """AOPC with the number of ``words`` that a share of n is."""
    losses = [erasure_by_sets(model, importance, words(len(importance), s)) for s in shares]
    return tuple(np.mean(losses, axis=0).tolist())


def tau_by_scipy(first, second):
    return float(kendalltau(first, second).statistic)


def tau_with(under):
    """Agreeing pairs less opposite ones over something of the two sign matrices."""

    def answer(first, second):
        a, b = (np.sign(np.subtract.outer(x.numpy(), x.numpy())) for x in (first, second))
        return float((a * b).sum() / under(a, b))

    return answer


RIGHT = {
    check_gate: GateAsAStep,
    check_agt: AGTByEinsum,
    check_phrase_lengths: lengths_by_loops,
    check_interaction: interaction_by_differences,
    check_erasure: erasure_by_sets,
    check_areas: areas_in_numpy,
    check_kendall: tau_by_scipy,
}
WRONG = {
    check_gate: [
        (GateOfY, "your gate reads y, as in a highway layer"),
        (lambda ours, y, s: ours(y, s)[::-1], "exchanged"),
        (lambda ours, y, s: ours(y, s)[0], "2 results are expected"),
    ],
    check_agt: [
        (AGTOverLayers, "your softmax runs over the layers"),
        (AGTOfTheLayerBelow, "gate l reads s_l"),
        (lambda *given: check_agt.reference(*given)[0], "2 results are expected"),
    ],
    check_phrase_lengths: [
        (lambda s, m: lengths_by_loops(s, m, lambda k, n: k * (n - k) / n), "the + 1 is missing"),
        (lambda s, m: lengths_by_loops(s, m | True), "you take padding for words"),
        (lambda s, m: lengths_by_loops(s, m)[::-1], "exchanged"),
        (lambda s, m: (lengths_of_sentences(s, m)[0], lengths_by_loops(s, m)[1]),
         "you take the mean of each sentence first"),
    ],
    check_interaction: [
        (lambda f, *given: interaction_by_differences(lambda keep: f(keep).abs(), *given),
         "your interaction is -1.048"),
        (lambda f, m, *two: interaction_by_differences(f, m | True, *two), "you keep padding"),
        (lambda *given: interaction_by_differences(*given).abs(), "the sign of interaction"),
    ],
    check_erasure: [
        (lambda *given: erasure_by_sets(*given, tell=lambda whole, part: part), "that are left: "),
        (lambda *given: erasure_by_sets(*given, tell=lambda *two: two[0] - two[1].max()),
         "each text has its own class"),
        (lambda *given: erasure_by_sets(*given)[0], "2 results are expected"),
    ],
    check_areas: [
        (lambda f, scores, shares: areas_in_numpy(f, scores, shares, lambda n, s: round(n * s)),
         "round to the nearest"),
        (lambda f, scores, shares: areas_in_numpy(f, scores, [*shares, shares[-1]]),
         "your sufficiency is"),
        (lambda *given: areas_in_numpy(*given)[::-1], "the results are exchanged"),
    ],
    check_kendall: [
        (tau_with(lambda a, b: a.size - len(a)), "you divide by all pairs"),
        (tau_with(lambda a, b: np.abs(a * b).sum()), "you leave out every pair"),
        (lambda *given: abs(tau_by_scipy(*given)), "the sign of tau is lost: it may be"),
    ],
}  # fmt: skip
