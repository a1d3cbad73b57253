"""Does the weight lie on words that matter?

The colours of a heat map are the weights, which no order of the words sees: weights that are nearly
even may be in the right order, and half of the weight may lie on a comma. A word matters here if
removing it, together with its copies in the text, costs at least as much as the average word does.
"""

import math

import numpy as np

from course_kit.audit.group import NOISE, Found, Group
from course_kit.audit.questions import Comparison, Question
from course_kit.audit.ways import Way, views_of

EVEN, SOME = "even weights", "texts with such a word"


def measure(group: Group) -> Found:
    """The share of the weight that lies on words that matter; that of even weights; and whether a
    text has such a word."""
    matter = [cost >= max(cost.mean(), NOISE) for cost in group.sizes_together]
    some = np.array([each.any() for each in matter])
    shares = {
        name: [_on(weights, each) for weights, each in zip(view, matter)]
        for name, view in group.views.items()
    }
    shares[EVEN] = [each.mean() for each in matter]
    found = {name: np.where(some, each, math.nan) for name, each in shares.items()}
    found[SOME] = some.astype(float)
    return {name: group.where_counted(each) for name, each in found.items()}


def _on(weights: np.ndarray, matter: np.ndarray) -> float:
    """The share of the weights on the words that matter; that of even weights if all are 0."""
    total = weights.sum()
    return float(weights[matter].sum() / total) if total else float(matter.mean())


def compare(found: Found) -> dict[Way, Comparison]:
    """Each view: its share beyond that of even weights, and its share; none where few texts have a
    word that matters by itself."""
    some = found[SOME][~np.isnan(found[SOME])]
    if some.sum() < 0.5 * len(some):
        return {}
    return {
        Way(view): Comparison(found[name] - found[EVEN], value=found[name])
        for name, view in views_of(found).items()
    }


QUESTION = Question(
    title="Does its weight lie on words that matter?",
    unit="share of the weight on words that cost at least as much as the average word of their "
    "text, when they are removed with their copies",
    sentence="{attention} of its weight lies on words that cost at least as much as the average "
    "word of their text; of even weights {even weights} would",
    endings=(
        "most of a heat map's colour is where it belongs",
        "more of its colour than by chance, but not most of it, is where it belongs",
        "its colours say little about which words matter",
    ),
    measure=measure,
    compare=compare,
    missing="In most texts no word matters by itself.",
)
