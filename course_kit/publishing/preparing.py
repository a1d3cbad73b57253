"""Fetching and preparing the data of lessons: the large corpus, and beside it all else."""

import sys
from collections.abc import Sequence
from functools import partial

from course_kit.publishing.executing import beside
from course_lib.data.catalog import CARDS

KINDS = ("corpus", "vectors", "network")  # of what is prepared


def prepare(name: str) -> None:
    """Fetch and prepare texts, as many as lessons read, or vectors or a network of the catalog."""
    from course_lib.data import corpus, pretrained, vectors  # here: they import torch

    of_kind = {
        "corpus": partial(corpus.load_corpus, first=CARDS[name].lesson_rows),
        "vectors": vectors.load_vectors,
        "network": pretrained.fetch_network,
    }
    of_kind[CARDS[name].kind](name)


def prepare_data() -> None:
    """Fetch and prepare all of the catalog that the lessons read, except what is fetched on demand.

    A corpus of which lessons read a part is large, and its texts are tokenised by a process on each
    core. Most of the rest takes one core, and is prepared at the same time.
    """
    names = [
        name
        for name, card in CARDS.items()
        if card.kind in KINDS and not card.on_demand and (card.kind != "corpus" or card.sizes)
    ]
    large = [name for name in names if CARDS[name].lesson_rows]
    with beside(prepare_each, [name for name in names if name not in large]):
        prepare_each(large)


def prepare_each(names: Sequence[str]) -> None:
    """Fetch and prepare one after the other.

    A dataset with a stand-in, or a pre-trained network, may be missing; the lessons then use
    something else.
    """
    from course_lib.data.sources import NotObtained  # here: it imports torch

    for name in names:
        card = CARDS[name]
        print(f"preparing {name} …", file=sys.stderr)
        try:
            prepare(name)
        except NotObtained as reason:
            instead = card.fallback or (card.kind == "network" and "a small Transformer")
            if not instead:
                raise
            print(f"{reason}\nThe lessons use {instead} instead.", file=sys.stderr)
