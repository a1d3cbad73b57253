"""What is lost when the first words of a ranking stay, and all others are taken away.

Two questions ask for it, with deleted and with exchanged words. The first words are those that hold
half of the attention, at most a tenth. A decision may need several words, of which one alone says
nothing; so a fifth of the words is kept, too, and compared with the first word in the company of
random ones. A place where the network keeps its summary gains nothing by either.
"""

from collections.abc import Callable

import numpy as np

from course_kit.audit.group import DRAWS, Found, Group
from course_kit.audit.names import LEFT_OUT, RANDOM, SIZE
from course_kit.audit.questions import Comparison
from course_kit.audit.ways import Way, views_of
from course_lib.faithfulness.documents import Document, words_of
from course_lib.faithfulness.erasure import counts, orders, top_words

SEVERAL = 0.2  # of the words, at least 2
FEW, MORE = "the first words", "a fifth of the words"
FILLED = "the first word and random ones"
Left = Callable[[list[np.ndarray], int], list[Document]]


def measure_kept(group: Group, left: Left) -> Found:
    """Return losses by ranking, and for a fifth of the words also those of its first word among
    random ones.

    ``left`` makes documents of the words that stay, bool ``(words,)`` for each text, and the number
    of a draw.
    """
    several = [several_words(len(words_of(each))) for each in group.documents]
    random = [group.top(each) for each in group.random]
    made = {RANDOM: [left(top, draw) for draw, top in enumerate(random)]}
    for name in (*group.views, SIZE, LEFT_OUT):
        ranking = group.rankings[name]
        top, places = group.top(ranking), orders(group.documents, ranking, group.seed)
        fifth = [top_words(order, count) for order, count in zip(places, several)]
        made[name] = [left(top, draw) for draw in range(DRAWS)]
        made[f"{name}, {MORE}"] = [left(fifth, draw) for draw in range(DRAWS)]
        made[f"{name}, {FILLED}"] = [
            left(_filled(places, group.random[draw], several), draw) for draw in range(DRAWS)
        ]
    return group.mean_losses(made)


def several_words(words: int) -> int:
    """Return how many of a text's words are several: a fifth, at least 2."""
    return min(words, max(2, int(counts(words, [SEVERAL])[0])))


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
    """Each view in two ways: what as many random words lose more than the first ones, and what the
    first word among random ones loses more than a fifth of the words; beside them what the best
    ranking gains in both ways together."""
    views = views_of(found)
    few, more = (
        {name: gain(found, name, way_) for name in [*views, SIZE, LEFT_OUT]} for way_ in (FEW, MORE)
    )
    best = np.max([*few.values(), *more.values()], axis=0)
    compared = {}
    for name, view in views.items():
        gap = found[SIZE] - found[name]
        gap_of_more = found[f"{SIZE}, {MORE}"] - found[f"{name}, {MORE}"]
        compared[Way(view, FEW)] = Comparison(few[name], gap, best=best)
        compared[Way(view, MORE)] = Comparison(more[name], gap_of_more, best=best)
    return compared


def gain(found: Found, name: str, operator: str) -> np.ndarray:
    """Return how much less is lost with a ranking's words than with its control's."""
    if operator == FEW:
        return found[RANDOM] - found[name]
    return found[f"{name}, {FILLED}"] - found[f"{name}, {MORE}"]
