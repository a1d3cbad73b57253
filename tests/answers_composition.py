"""Answers to the exercises on AGT, right ones written differently and wrong ones, for
``test_checks``."""

from itertools import pairwise, permutations

import torch
from torch import nn

from course_kit.exercises.checks.composition import ORDER_CHANGE, PHRASES, SELECTED_WORDS
from course_kit.exercises.checks.gates import ATTENTION_GATE, HIGHWAY


def linear(matrix, bias=None):
    layer = nn.Linear(matrix.shape[1], matrix.shape[0], bias=bias is not None)
    layer.weight.data = matrix
    if bias is not None:
        layer.bias.data = bias
    return layer


def highway_by_modules(x, w, b, w_t, b_t):
    return x.lerp(linear(w, b)(x).tanh(), linear(w_t, b_t)(x).sigmoid())


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


def gate_by_modules(y, s, w_t, b_t, w_f):
    gate = linear(w_t, b_t)(s).sigmoid()
    return torch.lerp(y, linear(w_f)(torch.hstack([y, s])).tanh(), gate), gate


def gate_by_sentence(y, s, w_t, b_t, w_f):
    rows = [gate_by_halves(a[None], b[None], w_t, b_t, w_f) for a, b in zip(y, s)]
    return [torch.cat(parts) for parts in zip(*rows)]


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


def select_rounded(weights, mask, threshold):
    """In double precision, what rounding told apart rounded away."""
    weights = weights.double()
    low = weights.masked_fill(~mask, 9).min(1, keepdim=True).values
    high = weights.max(1, keepdim=True).values
    range_ = torch.where((high - low) / high < 1e-6, torch.inf, high - low)
    return ((weights - low) / range_ > threshold) & mask


def select_like(scale, beyond=torch.gt, alike=False):
    """``scale(weights, mask)`` gives the bounds; ``alike`` is what equal weights get."""

    def select(weights, mask, threshold):
        low, high = scale(weights, mask)
        same = high - low <= 1e-6 * high
        share = (weights - low) / (high - low)
        return torch.where(same, torch.tensor(alike), beyond(share, threshold)) & mask

    return select


def real_bounds(weights, mask):
    low = weights.masked_fill(~mask, torch.inf).amin(1, keepdim=True)
    return low, weights.amax(1, keepdim=True)


def all_bounds(weights, mask):
    return weights.amin(1, keepdim=True), weights.amax(1, keepdim=True)


def batch_bounds(weights, mask):
    return weights[mask].min(), weights[mask].max()


def place_bounds(weights, mask):
    low = weights.masked_fill(~mask, torch.inf).amin(0, keepdim=True)
    return low, weights.amax(0, keepdim=True)


def select_by_rounding(weights, mask, threshold):
    low, high = real_bounds(weights, mask)
    return ((weights - low) / (high - low) > threshold) & mask


def select_by_share(weights, mask, threshold):
    return (weights / weights.amax(1, keepdim=True) > threshold) & mask


def select_the_largest(weights, mask, threshold):
    chosen = select_by_sentence(weights, mask, threshold)
    return chosen & (torch.arange(weights.shape[1]) == weights.argmax(1, keepdim=True))


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


def phrases_by_ends(words, selected):
    marks = [False, *selected, False]
    edges = [place for place, (a, b) in enumerate(pairwise(marks)) if a != b]
    return [" ".join(words[a:b]) for a, b in zip(edges[::2], edges[1::2])]


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


def change_by_recursion(predict, tokens):
    """Every order is a first word and an order of the rest."""

    def orders(ids):
        if len(ids) < 2:
            return [ids]
        return [
            [ids[at], *rest] for at in range(len(ids)) for rest in orders(ids[:at] + ids[at + 1 :])
        ]

    logits = [predict(torch.tensor(order)) for order in orders(tokens.tolist())]
    return torch.stack([(found - logits[0]).abs().max() for found in logits]).max()


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


