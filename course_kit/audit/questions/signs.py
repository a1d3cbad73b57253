"""Does the attention avoid words that speak against the decision?"""

import numpy as np

from course_kit.audit.group import NOISE, Found, Group
from course_kit.audit.names import ATTENTION, RANDOM
from course_kit.audit.questions import Comparison, Question
from course_kit.audit.ways import Way
from course_lib.faithfulness.erasure import orders

TOP = "the top word"


def measure(group: Group) -> Found:
    """Whether removing the top word raises the probability, and the share of words that do."""
    places = orders(group.documents, group.views[ATTENTION], group.seed)
    against = [loss < -NOISE for loss in group.left_out]
    found = {
        TOP: np.array([each[place[0]] for each, place in zip(against, places)], float),
        RANDOM: np.array([each.mean() for each in against]),
    }
    return {name: group.where_counted(each) for name, each in found.items()}


def compare(found: Found) -> dict[Way, Comparison]:
    """How much seldomer the top word is against the decision than a random one, and its share."""
    return {Way(): Comparison(found[RANDOM] - found[TOP], -found[TOP])}


QUESTION = Question(
    title="Does it avoid words that speak against the decision?",
    unit="share of texts in which removing the word raises the probability",
    sentence="The word it looks at most speaks against the decision in {the top word} of the "
    "texts; a random word does in {random words}",
    endings=("seldom misleading", "less often than chance", "no better than chance is shown"),
    measure=measure,
    compare=compare,
    missing="No text has a word whose removal matters.",
    shares=True,
)
