"""Words to ids: 0 is padding, 1 any unknown word, then by falling frequency."""

from dataclasses import dataclass, field
from pathlib import Path

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from course_lib.files import DataError, atomic_path

PADDING, UNKNOWN = 0, 1
RESERVED = 2
CHUNK = 2000


@dataclass(frozen=True)
class Vocabulary:
    """The words with ids of their own, most frequent first; ``words[0]`` has id 2."""

    words: tuple[str, ...]
    _values: pa.Array = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_values", pa.array(self.words, pa.string()))

    def __len__(self) -> int:
        return len(self.words) + RESERVED

    def encode(self, tokens: pa.Array | list[str]) -> np.ndarray:
        """Ids (int32) of a flat list of tokens."""
        tokens = tokens if isinstance(tokens, pa.Array) else pa.array(tokens, pa.string())
        places = pc.index_in(tokens, value_set=self._values)
        ids = pc.add(places, pa.scalar(RESERVED, pa.int32()))
        return pc.fill_null(ids, UNKNOWN).to_numpy(zero_copy_only=False).astype(np.int32)

    def decode(self, ids: np.ndarray) -> list[str]:
        """The words of ids; padding is the empty string, an unknown word ``⟨unknown⟩``."""
        reserved = ("", "⟨unknown⟩")
        return [reserved[i] if i < RESERVED else self.words[i - RESERVED] for i in ids]

    def save(self, path: Path) -> None:
        """One word a line (tokens hold no white space)."""
        with atomic_path(path) as temporary:
            temporary.write_text("\n".join(self.words), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> "Vocabulary":
        """Read what ``save`` wrote; raises ``DataError`` if a word stands twice."""
        text = path.read_text(encoding="utf-8")
        words = tuple(text.split("\n")) if text else ()
        if len(set(words)) != len(words):
            raise DataError(f"{path}: a word stands twice; delete the file and train again")
        return cls(words)

    @classmethod
    def build(
        cls, rows: datasets.Dataset, size: int | None = None, minimum: int = 1
    ) -> "Vocabulary":
        """The ``size`` (reserved ids included) most frequent words, each seen ``minimum`` times.

        Equally frequent words stand in alphabetical order, so the result never depends on the order
        of the rows.
        """
        counts: dict[str, int] = {}
        for batch in rows.select_columns("tokens").with_format("arrow").iter(CHUNK):
            found = pc.value_counts(batch["tokens"].combine_chunks().flatten())
            for word, count in zip(
                found.field("values").to_pylist(), found.field("counts").to_pylist(), strict=True
            ):
                counts[word] = counts.get(word, 0) + count
        frequent = [word for word, count in counts.items() if count >= minimum]
        frequent.sort(key=lambda word: (-counts[word], word))
        return cls(tuple(frequent[: None if size is None else max(0, size - RESERVED)]))
