"""Right answers to lessons 06 to 07, and wrong ones with what they are told."""

from itertools import permutations
from math import comb, perm

import numpy as np
import torch
from scipy.stats import hypergeom, kendalltau

from course_kit.exercises import (
    check_attention_gate,
    check_erasure,
    check_few_runs,
    check_highway,
    check_integrated_gradients,
    check_kendall,
    check_normalised_aopc,
    check_order_change,
    check_permutation_change,
    check_phrase_orders,
    check_phrases,
    check_selected_words,
    check_share_to_flip,
    check_zeroed,
)


def highway_by_number(x, w, b, w_t, b_t):
    y = torch.empty_like(x)
    for row, values in enumerate(x):
        for place, value in enumerate(values):
            gate = 1 / (1 + torch.exp(-(w_t[place] @ values + b_t[place])))
            y[row, place] = gate * torch.tanh(w[place] @ values + b[place]) + (1 - gate) * value
    return y


def highway_as_a_step(x, w, b, w_t, b_t):
    """The old value and a part of the way to the new one."""
    return x + (x @ w_t.T + b_t).sigmoid() * ((x @ w.T + b).tanh() - x)


def gate_by_halves(y, s, w_t, b_t, w_f):
    for_y, for_s = w_f.chunk(2, 1)
    gate = (s @ w_t.T + b_t).sigmoid()
    return gate * (y @ for_y.T + s @ for_s.T).tanh() + y - gate * y, gate


def gate_like(
    gated=lambda n, y, s, t: t * n + (1 - t) * y,
    reads="s",
    order="ys",
    bend=torch.tanh,
    opened=torch.sigmoid,
):
    def layer(y, s, w_t, b_t, w_f):
        inputs = {"y": y, "s": s}
        gate = opened(inputs[reads] @ w_t.T + b_t)
        new = bend(torch.cat([inputs[name] for name in order], 1) @ w_f.T)
        return gated(new, y, s, gate), gate

    return layer


def select_by_sentence(weights, mask, threshold):
    selected = torch.zeros_like(mask)
    for row, (values, real) in enumerate(zip(weights, mask)):
        low, high = values[real].min(), values[real].max()
        if high - low > 1e-6 * high:
            selected[row, real] = (values[real] - low) / (high - low) > threshold
    return selected


def select_without_dividing(weights, mask, threshold):
    low = torch.where(mask, weights, weights.amax()).amin(1, keepdim=True)
    high = weights.amax(1, keepdim=True)
    return (weights - low > threshold * (high - low)) & (high - low > 1e-6 * high) & mask


def select_like(scale, beyond=torch.gt, alike=False):
    """``scale(weights, mask)`` gives the bounds; ``alike`` is what equal weights get."""

    def select(weights, mask, threshold):
        low, high = scale(weights, mask)
        same = high - low <= 1e-6 * high
        share = (weights - low) / (high - low)
        return torch.where(same, torch.tensor(alike), beyond(share, threshold)) & mask

    return select


def all_bounds(weights, mask):
    return weights.amin(1, keepdim=True), weights.amax(1, keepdim=True)


def phrases_by_loop(words, selected):
    phrases, before = [], False
    for word, chosen in zip(words, selected):
        if chosen and before:
            phrases[-1] += f" {word}"
        elif chosen:
            phrases.append(word)
        before = chosen
    return phrases


def phrases_by_split(words, selected):
    line = " ".join(word if chosen else "|" for word, chosen in zip(words, selected))
    return [phrase.strip() for phrase in line.split("|") if phrase.strip()]


def phrases_that_end(words, selected):
    found, run = [], []
    for word, chosen in zip(words, selected):
        if chosen:
            run.append(word)
        elif run:
            found.append(" ".join(run))
            run = []
    return found


def change_by_loop(predict, tokens):
    largest, given = 0.0, predict(tokens)
    for order in permutations(tokens.tolist()):
        largest = max(largest, (predict(torch.tensor(order)) - given).abs().max().item())
    return largest


