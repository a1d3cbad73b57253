"""Does the decision depend on the words that the attention is on?

What removing words in the order of the attention costs, over the whole curve, beside random words
and leave-one-out without its sign. Words are deleted, replaced by a word that the model does not
know, and deleted together with their copies in the text.
"""

import numpy as np

from course_kit.audit.group import OPERATORS, Found, Group, by_operator
from course_kit.audit.keeping import mean_of_texts
from course_kit.audit.names import ATTENTION, RANDOM, SIZE
from course_kit.audit.page import signed
from course_kit.audit.questions import Comparison, Question
from course_kit.audit.ways import Way, views_of
from course_lib.faithfulness.bounds import limits, normalised_aopc
from course_lib.faithfulness.erasure import aopc

OF_THE_WAY = "of the way from worst to best"


def measure(group: Group) -> Found:
    """Mean losses over the shares; and how far attention and random words come between the worst
    and the best order."""
    found = {
        by_operator(name, operator): aopc(each)
        for operator, losses in group.losses_by_operator.items()
        for name, each in losses.items()
    }
    with group.stage("limits"):
        further = group.views.keys() - {ATTENTION}  # whose number must not change that of the first
        own = [each for name, each in group.rankings.items() if name not in further]
        compared = [*own, *group.random]
        asked = group.asked, group.documents
        room = limits(*asked, rankings=compared, beam_up_to=0, samples=0, seed=group.seed)
    found |= {
        f"{name}, {OF_THE_WAY}": normalised_aopc(found[name], room) for name in (ATTENTION, RANDOM)
    }
    return {name: group.where_counted(each) for name, each in found.items()}


def compare(found: Found) -> dict[Way, Comparison]:
    """Each view by each operator: the loss beyond random words, and beyond leave-one-out's size;
    beside it what the better of both loses beyond random words."""
    compared = {}
    for name, view in views_of(found).items():
        for operator in OPERATORS:
            own, size, random = (
                found[by_operator(each, operator)] for each in (name, SIZE, RANDOM)
            )
            best = max(own - random, size - random, key=mean_of_texts)
            compared[Way(view, operator)] = Comparison(own - random, own - size, best=best)
    return compared


def further(found: Found) -> str:
    """The median beside the mean: a few texts may make all the difference."""
    beyond = np.nanmedian(found[ATTENTION] - found[RANDOM])
    return f" In the median text its order costs {signed(beyond)} more than random words."


QUESTION = Question(
    title="Does the decision depend on the words it looks at most?",
    unit="probability that is lost without the first words, mean over 1, 5, 10, 20 and 50 %",
    sentence="Removing words in its order costs {attention} of the probability, random words "
    "{random words}, words by the size of leave-one-out {|leave-one-out|}; that is {attention, of "
    "the way from worst to best} of the way from the worst order to the best",
    endings=(
        "usable as a ranking of the words",
        "usable as a hint, not as a ranking",
        "not shown to be usable",
        "single words lose little, whichever they are, so this cannot be asked",
    ),
    measure=measure,
    compare=compare,
    missing="No text has a word whose removal matters.",
    further=further,
)
