"""Sentiment trees in brackets, as the Stanford treebank writes them, to labelled phrases."""

import re
from typing import NamedTuple

# a no-break space belongs to its word ("8 1/2" is one leaf), so white space is ASCII's alone
PIECES = re.compile(r"[()]|[^\s()]+", re.ASCII)
LABELS = {str(label): label for label in range(5)}
BRACKETS = {"-LRB-": "(", "-RRB-": ")"}  # single brackets; the treebank's files have no others


class Phrase(NamedTuple):
    """What one node spans: its words, and its label from 0 (very negative) to 4 (very positive)."""

    label: int
    words: list[str]


def read_tree(line: str) -> list[Phrase]:
    """The phrase of every node of one tree, inner ones first, so the whole sentence comes last.

    Words come as they are written, but for the treebank's escapes (``unescape``). Raises
    ``ValueError`` for what is not exactly one tree of labels 0 to 4; Socher et al. (2013).
    """
    words: list[str] = []
    opened: list[tuple[int, int]] = []  # label and first word
    phrases: list[Phrase] = []
    pieces = iter(PIECES.findall(line))
    for piece in pieces:
        if phrases and not opened:
            raise ValueError(f"unbalanced bracket: {piece!r} follows the end of the tree")
        if piece == "(":
            label = next(pieces, "nothing")
            if label not in LABELS:
                raise ValueError(f"label {label!r} is none of 0 to 4")
            opened.append((LABELS[label], len(words)))
        elif not opened:
            raise ValueError(f"a tree begins with a bracket, not with {piece!r}")
        elif piece == ")":
            label, start = opened.pop()
            if start == len(words):
                raise ValueError("a node without a word")
            phrases.append(Phrase(label, words[start:]))
        else:
            words.append(unescape(piece))
    if opened:
        raise ValueError(f"unbalanced bracket: {len(opened)} are not closed")
    if not phrases:
        raise ValueError("no tree; is the line empty?")
    return phrases


def unescape(word: str) -> str:
    r"""The word without the treebank's escapes: ``-LRB-``, ``-RRB-``, ``\/`` and ``\*``."""
    return BRACKETS.get(word) or word.replace(r"\/", "/").replace(r"\*", "*")
