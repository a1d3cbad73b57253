"""What the first words of a ranking do: alone, among other words, or in the place of others.

The first words are those that hold half of the attention, at most a tenth. A decision may need
several words, of which one alone says nothing; so the words that hold nine tenths of the attention,
at most a fifth, are tried, too, beside the same with a random word instead of the first. Either way
it is the first word that must count: what comes behind it cannot rescue a place where the network
keeps its summary. All numbers of a view are its own, whatever the other views are.
"""

from collections.abc import Callable, Collection

import numpy as np

from course_kit.audit.group import (
    FIFTH,
    NOISE,
    Found,
    Group,
    Places,
    Sets,
    first_of,
    several_of,
    share_of,
)
from course_kit.audit.names import ATTENTION, LEFT_OUT, RANDOM, SIZE
from course_kit.audit.questions import Comparison
from course_kit.audit.ways import Way, views_of
from course_lib.faithfulness.documents import Document
from course_lib.faithfulness.erasure import orders
from course_lib.faithfulness.rankers import random_importance

FIRST, MORE = "", "nine tenths of the weight"
INSTEAD, ELSEWHERE = "a random word for the first", "the random word elsewhere"
KINDS = (FIRST, MORE, INSTEAD, ELSEWHERE)  # of sets of words by a ranking
SETS_DRAWN = 3  # for each text, with as many hosts
REACHED = f"{LEFT_OUT}, a fifth of the words"


def measure_sets(
    group: Group,
    made: Callable[[Sets, int], list[Document]],
    draws: int = SETS_DRAWN,
    rivals: bool = True,
) -> Found:
    """Return the mean losses by each set of words in the documents that are ``made`` with it, and
    the number of a draw; without ``rivals`` not by those of leave-one-out that are as many."""
    drawn = [sets_of(group, draw, rivals) for draw in range(draws)]
    return group.mean_losses(
        {name: [made(sets[name], draw) for draw, sets in enumerate(drawn)] for name in drawn[0]}
    )


def sets_of(group: Group, draw: int, rivals: bool) -> dict[str, Sets]:
    """Return by name, for each view and with ``rivals`` its rival, a set of words of each kind, and
    as many random ones; and a fifth of the words by leave-one-out, which tells what can be reached.

    The kinds are the first words; several of them; and these with a random word for the first, at
    its place in another text or elsewhere.
    """

    def ordered(ranking: list[np.ndarray]) -> Places:
        return orders(group.documents, ranking, group.seed)

    random, size = ordered(group.random[draw]), ordered(group.rankings[SIZE])
    left_out = ordered(group.rankings[LEFT_OUT])
    fifth = _upto(left_out, [*map(_fifth, left_out)])
    found: dict[str, Sets] = {}
    for view, weights in group.views.items():
        few, many = group.first(view), group.several(view)
        own = _kinds(ordered(weights), random, few, many)
        theirs = _kinds(size, random, few, many)
        # in another text, all take the places of that text's own words by this view
        hosts, up_to_a_fifth = _in_hosts(group, view, draw)
        taken = (hosts[FIRST], hosts[MORE], hosts[MORE], hosts[INSTEAD])
        found |= dict(zip(_of_kinds(view), map(Sets, own.values(), taken)))
        if rivals:
            found |= dict(zip(_of_kinds(rival(view)), map(Sets, theirs.values(), taken)))
        found[f"{view}, {RANDOM}"] = Sets(_upto(random, few), hosts[FIRST])
        found[reached(view)] = Sets(fifth, up_to_a_fifth)
    return found


def _in_hosts(group: Group, view: str, draw: int) -> tuple[dict[str, Places], Places]:
    """The host's own words of each kind by a view, and a fifth of its words, for each text."""
    hosts = group.hosts(draw)
    documents = [group.all_texts.documents[host] for host in hosts]
    weights = [group.all_texts.views[view][host] for host in hosts]
    if not hosts:
        none = [np.zeros(0, int)] * len(group.documents)
        return dict.fromkeys(KINDS, none), none
    random = orders(documents, random_importance(documents, group.seed + draw), group.seed)
    ordered = orders(documents, weights, group.seed)
    kinds = _kinds(ordered, random, first_of(weights), several_of(weights))
    return kinds, _upto(ordered, [*map(_fifth, ordered)])


