"""Does the attention order the words as removing them does?"""

import numpy as np

from course_kit.audit.group import REPLACED, UNKNOWN, Found, Group, tau
from course_kit.audit.names import ATTENTION, GRADIENT, ITSELF, RANDOM, SIZE
from course_kit.audit.questions import Comparison, Question
from course_kit.audit.ways import Way
from course_lib.faithfulness.rankers import leave_one_out, magnitude


def measure(group: Group) -> Found:
    """Kendall's τ with the size of leave-one-out, and the agreement of that with itself, where
    words are replaced."""
    size, itself = group.rankings[SIZE], group.none()
    if group.slow:
        with group.stage(REPLACED):
            unknown = getattr(group.asked.model, "unknown", UNKNOWN)
            replaced = magnitude(leave_one_out(group.asked, group.slow, filler=unknown))
        itself[: len(group.slow)] = tau(size[: len(group.slow)], replaced)
    found = {
        ATTENTION: tau(group.views[ATTENTION], size),
        RANDOM: np.mean([tau(one, size) for one in group.random], axis=0),
        ITSELF: itself,
        "attention with the gradient": tau(
            group.views[ATTENTION], group.rankings.get(f"|{GRADIENT}|")
        ),
    }
    return {name: group.where_counted(each) for name, each in found.items()}


def compare(found: Found) -> dict[Way, Comparison]:
    """τ beyond that of random numbers, and beyond the measure's agreement with itself."""
    own = found[ATTENTION]
    return {Way(): Comparison(own - found[RANDOM], own - found[ITSELF], own)}


QUESTION = Question(
    title="Does it order the words as removing them does?",
    unit="Kendall's τ",
    sentence="It orders words as leave-one-out does with τ = {attention}; random numbers reach "
    "{random words}, and leave-one-out agrees with itself, where words are replaced, by "
    "{leave-one-out with itself}",
    endings=("the same order", "some agreement", "no agreement is shown"),
    measure=measure,
    compare=compare,
    missing="No text has words in an order.",
)
