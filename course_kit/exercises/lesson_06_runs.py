"""Lesson 06: how long the phrases of selected words are by chance, and at most."""

from collections.abc import Callable, Iterable
from math import comb

import torch
from torch import Tensor

from course_kit.exercises.cases import Case, CaseResult, plural
from course_kit.exercises.comparison import TOLERANCE
from course_kit.exercises.judge import Checker


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


check_phrase_orders = Checker(
    name="phrase_orders",
    about="""``f(selected)`` → two orders of the places 0 … n − 1: one in which the selected words
    form phrases as long as possible on average, one in which they are as short as possible.""",
    reference=_orders,
    cases=_order_cases,
    returns=("longest", "shortest"),
    start="sort the places by whether they are selected: that is one of the two.",
    span="one word to ten, none selected to all",
    requirement=_about_orders,
)  # fmt: skip


def _exactly(n: int, k: int, runs: int) -> Tensor:
    """P(exactly so many runs): the ways to cut k words into runs, times the ways to place these in
    the gaps between the other words, over all ways."""
    return torch.tensor(comb(k - 1, runs - 1) * comb(n - k + 1, runs) / comb(n, k))


def _at_most(n: int, k: int, runs: int) -> Tensor:
    return _sum(_exactly(n, k, count) for count in range(1, runs + 1))


def _sum(terms: Iterable[Tensor | float]) -> Tensor:
    return torch.tensor(float(sum(terms)))


def _with(cuts: int = -1, gaps: int = 1) -> Callable:
    """The sum with other numbers of cuts and gaps."""

    def at_most(n: int, k: int, runs: int) -> Tensor:
        free, counts = max(0, n - k + gaps), range(1, runs + 1)
        return _sum(comb(k + cuts, r - 1) * comb(free, r) / comb(n, k) for r in counts)

    return at_most


def _about_chance(result: CaseResult) -> str | None:
    yours = float(result.yours[0])
    if not 0 <= yours <= 1 + TOLERANCE:
        return (
            f"{yours:.3g} is no probability: divide by the number of ways to choose the places, "
            "C(n, k), and count each arrangement once."
        )
    return None


check_few_runs = Checker(
    name="few_runs",
    about="""``f(n, k, runs)`` → the probability that ``k`` ≥ 1 of ``n`` words, in random places,
    form at most so many runs.""",
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
        (lambda n, k, runs: 1 - _at_most(n, k, runs - 1),
         "that is the chance of at least so many runs; few runs are long phrases."),
        (_with(gaps=0),
         "n − k other words have n − k + 1 gaps: before the first and after the last, too."),
        (_with(gaps=-1),
         "you put runs only between two other words: the ends of the sentence are gaps, too."),
        (_with(cuts=0),
         "k words in a row can be cut in k − 1 places, not in k."),
    ),
    diagnoses=(_about_chance,),
)  # fmt: skip
