"""Right answers to lessons 03 to 05, and wrong ones with what they are told."""

import math

import numpy as np
import torch
from torch.nn.functional import normalize, pad

from course_kit.exercises import (
    check_carrying_highway,
    check_masked_maximum,
    check_network_defect,
    check_padding_odds,
    check_passes_on,
    check_pooled_shares,
    check_redundancy,
    check_scattered_attention,
    check_sentences_in_place,
    check_shifted_attention,
    check_smallest_f1,
    check_step_cosine,
    check_step_penalty,
    check_step_price,
    check_steps,
    check_untrained,
)
from course_lib.faithfulness.word_attention import iram_steps
from course_lib.metrics.attention import diagonality, uniform_diagonality
from course_lib.metrics.steps import step_cosine, summary_share
from course_lib.models.han import hop_redundancy
from course_lib.models.iram import step_penalty
from course_lib.models.layers import Highway, positions

inf = torch.inf


def place_by_scatter(s, mask):
    real = mask.any(2).unsqueeze(2)
    return torch.zeros(*real.shape[:2], s.shape[1]).masked_scatter(real, s)


def place_from_the_first(s, mask):
    placed = torch.zeros(mask.shape[0] * mask.shape[1], s.shape[1])
    placed[: len(s)] = s
    return placed.view(*mask.shape[:2], -1)


def place_at_the_front(s, mask):
    parts = s.split(mask.any(2).sum(1).tolist())
    return torch.stack(
        [torch.cat([part, torch.zeros(mask.shape[1] - len(part), s.shape[1])]) for part in parts]
    )


def place_by_number(s, mask):
    return place_by_scatter(s, mask.transpose(0, 1)).transpose(0, 1)


def place_whole_sentences(s, mask):
    placed = torch.zeros(*mask.shape[:2], s.shape[1])
    placed[mask.all(2)] = s
    return placed


def f1_by_formula(positive, negative, wrong):
    return max(0.0, 2 * (positive - wrong) / (2 * positive - wrong)) if wrong < positive else 0.0


def gini_by_ranks(attention):
    w = attention.flatten().sort().values
    i = torch.arange(1, len(w) + 1)
    return 2 * (i * w).sum() / (len(w) * w.sum()) - (len(w) + 1) / len(w)


def overlap(alpha):
    return alpha @ alpha.mT


def eye(alpha):
    return torch.eye(alpha.shape[1])


def highway_by_layer(x, w_g, b_g, w_f, b_f):
    layer = Highway(x.shape[1])
    weights = {"gates.0.weight": w_g.T, "gates.0.bias": b_g,
               "transforms.0.weight": w_f.T, "transforms.0.bias": b_f}  # fmt: skip
    layer.load_state_dict(weights)
    return layer(x)


def highway_like(carry=True, bend=torch.relu, gate=torch.sigmoid, turned=False):
    def highway(x, w_g, b_g, w_f, b_f):
        if turned:
            w_g, w_f = w_g.T, w_f.T
        g, f = gate(x @ w_g + b_g), bend(x @ w_f + b_f)
        return f + g * (x - f) if carry else x + g * (f - x)

    return highway


def steps_by_list(h, q, w, steps, refine, control):
    entries, rows = list(h), []
    for _ in range(steps):
        scores = torch.stack([q @ w @ entry for entry in entries])
        a = (scores - scores.max()).exp()
        a = a / a.sum()
        s = refine(sum(share * entry for share, entry in zip(a, entries, strict=True)))
        rows.append(torch.nn.functional.pad(a, (0, len(h) + steps - 1 - len(entries))))
        entries, q = [*entries, s], control(s, q)
    return torch.stack(rows)


def steps_summaries_first(h, *rest):
    rows = steps_by_list(h, *rest)
    ends = [len(h) + step for step in range(len(rows))]
    return torch.stack(
        [torch.cat([row[:end].roll(end - len(h)), row[end:]]) for row, end in zip(rows, ends)]
    )


def pairs_by_loop(attention, product, both=True):
    """The sum over pairs of steps of each document."""
    found = []
    for rows in attention:
        pairs = [(i, j) for i in range(len(rows)) for j in range(len(rows)) if i != j]
        pairs = pairs if both else [(i, j) for i, j in pairs if i < j]
        found.append(sum((product(rows[i], rows[j]) for i, j in pairs), torch.tensor(0.0)))
    return torch.stack(found)


def penalty_by_loop(attention, gamma):
    return gamma * pairs_by_loop(attention, torch.dot) / (2 * attention.shape[1])


