"""Does the decision itself change without these words?

A word may change how sure a network is, while others, each of which is enough, decide.
"""

from course_kit.audit.group import FIFTH, Found, Group
from course_kit.audit.names import RANDOM, SIZE
from course_kit.audit.questions import Comparison, Question
from course_kit.audit.ways import Way, views_of

HALF = 0.5


def measure(group: Group) -> Found:
    """The share of draws in which a decision changes without a fifth, and without half, of the
    words."""
    chosen = {name: group.rankings[name] for name in [*group.views, SIZE]}
    with group.stage("removal"):
        changed = {share: group.changed(chosen, share) for share in (FIFTH, HALF)}
    return {
        _name(name, share): group.where_counted(each)
        for share, found in changed.items()
        for name, each in found.items()
    }


def compare(found: Found) -> dict[Way, Comparison]:
    """Each view: how many more decisions change without its first fifth than without random
    words."""
    return {
        Way(view): Comparison(found[name] - found[RANDOM]) for name, view in views_of(found).items()
    }


def _name(ranking: str, share: float) -> str:
    return ranking if share == FIFTH else f"{ranking}, half of the words"


QUESTION = Question(
    title="Do decisions change without these words?",
    unit="share of the texts whose decision changes without a fifth, or half, of the words",
    sentence="Without the first fifth of the words by its order {attention} of the decisions "
    "change, without as many random words {random words}, by the size of leave-one-out "
    "{|leave-one-out|}; without half of the words {attention, half of the words}, {random words, "
    "half of the words} and {|leave-one-out|, half of the words}",
    endings=(
        "decisions depend on these words",
        "some decisions do",
        "it is not shown that decisions depend on these words",
    ),
    measure=measure,
    compare=compare,
    missing="No text has a word whose removal matters.",
)
