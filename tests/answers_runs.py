"""Answers to the exercises on runs of selected words, right ones written differently and wrong
ones, for ``test_checks``."""

from fractions import Fraction
from functools import cache
from itertools import combinations, groupby
from math import comb, factorial, perm

import torch
from scipy.stats import hypergeom

from course_kit.exercises.checks.runs import FEW_RUNS, PHRASE_ORDERS


def orders_by_sorting(selected):
    longest = sorted(range(len(selected)), key=lambda place: selected[place])
    chosen, others = (
        [p for p, mark in enumerate(selected) if mark is kind] for kind in (True, False)
    )
    shortest = []
    while chosen or others:
        take = chosen if chosen and (not shortest or not selected[shortest[-1]]) else others
        shortest.append((take or chosen).pop())
    return longest, shortest


def orders_by_slices(selected):
    chosen = [p for p, mark in enumerate(selected) if mark]
    others = [p for p, mark in enumerate(selected) if not mark]
    both = min(len(chosen), len(others))
    mixed = [None] * (2 * both)
    mixed[::2], mixed[1::2] = chosen[:both], others[:both]
    return others + chosen, mixed + chosen[both:] + others[both:]


def orders_from_the_end(selected):
    longest, shortest = orders_by_slices(selected)
    return longest[::-1], shortest[::-1]


def selected_first(selected):
    return sorted(range(len(selected)), key=lambda place: not selected[place])


def orders_that_space_nothing(selected):
    return selected_first(selected), selected_first(selected)


def orders_apart_only_to_the_middle(selected):
    """Every other place, as long as it lasts, for the selected words of the first half alone."""
    longest, shortest = orders_by_slices(selected)
    marks = [selected[place] for place in shortest]
    if sum(selected) > len(selected) - sum(selected) + 1:
        return longest, selected_first(selected)
    assert marks
    return longest, shortest


def count_runs(marks):
    return sum(kind for kind, _ in groupby(marks))


def chance_by_trying(n, k, runs):
    """Every choice of places, up to 200,000 of them."""
    found = [
        count_runs([place in chosen for place in range(n)]) <= runs
        for chosen in map(set, combinations(range(n), k))
    ]
    return sum(found) / len(found)


def chance_from_scipy(n, k, runs):
    """The k words draw their left neighbours: n − k + 1 gaps begin a run, k − 1 words do not."""
    return float(hypergeom.cdf(runs, n, n - k + 1, k))


def chance_by_recursion(n, k, runs):
    @cache
    def ways(left, chosen, free, inside):
        if free < 0 or chosen < 0 or chosen > left:
            return 0
        if not left:
            return 1
        without = ways(left - 1, chosen, free, False)
        return without + ways(left - 1, chosen - 1, free - (not inside), True)

    return ways(n, k, runs, False) / comb(n, k)


def terms(n, k, runs, cuts=-1, gaps=1):
    return [comb(k + cuts, r - 1) * comb(max(0, n - k + gaps), r) for r in range(1, runs + 1)]


def in_gaps(n, k, runs, ways):
    found = [comb(k - 1, r - 1) * ways(n - k + 1, r) for r in range(1, runs + 1)]
    return sum(found) / comb(n, k)


def with_repeats(gaps, r):
    return comb(gaps + r - 1, r)


def chance_as_a_fraction(n, k, runs):
    return sum((Fraction(term, comb(n, k)) for term in terms(n, k, runs)), Fraction(0))


def chance_in_doubles(n, k, runs):
    return torch.tensor(terms(n, k, runs)).double().sum() / comb(n, k)


def of_both_kinds(n, k, runs):
    """Every choice of places, with the runs of the other words counted, too."""
    found = []
    for chosen in map(set, combinations(range(n), k)):
        found.append(sum(1 for _ in groupby(place in chosen for place in range(n))) <= runs)
    return sum(found) / len(found)


RIGHT = {
    PHRASE_ORDERS: (orders_by_sorting, orders_by_slices, orders_from_the_end),
    FEW_RUNS: (
        chance_by_trying,
        chance_from_scipy,
        chance_by_recursion,
        chance_as_a_fraction,
        chance_in_doubles,
    ),
}
WRONG = {
    PHRASE_ORDERS: [
        (lambda s: orders_by_slices(s)[::-1], "the two orders are exchanged"),
        (lambda s: (orders_by_slices(s)[1],) * 2, "they can stand side by side"),
        (orders_that_space_nothing, "put a word that is not selected between"),
        (orders_apart_only_to_the_middle, "some must touch"),
        (lambda s: (selected_first(s), [p for p, mark in enumerate(s) if mark]), "each place from"),
        (lambda s: selected_first(s) if len(s) != 2 else [0], "2 results are expected"),
    ],
    FEW_RUNS: [
        (lambda n, k, runs: terms(n, k, runs)[-1] / comb(n, k), "exactly so many runs: at most"),
        (lambda n, k, runs: sum(terms(n, k, runs)[:-1]) / comb(n, k), "you leave out the case"),
        (
            lambda n, k, runs: 1 - sum(terms(n, k, runs)[:-1]) / comb(n, k),
            "at least so many runs",
        ),
        (lambda n, k, runs: sum(terms(n, k, runs, gaps=0)) / comb(n, k), "n − k + 1 gaps"),
        (lambda n, k, runs: sum(terms(n, k, runs, gaps=-1)) / comb(n, k), "the ends of the"),
        (lambda n, k, runs: sum(terms(n, k, runs, cuts=0)) / comb(n, k), "k − 1 places, not in k"),
        (lambda n, k, runs: sum(terms(n, k, runs)) / 2**n, "a coin for each word"),
        (of_both_kinds, "runs of words that are not selected, too"),
        (lambda n, k, runs: sum(terms(n, k, runs)), "is no probability"),
        (lambda n, k, runs: 1 - sum(terms(n, k, runs)) / comb(n, k), "more runs than that"),
        (lambda n, k, runs: sum(terms(n, k, runs)) // comb(n, k), "drops the rest"),
        (lambda n, k, runs: in_gaps(n, k, runs, perm), "you count the order"),
        (lambda n, k, runs: in_gaps(n, k, runs, with_repeats), "are all different"),
        (lambda n, k, runs: sum(terms(n, k, runs)) / factorial(n), "A place to start: for exactly"),
    ],
}
