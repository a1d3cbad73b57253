"""Word vectors in the cache: converted once, whole or not at all, and memory-mapped ever after.

A folder holds ``words.txt``, ``vectors.f32`` (float32, one row a word) and ``origin.json``: the
sha256 of the text or file that they came from.
"""

import gzip
import hashlib
import io
import json
import re
import tarfile
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pyarrow as pa
from tqdm.auto import tqdm

from course_lib.data.catalog import Card, names_of
from course_lib.data.custom import CUSTOM, custom_name, unchanged_digest
from course_lib.data.readers import naming
from course_lib.data.vector_files import Entry, npz_entries, stream_entries
from course_lib.data.vocabulary import read_words
from course_lib.files import DataError, atomic_path, data_root, file_digest

FORMAT = 1  # of a converted custom file; raise it when reading one changes


@dataclass(frozen=True)
class Stored:
    """``matrix`` (words, dimensions) float32, memory-mapped; the word of each row; the origin."""

    words: pa.Array
    matrix: np.memmap
    origin: dict[str, Any]


def open_stored(folder: Path) -> Stored:
    """The vectors in a folder of the cache; ``DataError`` names it if it is damaged."""
    try:
        words = read_words(folder / "words.txt")
        values = np.memmap(folder / "vectors.f32", dtype=np.float32, mode="r")
        matrix, note = values.reshape(len(words), -1), folder / "origin.json"
        # folders of earlier versions have no note
        origin = json.loads(note.read_text(encoding="utf-8")) if note.exists() else {}
    except (OSError, ValueError) as error:
        raise DataError(f"{folder}: damaged ({error}). Delete it and run again.") from error
    return Stored(pa.array(words, pa.string()), matrix, origin)


def convert(
    path: Path, folder: Path, member: str | None = None, content: str | None = None
) -> None:
    """Read a file of any form, or the text ``member`` of a zip or tar, into ``folder``.

    ``DataError`` names file and line, word or row of what no vectors file should hold, and says
    when the text is not the one of sha256 ``content``. A repeated word is an error in a file; in a
    member the first one counts: a canonical file is as it is, and nobody can mend it.
    """
    where = f"{path}: {member}" if member else str(path)
    with atomic_path(folder) as temporary, naming(path):
        temporary.mkdir()
        digest = _member_digest(path, member) if member else file_digest(path)
        if content and digest != content:
            raise DataError(f"{where}: sha256 is {digest}, expected {content}")
        try:
            entries = tqdm(_entries(path, member), desc=f"{path.name}: read", unit=" words")
            _write(entries, temporary, first_counts=member is not None)
        except DataError:
            raise
        except ValueError as error:
            raise DataError(f"{where}: {error}") from error
        (temporary / "origin.json").write_text(json.dumps({"sha256": digest}), encoding="utf-8")


def custom_vectors(path: Path, root: Path | None = None) -> str:
    """The name of a vectors file of one's own, such as ``mine.txt@0123456789ab``, for settings.

    The name holds nothing of this machine: the file's own name and the beginning of its sha256. On
    first use the file is converted into the cache; later it need not be there. Raises ``DataError``
    naming file and line, word or row for what is no file of vectors.
    """
    if not path.is_file():
        raise DataError(f"{path}: {'is no file' if path.exists() else 'no such file of vectors'}")
    with naming(path):
        digest = unchanged_digest(path)
    folder = _custom_folder(digest[:12], root)
    if not folder.exists():
        convert(path, folder)
    return custom_name(path.name, digest)


def named_vectors(value: str, base: Path = Path()) -> str:
    """A setting ``text.vectors`` in which paths, relative to ``base``, have become names.

    Names of the catalog, and what is neither a name nor a path, stay. ``DataError`` as
    ``custom_vectors``.
    """
    if (base / value).is_file() and value not in names_of("vectors"):
        return custom_vectors(base / value)
    parts = value.split("+")
    return "+".join(custom_vectors(base / part) if _is_path(part, base) else part for part in parts)


