"""Words to ids: 0 is padding, 1 any unknown word, then by falling frequency."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from course_lib.files import atomic_path, undamaged

PADDING, UNKNOWN = 0, 1
RESERVED = 2
CHUNK = 2000


@dataclass(frozen=True)
class Vocabulary:
    """The words with ids of their own, most frequent first; ``words[0]`` has id 2.

    ``folded``: a token that is not among the words counts as its lower-case form.
    """

    words: tuple[str, ...]
    folded: bool = False
    _values: pa.Array = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_values", pa.array(self.words, pa.string()))

    def __len__(self) -> int:
        return len(self.words) + RESERVED

    def encode(self, tokens: pa.Array | list[str]) -> np.ndarray:
        """Ids (int32) of a flat list of tokens."""
        tokens = tokens if isinstance(tokens, pa.Array) else pa.array(tokens, pa.string())
        places = pc.index_in(tokens, value_set=self._values)
        if self.folded:
            lower = pc.index_in(pc.utf8_lower(tokens), value_set=self._values)
            places = pc.coalesce(places, lower)
        ids = pc.add(places, pa.scalar(RESERVED, pa.int32()))
        return pc.fill_null(ids, UNKNOWN).to_numpy(zero_copy_only=False).astype(np.int32)

    def decode(self, ids: np.ndarray) -> list[str]:
        """The words of ids; padding is the empty string, an unknown word ``⟨unknown⟩``."""
        reserved = ("", "⟨unknown⟩")
        return [reserved[i] if i < RESERVED else self.words[i - RESERVED] for i in ids]

    def save(self, path: Path) -> None:
        """One word a line (tokens hold no white space), the same bytes on every system."""
        with atomic_path(path) as temporary:
            temporary.write_bytes("\n".join(self.words).encode())

    @classmethod
    def load(cls, path: Path, folded: bool = False) -> "Vocabulary":
        """Read what ``save`` wrote; ``DataError`` for a missing file, no words, or one twice."""
        with undamaged(path):
            words = read_words(path)
            if len(set(words)) != len(words):
                word, _ = Counter(words).most_common(1)[0]
                raise ValueError(f"the word {word!r} stands twice")
        return cls(tuple(words), folded)

    @classmethod
    def build(cls, rows: datasets.Dataset, size: int | None = None) -> "Vocabulary":
        """The ``size`` (reserved ids included) most frequent words, all of them if None.

        Equally frequent words stand in alphabetical order, so the result never depends on the order
        of the rows.
        """
        counts: dict[str, int] = {}
        for batch in rows.select_columns("tokens").with_format("arrow").iter(CHUNK):
            occurrences = pc.value_counts(batch["tokens"].combine_chunks().flatten())
            values, times = (occurrences.field(name).to_pylist() for name in ("values", "counts"))
            for word, count in zip(values, times, strict=True):
                counts[word] = counts.get(word, 0) + count
        words = sorted(counts, key=lambda word: (-counts[word], word))
        return cls(tuple(words[: None if size is None else max(0, size - RESERVED)]))


def read_words(path: Path) -> list[str]:
    """What ``save`` wrote; ``ValueError`` says which line has no word or what is no UTF-8.

    Nothing but the line feed ends a line: words of the treebank hold other white space.
    """
    try:
        words = path.read_bytes().decode().split("\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 at byte {error.start}") from error
    if "" in words:
        raise ValueError(f"line {words.index('') + 1} has no word")
    return words
