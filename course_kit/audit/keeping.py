"""What the first words of a ranking do: alone, among other words, or in the place of others.

The first words are those that hold half of the attention, at most a tenth. A decision may need
several words, of which one alone says nothing; so the words that hold nine tenths of the attention,
at most a fifth, are tried, too, beside the same with a random word instead of the first. Either way
it is the first word that must count: what comes behind it cannot rescue a place where the network
keeps its summary.
"""

from collections.abc import Callable

import numpy as np

from course_kit.audit.group import DRAWS, Found, Group, Places, Sets
from course_kit.audit.names import LEFT_OUT, RANDOM, SIZE
from course_kit.audit.questions import Comparison
from course_kit.audit.ways import Way, views_of
from course_lib.faithfulness.documents import Document
from course_lib.faithfulness.erasure import orders

MORE, INSTEAD = "nine tenths of the weight", "a random word for the first"
ELSEWHERE = "the random word elsewhere"
REACHED = f"{LEFT_OUT}, a fifth of the words"


def measure_sets(group: Group, made: Callable[[Sets, int], list[Document]]) -> Found:
    """Return the mean losses by each set of words in the documents that are ``made`` with it, and
    the number of a draw."""
    drawn = [sets_of(group, draw) for draw in range(DRAWS)]
    return group.mean_losses(
        {name: [made(sets[name], draw) for draw, sets in enumerate(drawn)] for name in drawn[0]}
    )


def sets_of(group: Group, draw: int) -> dict[str, Sets]:
    """Return by name, for each ranking, its first words, several of them, these with a random word
    for the first, at its place in another text or elsewhere, and random ones at the places of the
    first; and a fifth of the words by leave-one-out, which tells what can be reached."""

    def ordered(ranking: list[np.ndarray]) -> Places:
        return orders(group.documents, ranking, group.seed)

    random, found = ordered(group.random[draw]), {}
    for name in (*group.views, SIZE):
        places = ordered(group.rankings[name])
        several = [order[:more] for order, more in zip(places, group.several)]
        first = [order[:few] for order, few in zip(places, group.most)]
        found[name] = Sets(first, first)
        found[f"{name}, {MORE}"] = Sets(several, several)
        instead = [*map(_instead, several, random)]
        found[f"{name}, {INSTEAD}"] = Sets(instead, several)
        found[f"{name}, {ELSEWHERE}"] = Sets(instead, instead)
        drawn = [order[:few] for order, few in zip(random, group.most)]
        found[f"{name}, {RANDOM}"] = Sets(drawn, first)
    fifth = [o[:count] for o, count in zip(ordered(group.rankings[LEFT_OUT]), group.fifth)]
    return found | {REACHED: Sets(fifth, fifth)}


def _instead(places: np.ndarray, random: np.ndarray) -> np.ndarray:
    """The places with the first random one that is not among them in the place of the first."""
    others = random[~np.isin(random, places)]
    return np.append(others[:1], places[1:]) if len(others) else places


def compare_sets(found: Found, sign: int, suffix: str = "") -> dict[Way, Comparison]:
    """Each view: how much more its first words do than random ones, or its first word among several
    than a random one, whichever is more; beside it the most that any set does.

    Parameters
    ----------
    sign: -1 where losses were measured
    suffix: of the names in ``found``
    """
    views = views_of(found)
    done = {name: sign * found[name + suffix] for name in sets_names(views)}
    few = {name: done[name] - done[f"{name}, {RANDOM}"] for name in (*views, SIZE)}
    more = {
        name: done[f"{name}, {MORE}"]
        - max((done[f"{name}, {each}"] for each in (INSTEAD, ELSEWHERE)), key=_mean)
        for name in (*views, SIZE)
    }
    best = max(
        [*few.values(), *more.values(), done[REACHED] - done[f"{SIZE}, {RANDOM}"]], key=_mean
    )
    compared = {}
    for name, view in views.items():
        gained = max(few, more, key=lambda each: _mean(each[name]))
        compared[Way(view)] = Comparison(gained[name], gained[name] - gained[SIZE], best=best)
    return compared


def sets_names(views: "list[str] | dict[str, str]") -> list[str]:
    """Return the names of the sets of words of these views."""
    kinds = ("", *(f", {each}" for each in (MORE, INSTEAD, ELSEWHERE, RANDOM)))
    return [*(name + kind for name in (*views, SIZE) for kind in kinds), REACHED]


def _mean(values: np.ndarray) -> float:
    return float(np.nan_to_num(values).mean())