def _fifth(order: np.ndarray) -> int:
    return share_of(len(order), FIFTH, 2)


def _kinds(places: Places, random: Places, few: list[int], many: list[int]) -> dict[str, Places]:
    several = _upto(places, many)
    instead = [*map(_instead, several, random)]
    return dict(zip(KINDS, (_upto(places, few), several, instead, instead)))


def _upto(places: Places, counts: list[int]) -> Places:
    return [order[:count] for order, count in zip(places, counts)]


def _instead(places: np.ndarray, random: np.ndarray) -> np.ndarray:
    """The places with the first random one that is not among them in the place of the first."""
    others = random[~np.isin(random, places)]
    return np.append(others[:1], places[1:]) if len(others) else places


def compare_sets(found: Found, sign: int, suffix: str = "") -> dict[Way, Comparison]:
    """Each view: how much more its first words do than random ones, or its first word among several
    than a random one, whichever is more; in which texts they do; beside it the most that any set
    does.

    Parameters
    ----------
    sign: -1 where losses were measured
    suffix: of the names in ``found``
    """
    compared = {}
    for name, view in views_of(found).items():
        random = sign * found[f"{name}, {RANDOM}{suffix}"]
        own, theirs = (_gains(found, each, random, sign, suffix) for each in (name, rival(name)))
        most = sign * found[reached(name) + suffix] - random
        kind = max(own, key=lambda each: mean_of_texts(own[each]))
        compared[Way(view)] = Comparison(
            own[kind],
            own[kind] - theirs[kind],
            _ahead(own[kind]),
            most_of([*own.values(), *theirs.values(), most]),
            # alone, beyond as many random words; among others, all that they add
            own[FIRST] if sign < 0 else found[name + suffix],
        )
    return compared


def _gains(found: Found, name: str, random: np.ndarray, sign: int, suffix: str) -> Found:
    """What the first words, and the first word among several, do more than random ones."""
    first, more, instead, elsewhere = (sign * found[each + suffix] for each in _of_kinds(name))
    return {FIRST: first - random, MORE: more - max(instead, elsewhere, key=mean_of_texts)}


def _ahead(gains: np.ndarray) -> np.ndarray:
    """Whether each text's gain is above 0: 1 or 0, a half for none, NaN as they are."""
    return (np.sign(np.where(np.abs(gains) < NOISE, 0.0, gains)) + 1) / 2


def sets_names(views: Collection[str]) -> list[str]:
    """Return the names of the sets of words of these views."""
    names = [each for name in views for each in (name, rival(name))]
    further = [each for name in views for each in (f"{name}, {RANDOM}", reached(name))]
    return [*(each for name in names for each in _of_kinds(name)), *further]


def rival(view: str) -> str:
    """Name as many words by the size of leave-one-out as are taken of a view."""
    return SIZE if view == ATTENTION else f"{view}, {SIZE}"


def reached(view: str) -> str:
    """Name a fifth of the words by leave-one-out, in the places of a view's."""
    return REACHED if view == ATTENTION else f"{view}, {REACHED}"


def _of_kinds(name: str) -> list[str]:
    return [f"{name}, {kind}" if kind else name for kind in KINDS]


def most_of(several: list[np.ndarray]) -> np.ndarray:
    """Return the values with the largest mean, of those that there are."""
    return max(several, key=lambda each: (not np.isnan(each).all(), mean_of_texts(each)))


def mean_of_texts(values: np.ndarray) -> float:
    """Return the mean over all texts, of which those without a value count as 0."""
    return float(np.nan_to_num(values).mean())
