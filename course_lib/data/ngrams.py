"""The character n-grams of words, hashed into a table of a given size."""

import zlib
from collections.abc import Sequence

import numpy as np
import torch

SIZES = (2, 3, 4)


def hashed_ngrams(words: Sequence[str], buckets: int) -> torch.Tensor:
    """Rows of each word's n-grams in a table of ``buckets`` + 1: ``(words, most n-grams)``, int32.

    A word is put between ``<`` and ``>``; equal n-grams have equal rows, from 1, on every machine;
    0 pads the rest.
    """
    rows_of_words = []
    for word in words:
        framed = f"<{word}>"
        grams = [framed[i : i + n] for n in SIZES for i in range(len(framed) - n + 1)]
        rows_of_words.append([1 + zlib.crc32(gram.encode()) % buckets for gram in grams])
    rows = np.zeros((len(words), max(map(len, rows_of_words), default=0)), dtype=np.int32)
    for row, ids in zip(rows, rows_of_words, strict=True):
        row[: len(ids)] = ids
    return torch.from_numpy(rows)


def framed_ngrams(word: str) -> list[str]:
    """The n-grams of a word, named as in the vectors of Hashimoto et al.: ``3gram-#BEGIN#no``."""
    characters = ["#BEGIN#", *word, "#END#"]
    return [
        f"{n}gram-{''.join(characters[start : start + n])}"
        for n in SIZES
        for start in range(len(characters) - n + 1)
    ]
