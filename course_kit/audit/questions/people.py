"""Does the attention look where people do?"""

import math

import numpy as np

from course_kit.audit.group import Found, Group
from course_kit.audit.names import ATTENTION
from course_kit.audit.questions import Comparison, Question
from course_kit.audit.ways import Way

MARKED = "marked"


def measure(group: Group) -> Found:
    """The area under the curve of the words that people marked."""
    pairs = zip(group.views[ATTENTION], group.marks)
    return {MARKED: np.array([_area(weights, marks) for weights, marks in pairs])}


def _area(weights: np.ndarray, marks: np.ndarray) -> float:
    """How often a marked word has more weight than another, ties as half; NaN without a pair."""
    gaps = weights[marks][:, None] - weights[~marks]
    return float(((gaps > 0) + 0.5 * (gaps == 0)).mean()) if gaps.size else math.nan


def compare(found: Found) -> dict[Way, Comparison]:
    """The area beyond that of chance."""
    return {Way(): Comparison(found[MARKED] - 0.5)}


QUESTION = Question(
    title="Does it look where people do?",
    unit="share of pairs of a marked word and another",
    sentence="A word that people marked has more weight than another in {marked} of the pairs",
    endings=("close to people", "somewhat like people", "no likeness to people is shown"),
    measure=measure,
    compare=compare,
    missing="No words are marked by people.",
)
