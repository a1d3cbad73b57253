"""Is the network right?"""

import math

import numpy as np

from course_kit.audit.group import Found, Group
from course_kit.audit.questions import Comparison, Question
from course_kit.audit.ways import Way

NETWORK, FREQUENT = "network", "most frequent label"


def measure(group: Group) -> Found:
    """Whether the network, and the most frequent label, are right: 1 or 0."""
    labels = np.array(group.labels, float)
    right = np.where(np.isnan(labels), math.nan, group.answers[0] == labels)
    return {NETWORK: right, FREQUENT: np.array(group.guesses, float)}


def compare(found: Found) -> dict[Way, Comparison]:
    """The accuracy beyond that of the most frequent label."""
    return {Way(): Comparison(found[NETWORK] - found[FREQUENT])}


QUESTION = Question(
    title="Is the network right?",
    unit="share of the texts",
    sentence="The network is right in {network} of the texts; the most frequent label is in {most "
    "frequent label}",
    endings=(
        "worth explaining",
        "a little better than a guess",
        "not shown to be better than a guess",
    ),
    measure=measure,
    compare=compare,
    missing="The texts have no labels.",
    shares=True,
)
