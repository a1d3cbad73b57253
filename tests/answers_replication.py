"""Answers to the exercises on replications, right ones written differently and wrong ones, for
``test_checks``."""

import math
from itertools import accumulate, chain, combinations

import numpy as np
import torch
from scipy.stats import binomtest

from course_kit.exercises.checks.chance import CONSTANT_ANSWER, POWER, PRIOR_CORRECTION
from course_kit.exercises.checks.paired import TEXT_BY_TEXT
from course_kit.exercises.checks.replication import DEFECT, ONE_CHANGE, UNKNOWN_SHARE


def defect_by_falls(training, validation):
    if (training[0] - training[-1]) / training[0] < 0.05:
        return "stuck"
    return "over-fitted" if validation[-1] / min(validation) > 1.1 else "under-trained"


def defect_in_numpy(training, validation):
    learned = training[-1] <= 0.95 * training[0]
    turned = np.array(validation)[-1] > 1.1 * np.min(validation)
    return ("over-fitted" if turned else "under-trained") if learned else "stuck"


def defect_by_table(training, validation):
    flags = training[-1] > training[0] * 0.95, any(validation[-1] > 1.1 * v for v in validation)
    return {(False, False): "under-trained", (False, True): "over-fitted"}.get(flags, "stuck")


def defect_like(stuck=lambda t, v: t[-1] > 0.95 * t[0], over=lambda t, v: v[-1] > 1.1 * min(v),
                names=("stuck", "over-fitted", "under-trained")):  # fmt: skip
    def name(training, validation):
        if stuck(training, validation):
            return names[0]
        return names[1] if over(training, validation) else names[2]

    return name


def defect_drifting(training, validation):
    turned = validation[-1] > 1.1 * min(validation)
    return "over-fitted" if turned else defect_by_falls(training, validation)


def constant_by_mode(train, test):
    accuracy = (test == train.mode().values).double().mean().item()
    return accuracy, (accuracy * (1 - accuracy) / len(test)) ** 0.5


def constant_by_counting(train, test):
    labels = train.tolist()
    commonest = max(sorted(set(labels)), key=labels.count)
    right = sum(label == commonest for label in test.tolist())
    n = len(test)
    return [right / n, (right * (n - right)) ** 0.5 / n**1.5]


def constant_by_std(train, test):
    """The deviation of zeros and ones is √(p (1 − p))."""
    right = (test == torch.bincount(train).argmax()).float()
    return right.mean(), right.std(correction=0) / len(right) ** 0.5


def constant_with_error(error):
    def answer(train, test):
        accuracy, _ = constant_by_mode(train, test)
        return accuracy, error(accuracy, len(train), len(test))

    return answer


def error_of(share, texts):
    return share, (share * (1 - share) / texts) ** 0.5


def unknown_by_counting(known, sentences):
    words = unknown = 0
    for sentence in sentences:
        for word in sentence:
            words += 1
            unknown += word not in known
    return unknown / words


def joined(sentences):
    return list(chain.from_iterable(sentences))


def unknown_by_sets(known, sentences):
    words = joined(sentences)
    new = set(words) - known
    return sum(map(words.count, new)) / len(words)


def unknown_in_numpy(known, sentences):
    return float(np.mean(~np.isin(np.concatenate(sentences), list(known))))


def per_sentence(fold):
    def answer(known, sentences):
        found = [[word not in known for word in sentence] for sentence in sentences if sentence]
        return float(np.mean([fold(flags) for flags in found]))

    return answer


def corrected_by_odds(logits, old, new):
    p = logits.softmax(-1) * new / old
    return p / p.sum(-1, keepdim=True)


def corrected_by_text(logits, old, new):
    return torch.stack([torch.softmax(row + torch.log(new) - torch.log(old), 0) for row in logits])


def corrected_by_exp(logits, old, new):
    odds = (logits - logits.max(1, keepdim=True).values).exp() * (new / old)
    return torch.einsum("bc,b->bc", odds, 1 / odds.sum(1))


def corrected_with(term):
    return lambda logits, old, new: (logits + term(old, new)).softmax(1)


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


def one_change_by_items(runs):
    """Names among the items that two runs do not share."""
    return [
        (i, j)
        for i, j in combinations(range(len(runs)), 2)
        if len({name for name, _ in runs[i].items() ^ runs[j].items()}) == 1
    ]


