"""The engine: modules that import each other, joined into the one script of a worker."""

import re
from functools import cache
from pathlib import Path

from course_lib.javascript import joined

FOLDER = Path(__file__).with_name("engine")
PARTS = (
    "layers",  # what every network is built from
    "han",  # the networks, one function each
    "sanet",
    "iram",
    "agt",
    "transformer",
    "importance",  # attention reduced to words
    "tokens",  # words as NLTK's Treebank tokeniser splits them
    "sentences",  # sentences as Punkt splits them
    "pieces",  # words and their pieces as BERT splits them
    "weights",  # what ``pack`` packs
    "reading",  # a text as the networks read it
    "steps",  # what a trace is made of
    "trace_han",  # a word's weight, computation and numbers, one file a network
    "trace_sanet",
    "trace_iram",
    "trace_agt",
    "trace_transformer",
    "trace",
    "turning",  # an answer with other weights
    "worker",  # the conversation with a page
)
EXPORTS = re.compile(r"^export ", re.MULTILINE)


@cache
def engine() -> str:
    """All parts as one classic script: it defines functions and, in a worker, answers messages."""
    return EXPORTS.sub("", joined([path.read_text(encoding="utf-8") for path in paths()]))


def paths() -> list[Path]:
    """The engine's files, each after those it imports."""
    return [FOLDER / f"{part}.js" for part in PARTS]
