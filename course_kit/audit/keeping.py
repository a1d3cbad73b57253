"""What is lost when the first words of a ranking stay, and all others are taken away.

Two questions ask for it, with deleted and with exchanged words. The first words are those that hold
half of the attention, at most a tenth. A decision may need several words, of which one alone says
nothing. Where no ranking's first words are enough, the words that hold nine tenths of the
attention, at most a fifth, are compared with the first word in the company of random ones. A place
where the network keeps its summary gains nothing by either.
"""

from collections.abc import Callable

import numpy as np

from course_kit.audit.grades import BY_QUESTION
from course_kit.audit.group import DRAWS, Found, Group
from course_kit.audit.intervals import mean_of
from course_kit.audit.names import LEFT_OUT, RANDOM, SIZE
from course_kit.audit.questions import Comparison
from course_kit.audit.ways import Way, views_of
from course_lib.faithfulness.documents import Document
from course_lib.faithfulness.erasure import orders, top_words

FEW, MORE = "half of the weight", "nine tenths of the weight"
FILLED = "the first word and random ones"
Left = Callable[[list[np.ndarray], int], list[Document]]


def measure_kept(group: Group, left: Left) -> Found:
    """Return losses by ranking, with its first words, with more of them, and with its first word
    among as many random ones.

    ``left`` makes documents of the words that stay, bool ``(words,)`` for each text, and the number
    of a draw. Leave-one-out keeps a fifth of the words, whatever the attention holds: that is what
    can be reached.
    """
    random = [group.top(each) for each in group.random]
    made = {RANDOM: [left(top, draw) for draw, top in enumerate(random)]}
    for name in (*group.views, SIZE, LEFT_OUT):
        ranking = group.rankings[name]
        first, places = group.top(ranking), orders(group.documents, ranking, group.seed)
        several = group.fifth if name == LEFT_OUT else group.several
        more = [top_words(order, count) for order, count in zip(places, several)]
        made[name] = [left(first, draw) for draw in range(DRAWS)]
        made[f"{name}, {MORE}"] = [left(more, draw) for draw in range(DRAWS)]
        made[f"{name}, {FILLED}"] = [
            left(_filled(places, group.random[draw], several), draw) for draw in range(DRAWS)
        ]
    return group.mean_losses(made)


def _filled(
    places: list[np.ndarray], random: list[np.ndarray], several: list[int]
) -> list[np.ndarray]:
    """The first word of each order, and random ones."""
    kept = []
    for order, numbers, count in zip(places, random, several):
        first_then_random = np.where(np.arange(len(order)) == order[0], -np.inf, -numbers)
        kept.append(top_words(np.argsort(first_then_random, kind="stable"), count))
    return kept


def compare_kept(found: Found) -> dict[Way, Comparison]:
    """Each view: what as many random words lose more than its first ones; where these save nothing
    in any ranking, what its first word among random ones loses more than several of its words.
    Beside it what the best ranking saves."""
    views = views_of(found)
    named = [*views, SIZE, LEFT_OUT]
    kept, saved = FEW, {name: found[RANDOM] - found[name] for name in named}
    if not any(_saves(each) for each in saved.values()):
        kept = MORE
        saved = {name: found[f"{name}, {FILLED}"] - found[f"{name}, {MORE}"] for name in named}
    best = max(saved.values(), key=lambda each: np.nan_to_num(each).mean())
    lost = {name: found[name if kept == FEW else f"{name}, {MORE}"] for name in (*views, SIZE)}
    return {
        Way(view, kept): Comparison(saved[name], lost[SIZE] - lost[name], best=best)
        for name, view in views.items()
    }


def _saves(values: np.ndarray) -> bool:
    mean = mean_of(values)
    return mean is not None and mean.low >= BY_QUESTION["words"].partly