def one_change_by(count):
    """``count(first, second)`` says whether two runs make a pair."""
    return lambda runs: [
        (i, j) for i, j in combinations(range(len(runs)), 2) if count(runs[i], runs[j])
    ]


def one_change_with(default):
    return one_change_by(
        lambda a, b: sum(a.get(k, default) != b.get(k, default) for k in a.keys() | b.keys()) == 1
    )


def one_change_like(accept=lambda names: len(names) == 1, keep=lambda i, j: True):
    return lambda runs: [
        (i, j)
        for i, j in combinations(range(len(runs)), 2)
        if accept(unlike(runs[i], runs[j])) and keep(i, j)
    ]


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


def power_by_squares(first, second, critical):
    gap = (first - second).mean(1)
    spread = torch.stack([first, second]).var(2).sum(0) / first.shape[1]
    return (gap.square() > critical**2 * spread).float().mean()


def power_like(deviation=None, error=lambda sd, n: sd * (2 / n) ** 0.5, count=torch.abs):
    def pooled(a, b):
        return ((a.var(1) + b.var(1)) / 2).sqrt()

    def answer(first, second, critical):
        sd = (deviation or pooled)(first, second)
        t = (first.mean(1) - second.mean(1)) / error(sd, first.shape[1])
        return (count(t) > critical).float().mean()

    return answer


def p_by_scipy(first, second):
    throws = int((first != second).sum())
    return binomtest(int((first & ~second).sum()), throws).pvalue if throws else 1.0


def p_by_counting(first, second):
    """Over every outcome's chance, one coin after the other."""
    gaps = first.int() - second.int()
    chances = [1.0]
    for _ in range(int(gaps.abs().sum())):
        chances = [(a + b) / 2 for a, b in zip([0.0, *chances], [*chances, 0.0])]
    seen = abs(int(gaps.sum()))
    last = len(chances) - 1
    return sum(p for heads, p in enumerate(chances) if abs(2 * heads - last) >= seen)


def p_by_running_sums(first, second):
    one, other = sorted([int((first > second).sum()), int((second > first).sum())])
    n = one + other
    tails = list(accumulate(math.comb(n, heads) * 0.5**n for heads in range(n + 1)))
    return min(torch.tensor(1.0), 2 * torch.tensor(tails[one]))


def p_like(told):
    def answer(first, second):
        one, other = int((first & ~second).sum()), int((~first & second).sum())
        return float(told(one, other))

    return answer


def tail(fewer, throws):
    return sum(math.comb(throws, heads) for heads in range(fewer + 1)) * 0.5**throws


def p_of_all(first, second):
    least = min(int(first.sum()), int(second.sum()))
    return min(1.0, 2 * tail(least, len(first)))


def p_of_agreement(first, second):
    same = int((first == second).sum())
    return min(1.0, 2 * tail(min(same, len(first) - same), len(first)))


def p_normal(one, other):
    return math.erfc(abs(one - other) / (2 * (one + other)) ** 0.5) if one + other else 1.0


def p_corrected(first, second):
    one, other = int((first & ~second).sum()), int((~first & second).sum())
    gap = max(0, abs(one - other) - 1)
    return math.erfc(gap / (2 * (one + other)) ** 0.5) if one + other else 1.0


def p_of_the_right(first, second):
    one, other = int(first.sum()), int(second.sum())
    ways = sum(math.comb(one + other, heads) for heads in range(min(one, other) + 1))
    return min(1.0, 2 * ways / 2 ** (one + other))


def p_with_all_coins(first, second):
    one, other = int((first & ~second).sum()), int((~first & second).sum())
    ways = sum(math.comb(one + other, heads) for heads in range(min(one, other) + 1))
    return min(1.0, 2 * ways * 0.5 ** len(first))


def p_in_doubles(first, second):
    return torch.tensor(p_by_scipy(first, second), dtype=torch.float64)


