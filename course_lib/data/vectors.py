"""Pre-trained word vectors: a text file read once, then memory-mapped."""

import hashlib
import io
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from tqdm.auto import tqdm

from course_lib.data.cards import Card
from course_lib.data.catalog import card
from course_lib.data.readers import naming
from course_lib.data.sources import obtain
from course_lib.data.vocabulary import RESERVED, Vocabulary, read_words, write_words
from course_lib.files import DataError, atomic_path, data_root

CHUNK = 20_000


class CommonPart(NamedTuple):
    """What the vectors of all words share, in float64: their ``mean`` ``(dimensions,)`` and the
    orthonormal ``directions`` ``(count, dimensions)`` in which they vary most, strongest first."""

    mean: np.ndarray
    directions: np.ndarray


def common_part(matrix: np.ndarray, count: int | None = None) -> CommonPart:
    """The mean and first ``count`` principal directions of ``(words, dimensions)``.

    None takes dimensions / 100 of them, at least one, as Mu, Bhat and Viswanath (2017),
    All-but-the-Top, advise. Raises ``ValueError`` for more directions than dimensions.
    """
    words, dimensions = matrix.shape
    count = max(1, round(dimensions / 100)) if count is None else count
    if not 0 <= count <= dimensions:
        raise ValueError(f"count takes 0 to {dimensions} directions, got {count}")
    total, products = np.zeros(dimensions), np.zeros((dimensions, dimensions))
    for start in range(0, words, CHUNK):  # 400,000 words of 300 numbers would be 1 GB at once
        block = matrix[start : start + CHUNK].astype(np.float64)
        total += block.sum(0)
        products += block.T @ block
    mean = total / words
    _, directions = np.linalg.eigh(products / words - np.outer(mean, mean))  # weakest first
    return CommonPart(mean, directions.T[::-1][:count])


def all_but_the_top(vectors: np.ndarray, common: CommonPart) -> np.ndarray:
    """``(words, dimensions)`` float32 without the common part: centred, its directions removed.

    Mu, Bhat and Viswanath (2017), Algorithm 1. Lengths are not made equal.
    """
    centred = vectors - common.mean
    along = centred @ common.directions.T
    return (centred - along @ common.directions).astype(np.float32)


@dataclass(frozen=True)
class Vectors:
    """``matrix`` (words, dimensions) float32, memory-mapped, and the word of each row."""

    name: str
    words: pa.Array
    matrix: np.memmap

    def rows_of(self, words: tuple[str, ...]) -> np.ndarray:
        """The row of each word, looked up exactly, else lower-cased; -1 where there is none."""
        exact = pc.index_in(pa.array(words, pa.string()), value_set=self.words)
        lower = pc.index_in(pa.array([w.lower() for w in words], pa.string()), value_set=self.words)
        return pc.fill_null(pc.coalesce(exact, lower), -1).to_numpy(zero_copy_only=False)

    def embedding_for(
        self, vocabulary: Vocabulary, seed: int, standardise: bool = False
    ) -> tuple[torch.Tensor, float]:
        """Initial embedding ``(len(vocabulary), dimensions)`` and the share of words it covers.

        Words without a vector, and the unknown word, are drawn from a Gaussian with the standard
        deviation of the vectors that were found; padding is zero. ``standardise`` first removes
        from those what all words of the file share (``all_but_the_top``).
        """
        rows = self.rows_of(vocabulary.words)
        has_vector = rows >= 0
        vectors = np.asarray(self.matrix[rows[has_vector]])
        if standardise:
            vectors = all_but_the_top(vectors, common_part(self.matrix))
        generator = torch.Generator().manual_seed(seed)
        embedding = torch.randn(len(vocabulary), self.matrix.shape[1], generator=generator)
        embedding *= float(vectors.std()) if has_vector.any() else 1.0
        embedding[RESERVED:][torch.from_numpy(has_vector)] = torch.from_numpy(vectors)
        embedding[0] = 0
        return embedding, float(has_vector.mean())


def load_vectors(name: str, root: Path | None = None) -> Vectors:
    """The vectors of that name, fetched and converted on first use; raises ``DataError``."""
    entry = card(name, "vectors")
    folder = (root or data_root()) / "prepared" / name
    if not folder.exists():
        archives = obtain(entry, root)
        (archive,) = archives.paths
        convert(archive, archives.source.member, folder, entry)
    try:
        words = read_words(folder / "words.txt")
        values = np.memmap(folder / "vectors.f32", dtype=np.float32, mode="r")
        matrix = values.reshape(len(words), -1)
    except (OSError, ValueError) as error:
        raise DataError(f"{folder}: damaged ({error}). Delete it and run again.") from error
    return Vectors(name, pa.array(words, pa.string()), matrix)


def convert(archive: Path, member: str, folder: Path, card: Card) -> None:
    """Read ``word value value …`` lines out of a zip into ``folder``; verify the card's content.

    Raises ``DataError`` naming file and line when a line is not a word and as many numbers as the
    first line has, or when the text is not the one the card promises.
    """
    with atomic_path(folder) as temporary:
        temporary.mkdir()
        digest = hashlib.sha256()
        words = []
        dimensions = None
        with (
            naming(archive), zipfile.ZipFile(archive) as zipped, zipped.open(member) as text,
            (temporary / "vectors.f32").open("wb") as values,
        ):  # fmt: skip
            size = zipped.getinfo(member).file_size
            with tqdm(total=size, unit="B", unit_scale=True, desc=f"{card.name}: read") as bar:
                for number, line in enumerate(io.BufferedReader(text), start=1):
                    digest.update(line)
                    bar.update(len(line))
                    word, _, rest = line.rstrip(b"\n").partition(b" ")
                    try:
                        vector = np.array(rest.split(b" "), dtype=np.float32)
                        words.append(word.decode("utf-8"))
                    except ValueError as error:
                        raise DataError(f"{archive}: {member} line {number}: {error}") from error
                    dimensions = dimensions or vector.size
                    if vector.size != dimensions or not word:
                        raise DataError(
                            f"{archive}: {member} line {number}: {vector.size} numbers, "
                            f"expected a word and {dimensions}"
                        )
                    values.write(vector.tobytes())
        if card.content and digest.hexdigest() != card.content:
            raise DataError(
                f"{archive}: {member}: sha256 is {digest.hexdigest()}, expected {card.content}"
            )
        write_words(temporary / "words.txt", words)