def change_by_extremes(predict, tokens):
    logits = torch.stack([predict(tokens[list(o)]) for o in permutations(range(len(tokens)))])
    given = predict(tokens)
    return torch.maximum(logits.amax(0) - given, given - logits.amin(0)).max()


def change_over(orders, reduce=lambda change: change.abs().max()):
    def change(predict, tokens):
        found = [predict(tokens[list(order)]) - predict(tokens) for order in orders(len(tokens))]
        return reduce(torch.stack(found))

    return change


def every(n):
    return permutations(range(n))


def erasure_by_sets(model, words, importance, count):
    top = set(sorted(range(len(words)), key=lambda i: -importance[i])[:count])
    texts = [words, [], []]
    for place, word in enumerate(words):
        texts[1 + (place in top)].append(word)
    whole, without, alone = model(texts)
    j = whole.argmax()
    return whole[j] - without[j], whole[j] - alone[j]


def erasing(choose, tell=lambda whole, rest, kept: (whole, rest, kept)):
    """An answer that erases other words, or reads the outputs otherwise."""

    def answer(model, words, importance, count):
        places = choose(importance, count)
        rest = [word for place, word in enumerate(words) if place not in places]
        kept = [word for place, word in enumerate(words) if place in places]
        return tell(*model([words, rest, kept]))

    return answer


def heaviest(importance, count):
    return importance.topk(count).indices.tolist()


def flip_in_numpy(before, after):
    changed = np.array(after) != before
    return float((changed.argmax() + 1) / len(after) if changed.any() else 1)


def flips(share, never=1.0):
    def answer(before, after):
        places = [place for place in range(len(after)) if after[place] != before]
        return float(share(places, len(after))) if places else never

    return answer


def normalised_by_mask(losses, lower, upper):
    share = (losses.mean(dim=-1) - lower) / (upper - lower).clamp(min=1e-6)
    return share.masked_fill(upper == lower, torch.nan)


def tau_by_loop(first, second):
    agree = ties_first = ties_second = pairs = 0
    for i in range(len(first)):
        for j in range(i):
            a, b = first[i] - first[j], second[i] - second[j]
            agree += int(a * b > 0) - int(a * b < 0)
            ties_first += int(a == 0)
            ties_second += int(b == 0)
            pairs += 1
    return agree / ((pairs - ties_first) * (pairs - ties_second)) ** 0.5


def tau_by_scipy(first, second):
    return float(kendalltau(first, second).statistic)


def tau_with(under):
    """Agreeing pairs less opposite ones over something of the two sign matrices."""

    def answer(first, second):
        a, b = (np.sign(np.subtract.outer(x.numpy(), x.numpy())) for x in (first, second))
        return float((a * b).sum() / under(a, b))

    return answer


def zeroed_by_rows(attention, gone):
    rows = []
    for row, lost in zip(attention, gone):
        left = torch.where(lost, 0.0, row)
        rows.append(left / left.sum() if left.sum() > 0 else left)
    return torch.stack(rows)


def zeroed_by_product(attention, gone):
    left = attention * ~gone
    return (left / left.sum(1, keepdim=True)).nan_to_num(0.0)


def change_by_gain(answer, attention, orders):
    gains = answer(attention[orders]) - answer(attention.view(1, -1))
    return gains.clamp(min=0).sum(1).median()


def shuffled_like(tell):
    def change(answer, attention, orders):
        return tell(answer(attention[orders]), answer(attention[None])[0])

    return change


def variation(first, second):
    return (first - second).abs().sum(-1) / 2


def integrated_by_loop(model, x, steps, place=0.5, scale=lambda a: 1.0, times=True):
    total = torch.zeros_like(x)
    for k in range(steps):
        a = (k + place) / steps
        slope = torch.autograd.functional.jacobian(lambda point: model(point[None])[0], a * x)
        total += scale(a) * slope / steps
    return ((total * x) if times else total).sum(1)


def integrated_by_functional(model, x, steps):
    slope = torch.func.grad(lambda point: model(point.unsqueeze(0)).squeeze(0))
    scales = torch.linspace(0.5 / steps, 1 - 0.5 / steps, steps)
    return torch.stack([(x * slope(a * x)).sum(-1) for a in scales]).mean(0)


