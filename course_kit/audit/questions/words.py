"""Is it the words, or the places where the network keeps its summary of other words?

The state at a place may have read the whole text. If the word there is what decides, it decides in
other company, too: it stays while all others are exchanged for words of other texts. If it is the
place, the answer follows the others.
"""

from course_kit.audit.group import DRAWS, Found, Group
from course_kit.audit.keeping import compare_kept, measure_kept
from course_kit.audit.names import ATTENTION
from course_kit.audit.questions import Question


def measure(group: Group) -> Found:
    """Losses when all but the first words are exchanged; and when these are, or random ones."""
    with group.stage("words exchanged"):
        found = measure_kept(group, group.exchanged)
        top = group.top(group.views[ATTENTION])
        gone = {"the first words exchanged": DRAWS * [top]}
        gone["random words exchanged"] = [group.top(each) for each in group.random]
        found |= group.mean_losses(
            {
                name: [group.exchanged([~each for each in one], n) for n, one in enumerate(draws)]
                for name, draws in gone.items()
            }
        )
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
)
