"""Does it hold in most texts, and for each class?

A mean may hide that attention is right in one half of the texts and wrong in the other.
"""

import numpy as np

from course_kit.audit.grades import BY_QUESTION
from course_kit.audit.group import OPERATORS, Found, Group, by_operator
from course_kit.audit.intervals import mean_of
from course_kit.audit.names import ATTENTION, RANDOM, SIZE
from course_kit.audit.questions import Comparison, Question
from course_kit.audit.ways import Way, views_of
from course_lib.faithfulness.erasure import aopc


def measure(group: Group) -> Found:
    """Whether each ranking's order costs more than random words: 1 or 0, a half for as much; for
    each way to take words away."""
    found = {}
    for operator, losses in group.losses_by_operator.items():
        for name in [*group.views, SIZE]:
            ahead = np.sign(aopc(losses[name]) - aopc(losses[RANDOM]))
            found[by_operator(name, operator)] = group.where_counted((ahead + 1) / 2)
    return found


def compare(found: Found) -> dict[Way, Comparison]:
    """Each view: its share of the texts, and that of leave-one-out, by the operator that is told
    of."""
    operator = told_of(found)
    return {
        Way(view): Comparison(
            found[by_operator(name, operator)], best=found[by_operator(SIZE, operator)]
        )
        for name, view in views_of(found).items()
    }


def told_of(found: Found) -> str:
    """Return the first operator by which leave-one-out is ahead often enough; the first if none is.

    Where each of two copies is enough, deleting one costs nothing, whichever word it is.
    """
    partly = BY_QUESTION["texts"].partly
    shares = {each: mean_of(found[by_operator(SIZE, each)], shares=True) for each in OPERATORS}
    room = (each for each, share in shares.items() if share and share.value >= partly)
    return next(room, OPERATORS[0])


def sentence(found: Found) -> str:
    """Say it of the operator that is told of."""
    operator = told_of(found)
    own, size = (f"{{{by_operator(each, operator)}}}" for each in (ATTENTION, SIZE))
    return (
        f"Its order (words {operator}) costs more than random words in {own} of the texts, that by "
        f"the size of leave-one-out in {size}"
    )


QUESTION = Question(
    title="Does it hold in most texts?",
    unit="share of the texts in which an order of the words costs more than random words",
    sentence=sentence,
    endings=(
        "it holds in most texts",
        "it holds in more texts than not",
        "it is not shown for enough texts",
        "no order of the words does so in most texts, so this cannot be asked",
    ),
    measure=measure,
    compare=compare,
    missing="No text has a word whose removal matters.",
    shares=True,
)
