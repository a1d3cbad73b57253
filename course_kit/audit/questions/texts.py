"""Does it hold in most texts, and for each class?

A mean may hide that attention is right in one half of the texts and wrong in the other.
"""

import numpy as np

from course_kit.audit.group import Found, Group
from course_kit.audit.names import RANDOM, SIZE
from course_kit.audit.questions import Comparison, Question
from course_kit.audit.ways import Way, views_of
from course_lib.faithfulness.erasure import aopc


def measure(group: Group) -> Found:
    """Whether each ranking's order costs more than random words: 1 or 0, a half for as much."""
    losses = {name: aopc(group.losses[name]) for name in [*group.views, SIZE, RANDOM]}
    return {
        name: group.where_counted((np.sign(losses[name] - losses[RANDOM]) + 1) / 2)
        for name in [*group.views, SIZE]
    }


def compare(found: Found) -> dict[Way, Comparison]:
    """Each view: its share of the texts."""
    return {Way(view): Comparison(found[name]) for name, view in views_of(found).items()}


QUESTION = Question(
    title="Does it hold in most texts?",
    unit="share of the texts in which an order of the words costs more than random words",
    sentence="Its order costs more than random words in {attention} of the texts, that by the size "
    "of leave-one-out in {|leave-one-out|}",
    endings=(
        "it holds in most texts",
        "it holds in more texts than not",
        "it is not shown for enough texts",
    ),
    measure=measure,
    compare=compare,
    missing="No text has a word whose removal matters.",
    shares=True,
)
