"""Are the words that hold the attention enough?"""

from course_kit.audit.group import Found, Group
from course_kit.audit.keeping import compare_kept, measure_kept
from course_kit.audit.questions import Question
from course_lib.faithfulness.documents import without


def measure(group: Group) -> Found:
    """Losses when all but the first words are deleted."""
    with group.stage("alone"):
        return measure_kept(
            group,
            lambda kept, _: [
                without(document, ~top) for document, top in zip(group.documents, kept)
            ],
        )


QUESTION = Question(
    title="Are these words enough?",
    unit="probability that is lost when only the words that hold half of the attention are left, "
    "at most a tenth",
    sentence="With nothing but the words that hold half of its weight, at most a tenth, {attention}"
    " of the probability is lost, with as many random ones {random words}, with those that "
    "leave-one-out puts first {leave-one-out}; with the words that hold nine tenths, at most a "
    "fifth, {attention, nine tenths of the weight}",
    endings=(
        "these words carry the decision",
        "they carry a part of it",
        "no part is shown",
        "so few words carry it for no ranking, so this cannot be asked",
    ),
    measure=measure,
    compare=compare_kept,
    missing="No text has a word whose removal matters.",
)
