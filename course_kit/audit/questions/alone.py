"""Are the words that hold the attention enough?"""

from course_kit.audit.group import Found, Group, Sets
from course_kit.audit.keeping import compare_sets, measure_sets
from course_kit.audit.questions import Comparison, Question
from course_kit.audit.ways import Way
from course_lib.faithfulness.documents import Document, without


def measure(group: Group) -> Found:
    """Losses when all but the first words are deleted."""

    def alone(sets: Sets, _: int) -> list[Document]:
        kept = group.masks(sets.places)
        return [without(document, ~each) for document, each in zip(group.documents, kept)]

    with group.stage("alone"):
        return measure_sets(group, alone)


def compare(found: Found) -> dict[Way, Comparison]:
    """Each view: what its words lose less than random ones."""
    return compare_sets(found, sign=-1)


QUESTION = Question(
    title="Are these words enough?",
    unit="probability that is lost when only the words that hold half of the attention are left, "
    "at most a tenth",
    sentence="With nothing but the words that hold half of its weight, at most a tenth, {attention}"
    " of the probability is lost, with as many random ones {attention, random words}; with the "
    "words that hold nine tenths, at most a fifth, {attention, nine tenths of the weight}, and "
    "{attention, a random word for the first} with a random word for the first of them",
    endings=(
        "these words carry the decision",
        "they carry a part of it",
        "no part is shown",
        "so few words carry it for no ranking, so this cannot be asked",
    ),
    measure=measure,
    compare=compare,
    missing="No text has a word whose removal matters.",
)
