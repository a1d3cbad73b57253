"""Does the output fix the weights?"""

import math
from functools import partial

from course_kit.audit.group import REWEIGHTED, Found, Group
from course_kit.audit.questions import Comparison, Question
from course_kit.audit.ways import Way
from course_lib.faithfulness.interventions import (
    adversarial_attention,
    adversarial_attention_together,
)

EPSILON = 0.01  # of the output
MOST_ROWS = 64  # of an attention that an adversary moves in turn: more take hours
TURNS = 1  # of moving more rows together: four ask four times as often
FURTHEST = "the furthest weights"


def measure(group: Group) -> Found:
    """How far weights can change while the output stays within ``EPSILON``."""
    found, together = group.none(), partial(adversarial_attention_together, turns=TURNS)
    with group.stage(REWEIGHTED):
        for n, given, real, answer in group.reweighted():
            many = math.prod(given.shape[:-1]) > MOST_ROWS
            search = together if many else adversarial_attention
            found[n] = search(answer, given, real, EPSILON, group.seed).divergence
    return {FURTHEST: found}


def compare(found: Found) -> dict[Way, Comparison]:
    """Minus the divergence that is found."""
    return {Way(): Comparison(-found[FURTHEST])}


QUESTION = Question(
    title="Does the output fix the weights?",
    unit="Jensen-Shannon divergence",
    sentence="Within 0.01 of the same output a search finds weights that differ by {the furthest "
    "weights} of at most 0.69",
    endings=(
        "the output fixes the weights",
        "it fixes them loosely",
        "it is not shown to fix them",
    ),
    measure=measure,
    compare=compare,
    missing="The model takes no attention from outside, or its weights do not sum to 1.",
)