RIGHT = {
    TEXT_BY_TEXT: [p_in_doubles, p_by_scipy, p_by_counting, p_by_running_sums],
    DEFECT: [defect_by_falls, defect_in_numpy, defect_by_table],
    CONSTANT_ANSWER: [constant_by_mode, constant_by_counting, constant_by_std],
    UNKNOWN_SHARE: [unknown_by_counting, unknown_by_sets, unknown_in_numpy],
    PRIOR_CORRECTION: [corrected_by_odds, corrected_by_text, corrected_by_exp],
    ONE_CHANGE: [one_change_by_loop, one_change_by_combinations, one_change_by_items],
    POWER: [power_by_loop, power_in_numpy, power_by_squares],
}
WRONG = {
    TEXT_BY_TEXT: [
        (p_like(lambda a, b: tail(min(a, b), a + b)), "that is one tail"),
        (p_like(lambda a, b: 2 * tail(min(a, b), a + b)), "your two tails overlap"),
        (p_like(lambda a, b: min(1, 2 * tail(min(a, b) - 1, a + b))), "up to and including"),
        (p_like(lambda a, b: min(1, 2 * tail(max(a, b), a + b))), "up to the larger number"),
        (
            p_like(lambda a, b: min(1, 2 * math.comb(a + b, a) / 2 ** (a + b))),
            "exactly this split",
        ),
        (p_like(p_normal), "the normal approximation"),
        (p_of_all, "a coin for every text"),
        (p_of_agreement, "where the models agree"),
        (lambda first, second: 1 - p_by_scipy(first, second), "that is 1 − p"),
        (p_corrected, "with its correction"),
        (p_of_the_right, "leave out those that both get right"),
        (p_with_all_coins, "not of all texts"),
        (p_like(lambda a, b: min(1, 2 * tail(a, a + b))), "up to the first model's number"),
        (lambda f, s: p_by_scipy(f, s) if (f != s).any() else 0.0, "p is 1: nothing"),
        (
            p_like(lambda a, b: 2 * tail(min(a, b), a + b) - math.comb(a + b, a) / 2 ** (a + b)),
            "unless the split is even",
        ),
        (p_like(lambda a, b: a - b + 7), "between 0 and 1"),
        (
            lambda first, second: torch.full((len(first) + 1,), 0.5),
            "one number for all texts together",
        ),
        (lambda first, second: 0.123, "A place to start: (first & ~second)"),
    ],
    DEFECT: [
        (defect_drifting, "drift and no over-fitting"),
        (defect_like(over=lambda t, v: v[-1] > 1.1 * v[0]), "Compare with its smallest value"),
        (defect_like(over=lambda t, v: v[-1] > 1.1 * t[-1]), "a gap between training and valid"),
        (defect_like(over=lambda t, v: v[-1] > min(v)), "wavers from epoch to epoch"),
        (defect_like(over=lambda t, v: v[-1] > min(v) + 0.1), "10 % is a share"),
        (defect_like(stuck=lambda t, v: t[-1] > t[0] - 0.05), "5 % is a share"),
        (
            defect_like(lambda t, v: t[0] < t[-1] + 0.05, lambda t, v: v[-1] - 0.1 > min(v)),
            "multiply by 0.95 and by 1.1",
        ),
        (defect_like(stuck=lambda t, v: min(t) > 0.95 * t[0]), "at the smallest training loss"),
        (defect_like(stuck=lambda t, v: t[-1] > 0.95 * max(t)), "with the largest training loss"),
        (defect_like(over=lambda t, v: min(v) < 0.9 * v[-1]), "not of the last one"),
        (lambda t, v: "stuck" if t[-1] > 0.95 * t[-2] else defect_drifting(t, v), "at the last st"),
        (defect_like(stuck=lambda t, v: v[-1] > 0.95 * v[0]), "stuck is about the training loss"),
        (defect_like(names=("stuck", "under-trained", "over-fitted")), "are exchanged"),
        (defect_like(over=lambda t, v: v[-1] > 1.1 * max(v)), "no loss lies above the largest"),
        (defect_like(over=lambda t, v: v[-1] > 1.1 * v[-2]), "with the epoch before"),
        (lambda t, v: defect_by_falls(v, t), "the two lists are exchanged"),
        (defect_like(stuck=lambda t, v: t[0] > 0.95 * t[-1]), "stuck is the wrong way round"),
        (lambda t, v: "overfitted", "'overfitted' is none of the three names"),
        (lambda t, v: "over-fitted", "your defect is 'over-fitted', expected 'under-"),
    ],
    CONSTANT_ANSWER: [
        (lambda train, test: constant_by_mode(test, test), "seen the training labels alone"),
        (lambda train, test: error_of(1 / len(set(train.tolist())), len(test)), "guessing evenly"),
        (
            lambda train, test: error_of(constant_by_mode(train, train)[0], len(test)),
            "count it among the test labels",
        ),
        (constant_with_error(lambda p, train, test: p * (1 - p) / test), "take the square root"),
        (constant_with_error(lambda p, train, test: (p * (1 - p)) ** 0.5), "of one answer"),
        (
            constant_with_error(lambda p, train, test: (p * (1 - p) / train) ** 0.5),
            "number of training texts",
        ),
        (constant_with_error(lambda p, train, test: (p / test) ** 0.5), "1 − p is missing"),
        (
            constant_with_error(
                lambda p, train, test: (p * (1 - p) / (test - 1)) ** 0.5 if test > 1 else np.nan
            ),
            "you divide by n − 1",
        ),
        (lambda *labels: constant_by_mode(*labels)[::-1], "accuracy and error are exchanged"),
        (lambda *labels: [100 * part for part in constant_by_mode(*labels)], "these are percent"),
        (
            constant_with_error(lambda p, train, test: (p * (1 - p)) ** 0.5 / test),
            "only n stands outside the root",
        ),
        (constant_with_error(lambda p, _, test: 2 * error_of(p, test)[1]), "two standard errors"),
        (lambda train, test: constant_by_mode(train, train), "among the training labels"),
        (
            lambda train, test: error_of(
                float((test == train.bincount().max()).float().mean()), len(test)
            ),
            "argmax() is which one it is",
        ),
        (lambda *labels: constant_by_mode(*labels)[0], "2 results are expected"),
        (lambda *labels: error_of(0.5, 7), "A place to start: train.bincount"),
    ],
    UNKNOWN_SHARE: [
        (lambda known, texts: 1 - unknown_by_sets(known, texts), "the share of known words"),
        (
            lambda known, texts: unknown_by_sets(known, [list(set(joined(texts)))]),
            "you count each word once",
        ),
        (per_sentence(np.mean), "the mean over the sentences"),
        (per_sentence(any), "the share of sentences with an unknown word"),
        (
            lambda known, texts: unknown_by_sets(known, texts) * len(joined(texts)) / len(texts),
            "unknown words per sentence",
        ),
        (
            lambda known, texts: float(sum(word not in known for word in joined(texts))),
            "that is how many",
        ),
        (
            lambda known, texts: unknown_by_sets(
                {word.lower() for word in known}, [[w.lower() for w in text] for text in texts]
            ),
            "into lower case",
        ),
        (lambda known, texts: [0.5], "share is a list, expected a number"),
        (lambda known, texts: unknown_by_sets(known, texts[:1]), "inside the loop"),
        (lambda known, texts: 100 * unknown_by_sets(known, texts), "that is percent"),
        (
            lambda known, texts: len(set(joined(texts)) - known) / len(joined(texts)),
            "every occurrence in both",
        ),
    ],
    PRIOR_CORRECTION: [
        (lambda logits, old, new: corrected_by_odds(logits, new, old), "old and new are exchanged"),
        (corrected_with(lambda old, new: new.log()), "by the new shares alone"),
        (corrected_with(lambda old, new: -old.log()), "by the old shares alone"),
        (lambda logits, old, new: logits.softmax(1) * new / old, "do not sum to 1"),
        (corrected_with(lambda old, new: new / old), "you add new / old"),
        (corrected_with(lambda old, new: new - old), "you add new − old"),
        (
            lambda logits, old, new: (logits.softmax(1) * new / old).softmax(1),
            "you take a second softmax",
        ),
        (lambda logits, old, new: logits + new.log() - old.log(), "these are logits still"),
        (corrected_with(lambda old, new: 0 * old), "nothing is corrected"),
        (
            lambda logits, old, new: (logits + new.log() - old.log()).softmax(0),
            "runs over the texts",
        ),
        (lambda logits, old, new: corrected_by_odds(logits, old, new)[:1, :1], "one row a text"),
        (lambda *given: corrected_by_odds(*given).log(), "these are logs of probabilities"),
        (lambda logits, old, new: (logits * new / old).softmax(1), "you multiply the logits"),
        (
            lambda logits, old, new: (logits.softmax(1) + new.log() - old.log()).softmax(1),
            "you add the log to probabilities",
        ),
        (
            lambda logits, old, new: (logits + new.log() - old.log()).sigmoid(),
            "you take a sigmoid",
        ),
        (corrected_with(lambda old, new: new.log10() - old.log10()), "to base 10"),
    ],
    ONE_CHANGE: [
        (one_change_like(lambda names: len(names) <= 1), "differ in nothing"),
        (one_change_like(lambda names: len(names) in (1, 2)), "differ in two settings"),
        (one_change_like(keep=lambda i, j: j - i == 1), "you compare neighbours alone"),
        (one_change_like(keep=lambda i, j: i == 0), "with the first run alone"),
        (
            lambda runs: sorted(p for i, j in one_change_by_loop(runs) for p in ((i, j), (j, i))),
            "each pair stands twice",
        ),
        (lambda runs: [(j, i) for i, j in one_change_by_loop(runs)], "the smaller place comes fir"),
        (
            lambda runs: [
                (i, j)
                for i, j in combinations(range(len(runs)), 2)
                if sum(runs[i][k] != runs[j][k] for k in runs[i] if k in runs[j]) == 1
            ],
            "one run has and the other lacks",
        ),
        (one_change_with(None), "get(name, None) cannot tell a missing setting"),
        (one_change_with(0), "get(name, 0) cannot tell a missing setting"),
        (
            one_change_by(lambda a, b: sum(a.get(k) != b[k] for k in b) == 1),
            "over the names of the second run alone",
        ),
        (one_change_by(lambda a, b: len(a.items() ^ b.items()) == 1), "so it counts twice"),
        (
            one_change_by(lambda a, b: len(a.items() ^ b.items()) == 2),
            "two settings that a run lacks",
        ),
        (
            one_change_like(lambda names: len(set(names) - {"seed"}) == 1),
            "the seed counts like any other",
        ),
        (lambda runs: [(i + 1, j + 1) for i, j in one_change_by_loop(runs)], "places begin at 0"),
        (one_change_like(bool), "you take all runs that differ"),
        (
            one_change_by(lambda a, b: sum(a[k] != b.get(k, "–") for k in a) == 1),
            "over the names of the first run alone",
        ),
        (lambda runs: sorted(one_change_by_loop(runs), key=lambda p: p[::-1]), "in another order"),
        (lambda runs: [list(pair) for pair in one_change_by_loop(runs)], "a pair is a tuple"),
        (lambda runs: [(0, 9)], "the first difference is at place 0"),
    ],
    POWER: [
        (power_like(count=lambda t: t), "you look on one side alone"),
        (lambda *given: 1 - power_by_loop(*given), "how often the difference is missed"),
        (
            lambda first, second, critical: (
                ((first.mean(1) - second.mean(1)).abs() > critical).float().mean()
            ),
            "you compare the difference itself",
        ),
        (
            power_like(lambda a, b: ((a.var(1, correction=0) + b.var(1, correction=0)) / 2).sqrt()),
            "your deviations divide by n",
        ),
        (power_like(error=lambda sd, n: sd), "by the deviation of one run"),
        (power_like(error=lambda sd, n: sd * n**-0.5), "the error of one mean"),
        (power_like(error=lambda sd, n: sd * 2**0.5), "√2 is not divided by √n"),
        (power_like(lambda a, b: (a.var(1) + b.var(1)).sqrt()), "divide their sum by 2"),
        (power_like(lambda a, b: (a.var(1) + b.var(1)) / 2), "you divide by a variance"),
        (power_like(lambda a, b: a.std(1)), "the deviation of the first model alone"),
        (power_like(lambda a, b: torch.hstack([a, b]).std(1)), "of all scores together"),
        (power_like(lambda a, b: (a.std(1) + b.std(1)) / 2), "you average the two deviations"),
        (
            lambda a, b, critical: power_by_loop(a.reshape(1, -1), b.reshape(1, -1), critical),
            "you throw all experiments together",
        ),
        (power_like(error=lambda sd, n: sd * 2 / n), "the root belongs to 2 / n"),
        (power_like(error=lambda sd, n: sd * (2 * n) ** 0.5), "you multiply by n"),
        (
            power_like(lambda a, b: (a.var(1) + b.var(1)).sqrt() / (2 * len(a) / len(a[0])) ** 0.5),
            "by the number of experiments",
        ),
        (power_like(lambda a, b: ((a - b).var(1) / 2).sqrt()), "that is a test of pairs"),
        (power_like(lambda a, b: ((a.var() + b.var()) / 2).sqrt()), "over all experiments: each"),
        (lambda *given: 100 * power_by_loop(*given), "that is percent"),
        (lambda *given: power_by_loop(*given) * len(given[0]), "how many experiments"),
        (lambda a, b, critical: torch.ones(len(a)), "one number for all experiments together"),
        (lambda a, b, critical: 0.123, "A place to start: sd"),
    ],
}
