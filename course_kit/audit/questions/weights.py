"""Does the output depend on the weights?"""

import numpy as np

from course_kit.audit.group import REWEIGHTED, Found, Group
from course_kit.audit.questions import Comparison, Question
from course_kit.audit.ways import Way
from course_lib.faithfulness.agreement import total_variation
from course_lib.faithfulness.interventions import permutation_change

SHUFFLES = 50


def measure(group: Group) -> Found:
    """How far shuffled and even weights change the output."""
    shuffled, uniform = group.none(), group.none()
    with group.stage(REWEIGHTED):
        for n, given, real, answer in group.reweighted():
            shuffled[n] = permutation_change(answer, given, real, SHUFFLES, group.seed)
            even = real / np.maximum(real.sum(-1, keepdims=True), 1)
            (uniform[n],) = total_variation(answer(even[None]), answer(given[None]))
    return {"shuffled": shuffled, "uniform": uniform}


def compare(found: Found) -> dict[Way, Comparison]:
    """The change by shuffled weights."""
    return {Way(): Comparison(found["shuffled"])}


QUESTION = Question(
    title="Does the output depend on the weights?",
    unit="change of the output (total variation) with other weights",
    sentence="Shuffling its weights changes the output by {shuffled}",
    endings=("the weights matter", "they matter a little", "it is not shown that they matter"),
    measure=measure,
    compare=compare,
    missing="The model takes no attention from outside, or its weights do not sum to 1.",
)
