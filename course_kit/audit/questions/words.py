"""Is it the words, or the places where the network keeps its summary of other words?

The state at a place may have read the whole text. If the words there are what decides, they bring
their decision along into a text with another one, where they take the place of its own first words.
If it is the places, the answer stays what the other words make it. Where all texts have one
decision, the words stay instead, while all others are exchanged for words of other texts.
"""

from functools import partial

import numpy as np

from course_kit.audit.group import Found, Group, Sets
from course_kit.audit.keeping import (
    SETS_DRAWN,
    compare_sets,
    mean_of_texts,
    measure_sets,
    most_of,
    sets_names,
)
from course_kit.audit.names import ATTENTION
from course_kit.audit.questions import Comparison, Question
from course_kit.audit.ways import Way

EXCHANGED, RUN = ", others exchanged", ", in a run"
RUNS_DRAWN = 2  # of the sets: a run is tried for words whose order matters, and takes long
RUN_AHEAD = 0.02  # of the probability that a run must add more, or the three sets in places count


def measure(group: Group) -> Found:
    """What the first words add to the probability of their decision in a text with another one; or
    what is lost when all others are exchanged, where the texts have one decision."""
    names = sets_names([*group.views])
    found = {name + suffix: group.none() for name in names for suffix in ("", RUN, EXCHANGED)}
    with group.stage("words exchanged"):
        if group.hosts(0):
            nothing = [np.zeros(0, int)] * len(group.documents)
            none = Sets(nothing, nothing)
            hosts = [group.grafted(none, n) for n in range(SETS_DRAWN)]
            before = group.mean_losses({"": hosts, RUN: hosts[:RUNS_DRAWN]})
            as_run = partial(group.grafted, run=True)
            moved = {
                "": measure_sets(group, group.grafted),
                RUN: measure_sets(group, as_run, RUNS_DRAWN, rivals=False),
            }
            for suffix, losses in moved.items():
                found |= {name + suffix: before[suffix] - lost for name, lost in losses.items()}
            return found
        lost = measure_sets(group, lambda sets, n: group.exchanged(group.masks(sets.places), n))
        return found | {name + EXCHANGED: each for name, each in lost.items()}


def compare(found: Found) -> dict[Way, Comparison]:
    """Each view: what its words add more than random ones, each in the place of one of the other
    text's or all in a run, whichever is more; or lose less. The rival's words stand in places."""
    if grafted(found):
        placed, run = (compare_sets(found, sign=1, suffix=suffix) for suffix in ("", RUN))
        return {way: _better(placed[way], run[way]) for way in placed}
    # texts of one decision do not tell words from a place without which the network decides
    # otherwise, so there is no gap to be small, and nothing more than partly
    compared = compare_sets(found, sign=-1, suffix=EXCHANGED)
    return {way: each._replace(gap=None) for way, each in compared.items()}


def _better(placed: Comparison, run: Comparison) -> Comparison:
    """The run if it adds more, else the places; the best of both, and the more of the first
    words."""
    ahead = mean_of_texts(run.values) - mean_of_texts(placed.values)
    chosen = run if ahead > RUN_AHEAD else placed
    return chosen._replace(
        gap=chosen.values - (placed.values - placed.gap),
        best=most_of([placed.best, run.best]),
        first=most_of([placed.first, run.first]),
    )


def grafted(found: Found) -> bool:
    """Return whether most texts met one with another decision."""
    met, exchanged = found[ATTENTION], found[ATTENTION + EXCHANGED]
    return (~np.isnan(met)).sum() >= (~np.isnan(exchanged)).sum()


def sentence(found: Found) -> str:
    """Say what was measured, by the way that was possible."""
    if grafted(found):
        return (
            "Put into a text with another decision, in the place of its own first words, the words "
            "that hold half of its weight, at most a tenth, raise the probability of their "
            "decision by {attention}, as many random words there by {attention, random words}; the "
            "words that hold nine tenths, at most a fifth, by {attention, nine tenths of the "
            "weight}, and by {attention, a random word for the first} with a random word for the "
            "first of them; side by side in reading order, where the foremost of the other text's "
            "own was, {attention, in a run} and {attention, nine tenths of the weight, in a run}, "
            "as many random words {attention, random words, in a run}"
        )
    return (
        "All texts have one decision, so it shows a part at most: when the words that hold half of "
        "its weight, at most a tenth, stay and all others are exchanged for words of other texts, "
        "{attention, others exchanged} of the probability is lost; when as many random words stay, "
        "{attention, random words, others exchanged}; when those that hold nine tenths stay, at "
        "most a fifth, {attention, nine tenths of the weight, others exchanged}, and with a random "
        "word for the first of them {attention, a random word for the first, others exchanged}"
    )


QUESTION = Question(
    title="Is it the words, or the places?",
    unit="probability that words add to their decision in a text with another one; or, with others "
    "exchanged, that is lost",
    sentence=sentence,
    endings=(
        "the words decide, in other company, too",
        "the words have a part in it",
        "the answer follows the other words",
        "so few words decide in other company for no ranking, so this cannot be asked",
    ),
    measure=measure,
    compare=compare,
    missing="No text has a word whose removal matters.",
)