RIGHT = {
    HIGHWAY: [highway_by_modules, highway_by_number, highway_as_a_step],
    ATTENTION_GATE: [gate_by_halves, gate_by_modules, gate_by_sentence],
    SELECTED_WORDS: [select_by_sentence, select_without_dividing, select_rounded],
    PHRASES: [phrases_by_loop, phrases_by_split, phrases_by_ends],
    ORDER_CHANGE: [change_by_loop, change_by_recursion, change_by_extremes],
}
WRONG = {
    HIGHWAY: [
        (lambda x, w, b, w_t, b_t: highway_by_number(x, w, b, -w_t, -b_t), "the wrong way round"),
        (
            lambda x, w, b, w_t, b_t: (x @ w.T + b).tanh() * (x @ w_t.T + b_t).sigmoid(),
            "x is not carried on",
        ),
        (
            lambda x, w, b, w_t, b_t: x + (x @ w.T + b).tanh() * (x @ w_t.T + b_t).sigmoid(),
            "x is added whole",
        ),
        (lambda x, w, b, w_t, b_t: highway_by_number(x, w, b, w_t, 0 * b_t), "b_t is missing"),
        (lambda x, w, b, w_t, b_t: highway_by_number(x, w.T, b, w_t.T, b_t), "transposed"),
        (
            lambda x, w, b, w_t, b_t: x.lerp(x @ w.T + b, (x @ w_t.T + b_t).sigmoid()),
            "tanh of the new value is missing",
        ),
        (lambda x, w, b, w_t, b_t: highway_by_number(x, w, 0 * b, w_t, b_t), "the bias b of"),
        (
            lambda x, w, b, w_t, b_t: x.lerp((x @ w.T + b).sigmoid(), (x @ w_t.T + b_t).sigmoid()),
            "the gate alone is a sigmoid",
        ),
        (
            lambda x, w, b, w_t, b_t: x.lerp((x @ w.T + b).tanh(), (x @ w_t.T + b_t).tanh()),
            "the gate goes through a tanh",
        ),
        (
            lambda x, w, b, w_t, b_t: x.lerp((x @ w.T + b).tanh(), x @ w_t.T + b_t),
            "the gate has no sigmoid",
        ),
        (
            lambda x, w, b, w_t, b_t: highway_by_number(x, w.T, b, w_t, b_t),
            "w is transposed: it is",
        ),
        (lambda x, w, b, w_t, b_t: highway_by_number(x, w, b, w_t.T, b_t), "w_t is transposed"),
        (lambda x, w, b, w_t, b_t: highway_by_number(x, w_t, b_t, w, b), "the other way round"),
        (
            lambda x, w, b, w_t, b_t: (x @ w.T + b).tanh() + x - x * (x @ w_t.T + b_t).sigmoid(),
            "the new value is added whole",
        ),
        (
            lambda x, w, b, w_t, b_t: x.lerp(x @ w.T + b, (x @ w_t.T + b_t).sigmoid()).tanh(),
            "around the blend",
        ),
        (lambda *given: highway_by_number(*given) + 1, "A place to start: gate = "),
    ],
    ATTENTION_GATE: [
        (gate_like(reads="y"), "your gate reads y"),
        (gate_like(order="sy"), "[y; s] has y first"),
        (gate_like(lambda n, y, s, t: t * y + (1 - t) * n), "the wrong way round"),
        (gate_like(lambda n, y, s, t: t * n + (1 - t) * s), "carry y, the layer below"),
        (gate_like(lambda n, y, s, t: t * n), "y is not carried on"),
        (gate_like(bend=lambda x: x), "lacks its tanh"),
        (lambda *given: gate_by_halves(*given)[::-1], "exchanged"),
        (lambda y, s, w, b, f: gate_by_halves(y, s, w, 0 * b, f), "bias b_t is missing"),
        (lambda y, s, w, b, f: gate_by_halves(y, s, w.T, b, f), "w_t is transposed"),
        (gate_like(bend=torch.sigmoid), "the gate alone is a sigmoid"),
        (gate_like(lambda n, y, s, t: y + t * n), "y is added whole"),
        (lambda *given: gate_by_halves(*given)[0], "2 results are expected"),
        (gate_like(opened=lambda scores: scores), "the gate has no sigmoid"),
        (gate_like(opened=torch.tanh), "the gate goes through a tanh"),
        (
            lambda y, s, w, b, f: (gate_by_halves(y, s, w, b, f)[0], s @ w.T + b),
            "inside the sigmoid",
        ),
        (
            lambda *given: (gate_by_halves(*given)[0], 1 - gate_by_halves(*given)[1]),
            "you return 1 − T",
        ),
    ],
    SELECTED_WORDS: [
        (select_like(real_bounds, alike=True), "you select them all"),
        (select_by_rounding, "rounding decides for you"),
        (select_by_share, "weight ÷ largest weight"),
        (select_like(all_bounds), "that of padding"),
        (select_like(batch_bounds), "over the whole batch"),
        (select_like(place_bounds), "dimension 1 holds the words"),
        (select_like(real_bounds, torch.ge), "not above it"),
        (select_the_largest, "the same largest weight"),
        (lambda w, m, t: select_by_sentence(w, m, t).float(), "dtype torch.float32"),
        (lambda w, m, t: (w > t) & m, "the weights are not scaled"),
        (lambda w, m, t: ~select_by_sentence(w, m, t) & m, "at or below the threshold"),
    ],
    PHRASES: [
        (phrases_that_end, "ends with the sentence is lost"),
        (lambda w, s: [p for p in phrases_by_loop(w, s) if len(p.split()) > 1], "standing alone"),
        (lambda w, s: " ".join(phrases_by_loop(w, s)).split(), "one by one"),
        (lambda w, s: [" ".join(phrases_by_loop(w, s))] * any(s), "join across the gaps"),
        (lambda w, s: list(dict.fromkeys(phrases_by_loop(w, s))), "keep both"),
        (lambda w, s: phrases_by_loop(w, [not chosen for chosen in s]), "left out"),
        (lambda w, s: [p.split() for p in phrases_by_loop(w, s)], "a list of words"),
        (lambda w, s: tuple(phrases_by_loop(w, s)), "phrases is a tuple"),
        (lambda w, s: sorted(phrases_by_loop(w, s)), "in alphabetical order"),
        (lambda w, s: [p.replace(" ", "") for p in phrases_by_loop(w, s)], "run together"),
        (lambda w, s: [f"{p} " for p in phrases_by_loop(w, s)], "ends in a blank"),
        (lambda w, s: [i for i in range(len(w)) if s[i]], "take words[place]"),
        (
            lambda w, s: [" ".join(p.split()[:-1]) for p in phrases_by_loop(w, s)],
            "lacks its last word",
        ),
        (
            lambda w, s: [" ".join(p.split()[1:]) for p in phrases_by_loop(w, s)],
            "lacks its first word",
        ),
        (lambda w, s: [p.title() for p in phrases_by_loop(w, s)], "at place 0: 'Good' instead of"),
    ],
    ORDER_CHANGE: [
        (change_over(lambda n: [range(n)[::-1]]), "the reversed sentence alone"),
        (
            change_over(lambda n: [[*range(k, n), *range(k)] for k in range(n)]),
            "rotations alone",
        ),
        (change_over(every, torch.max), "absolute change"),
        (change_over(every, lambda change: change.abs().mean()), "the mean hides"),
        (
            lambda predict, tokens: float(change_by_loop(predict, tokens) > 1e-6),
            "is not how much",
        ),
        (change_over(lambda n: [range(n)]), "n words have n! orders"),
        (lambda predict, tokens: 2 * change_by_loop(predict, tokens), "your change is"),
        (change_over(every, lambda change: change.abs().sum()), "you sum the changes"),
        (
            change_over(every, lambda change: (change.amax(0) - change.amin(0)).max()),
            "each is comp",
        ),
        (change_over(every, lambda change: change.norm(dim=1).max()), "which mixes the logits"),
        (change_over(every, lambda change: change.abs().sum(1).max()), "you add up the changes"),
        (
            lambda predict, tokens: change_over(every)(lambda ids: predict(ids).softmax(0), tokens),
            "changes of probabilities",
        ),
    ],
}
