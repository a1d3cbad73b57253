"""Does the output depend on the weights?"""

import math

import numpy as np

from course_kit.audit.group import REWEIGHTED, Found, Group
from course_kit.audit.names import ATTENTION
from course_kit.audit.questions import Comparison, Question
from course_kit.audit.ways import FURTHER, Way
from course_lib.faithfulness.agreement import total_variation
from course_lib.faithfulness.interventions import permutation_change

# 50 give a text a change that differs by 0.006 (MiniLM) to 0.04 (IRAM), and the mean by half of it
SHUFFLES = 25
SHUFFLED, UNIFORM, OWN = "shuffled", "uniform", "given its own"
COUNTS = "texts with words that matter"
SAME = 0.01  # an output that differs by less


def measure(group: Group) -> Found:
    """How far shuffled, even and its own weights change the output, for each view."""
    found: Found = {}
    with group.stage(REWEIGHTED):
        for view in group.views:
            shuffled, uniform, own = group.none(), group.none(), group.none()
            for n, given, real, answer in group.reweighted(view):
                shuffled[n] = permutation_change(answer, given, real, SHUFFLES, group.seed)
                even = real / np.maximum(real.sum(-1, keepdims=True), 1)
                same = answer(given[None])
                (uniform[n],) = total_variation(answer(even[None]), same)
                (own[n],) = total_variation(same, group.asked([group.documents[n]]))
            named = {SHUFFLED: shuffled, UNIFORM: uniform, OWN: own}
            found |= {_name(view, what): each for what, each in named.items()}
    return found | {COUNTS: group.counted.astype(float)}


def compare(found: Found) -> dict[Way, Comparison]:
    """Each view: the change by shuffled weights, and whether there is one.

    A text in which its own weights, given to the model, change its output tells nothing and counts
    as unchanged. There is no comparison for a view with many such texts, nor for one with more of
    them than another: the model uses the other.
    """
    end = f", {SHUFFLED}"
    further = [name.removesuffix(end) for name in found if name.startswith(FURTHER)]
    views = {ATTENTION: ""} | {name: name[len(FURTHER) :] for name in further if ", " not in name}
    others = {name: found[_name(name, OWN)] >= SAME for name in views}
    least = min(each.sum() for each in others.values())
    compared = {}
    for name, other in others.items():
        own, change = found[_name(name, OWN)], found[_name(name, SHUFFLED)]
        if other.sum() == least and other.sum() <= 0.5 * (~np.isnan(own)).sum():
            changed = np.where(other, 0.0, change)
            moved = np.where(np.isnan(changed) | (found[COUNTS] == 0), math.nan, changed >= SAME)
            compared[Way(views[name])] = Comparison(changed, value=moved)
    return compared


def _name(view: str, what: str) -> str:
    return what if view == ATTENTION else f"{view}, {what}"


QUESTION = Question(
    title="Does the output depend on the weights?",
    unit="change of the output (total variation) with other weights",
    sentence="Shuffling its weights changes the output by {shuffled}",
    endings=("the weights matter", "they matter a little", "it is not shown that they matter"),
    measure=measure,
    compare=compare,
    missing="The model takes no attention from outside, its weights do not sum to 1, or it answers "
    "otherwise when they are given to it.",
)
