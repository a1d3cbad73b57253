"""Sentiment words by the grades that people gave to single words in the Stanford treebank.

The annotators graded every word from 0 to 4 without its context, 2 being neutral. They were no
readers of IMDb, and no network here has learned from their grades.
"""

import zipfile
from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from course_lib.data.catalog import card
from course_lib.data.readers import SST_FILES, read_tree
from course_lib.data.sources import obtain

NEUTRAL = 2
LEAST = 0.5  # so far from neutral is a word's mean grade if it is a sentiment word


def is_word(token: str) -> bool:
    """Whether a token has a letter or digit; the others are punctuation."""
    return any(map(str.isalnum, token))


def strengths(nodes: Iterable[tuple[int, list[str]]]) -> dict[str, float]:
    """How far the mean grade of each word, in small letters, is from neutral, in 0 to 2; ``nodes``
    are grades and words as ``data.readers.read_tree`` gives them, of which single words count."""
    grades = defaultdict(list)
    for grade, words in nodes:
        if len(words) == 1 and is_word(words[0]):
            grades[words[0].lower()].append(grade)
    return {word: abs(float(np.mean(of)) - NEUTRAL) for word, of in grades.items()}


def graded_words() -> dict[str, float]:
    """``strengths`` of all words in the treebank."""
    _, (archive,) = obtain(card("sst2", "corpus"))
    nodes = []
    with zipfile.ZipFile(archive) as trees:
        for name in SST_FILES.values():
            with trees.open(f"trees/{name}.txt") as file:
                for line in file:
                    nodes += [node for node in read_tree(line.decode()) if len(node[1]) == 1]
    return strengths(nodes)


def sentiment_words(graded: dict[str, float]) -> frozenset[str]:
    """Those words that are at least ``LEAST`` from neutral."""
    return frozenset(word for word, strength in graded.items() if strength >= LEAST)


# Closed classes of English, as NLTK's tokeniser leaves them: articles, pronouns, auxiliaries,
# prepositions, conjunctions, negators and particles.
CLOSED = """
a an the this that these those i me my mine myself we us our ours ourselves you your yours
yourself yourselves he him his himself she her hers herself it its itself they them their
theirs themselves one oneself who whom whose which what that am is are was were be been being
's 're 've 'll 'd 'm n't do does did doing have has had having can could may might must shall
should will would ca wo not no nor never and or but if because as until while although though
than so whether since unless yet of at by for with about against between into through during
before after above below to from up down in out on off over under upon within without toward
towards among across along around behind beside besides beyond despite except inside near onto
outside per throughout via again then once here there when where why how all any both each few
more most other others some such only own same too very just now also even still every either
neither another much many
"""
FUNCTION_WORDS = frozenset(CLOSED.split())


def is_function_word(token: str) -> bool:
    """Whether a token is a stop word, that is a word of a closed class."""
    return token.lower() in FUNCTION_WORDS
