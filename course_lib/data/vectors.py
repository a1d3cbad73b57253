"""Pre-trained word vectors: converted once, then memory-mapped, and made into an embedding."""

import json
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch

from course_lib.data.catalog import card
from course_lib.data.naming import CUSTOM, present_folder
from course_lib.data.ngrams import framed_ngrams
from course_lib.data.sources import obtain
from course_lib.data.vector_files import convert
from course_lib.data.vocabulary import RESERVED, Vocabulary, read_words
from course_lib.files import DataError, prepared_folder, undamaged

CHUNK = 20_000
SEED_STEP = 1_000_003  # between seeds of one run, so that none is that of another run


class CommonPart(NamedTuple):
    """The common part of the vectors of all words, in float64."""

    mean: np.ndarray  # (dimensions,)
    directions: np.ndarray  # (count, dimensions): orthonormal, of the largest variance first


def common_part(matrix: np.ndarray) -> CommonPart:
    """Return the mean of ``(words, dimensions)`` and its first principal directions.

    Their number is a hundredth of the dimensions, at least one, as Mu, Bhat and Viswanath (2017),
    All-but-the-Top, advise.
    """
    words, dimensions = matrix.shape
    count = max(1, round(dimensions / 100))
    total, products = np.zeros(dimensions), np.zeros((dimensions, dimensions))
    for start in range(0, words, CHUNK):  # 400,000 words of 300 numbers would be 1 GB at once
        block = matrix[start : start + CHUNK].astype(np.float64)
        total += block.sum(0)
        products += block.T @ block
    mean = total / words
    _, directions = np.linalg.eigh(products / words - np.outer(mean, mean))  # weakest first
    return CommonPart(mean, directions.T[::-1][:count])


def all_but_the_top(vectors: np.ndarray, common: CommonPart) -> np.ndarray:
    """Subtract the mean and remove the directions; return ``(words, dimensions)`` in float32.

    Mu, Bhat and Viswanath (2017), Algorithm 1. Lengths are not made equal.
    """
    centred = vectors - common.mean
    along = centred @ common.directions.T
    return (centred - along @ common.directions).astype(np.float32)


