"""Checkers of lesson 06 on runs of selected words: orders that make them, how likely few are."""

from collections.abc import Callable, Iterable
from math import comb, perm

import torch
from torch import Tensor

from course_kit.exercises.checks.core import Case, Checker, Trial, check, plural


def check_phrase_orders(function: Callable[[list[bool]], tuple[list[int], list[int]]]) -> None:
    """``f(selected)`` → two orders of the places 0 … n − 1: one in which the selected words form
    phrases as long as possible on average, one in which they are as short as possible."""
    check(PHRASE_ORDERS, function)


def check_few_runs(function: Callable[[int, int, int], float]) -> None:
    """``f(n, k, runs)`` → the probability that ``k`` ≥ 1 of ``n`` words, in random places, form at
    most so many runs."""
    check(FEW_RUNS, function)


def _runs(marks: list[bool]) -> int:
    """How many runs of True there are."""
    return sum(now and not before for before, now in zip([False, *marks], marks))


def _orders(selected: list[bool]) -> tuple[list[int], list[int]]:
    """All selected words first; and one word of the others after each selected one."""
    chosen = [place for place, mark in enumerate(selected) if mark]
    others = [place for place, mark in enumerate(selected) if not mark]
    mixed = []
    for number, place in enumerate(chosen):
        mixed += [place, *others[number : number + 1]]
    return chosen + others, mixed + others[len(chosen) :]


def _about_orders(selected: list[bool], longest: list[int], shortest: list[int]) -> str:
    """What is wrong with two orders, or nothing."""
    n, k = len(selected), sum(selected)
    for name, order in (("longest", longest), ("shortest", shortest)):
        if sorted(order) != list(range(n)):
            return f"{name} is {order}: an order holds each place from 0 to {n - 1} once."
    if not k:
        return ""
    long, short = (_runs([selected[at] for at in order]) for order in (longest, shortest))
    most = min(k, n - k + 1)
    if long == most > short == 1:
        return "the two orders are exchanged: the one with the longest phrases comes first."
    if long > 1:
        return (
            f"in your first order the {plural(k, 'selected word')} form {plural(long, 'phrase')}: "
            "they can stand side by side and form one."
        )
    if short < most:
        crowded = " Where more than half are selected, some must touch." if k > n - k + 1 else ""
        return (
            f"your second order has {plural(short, 'phrase')}, and {most} are possible: put a word "
            f"that is not selected between two that are.{crowded}"
        )
    return ""


def _order_cases() -> list[Case]:
    marks = ("1", "0", "10", "110", "0110", "00000", "111", "01011", "1101110", "0100010010")
    return [
        Case(f"the marks {text}, 1 for a selected word", ([mark == "1" for mark in text],))
        for text in marks
    ]


PHRASE_ORDERS = Checker(
    name="phrase_orders",
    reference=_orders,
    cases=_order_cases,
    returns=("longest", "shortest"),
    start="sort the places by whether they are selected: that is one of the two.",
    span="one word to ten, none selected to all",
    requirement=_about_orders,
)


def _exactly(n: int, k: int, runs: int) -> Tensor:
    """P(exactly so many runs): the ways to cut k words into runs, times the ways to place these in
    the gaps between the other words, over all ways."""
    return torch.tensor(comb(k - 1, runs - 1) * comb(n - k + 1, runs) / comb(n, k))


def _at_most(n: int, k: int, runs: int) -> Tensor:
    return _sum(_exactly(n, k, count) for count in range(1, runs + 1))


def _sum(terms: Iterable[Tensor | float]) -> Tensor:
    return torch.tensor(float(sum(terms)))


def _with(cuts: int = -1, gaps: int = 1, ways: Callable[[int, int], int] = comb) -> Callable:
    """The sum with other numbers of cuts and gaps, or other numbers of ways in all."""

    def at_most(n: int, k: int, runs: int) -> Tensor:
        free, counts = max(0, n - k + gaps), range(1, runs + 1)
        return _sum(comb(k + cuts, r - 1) * comb(free, r) / ways(n, k) for r in counts)

    return at_most


def _placed(ways: Callable[[int, int], int]) -> Callable:
    """The sum with another number of ways to put r runs into the gaps."""

    def at_most(n: int, k: int, runs: int) -> Tensor:
        counts = range(1, runs + 1)
        return _sum(comb(k - 1, r - 1) * ways(n - k + 1, r) / comb(n, k) for r in counts)

    return at_most


def _both_kinds(n: int, k: int, runs: int) -> Tensor:
    """Runs of words that are not selected count, too; theirs are as many, or one more or less."""
    if k == n:
        return torch.tensor(1.0)
    ways = [
        (1 + (chosen == others)) * comb(k - 1, chosen - 1) * comb(n - k - 1, others - 1)
        for chosen in range(1, runs + 1)
        for others in range(max(1, chosen - 1), min(chosen + 1, runs - chosen) + 1)
    ]
    return torch.tensor(sum(ways) / comb(n, k))


def _about_chance(trial: Trial) -> str | None:
    yours = float(trial.yours[0])
    if not 0 <= yours <= 1 + 1e-9:
        return (
            f"{yours:.3g} is no probability: divide by the number of ways to choose the places, "
            "C(n, k), and count each arrangement once."
        )
    return None


FEW_RUNS = Checker(
    name="few_runs",
    reference=_at_most,
    cases=lambda: [
        Case(f"{k} of {plural(n, 'word')} in at most {plural(runs, 'run')}", (n, k, runs))
        for n, k, runs in ((1, 1, 1), (2, 1, 1), (3, 2, 1), (3, 2, 2), (4, 3, 1), (5, 3, 2),
                           (6, 2, 1), (8, 4, 2), (10, 5, 3), (12, 3, 2), (20, 10, 4), (30, 4, 3))
    ],
    returns=("probability",),
    start="for exactly r runs: in how many ways are k words cut into r parts, and in how many are "
    "r parts put into the gaps between the other n − k words?",
    span="from one word to 30",
    mistakes=(
        (_exactly,
         "that is the chance of exactly so many runs: at most adds those with fewer."),
        (lambda n, k, runs: _at_most(n, k, runs - 1),
         "you leave out the case of exactly so many runs: at most includes it."),
        (lambda n, k, runs: 1 - _at_most(n, k, runs - 1),
         "that is the chance of at least so many runs; few runs are long phrases."),
        (_with(gaps=0),
         "n − k other words have n − k + 1 gaps: before the first and after the last, too."),
        (_with(gaps=-1),
         "you put runs only between two other words: the ends of the sentence are gaps, too."),
        (_with(cuts=0),
         "k words in a row can be cut in k − 1 places, not in k."),
        (_with(ways=lambda n, k: 2**n),
         "you toss a coin for each word: here exactly k are selected, in one of C(n, k) ways."),
        (lambda n, k, runs: 1 - _at_most(n, k, runs),
         "that is the chance of more runs than that; few runs are long phrases."),
        (lambda n, k, runs: _at_most(n, k, runs).floor(),
         "// divides whole numbers and drops the rest: a probability takes /."),
        (_placed(perm),
         "you count the order in which the runs are put into their gaps: the parts of a cut row "
         "keep their order."),
        (_placed(lambda gaps, r: comb(gaps + r - 1, r)),
         "two runs in one gap would be one run: the r gaps are all different."),
        (_both_kinds,
         "you count the runs of words that are not selected, too."),
    ),
    diagnoses=(_about_chance,),
)  # fmt: skip
