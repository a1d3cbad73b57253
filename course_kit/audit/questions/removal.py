"""Does the decision depend on the words that the attention is on?

What removing words in the order of the attention costs, over the whole curve, beside random words
and leave-one-out without its sign. Words are deleted, replaced by a word that the model does not
know, and deleted together with their copies in the text.
"""

import numpy as np

from course_kit.audit.group import UNKNOWN, Found, Group
from course_kit.audit.names import ATTENTION, RANDOM, SIZE
from course_kit.audit.page import signed
from course_kit.audit.questions import Comparison, Question
from course_kit.audit.ways import Way, views_of
from course_lib.faithfulness.bounds import limits, normalised_aopc
from course_lib.faithfulness.documents import Document, words_of
from course_lib.faithfulness.erasure import aopc
from course_lib.faithfulness.rankers import Importances

DELETED, REPLACED, TOGETHER = OPERATORS = "deleted", "replaced", "with copies"
OF_THE_WAY = "of the way from worst to best"


def measure(group: Group) -> Found:
    """Mean losses over the shares; and how far attention and random words come between the worst
    and the best order."""
    found = {name: aopc(each) for name, each in group.losses.items()}
    chosen = {name: group.rankings[name] for name in [*group.views, SIZE]}
    with group.stage("words replaced"):
        unknown = getattr(group.asked.model, "unknown", UNKNOWN)
        replaced = group.lost(chosen, filler=unknown)
    with group.stage("copies together"):
        together = {name: _together(group.documents, each) for name, each in chosen.items()}
        copies = group.lost(together | {SIZE: group.sizes_together})
    for operator, losses in {REPLACED: replaced, TOGETHER: copies}.items():
        found |= {f"{name}, {operator}": aopc(each) for name, each in losses.items()}
    with group.stage("limits"):
        further = group.views.keys() - {ATTENTION}  # whose number must not change that of the first
        own = [each for name, each in group.rankings.items() if name not in further]
        compared = [*own, *group.random]
        asked = group.asked, group.documents
        room = limits(*asked, rankings=compared, beam_up_to=0, samples=0, seed=group.seed)
    found |= {
        f"{name}, {OF_THE_WAY}": normalised_aopc(found[name], room) for name in (ATTENTION, RANDOM)
    }
    return {name: group.where_counted(each) for name, each in found.items()}


def _together(documents: list[Document], ranking: Importances) -> Importances:
    """Give each word the largest importance of its copies in the text, so that they go together."""
    found = []
    for document, values in zip(documents, ranking):
        words, most = words_of(document), {}
        for word, value in zip(words, values):
            most[word] = max(value, most.get(word, -np.inf))
        # a hair by the word, or copies of two words with equal importance would alternate
        place = {word: n * 1e-12 for n, word in enumerate(dict.fromkeys(words))}
        found.append(np.array([most[word] - place[word] for word in words]))
    return found


def compare(found: Found) -> dict[Way, Comparison]:
    """Each view by each operator: the loss beyond random words, and beyond leave-one-out's size."""
    return {
        Way(view, operator): Comparison(
            found[_name(name, operator)] - found[_name(RANDOM, operator)],
            found[_name(name, operator)] - found[_name(SIZE, operator)],
        )
        for name, view in views_of(found).items()
        for operator in OPERATORS
    }


def further(found: Found) -> str:
    """The median beside the mean: a few texts may make all the difference."""
    beyond = np.nanmedian(found[ATTENTION] - found[RANDOM])
    return f" In the median text its order costs {signed(beyond)} more than random words."


def _name(ranking: str, operator: str) -> str:
    return ranking if operator == DELETED else f"{ranking}, {operator}"


QUESTION = Question(
    title="Does the decision depend on the words it looks at most?",
    unit="probability that is lost without the first words, mean over 1, 5, 10, 20 and 50 %",
    sentence="Removing words in its order costs {attention} of the probability, random words "
    "{random words}, words by the size of leave-one-out {|leave-one-out|}; that is {attention, of "
    "the way from worst to best} of the way from the worst order to the best",
    endings=(
        "usable as a ranking of the words",
        "usable as a hint, not as a ranking",
        "not shown to be usable",
    ),
    measure=measure,
    compare=compare,
    missing="No text has a word whose removal matters.",
    further=further,
)
