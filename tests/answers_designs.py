"""Answers to the exercises of detection and design, right ones written differently and wrong ones,
for ``test_checks``."""

import math

import torch
from torch.nn.functional import pad

from course_kit.exercises.checks.designs import SCATTERED_ATTENTION, SHIFTED_ATTENTION
from course_kit.exercises.checks.forensics import NETWORK_DEFECT, PADDING_ODDS
from course_lib.metrics.attention import diagonality, uniform_diagonality
from course_lib.models.layers import positions


def odds_by_parts(share, shown, words, places):
    if math.isclose(share, shown):
        return math.inf
    per_word, per_padding = shown / words, (share - shown) / (places - words)
    return per_word / per_padding


def odds_in_one_line(share, shown, words, places):
    missing = share - shown
    return shown * (places - words) / (missing * words) if missing else float("inf")


def odds_of_tensors(share, shown, words, places):
    padding = torch.tensor(share - shown) / (places - words)
    return (torch.tensor(shown / words) / padding).float()


def odds_like(formula):
    return lambda share, shown, words, places: (
        math.inf if share == shown else formula(share, shown, words, places)
    )


def same(first, second):
    return torch.allclose(first, second, atol=1e-5)


def more(tokens, mask, words=3, sentences=2):
    return pad(tokens, (0, words, 0, sentences)), pad(mask, (0, words, 0, sentences))


def exchanged(tokens):
    tokens = tokens.clone()
    tokens[0, 0, 0], tokens[0, 0, 1] = tokens[0, 0, 1].item(), tokens[0, 0, 0].item()
    return tokens


def defect_by_questions(predict, tokens, mask):
    if not same(predict(tokens, mask), predict(tokens, mask)):
        return "memory"
    whole = predict(tokens, mask)
    if not same(predict(tokens[-1:], mask[-1:]), whole[-1:]):
        return "neighbours"
    if not same(predict(*more(tokens, mask)), whole):
        return "padding"
    return "order" if same(predict(exchanged(tokens), mask), whole) else "sound"


def defect_by_table(predict, tokens, mask):
    predict(tokens, mask)
    answers = [predict(tokens, mask) for _ in range(3)]
    found = {
        "memory": not same(answers[0], predict(tokens[:1], mask[:1]).mean()) and
                  not same(predict(tokens, mask), answers[0]),
        "neighbours": not same(predict(tokens[:1], mask[:1])[0], answers[0][0]),
        "padding": not same(predict(*more(tokens, mask, 1, 1)), answers[0]),
        "order": same(predict(exchanged(tokens), mask), answers[0]),
    }  # fmt: skip
    return next((name for name, sick in found.items() if sick), "sound")


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


def defect_without(*names):
    def answer(predict, tokens, mask):
        found = defect_by_questions(predict, tokens, mask)
        return "sound" if found in names else found

    return answer


def defect_padded(words, sentences):
    def answer(predict, tokens, mask):
        found = defect_by_questions(predict, tokens, mask)
        if found != "padding":
            return found
        wide = more(tokens, mask, words, sentences)
        return "sound" if same(predict(*wide), predict(tokens, mask)) else "padding"

    return answer


def defect_order_first(predict, tokens, mask):
    if same(predict(exchanged(tokens), mask), predict(tokens, mask)):
        return "order"
    if not same(predict(*more(tokens, mask)), predict(tokens, mask)):
        return "padding"
    return defect_by_questions(predict, tokens, mask)


def defect_by_bits(predict, tokens, mask):
    """As if two sums in another order were equal to the last bit."""
    found = defect_by_questions(predict, tokens, mask)
    wide = predict(*more(tokens, mask))
    rounded = not torch.equal(wide, predict(tokens, mask))
    return "padding" if found == "order" and rounded else found


def defect_forgetting_memory(predict, tokens, mask):
    alone = predict(tokens[:1], mask[:1])
    if not same(alone, predict(tokens, mask)[:1]):
        return "neighbours"
    return defect_by_questions(predict, tokens, mask)


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


def scattered_backwards(n):
    return scattered_by_search(n).flip(0, 1)


def scattered_softly(n):
    return (scattered_by_search(n) * 12).softmax(1)


