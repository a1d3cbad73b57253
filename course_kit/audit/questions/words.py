"""Is it the words, or the places where the network keeps its summary of other words?

The state at a place may have read the whole text. If the word there is what decides, it decides in
other company, too: it stays while all others are exchanged for words of other texts. If it is the
place, the answer follows the others.
"""

import numpy as np

from course_kit.audit.group import Found, Group
from course_kit.audit.keeping import compare_kept, measure_kept
from course_kit.audit.questions import Question


def measure(group: Group) -> Found:
    """Losses when all but the first words are exchanged; and when these are, or random ones."""

    def loss(gone: list[np.ndarray], draw: int) -> np.ndarray:
        kept = [~each for each in gone]
        return group.answers[1] - group.probabilities_left(group.exchanged(kept, draw))

    with group.stage("words exchanged"):
        found = measure_kept(group, group.exchanged)
        top = group.top(next(iter(group.views.values())))
        random = [group.top(each) for each in group.random]
        found["the first words exchanged"] = group.mean_of_draws(lambda draw: loss(top, draw))
        found["random words exchanged"] = group.mean_of_draws(lambda draw: loss(random[draw], draw))
    return found


QUESTION = Question(
    title="Is it the words, or the places?",
    unit="probability that is lost when words are exchanged for words of other texts",
    sentence="When these words stay and all others are exchanged for words of other texts, "
    "{attention} of the probability is lost; when as many random words stay, {random words}; when "
    "these words are exchanged and all others stay, {the first words exchanged}",
    endings=(
        "the words decide, in other company, too",
        "the words have a part in it",
        "the answer follows the other words",
        "so few words decide in other company for no ranking, so this cannot be asked",
    ),
    measure=measure,
    compare=compare_kept,
    missing="No text has a word whose removal matters.",
    strongest=True,
)
