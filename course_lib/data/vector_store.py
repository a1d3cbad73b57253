"""Word vectors in the cache: converted once, whole or not at all, and memory-mapped ever after.

A folder holds ``words.txt``, ``vectors.f32`` (float32, one row a word) and ``origin.json``: the
sha256 of the text or file that they came from, and for a file of one's own where it was.
"""

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
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from tqdm.auto import tqdm

from course_lib.data.catalog import Card, names_of
from course_lib.data.custom import CUSTOM, custom_name, unchanged_digest
from course_lib.data.readers import naming
from course_lib.data.vector_files import Entry, read_vector_file, stream_entries
from course_lib.data.vocabulary import read_words
from course_lib.files import DataError, atomic_path, data_root

FORMAT = 1  # of a converted file of one's own; raise it when reading one changes


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
        matrix = values.reshape(len(words), -1)
    except (OSError, ValueError) as error:
        raise _damaged(folder, error) from error
    return Stored(pa.array(words, pa.string()), matrix, _origin(folder))


def convert(archive: Path, member: str, folder: Path, card: Card) -> None:
    """Read the text ``member`` of a zip or tar into ``folder``; verify the card's content.

    Raises ``DataError`` naming file and line when a line is not a word and as many numbers as the
    first line has, or when the text is not the one the card promises.
    """
    digest = hashlib.sha256()
    with atomic_path(folder) as temporary, naming(archive):
        temporary.mkdir()
        with (
            _opened(archive, member) as (text, size),
            _watched(text, size, f"{card.name}: read", digest) as stream,
            _placed(f"{archive}: {member}"),
        ):
            _write(stream_entries(stream), temporary, first_counts=True)
        if card.content and digest.hexdigest() != card.content:
            raise DataError(
                f"{archive}: {member}: sha256 is {digest.hexdigest()}, expected {card.content}"
            )
        _note(temporary, {"sha256": digest.hexdigest()})


def convert_file(path: Path, folder: Path, origin: dict[str, Any]) -> None:
    """Read a file of any form into ``folder`` and note its origin; ``DataError`` as ``convert``."""
    with atomic_path(folder) as temporary, naming(path):
        temporary.mkdir()
        with (
            path.open("rb") as file,
            _watched(file, path.stat().st_size, f"{path.name}: read") as stream,
            _placed(str(path)),
        ):
            _write(read_vector_file(path, stream), temporary)
        _note(temporary, origin)


def custom_vectors(path: Path, root: Path | None = None) -> str:
    """The name of a vectors file of one's own, such as ``mine.txt@0123456789ab``, for settings.

    The name holds nothing of this machine: the file's own name and the beginning of its sha256. On
    first use the file is converted into the cache; later it need not be there. A file whose size
    and time have not changed is not read again. Raises ``DataError`` naming file and line, word or
    row for what is no file of vectors.
    """
    if not path.is_file():
        raise DataError(f"{path}: {'is no file' if path.exists() else 'no such file of vectors'}")
    about = path.stat()
    seen = {"path": str(path.resolve()), "size": about.st_size, "modified": about.st_mtime_ns}
    prepared = (root or data_root()) / "prepared"
    digest = _digest_noted(prepared, seen)
    if digest is None:
        with naming(path):
            digest = unchanged_digest(path)
    folder = _own_folder(prepared, digest[:12])
    if not folder.exists():
        convert_file(path, folder, {"sha256": digest, **seen})
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


def own_folder(name: str, root: Path | None = None) -> Path:
    """Where the vectors of that name are; ``DataError`` where this machine has not got them."""
    file, _, digest = name.partition("@")
    folder = _own_folder((root or data_root()) / "prepared", digest)
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


def _own_folder(prepared: Path, digest: str) -> Path:
    return prepared / f"own-{digest}-v{FORMAT}"


def _digest_noted(prepared: Path, seen: dict[str, Any]) -> str | None:
    """The digest of the file if it has been converted and not been changed since."""
    for note in prepared.glob(f"own-*-v{FORMAT}/origin.json"):
        origin = _origin(note.parent)
        if seen.items() <= origin.items():
            return origin["sha256"]
    return None


@contextmanager
def _opened(archive: Path, member: str) -> Iterator[tuple[BinaryIO, int]]:
    """A file inside a zip or a tar, and its size in bytes; ``KeyError`` if there is none."""
    with ExitStack() as stack:
        if zipfile.is_zipfile(archive):
            zipped = stack.enter_context(zipfile.ZipFile(archive))
            yield stack.enter_context(zipped.open(member)), zipped.getinfo(member).file_size
            return
        tar = stack.enter_context(tarfile.open(archive))
        for entry in tar:  # some archives have ./ before their names
            if entry.isfile() and PurePosixPath(entry.name) == PurePosixPath(member):
                yield stack.enter_context(tar.extractfile(entry)), entry.size
                return
        raise KeyError(f"there is no item named {member!r} in the archive")


class _Watched(io.RawIOBase):
    """A stream that shows on a bar how far it has been read, and feeds a digest."""

    def __init__(self, stream: BinaryIO, bar: tqdm, digest: Any) -> None:
        self.stream, self.bar, self.digest = stream, bar, digest

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: memoryview) -> int:
        """Read as much as there is, up to the length of the buffer."""
        data = self.stream.read(len(buffer))
        buffer[: len(data)] = data
        self.bar.update(len(data))
        if self.digest:
            self.digest.update(data)
        return len(data)


@contextmanager
def _watched(
    stream: BinaryIO, size: int, what: str, digest: Any = None
) -> Iterator[io.BufferedReader]:
    with tqdm(total=size, unit="B", unit_scale=True, desc=what) as bar:
        yield io.BufferedReader(_Watched(stream, bar, digest), 1 << 20)


@contextmanager
def _placed(where: str) -> Iterator[None]:
    """Put the file's name before what is wrong in it."""
    try:
        yield
    except DataError:
        raise
    except ValueError as error:
        raise DataError(f"{where}: {error}") from error


def _write(entries: Iterable[Entry], folder: Path, first_counts: bool = False) -> None:
    """Write words and vectors as they come; ``ValueError`` for what no vectors file should hold.

    A repeated word is an error, or, if the ``first_counts``, left out: a canonical file is as it
    is, and nobody can mend it.
    """
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


def _origin(folder: Path) -> dict[str, Any]:
    """What is noted of the origin; nothing in folders of earlier versions."""
    note = folder / "origin.json"
    try:
        return json.loads(note.read_text(encoding="utf-8")) if note.exists() else {}
    except (OSError, ValueError) as error:
        raise _damaged(folder, error) from error


def _damaged(folder: Path, error: Exception) -> DataError:
    return DataError(f"{folder}: damaged ({error}). Delete it and run again.")


def _note(folder: Path, origin: dict[str, Any]) -> None:
    text = json.dumps(origin, indent=1, ensure_ascii=False)
    (folder / "origin.json").write_text(f"{text}\n", encoding="utf-8")
