"""Did training put the attention there?"""

from course_kit.audit.group import Found, Group
from course_kit.audit.names import ATTENTION, UNTRAINED
from course_kit.audit.questions import Comparison, Question
from course_kit.audit.ways import Way
from course_lib.faithfulness.erasure import aopc


def measure(group: Group) -> Found:
    """What removing words costs in the order of the attention, and of that before training."""
    found = {
        name: aopc(group.losses[name]) if name in group.losses else group.none()
        for name in (ATTENTION, UNTRAINED)
    }
    return {name: group.where_counted(each) for name, each in found.items()}


def compare(found: Found) -> dict[Way, Comparison]:
    """The loss beyond that by the untrained network's attention."""
    return {Way(): Comparison(found[ATTENTION] - found[UNTRAINED])}


QUESTION = Question(
    title="Did training put the attention there?",
    unit="probability that is lost without the first words, mean over 1, 5, 10, 20 and 50 %",
    sentence="Removing words in its order costs {attention}, in that of the untrained network's "
    "attention {attention before training}",
    endings=(
        "training made the difference",
        "it made a small difference",
        "no difference is shown",
    ),
    measure=measure,
    compare=compare,
    missing="The untrained network is not at hand.",
)
