"""Right answers to lessons 06 to 07, and wrong ones with what they are told."""

from itertools import permutations
from math import comb

import numpy as np
import torch
from scipy.stats import hypergeom, kendalltau

from course_kit.exercises import (
    check_areas,
    check_attention_gate,
    check_erasure,
    check_few_runs,
    check_highway,
    check_kendall,
    check_order_change,
    check_phrase_orders,
    check_phrases,
    check_selected_words,
)


def highway_as_a_step(x, w, b, w_t, b_t):
    """The old value and a part of the way to the new one."""
    return x + (x @ w_t.T + b_t).sigmoid() * ((x @ w.T + b).tanh() - x)


def gate_by_halves(y, s, w_t, b_t, w_f):
    for_y, for_s = w_f.chunk(2, 1)
    gate = (s @ w_t.T + b_t).sigmoid()
    return gate * (y @ for_y.T + s @ for_s.T).tanh() + y - gate * y, gate


def select_without_dividing(weights, mask, threshold):
    low = torch.where(mask, weights, weights.amax()).amin(1, keepdim=True)
    high = weights.amax(1, keepdim=True)
    return (weights - low > threshold * (high - low)) & (high - low > 1e-6 * high) & mask


def phrases_by_split(words, selected):
    line = " ".join(word if chosen else "|" for word, chosen in zip(words, selected))
    return [phrase.strip() for phrase in line.split("|") if phrase.strip()]


def change_by_extremes(predict, tokens):
    logits = torch.stack([predict(tokens[list(o)]) for o in permutations(range(len(tokens)))])
    given = predict(tokens)
    return torch.maximum(logits.amax(0) - given, given - logits.amin(0)).max()


def orders_by_slices(selected):
    chosen = [p for p, mark in enumerate(selected) if mark]
    others = [p for p, mark in enumerate(selected) if not mark]
    both = min(len(chosen), len(others))
    mixed = [None] * (2 * both)
    mixed[::2], mixed[1::2] = chosen[:both], others[:both]
    return others + chosen, mixed + chosen[both:] + others[both:]


def chance_from_scipy(n, k, runs):
    """The k words draw their left neighbours: n − k + 1 gaps begin a run, k − 1 words do not."""
    return float(hypergeom.cdf(runs, n, n - k + 1, k))


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
    check_highway: highway_as_a_step,
    check_attention_gate: gate_by_halves,
    check_selected_words: select_without_dividing,
    check_phrases: phrases_by_split,
    check_order_change: change_by_extremes,
    check_erasure: erasure_by_sets,
    check_areas: areas_in_numpy,
    check_kendall: tau_by_scipy,
    check_phrase_orders: orders_by_slices,
    check_few_runs: chance_from_scipy,
}
WRONG = {
    check_highway: [
        (lambda x, w, b, *gate: highway_as_a_step(x, w, b, *(-g for g in gate)), "wrong way round"),
        (lambda x, w, b, w_t, b_t: (x @ w.T + b).tanh() * (x @ w_t.T + b_t).sigmoid(),
         "x is not carried on"),
        (lambda x, w, b, *gate: highway_as_a_step(x, w, 0 * b, *gate), "b is not used"),
    ],
    check_attention_gate: [
        (lambda y, s, w_t, b_t, w_f: gate_by_halves(y, s, w_t, b_t, w_f.roll(len(w_t), 1)),
         "[y; s] has y first"),
        (lambda *given: gate_by_halves(*given)[::-1], "exchanged"),
        (lambda *given: gate_by_halves(*given)[0], "2 results are expected"),
    ],
    check_selected_words: [
        (lambda w, m, t: select_without_dividing(w, m, t).float(), "dtype torch.float32"),
        (lambda w, m, t: (w > t) & m, "the weights are not scaled"),
        (lambda w, m, t: ~select_without_dividing(w, m, t) & m, "at or below the threshold"),
    ],
    check_phrases: [
        (lambda w, s: phrases_by_split(w, s)[: -1 if s[-1] else None], "ends with the sentence is"),
        (lambda w, s: [p for p in phrases_by_split(w, s) if " " in p], "standing alone"),
        (lambda w, s: list(dict.fromkeys(phrases_by_split(w, s))), "lacks what occurs a second"),
        (lambda w, s: tuple(phrases_by_split(w, s)), "phrases is a tuple"),
    ],
    check_order_change: [
        (lambda f, x: (f(x.flip(0)) - f(x)).abs().max(), "the reversed sentence alone"),
        (lambda f, x: torch.tensor(0.0), "n words have n! orders"),
        (lambda f, x: change_by_extremes(lambda ids: f(ids).softmax(0), x),
         "you find a change of 0.416, but some"),
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
    check_phrase_orders: [
        (lambda s: orders_by_slices(s)[::-1], "the two orders are exchanged"),
        (lambda s: (orders_by_slices(s)[1],) * 2, "they can stand side by side"),
        (lambda s: (orders_by_slices(s)[0],) * 2, "put a word that is not selected between"),
        (lambda s: (orders_by_slices(s)[0], [p for p, mark in enumerate(s) if mark]), "each place"),
        (lambda s: orders_by_slices(s)[0] if len(s) != 2 else [0], "2 results are expected"),
    ],
    check_few_runs: [
        (lambda n, k, r: comb(k - 1, r - 1) * comb(n - k + 1, r) / comb(n, k), "exactly so many"),
        (lambda n, k, r: chance_from_scipy(n, k, r - 1), "you stop one short of r: does a range"),
        (lambda n, k, r: comb(n, k) * chance_from_scipy(n, k, r), "is no probability"),
    ],
}  # fmt: skip