def penalty_by_squares(attention, gamma):
    """(Σ rows)² holds every product, Σ rows² those with themselves."""
    every = attention.sum(1).square().sum(1) - attention.square().sum((1, 2))
    return gamma * every / (2 * attention.shape[1])


def cosine_of_rows(a, b):
    return torch.cosine_similarity(a, b, dim=0)


def cosine_by_numpy(attention):
    rows = attention.numpy() / np.linalg.norm(attention.numpy(), axis=2, keepdims=True)
    upper = np.triu_indices(attention.shape[1], 1)
    return torch.from_numpy((rows @ rows.transpose(0, 2, 1))[:, upper[0], upper[1]].mean(1))


def passes_by_least(attention, mask, threshold):
    return attention[:, 1:, mask.shape[1] :].sum(2).amin(1) >= threshold


def maximum_by_topk(x, mask):
    values, places = x.masked_fill(~mask[..., None], -inf).topk(1, 1)
    there = mask.any(1)[:, None]
    return torch.where(there, values[:, 0], 0.0), torch.where(there, places[:, 0], -1)


def maximum_blanked(empty, value=0.0, place=-1):
    def maximum(x, mask):
        values, places = x.masked_fill(~mask[..., None], -inf).max(1)
        values = values.nan_to_num(neginf=value)
        return values, torch.where(empty(mask).expand_as(places), place, places)

    return maximum


def maximum_of_all(x, mask):
    return tuple(x.max(1))


def shares_by_bincount(places, mask):
    rows = [torch.bincount(row[row >= 0], minlength=mask.shape[1]) for row in places]
    return torch.stack(rows) / places.shape[1]


def shares_by_comparison(places, mask):
    return (places[:, :, None] == torch.arange(mask.shape[1])).float().mean(1)


def untrained_by_entropy(attention, mask):
    rows = torch.special.entr(attention).sum(2).sum(1) / mask.sum(1)
    return int((rows / mask.sum(1).log()).argmax())


def blocks_of(attention, mask):
    return [matrix[real][:, real] for matrix, real in zip(attention, mask)]


def place_of(choose, measure, padded=False):
    def untrained(attention, mask):
        parts = list(attention) if padded else blocks_of(attention, mask)
        found = [float(measure(part)) for part in parts]
        return found.index(choose(found))

    return untrained


def odds_by_parts(share, shown, words, places):
    if math.isclose(share, shown):
        return math.inf
    per_word, per_padding = shown / words, (share - shown) / (places - words)
    return per_word / per_padding


def odds_in_one_line(share, shown, words, places):
    missing = share - shown
    return shown * (places - words) / (missing * words) if missing else float("inf")


def odds_like(formula):
    return lambda share, shown, words, places: (
        math.inf if share == shown else formula(share, shown, words, places)
    )


def more(tokens, mask, words=3, sentences=2):
    return pad(tokens, (0, words, 0, sentences)), pad(mask, (0, words, 0, sentences))


def exchanged(tokens):
    tokens = tokens.clone()
    tokens[0, 0, 0], tokens[0, 0, 1] = tokens[0, 0, 1].item(), tokens[0, 0, 0].item()
    return tokens


def defect_in_numpy(predict, tokens, mask):
    def ask(some=slice(None), words=tokens, real=mask):
        return predict(words[some], real[some]).numpy().round(4).tolist()

    if ask() != ask():
        return "memory"
    if [row for place in range(len(tokens)) for row in ask(slice(place, place + 1))] != ask():
        return "neighbours"
    if ask(words=more(tokens, mask)[0], real=more(tokens, mask)[1]) != ask():
        return "padding"
    return "order" if ask(words=exchanged(tokens)) == ask() else "sound"


def far_from_uniform(attention):
    n = len(attention)
    mask = torch.ones(1, n, dtype=torch.bool)
    return max(
        abs(float(diagonality(attention[None], mask, b))
            - float(uniform_diagonality(torch.tensor(n), b)))
        for b in range(1, 6)
    )  # fmt: skip


def scattered_by_search(n):
    torch.manual_seed(n)
    while True:
        attention = torch.eye(n)[torch.randperm(n)]
        if far_from_uniform(attention) < 0.04:
            return attention


def turned(d, k, gain=40.0):
    w = torch.zeros(d, d)
    for pair in range(0, d, 2):
        angle = k / 10000 ** (pair / d)
        w[pair, pair] = w[pair + 1, pair + 1] = gain * math.cos(angle)
        w[pair, pair + 1], w[pair + 1, pair] = -gain * math.sin(angle), gain * math.sin(angle)
    return w


