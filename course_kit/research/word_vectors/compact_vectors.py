"""A compact form of two vectors files, small enough to be committed: fewer words, fewer numbers.

``attention-course compact`` puts the vectors of film reviews (``attention-course vectors``) beside
GloVe's, keeps the directions in which they vary most, and stores one byte a number. Lessons and
recorded networks read the result, ``reviews.100d``.
"""

import argparse
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from course_kit.research.recording import Stopwatch, add_options, chosen, write_vectors
from course_lib.checking import check_number, check_whole
from course_lib.data.vector_files import named_vectors
from course_lib.data.vectors import Vectors, load_vectors
from course_lib.files import REPOSITORY, DataError

COMPACT = REPOSITORY / "results" / "vectors" / "reviews.100d.npz"
LARGEST = 127  # of an int8


@dataclass(frozen=True)
class CompactConfig:
    """How vectors are made smaller. ``first`` and ``second`` are how many of the most frequent
    words of either file are kept; ``weight`` is the variance of the first file's vectors relative
    to the second's; ``deviation`` is that of all numbers (GloVe's, roughly, so that learning rates
    carry over). Raises ``ValueError`` naming a field.
    """

    first: int = 25_000
    second: int = 5_000
    width: int = 100
    weight: float = 4.0
    deviation: float = 0.4

    def __post_init__(self) -> None:
        check_whole(self, "first", "second", "width")
        check_number(self, "weight", "deviation")


def chosen_words(ours: Vectors, theirs: Vectors, config: CompactConfig) -> list[str]:
    """The first words of ``ours``, then the first of ``theirs`` that are not among them."""
    words = dict.fromkeys(ours.words[: config.first].to_pylist())
    size = len(words) + config.second
    for word in theirs.words.to_pylist():
        if len(words) == size:
            break
        words.setdefault(word)
    return list(words)


def compacted(ours: Vectors, theirs: Vectors, config: CompactConfig) -> tuple[list[str], Any]:
    """The words, and their vectors ``(words, width)`` float32.

    Either part is centred and scaled to a mean squared length of 1 (``weight`` for ours); a word
    that a part lacks is zero there. Of both side by side the ``width`` principal components stay.
    """
    words = chosen_words(ours, theirs, config)
    parts = [_centred(part, words) for part in (ours, theirs)]
    both = np.hstack([np.sqrt(config.weight) * parts[0], parts[1]])
    if config.width > both.shape[1]:
        raise DataError(f"width takes at most the {both.shape[1]} numbers of both files")
    _, directions = np.linalg.eigh(both.T @ both)  # weakest first
    kept = both @ directions[:, ::-1][:, : config.width]
    return words, (kept * (config.deviation / kept.std())).astype(np.float32)


def _centred(vectors: Vectors, words: list[str]) -> np.ndarray:
    rows = vectors.rows_of(tuple(words))
    found = rows >= 0
    matrix = np.zeros((len(words), vectors.matrix.shape[1]))
    matrix[found] = vectors.matrix[rows[found]]
    matrix[found] -= matrix[found].mean(0)
    return matrix / np.sqrt((matrix[found] ** 2).sum(1).mean())


def in_bytes(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """int8 numbers of the shape of ``vectors``, and the float32 ``scale`` (words,) of each row."""
    scale = np.maximum(np.abs(vectors).max(1), np.finfo(np.float32).tiny) / LARGEST
    return np.rint(vectors / scale[:, None]).astype(np.int8), scale.astype(np.float32)


def make_compact(ours: str, theirs: str, config: CompactConfig, path: Path) -> dict[str, Any]:
    """Write the compact form of two vectors, by name or path, and its record beside it."""
    watch = Stopwatch(1)
    sources = [load_vectors(named_vectors(name)) for name in (ours, theirs)]
    if not all(isinstance(source, Vectors) for source in sources):
        raise DataError(f"{ours}, {theirs}: each takes one file of vectors, without a +")
    words, vectors = compacted(*sources, config)
    numbers, scale = in_bytes(vectors)
    rounding = np.square(numbers * scale[:, None] - vectors).sum() / np.square(vectors).sum()
    about = {
        "settings": asdict(config),
        "made of": [part for source in sources for part in source.provenance],
        "share of the variance lost by rounding": float(f"{rounding:.2g}"),
        **watch.about(),
    }
    arrays = {"words": np.array(words), "vectors": numbers, "scale": scale}
    return write_vectors(path, arrays, about)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The two files, and the settings with their defaults."""
    parser.add_argument("ours", help="vectors of film reviews: an .npz of attention-course vectors")
    parser.add_argument("theirs", nargs="?", default="glove.6B.50d", help="(glove.6B.50d)")
    add_options(parser, CompactConfig())
    parser.add_argument("--out", type=Path, default=COMPACT, help="the .npz to write")


def command(options: argparse.Namespace) -> int:
    """Write the compact form and say how large it is."""
    config = chosen(options, CompactConfig)
    record = make_compact(options.ours, options.theirs, config, options.out)
    print(f"{record['words']:,} words, {record['bytes'] / 1e6:.2f} MB in {options.out}")
    return 0