@dataclass(frozen=True)
class Vectors:
    """``matrix`` (words, dimensions) float32, memory-mapped, and the word of each row; ``sha256``
    is that of the text or file that they came from."""

    name: str
    words: pa.Array
    matrix: np.ndarray
    sha256: str

    @property
    def provenance(self) -> list[dict[str, Any]]:
        """Name, sha256, number of words and width, as records hold them; one for each file."""
        count, width = self.matrix.shape
        return [{"name": self.name, "sha256": self.sha256, "words": count, "width": width}]

    @property
    def vocabulary(self) -> Vocabulary:
        """All words that have a vector, in the order of the file."""
        return Vocabulary(tuple(self.words.to_pylist()), folded=True)

    def rows_of(self, words: tuple[str, ...]) -> np.ndarray:
        """The row of each word, looked up exactly, else lower-cased; -1 where there is none."""
        exact = self._rows(words)
        return np.where(exact < 0, self._rows(tuple(word.lower() for word in words)), exact)

    def _rows(self, words: tuple[str, ...]) -> np.ndarray:
        found = pc.index_in(pa.array(words, pa.string()), value_set=self.words)
        return pc.fill_null(found, -1).to_numpy(zero_copy_only=False)

    def vectors_of(
        self, words: tuple[str, ...], standardise: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Whether each word has a vector, and the vectors of those that have one."""
        rows = self.rows_of(words)
        vectors = np.asarray(self.matrix[rows[rows >= 0]])
        if standardise:
            vectors = all_but_the_top(vectors, common_part(self.matrix))
        return rows >= 0, vectors

    def embedding_for(
        self,
        vocabulary: Vocabulary,
        seed: int,
        standardise: bool = False,
        without_vector: str = "random",
    ) -> tuple[torch.Tensor, float]:
        """Initial embedding ``(len(vocabulary), dimensions)`` and the share of words it covers.

        Words without a vector, and the unknown word, are drawn from a Gaussian with the standard
        deviation of the vectors that were found; with ``without_vector="zero"`` they are zero, as
        padding is. ``standardise`` first removes from those found what all words of the file share
        (``all_but_the_top``).
        ``DataError`` if no word of the vocabulary has a vector: those of another language, say.
        """
        has_vector, vectors = self.vectors_of(vocabulary.words, standardise)
        if len(vocabulary.words) and not has_vector.any():
            raise DataError(
                f"{self.name}: none of the {len(vocabulary.words):,} words to be read, such as "
                f"{vocabulary.words[0]!r}, has a vector; its own words are such as "
                f"{self.words[0].as_py()!r}"
            )
        generator = torch.Generator().manual_seed(seed)
        embedding = torch.randn(len(vocabulary), self.matrix.shape[1], generator=generator)
        embedding *= float(vectors.std()) if has_vector.any() else 1.0
        if without_vector == "zero":
            embedding.zero_()
        embedding[RESERVED:][torch.from_numpy(has_vector)] = torch.from_numpy(vectors)
        embedding[0] = 0
        return embedding, float(has_vector.mean())


class NgramVectors(Vectors):
    """Vectors of character n-grams: a word's is the mean of those that its n-grams have.

    They are never standardised, since what all n-grams share is not what all words share.
    """

    @property
    def vocabulary(self) -> Vocabulary:
        """Refused: every word has a vector."""
        raise DataError(f"{self.name}: vectors of n-grams have no words to take a vocabulary from")

    def vectors_of(
        self, words: tuple[str, ...], standardise: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Whether each word has an n-gram with a vector, and the means of those that have one."""
        grams = [framed_ngrams(word) for word in words]
        rows = self._rows(tuple(chain(*grams)))
        ends = np.cumsum([len(of_word) for of_word in grams])
        known = [of_word[of_word >= 0] for of_word in np.split(rows, ends[:-1])]
        has_vector = np.array([len(of_word) > 0 for of_word in known], dtype=bool)
        means = [self.matrix[of_word].mean(0) for of_word in known if len(of_word)]
        return has_vector, np.array(means, np.float32).reshape(-1, self.matrix.shape[1])


@dataclass(frozen=True)
class SideBySide:
    """Several vectors of each word, joined into one."""

    parts: list[Vectors]

    @property
    def provenance(self) -> list[dict[str, Any]]:
        """Name, sha256, number of words and width of each."""
        return [about for part in self.parts for about in part.provenance]

    @property
    def vocabulary(self) -> Vocabulary:
        """All words that one of the parts has a vector of, those of the first part first."""
        parts = [part.vocabulary.words for part in self.parts]
        return Vocabulary(tuple(dict.fromkeys(chain(*parts))), folded=True)

    def embedding_for(
        self, vocabulary: Vocabulary, seed: int, *settings: Any, **options: Any
    ) -> tuple[torch.Tensor, float]:
        """As ``Vectors.embedding_for``, over all dimensions; the share is that of the first.

        Parts of equal width have seeds of their own, since one seed would draw the same numbers.
        """
        widths = [part.matrix.shape[1] for part in self.parts]
        seeds = (seed + SEED_STEP * widths[:i].count(width) for i, width in enumerate(widths))
        pairs = [
            part.embedding_for(vocabulary, own, *settings, **options)
            for part, own in zip(self.parts, seeds, strict=True)
        ]
        return torch.cat([embedding for embedding, _ in pairs], dim=1), pairs[0][1]


def load_vectors(name: str) -> Vectors | SideBySide:
    """The vectors of that name, fetched and converted on first use; raises ``DataError``.

    A name is one of the catalog, or what ``custom_vectors`` calls a file of one's own; several of
    them, joined by ``+``, are put side by side.
    """
    parts = [_load(part) for part in name.split("+")]
    return parts[0] if len(parts) == 1 else SideBySide(parts)


def _load(name: str) -> Vectors:
    if CUSTOM.fullmatch(name):
        return _open(Vectors, name, present_folder("own", name))
    vectors_card = card(name, "vectors")
    # a file that this repository holds changes with it, so its digest is part of the folder's name
    downloads = chain(*(source.downloads for source in vectors_card.sources))
    committed = [item for item in downloads if item.committed]
    suffix = "".join(f"-{item.digest.rpartition(':')[2][:12]}" for item in committed)
    folder = prepared_folder(f"{vectors_card.name}{suffix}")
    if not folder.exists():
        source, (archive,) = obtain(vectors_card)
        convert(archive, folder, source.member, vectors_card.content)
    return _open(NgramVectors if vectors_card.of_ngrams else Vectors, name, folder)


def _open(kind: type[Vectors], name: str, folder: Path) -> Vectors:
    """The vectors in a folder of the cache; ``DataError`` names it if it is damaged."""
    with undamaged(folder):
        words = read_words(folder / "words.txt")
        values = np.memmap(folder / "vectors.f32", dtype=np.float32, mode="r")
        sha256 = json.loads((folder / "origin.json").read_text(encoding="utf-8"))["sha256"]
        return kind(name, pa.array(words, pa.string()), values.reshape(len(words), -1), sha256)
