"""The texts of lesson 04: two of Zhang's datasets where they are at hand, and what stands in."""

from dataclasses import dataclass, replace

import numpy as np
from torch import Tensor

from course_lib.data.batches import Documents
from course_lib.data.catalog import CARDS
from course_lib.data.corpus import load_corpus, load_first_at_hand
from course_lib.runs.run import system_of
from course_lib.runs.spec import RunSpec
from course_lib.runs.systems.sanet_system import SANetSystem

MOST_BYTES = 30_000_000  # of a download that nobody asked for
UNSEEN = 2000  # texts of the test half to measure on
MOST_TEST = 2 * UNSEEN  # of them, some are left out
MIDDLE = 2  # the class of three stars
TITLES = {
    "ag_news": "AG News",
    "huffpost": "HuffPost",
    "amazon_full": "Amazon",
    "movies2": "film sentences",
    "toy": "made-up reviews",
}


@dataclass(frozen=True)
class Texts:
    """A task of the lesson: what was read, in words; encoded texts to ``train`` on and ``unseen``
    ones; and the ``system`` whose vocabulary encodes them and whose views show them."""

    name: str  # as in titles
    size: str
    source: str  # of the catalog
    system: SANetSystem
    train: Documents
    unseen: Documents

    @property
    def vectors(self) -> Tensor:
        """The word vectors, ``(vocabulary, width)``."""
        return self.system.model.embedding.weight.detach()


def topics(profile: str) -> Texts:
    """News in four classes: AG News, all of it or the part at hand; else HuffPost's."""
    return _texts(["ag_news", "huffpost"], profile, 48)


def sentiment(profile: str) -> Texts:
    """Opinions in two classes: Amazon's reviews, where they are at hand; else film sentences.

    Of reviews with stars, 1 and 2 are negative, 4 and 5 positive, and those with 3 are left out, as
    Zhang made Amazon P.
    """
    return _texts(["amazon_full", "movies2"], profile, 96)


def _texts(names: list[str], profile: str, cut: int) -> Texts:
    """The first of these datasets that can be had, its texts cut after so many words."""
    first = {"smoke": 200, "lesson": 6000, "full": None}[profile]
    small = profile == "smoke"
    corpus = (
        load_corpus("toy") if small else load_first_at_hand(names, MOST_BYTES, first, MOST_TEST)
    )
    name, stars = corpus.card.name, len(corpus.card.classes) == 5
    if stars:
        corpus = replace(corpus, card=replace(corpus.card, classes=("negative", "positive")))
    settings = {"text.max_tokens": cut, "model.hidden": 64, "model.scaled": False}
    system = system_of(RunSpec("sanet", name, "compact", settings), corpus)
    system.build(corpus.splits, 0)  # the vocabulary of the vectors that the repository holds
    encoded = {}
    for half, most in (("train", first), ("test", UNSEEN)):
        labels = np.array(corpus.splits[half]["label"])
        (kept,) = np.nonzero((not stars) | (labels != MIDDLE))
        documents = system.encode(corpus.splits[half].select(kept[:most]))
        labels = documents.labels > MIDDLE if stars else documents.labels
        encoded[half] = replace(documents, labels=labels.astype(np.int64))
    return Texts(
        TITLES[name],
        f"{len(encoded['train']):,} of {sum(CARDS[name].sizes['train']):,} training texts",
        corpus.provenance.source,
        system,
        encoded["train"],
        encoded["test"],
    )