def turned_by_least_squares(d, k):
    p = positions(20_000, d, torch.float64)  # so many that the slowest pair turns, too
    start, end = (p[:-k], p[k:]) if k > 0 else (p[-k:], p[:k])
    return 40 * torch.linalg.lstsq(start, end).solution.float()


def turned_by_one_angle(d, k):
    angle = torch.tensor(float(k))
    block = torch.stack([angle.cos(), -angle.sin(), angle.sin(), angle.cos()]).view(2, 2)
    return 40 * torch.block_diag(*[block] * (d // 2))


def pairs_of(rows):
    unit = normalize(rows, dim=2)
    return [(unit[:, i] * unit[:, j]).sum(1) for i in range(3) for j in range(i)]


def cosine_of_words_read(attention, mask):
    return torch.stack(pairs_of(iram_steps(attention, mask))).mean(0)


def redundancy_by_einsum(alpha):
    products = torch.einsum("nhl,nkl->nhk", alpha, alpha)
    products.diagonal(dim1=1, dim2=2).sub_(1)
    return torch.einsum("nhk,nhk->n", products, products)


RIGHT = {
    check_sentences_in_place: (place_by_scatter,),
    check_smallest_f1: (f1_by_formula,),
    check_redundancy: (redundancy_by_einsum,),
    check_carrying_highway: (highway_by_layer,),
    check_steps: (steps_by_list,),
    check_step_penalty: (penalty_by_squares,),
    check_step_cosine: (cosine_by_numpy,),
    check_passes_on: (passes_by_least,),
    check_masked_maximum: (maximum_by_topk,),
    check_pooled_shares: (shares_by_comparison,),
    check_untrained: (untrained_by_entropy,),
    check_padding_odds: (odds_in_one_line,),
    check_network_defect: (defect_in_numpy,),
    check_scattered_attention: (scattered_by_search,),
    check_shifted_attention: (turned_by_least_squares,),
    check_step_price: (cosine_of_words_read,),
}
WRONG = {
    check_sentences_in_place: [
        (place_from_the_first, "one after the other from the first place"),
        (place_at_the_front, "a place without a sentence is not zero:"),
        (place_by_number, "all first sentences, then to all second"),
        (place_whole_sentences, "in your line `placed[mask.all(2)] = s`"),
    ],
    check_smallest_f1: [
        (lambda p, n, e: 1 - e / (p + n), "that is the accuracy"),
        (lambda p, n, e: 0.8235, "no split gives so little: at most 0 of"),
        (lambda p, n, e: 100 * f1_by_formula(p, n, e), "in percent"),
        (lambda p, n, e: (f1_by_formula(p, n, e), e), "f1 is a tuple, expected a number"),
    ],
    check_redundancy: [
        (lambda a: overlap(a).pow(2).sum((1, 2)), "the identity is not subtracted"),
        (lambda a: hop_redundancy(a.mT), "you compare places"),
        (
            lambda a: torch.linalg.matrix_norm(overlap(a) - eye(a)),
            "that is the square root of redundancy: no",
        ),
        (lambda a: hop_redundancy(a).sum(), "redundancy has shape (), expected (1,):"),
    ],
    check_carrying_highway: [
        (highway_like(carry=False), "your gate opens the transformation"),
        (lambda x, g, bg, f, bf: highway_like()(x, g, torch.zeros(1), f, bf), "bg is not used"),
        (lambda x, g, bg, f, bf: x + torch.relu(x @ f + bf), "a residual"),
        (lambda x, *rest: highway_like()(x, *rest)[0], "expected (1, 1)"),
    ],
    check_steps: [
        (
            lambda h, *rest: torch.stack(
                [
                    row.roll(len(row) - len(h) - step)
                    for step, row in enumerate(steps_by_list(h, *rest))
                ]
            ),
            "step 1 attends to summary 1, which is not",
        ),
        (lambda h, q, w, steps, *rest: steps_by_list(h, q, w, steps, *rest)[:, : len(h)], "shape"),
        (lambda *given: 2 * steps_by_list(*given), "attention is twice what it should be: is"),
        (steps_summaries_first, "the weights are right, in other columns"),
    ],
    check_step_penalty: [
        (lambda a, gamma: gamma * (a @ a.mT).sum((1, 2)) / (2 * a.shape[1]), "the diagonal is in"),
        (lambda a, gamma: penalty_by_loop(a, gamma) / 2, "each pair is counted once"),
        (lambda a, gamma: 2 * penalty_by_loop(a, gamma), "penalty is twice what it should be: is"),
        (lambda a, gamma: penalty_by_loop(a, gamma).mean(), "shape (), expected (1,)"),
    ],
    check_step_cosine: [
        (
            lambda a: pairs_by_loop(a, torch.dot) / (a.shape[1] * (a.shape[1] - 1)),
            "that is the overlap",
        ),
        (
            lambda a: (
                pairs_by_loop(a, cosine_of_rows, both=False) / (a.shape[1] * (a.shape[1] - 1))
            ),
            "halved",
        ),
        (lambda a: pairs_by_loop(a, cosine_of_rows), "the sum over the pairs"),
        (
            lambda a: cosine_of_rows(a[:, 0].mT, a[:, 1].mT),
            "your cosine is 0.3096, expected 0.1527",
        ),
    ],
    check_passes_on: [
        (lambda a, m, t: (a[:, 1:, m.shape[1] :].sum(2) >= t).any(1), "one step that passes on"),
        (lambda a, m, t: a[:, 1:, m.shape[1] :].sum(2).mean(1) >= t, "you average over the steps"),
        (
            lambda a, m, t: (a[:, 1:, m.shape[1] :].sum(2) < t).all(1),
            "your passes is True, expected False for a",
        ),
        (lambda a, m, t: (a[:, 1:, m.shape[1] :].sum(2) >= t).all(), ".all(1) goes over its steps"),
    ],
    check_masked_maximum: [
        (maximum_of_all, "mask is not used, so what it"),
        (lambda x, mask: tuple((x * mask[..., None]).max(1)), "And a document without words"),
        (
            lambda x, mask: tuple(x.masked_fill(mask[..., None], -inf).max(1)),
            "real words are hidden",
        ),
        (maximum_blanked(lambda mask: mask.any(1)[:, None]), "in a document that has words"),
    ],
    check_pooled_shares: [
        (
            lambda p, m: shares_by_bincount(p, m) * p.shape[1],
            "shares is too large by the size of axis 1",
        ),
        (
            lambda p, m: shares_by_bincount(p % m.shape[1], m),
            "your rows sum to 1: 1 where a word is",
        ),
        (lambda p, m: m / m.sum(1, keepdim=True).clamp(min=1), "uniform over the words"),
        (lambda p, m: shares_by_bincount(p, m)[:, :-1], "shape"),
    ],
    check_untrained: [
        (place_of(min, gini_by_ranks, padded=True), "mask is not used, so what it"),
        (place_of(min, lambda a: a.mean(0).max() * len(a)), "that of the band: no word"),
        (lambda attention, mask: 0, "always the first"),
        (lambda attention, mask: torch.tensor(1), "place is a tensor, expected an int"),
    ],
    check_padding_odds: [
        (odds_like(lambda a, b, n, m: b / (a - b)), "all words with all padding"),
        (odds_like(lambda a, b, n, m: (a - b) / (m - n) / (b / n)), "upside down"),
        (lambda a, b, n, m: 0.0 if a == b else odds_by_parts(a, b, n, m), "nothing is missing"),
        (lambda a, b, n, m: b / n / ((a - b) / (m - n)), "ZeroDivisionError"),
    ],
    check_network_defect: [
        (lambda predict, tokens, mask: "healthy", "is none of the names"),
        (lambda predict, tokens, mask: "sound", "you never find anything"),
        (lambda predict, tokens, mask: "padding", "what you add must not be part of a text"),
        (lambda predict, tokens, mask: "memory", "only a network with a memory"),
    ],
    check_scattered_attention: [
        (lambda n: torch.full((n, n), 1 / n), "the Gini is 0.00, below 0.8"),
        (torch.eye, "uniform attention's: a band"),
        (lambda n: torch.eye(n).roll(n // 2, 1), "the opposite of a band"),
        (lambda n: 2 * scattered_by_search(n), "sums to 2: each row of attention"),
    ],
    check_shifted_attention: [
        (lambda d, k: 40 * torch.eye(d), "attends to itself: with W = I"),
        (lambda d, k: turned(d, -k), "your matrix turns the other way"),
        (lambda d, k: turned(d, k, 1.0), "larger scores make a softmax sharper"),
        (turned_by_one_angle, "is each pair turned by its own angle"),
    ],
    check_step_price: [
        (lambda a, mask: step_penalty(a), "Small products need not be different rows"),
        (step_cosine, "Which words is each summary made of"),
        (lambda a, mask: summary_share(a, mask)[:, 1:].mean(1), "one and the same word"),
        (lambda a, mask: cosine_of_words_read(a, mask).detach(), "no training can lower it"),
    ],
}