def one_column(n):
    attention = torch.zeros(n, n)
    attention[:, n // 2] = 1
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


def turned_step_by_step(d, k):
    once = turned(d, 1, gain=1.0).double()
    return 50 * torch.linalg.matrix_power(once if k > 0 else once.T, abs(k)).float()


def turned_in_halves(d, k):
    """As if all sines stood before all cosines."""
    places = torch.arange(d).view(2, -1).T.flatten()
    w = torch.zeros(d, d)
    w[places[:, None], places] = turned(d, k)
    return w


def turned_by_one_angle(d, k):
    angle = torch.tensor(float(k))
    block = torch.stack([angle.cos(), -angle.sin(), angle.sin(), angle.cos()]).view(2, 2)
    return 40 * torch.block_diag(*[block] * (d // 2))


RIGHT = {
    PADDING_ODDS: (odds_by_parts, odds_in_one_line, odds_of_tensors),
    NETWORK_DEFECT: (defect_by_questions, defect_by_table, defect_in_numpy),
    SCATTERED_ATTENTION: (scattered_by_search, scattered_backwards, scattered_softly),
    SHIFTED_ATTENTION: (turned, turned_by_least_squares, turned_step_by_step),
}
WRONG = {
    PADDING_ODDS: [
        (odds_like(lambda a, b, n, m: b / (a - b)), "all words with all padding"),
        (odds_like(lambda a, b, n, m: (a - b) / (m - n) / (b / n)), "upside down"),
        (odds_like(lambda a, b, n, m: b / n * m / (a - b)), "places − words of the places"),
        (odds_like(lambda a, b, n, m: a / n * (m - n) / (a - b)), "you give the words the whole"),
        (odds_like(lambda a, b, n, m: (m - n) / n), "you give padding what the words have"),
        (lambda a, b, n, m: 0.0 if a == b else odds_by_parts(a, b, n, m), "nothing is missing"),
        (lambda a, b, n, m: b / n / ((a - b) / (m - n)), "ZeroDivisionError"),
        (odds_like(lambda a, b, n, m: b / n - (a - b) / (m - n)), "a factor is a quotient"),
        (odds_like(lambda a, b, n, m: b / n / (a - b) / (m - n)), "a / b / c divides by both"),
        (odds_like(lambda a, b, n, m: b / n / ((1 - b) / (m - n))), "the sentence's share, not 1"),
        (
            odds_like(lambda a, b, n, m: b / n / ((1 - a) / (m - n))),
            "what the other sentences have",
        ),
    ],
    NETWORK_DEFECT: [
        (defect_padded(3, 0), "you pad sentences with words only"),
        (defect_padded(0, 2), "you pad documents with sentences only"),
        (defect_without("order"), 'nothing you return is "order"'),
        (defect_without("neighbours"), 'nothing you return is "neighbours"'),
        (defect_forgetting_memory, "Ask about memory first, with the same batch twice"),
        (defect_order_first, "so all tests that compare two calls see it"),
        (lambda predict, tokens, mask: "healthy", "is none of the names"),
        (lambda predict, tokens, mask: "sound", "you never find anything"),
        (lambda predict, tokens, mask: "padding", "what you add must not be part of a text"),
        (lambda predict, tokens, mask: "memory", "only a network with a memory"),
        (lambda predict, tokens, mask: "neighbours", "alone and as a row of its batch"),
        (lambda predict, tokens, mask: "order", "The defect is that nothing changes"),
        (defect_by_bits, "nothing but rounding differs"),
    ],
    SCATTERED_ATTENTION: [
        (lambda n: torch.full((n, n), 1 / n), "the Gini is 0.00, below 0.8"),
        (torch.eye, "uniform attention's: a band"),
        (one_column, "that is a column"),
        (lambda n: torch.eye(n).roll(n // 2, 1), "the opposite of a band"),
        (lambda n: 2 * scattered_by_search(n), "sums to 2: each row of attention"),
        (lambda n: scattered_by_search(n) * 3 - 2 / n, "a weight is negative"),
        (lambda n: scattered_by_search(n)[None], "a row for each word that attends"),
    ],
    SHIFTED_ATTENTION: [
        (lambda d, k: 40 * torch.eye(d), "attends to itself: with W = I"),
        (lambda d, k: turned(d, -k), "your matrix turns the other way"),
        (lambda d, k: turned(d, k, 1.0), "larger scores make a softmax sharper"),
        (turned_in_halves, "in dimensions 2m and 2m + 1"),
        (turned_by_one_angle, "is each pair turned by its own angle"),
        (lambda d, k: turned(d, k)[:4], "W stands between two positions"),
        (lambda d, k: turned(d, k) * 1e38, "the scores are too large for float32"),
    ],
}