def prepared_folder(entry: Card, root: Path | None = None) -> Path:
    """Where the vectors of a card of the catalog are or will be in the cache.

    A file that this repository holds changes with it, so its digest is part of the name.
    """
    committed = [item for source in entry.sources for item in source.downloads if item.committed]
    suffix = "".join(f"-{item.digest.rpartition(':')[2][:12]}" for item in committed)
    return (root or data_root()) / "prepared" / f"{entry.name}{suffix}"


def custom_vectors_folder(name: str, root: Path | None = None) -> Path:
    """Where the vectors of that name are; ``DataError`` where this machine has not got them."""
    file, _, digest = name.partition("@")
    folder = _custom_folder(digest, root)
    if not folder.exists():
        raise DataError(
            f"{name}: not in the cache here; set text.vectors to the path of {file} once (the "
            f"file whose sha256 begins with {digest})"
        )
    return folder


def _is_path(part: str, base: Path) -> bool:
    if part in ("none", *names_of("vectors")) or CUSTOM.fullmatch(part):
        return False
    return bool(re.search(r"[/\\]", part)) or (base / part).is_file()


def _custom_folder(digest: str, root: Path | None) -> Path:
    return (root or data_root()) / "prepared" / f"own-{digest}-v{FORMAT}"


def _member_digest(archive: Path, member: str) -> str:
    with _opened(archive, member) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _entries(path: Path, member: str | None) -> Iterator[Entry]:
    if member is None and path.open("rb").read(4) == b"PK\x03\x04":
        yield from npz_entries(path)
    else:
        with _opened(path, member) as stream:
            yield from stream_entries(stream)


@contextmanager
def _opened(path: Path, member: str | None) -> Iterator[io.BufferedReader]:
    """A file, unpacked if it is gzipped, or one inside a zip or a tar; ``KeyError`` without it."""
    with ExitStack() as stack:
        if member is None:
            stream = stack.enter_context(path.open("rb"))
            if stream.peek(2).startswith(b"\x1f\x8b"):
                stream = stack.enter_context(gzip.open(stream))
        elif zipfile.is_zipfile(path):
            stream = stack.enter_context(zipfile.ZipFile(path)).open(member)
        else:
            tar = stack.enter_context(tarfile.open(path))
            wanted = PurePosixPath(member)  # some archives have ./ before their names
            stream = next(
                (tar.extractfile(entry) for entry in tar
                 if entry.isfile() and PurePosixPath(entry.name) == wanted), None,
            )  # fmt: skip
            if stream is None:
                raise KeyError(f"there is no item named {member!r} in the archive")
        yield io.BufferedReader(stack.enter_context(stream), 1 << 20)


def _write(entries: Iterable[Entry], folder: Path, first_counts: bool) -> None:
    """Write words and vectors as they come; ``ValueError`` for what no vectors file should hold."""
    seen: set[str] = set()
    with (
        (folder / "words.txt").open("wb") as words,
        (folder / "vectors.f32").open("wb") as values,
        np.errstate(over="ignore"),  # what is too large becomes infinite, which is refused
    ):
        for place, raw, vector in entries:
            word = _word(raw, place)
            if word in seen:
                if first_counts:
                    continue
                raise ValueError(f"{place}: the word {word!r} stands in the file before")
            if not np.isfinite(vector).all():
                raise ValueError(f"{place}: a number of {word!r} is not finite (NaN or infinity)")
            words.write(f"\n{word}".encode() if seen else word.encode())
            values.write(vector.tobytes())
            seen.add(word)
    if not seen:
        raise ValueError("holds no words")


def _word(raw: bytes | str, place: str) -> str:
    try:
        word = raw.decode() if isinstance(raw, bytes) else raw
    except UnicodeDecodeError as error:
        raise ValueError(f"{place}: not UTF-8 ({error.reason})") from error
    if not word or "\n" in word:
        raise ValueError(f"{place}: {word!r} is not a word")
    return word
