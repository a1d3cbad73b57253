"""Texts to the pieces that a pre-trained network reads, and from pieces back to words."""

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from course_lib.data.vocabulary import RESERVED, Vocabulary

CONTINUES = "##"  # what the pieces of a word begin with, all but the first


class Pieces:
    """WordPiece (Schuster and Nakajima 2012) as the ``tokenizer.json`` of a network has it.

    ``vocabulary`` holds its pieces. An id is the same in both, since BERT's 0 is padding, too; its
    1 is no piece.
    """

    def __init__(self, path: Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(path))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._tokenizer.encode_special_tokens = True  # a text that spells [SEP] has no separator
        ids = self._tokenizer.get_vocab()
        self.vocabulary = Vocabulary(tuple(sorted(ids, key=ids.__getitem__)[RESERVED:]))

    def split(self, texts: Sequence[str]) -> list[list[str]]:
        """The pieces of each text, without [CLS] and [SEP]; a character that no piece has makes its
        word ``[UNK]``."""
        return [
            encoding.tokens
            for encoding in self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        ]


@cache
def load_pieces(folder: Path) -> Pieces:
    """The pieces of the network whose files are in that folder (``fetch_network``)."""
    return Pieces(folder / "tokenizer.json")


def whole_words(pieces: Sequence[str], values: np.ndarray) -> tuple[list[str], np.ndarray]:
    """The words whose pieces stand there, and for each the sum of its pieces' ``values``
    ``(pieces, …)``, ``(words, …)``."""
    starts = [n for n, piece in enumerate(pieces) if n == 0 or not piece.startswith(CONTINUES)]
    words = [
        pieces[start] + "".join(piece.removeprefix(CONTINUES) for piece in pieces[start + 1 : end])
        for start, end in pairwise([*starts, len(pieces)])
    ]
    values = np.asarray(values)
    return words, np.add.reduceat(values, starts) if starts else values
