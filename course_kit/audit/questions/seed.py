"""Would another training give the same reasons?"""

from course_kit.audit.group import Found, Group, tau
from course_kit.audit.names import ATTENTION
from course_kit.audit.questions import Comparison, Question
from course_kit.audit.ways import Way

ANOTHER = "another seed"


def measure(group: Group) -> Found:
    """Kendall's τ with the attention of the network that was trained from another seed."""
    other = group.twin_attention.get("seed")
    return {ANOTHER: group.none() if other is None else tau(other, group.views[ATTENTION])}


def compare(found: Found) -> dict[Way, Comparison]:
    """τ."""
    return {Way(): Comparison(found[ANOTHER])}


QUESTION = Question(
    title="Would another training give the same reasons?",
    unit="Kendall's τ",
    sentence="Trained from another seed, the network orders the words alike with τ = {another "
    "seed}",
    endings=(
        "mostly the same reasons",
        "some of the same reasons",
        "no common reasons are shown",
    ),
    measure=measure,
    compare=compare,
    missing="No network of another seed is at hand: one that was trained with another --seed is "
    "found in the same folder of runs.",
)