def orders_by_slices(selected):
    chosen = [p for p, mark in enumerate(selected) if mark]
    others = [p for p, mark in enumerate(selected) if not mark]
    both = min(len(chosen), len(others))
    mixed = [None] * (2 * both)
    mixed[::2], mixed[1::2] = chosen[:both], others[:both]
    return others + chosen, mixed + chosen[both:] + others[both:]


def selected_first(selected):
    return sorted(range(len(selected)), key=lambda place: not selected[place])


def chance_from_scipy(n, k, runs):
    """The k words draw their left neighbours: n − k + 1 gaps begin a run, k − 1 words do not."""
    return float(hypergeom.cdf(runs, n, n - k + 1, k))


def terms(n, k, runs, cuts=-1, gaps=1):
    return [comb(k + cuts, r - 1) * comb(max(0, n - k + gaps), r) for r in range(1, runs + 1)]


def in_gaps(n, k, runs, ways):
    found = [comb(k - 1, r - 1) * ways(n - k + 1, r) for r in range(1, runs + 1)]
    return sum(found) / comb(n, k)


RIGHT = {
    check_highway: (highway_as_a_step,),
    check_attention_gate: (gate_by_halves,),
    check_selected_words: (select_without_dividing,),
    check_phrases: (phrases_by_split,),
    check_order_change: (change_by_extremes,),
    check_integrated_gradients: (integrated_by_functional,),
    check_erasure: (erasure_by_sets,),
    check_share_to_flip: (flip_in_numpy,),
    check_normalised_aopc: (normalised_by_mask,),
    check_kendall: (tau_by_scipy,),
    check_zeroed: (zeroed_by_product,),
    check_permutation_change: (change_by_gain,),
    check_phrase_orders: (orders_by_slices,),
    check_few_runs: (chance_from_scipy,),
}
WRONG = {
    check_highway: [
        (lambda x, w, b, w_t, b_t: highway_by_number(x, w, b, -w_t, -b_t), "the wrong way round"),
        (
            lambda x, w, b, w_t, b_t: (x @ w.T + b).tanh() * (x @ w_t.T + b_t).sigmoid(),
            "x is not carried on",
        ),
        (lambda x, w, b, w_t, b_t: highway_by_number(x, w, b, w_t, 0 * b_t), "b_t is not used"),
        (lambda x, w, b, w_t, b_t: highway_by_number(x, w, 0 * b, w_t, b_t), "b is not used"),
    ],
    check_attention_gate: [
        (gate_like(reads="y"), "your gate reads y"),
        (gate_like(order="sy"), "[y; s] has y first"),
        (lambda *given: gate_by_halves(*given)[::-1], "exchanged"),
        (lambda *given: gate_by_halves(*given)[0], "2 results are expected"),
    ],
    check_selected_words: [
        (select_like(all_bounds), "mask is not used, so what it"),
        (lambda w, m, t: select_by_sentence(w, m, t).float(), "dtype torch.float32"),
        (lambda w, m, t: (w > t) & m, "the weights are not scaled"),
        (lambda w, m, t: ~select_by_sentence(w, m, t) & m, "at or below the threshold"),
    ],
    check_phrases: [
        (phrases_that_end, "ends with the sentence is lost"),
        (lambda w, s: [p for p in phrases_by_loop(w, s) if len(p.split()) > 1], "standing alone"),
        (
            lambda w, s: list(dict.fromkeys(phrases_by_loop(w, s))),
            "phrases lacks what occurs a second time:",
        ),
        (lambda w, s: tuple(phrases_by_loop(w, s)), "phrases is a tuple"),
    ],
    check_order_change: [
        (change_over(lambda n: [range(n)[::-1]]), "the reversed sentence alone"),
        (change_over(lambda n: [range(n)]), "n words have n! orders"),
        (
            lambda predict, tokens: 2 * change_by_loop(predict, tokens),
            "change is twice what it should be: is",
        ),
        (
            lambda predict, tokens: change_over(every)(lambda ids: predict(ids).softmax(0), tokens),
            "you find a change of 0.416, but some",
        ),
    ],
    check_integrated_gradients: [
        (lambda model, x, steps: integrated_by_loop(model, x, 1, place=1.0), "gradient × input"),
        (
            lambda *given: integrated_by_loop(*given).abs(),
            "the sign of importance is lost: it may be",
        ),
        (lambda model, x, steps: torch.zeros_like(x), "one number a word"),
        (lambda model, x, steps: torch.zeros(len(x)), "x is not used."),
    ],
    check_erasure: [
        (lambda *given: tuple(erasure_by_sets(*given)[::-1]), "the results are exchanged: return"),
        (
            erasing(heaviest, lambda whole, *others: tuple(whole.max() - p.max() for p in others)),
            "each text has its own class",
        ),
        (
            lambda *given: tuple(-p for p in erasure_by_sets(*given)),
            "the sign of comprehensiveness and",
        ),
        (lambda *given: erasure_by_sets(*given)[0], "2 results are expected"),
    ],
    check_share_to_flip: [
        (flips(lambda places, n: (places[0] + 1) / n, 0.0), "with 0, a ranking that finds"),
        (lambda before, after: np.mean([now != before for now in after]).item(), "how often"),
        (
            lambda before, after: 1 / len(after) if after[0] != before else 1.0,
            "your share is 1, expected 0.5 (difference",
        ),
        (lambda before, after: 0.77, "A place to start: go through after"),
    ],
    check_normalised_aopc: [
        (lambda losses, lower, upper: losses.mean(1), "that is the raw AOPC"),
        (lambda losses, lower, upper: losses.mean(1) / upper, "lower is not used"),
        (lambda losses, lower, upper: losses.mean(1) - lower, "is not divided by"),
        (lambda losses, lower, upper: losses, "the mean runs over the thresholds"),
    ],
    check_kendall: [
        (tau_with(lambda a, b: a.size - len(a)), "you divide by all pairs"),
        (tau_with(lambda a, b: np.abs(a * b).sum()), "you leave out every pair"),
        (lambda *given: 2 * tau_by_loop(*given), "tau is twice what it should be: is"),
        (lambda *given: abs(tau_by_loop(*given)), "the sign of tau is lost: it may be"),
    ],
    check_zeroed: [
        (lambda attention, gone: attention * ~gone, "does not sum to 1"),
        (
            lambda attention, gone: zeroed_by_rows(attention, ~gone),
            "gone is used the wrong way round: True",
        ),
        (lambda attention, gone: attention, "a place that should be zero has a weight"),
        (lambda attention, gone: attention[0], "of the shape that attention has"),
    ],
    check_permutation_change: [
        (shuffled_like(lambda found, own: variation(found, own).mean()), "the mean over the sh"),
        (
            shuffled_like(lambda found, own: (found - own).abs().mean(1).median()),
            "change is half of what it should be: is",
        ),
        (shuffled_like(lambda found, own: (found - own).norm(dim=1).median()), "Euclidean"),
        (shuffled_like(variation), "the median runs over the shuffles"),
    ],
    check_phrase_orders: [
        (lambda s: orders_by_slices(s)[::-1], "the two orders are exchanged"),
        (lambda s: (orders_by_slices(s)[1],) * 2, "they can stand side by side"),
        (lambda s: (selected_first(s), [p for p, mark in enumerate(s) if mark]), "each place from"),
        (lambda s: selected_first(s) if len(s) != 2 else [0], "2 results are expected"),
    ],
    check_few_runs: [
        (lambda n, k, runs: terms(n, k, runs)[-1] / comb(n, k), "exactly so many runs: at most"),
        (
            lambda n, k, runs: sum(terms(n, k, runs)[:-1]) / comb(n, k),
            "you stop one short of runs: does a range",
        ),
        (lambda n, k, runs: sum(terms(n, k, runs)), "is no probability"),
        (lambda n, k, runs: in_gaps(n, k, runs, perm), "1.33 is no probability: divide by the"),
    ],
}
