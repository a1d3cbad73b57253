"""Convert files of word vectors into the cache, where they are memory-mapped.

The first bytes of a file tell its form: GloVe's text, word2vec's text (the same after a line of two
numbers), either of them gzipped, or an ``.npz`` of ``words`` and ``vectors`` (int8 vectors come
with a ``scale`` for each word, by which its numbers are multiplied). Nothing is unpickled. gensim's
reader does not serve here: it splits words that hold a blank, which GloVe 840B has, and accepts
NaN.

A folder of the cache holds ``words.txt``, ``vectors.f32`` (float32, one row a word) and
``origin.json``: the sha256 of the text or file that they came from.
"""

import codecs
import gzip
import hashlib
import io
import json
import re
import tarfile
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np

from course_lib.data.catalog import names_of
from course_lib.data.naming import CUSTOM, custom_folder, custom_name
from course_lib.data.readers import readable
from course_lib.files import DataError, atomic_path, file_digest, unchanged_digest
from course_lib.front_end import progress

HEAD = 1 << 16  # bytes that a form is told by; a line of 300 numbers has some 4,000
LONGEST_LINE = 1 << 20  # bytes
HEADER = re.compile(rb"\s*(\d+)\s+(\d+)\s*")  # of word2vec's text: words, and numbers a word
NOT_IN_TEXT = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
OTHER = (
    "is in no form that can be read here: GloVe text or word2vec text, either of them gzipped, or "
    "an .npz of words and vectors. word2vec's binary files and gensim's own are not read: in "
    "gensim, save_word2vec_format(..., binary=False) writes text; of fastText take the .vec file"
)


class Entry(NamedTuple):
    """A word as the file holds it, its vector, and its place for messages."""

    place: str
    word: bytes | str
    vector: np.ndarray


def custom_vectors(path: Path) -> str:
    """Return the name of a vectors file for settings, such as ``mine.txt@0123456789ab``.

    The name consists of the file's own name and the beginning of its sha256. On first use the file
    is converted into the cache; later it is no longer needed.

    Raises
    ------
    DataError
        Names file and line, or row, of what is no word with its vector.
    """
    if not path.is_file():
        raise DataError(f"{path}: {'is no file' if path.exists() else 'no such file of vectors'}")
    with readable(path):
        name = custom_name(path.name, unchanged_digest(path))
    folder = custom_folder("own", name)
    if not folder.exists():
        convert(path, folder)
    return name


def named_vectors(value: str, base: Path = Path()) -> str:
    """Replace each path (relative to ``base``) in a setting ``text.vectors`` by its name.

    Names of the catalog, and what is neither a name nor a path, stay. Raises ``DataError`` as
    ``custom_vectors`` does.
    """

    def named(part: str) -> str:
        if part in ("none", *names_of("vectors")) or CUSTOM.fullmatch(part):
            return part
        is_path = re.search(r"[/\\]", part) or (base / part).is_file()
        return custom_vectors(base / part) if is_path else part

    parts = [value] if (base / value).is_file() else value.split("+")
    return "+".join(map(named, parts))


def convert(
    path: Path, folder: Path, member: str | None = None, content: str | None = None
) -> None:
    """Convert a file of any form, or the text ``member`` of a zip or tar, into ``folder``.

    A repeated word is an error in a file. In a member its first vector counts, since nobody can
    mend a canonical file.

    Raises
    ------
    DataError
        Names file and line, or row, of what no vectors file should hold; or the text's sha256
        differs from ``content``.
    """
    where = f"{path}: {member}" if member else str(path)
    with atomic_path(folder) as temporary, readable(path):
        temporary.mkdir()
        if member:
            with _opened(path, member) as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
        else:
            digest = file_digest(path)
        if content and digest != content:
            raise DataError(f"{where}: sha256 is {digest}, expected {content}")
        try:
            entries = progress(_entries(path, member), desc=f"{path.name}: read", unit=" words")
            _write(entries, temporary, first_counts=member is not None)
        except ValueError as error:
            raise DataError(f"{where}: {error}") from error
        (temporary / "origin.json").write_text(json.dumps({"sha256": digest}), encoding="utf-8")


@contextmanager
def _opened(path: Path, member: str | None) -> Iterator[io.BufferedReader]:
    """Open a file, gzipped or not, or the ``member`` of a zip or a tar (``KeyError`` without it).

    A byte order mark at its beginning is skipped.
    """
    with ExitStack() as stack:
        if member is None:
            stream = stack.enter_context(path.open("rb"))
            if stream.peek(2).startswith(b"\x1f\x8b"):
                stream = stack.enter_context(gzip.open(stream))
        elif zipfile.is_zipfile(path):
            stream = stack.enter_context(zipfile.ZipFile(path)).open(member)
        else:
            tar = stack.enter_context(tarfile.open(path))
            inside = (entry for entry in tar if PurePosixPath(entry.name) == PurePosixPath(member))
            stream = tar.extractfile(next(inside, member))  # some names begin with ./
        stream = io.BufferedReader(stack.enter_context(stream), 1 << 20)
        if stream.peek(3).startswith(codecs.BOM_UTF8):
            stream.read(3)
        yield stream


def _entries(path: Path, member: str | None) -> Iterator[Entry]:
    """Yield the words of a file in their order; ``ValueError`` names the line or row at fault."""
    with path.open("rb") as file:
        is_npz = member is None and file.read(4) == b"PK\x03\x04"
    if is_npz:
        yield from _npz_entries(path)
        return
    with _opened(path, member) as stream:
        line, _, rest = stream.peek(HEAD).partition(b"\n")
        if not line and not rest:
            raise ValueError("is empty")
        header = HEADER.fullmatch(line)
        # the numbers of a binary file may hold the byte of a line end: all that is seen is searched
        is_binary = NOT_IN_TEXT.search(rest if header else line)
        if b"\r" in line.rstrip(b"\r") and not is_binary:
            raise ValueError("its lines end in CR alone, as on old Macs; write them with LF")
        width = int(header[2]) if header else _numbers_at_end(line.split())
        if is_binary or not width:
            raise ValueError(OTHER)
        if header:
            stream.readline()
        yield from _text_entries(stream, width, int(header[1]) if header else None)


def _text_entries(
    stream: io.BufferedReader, width: int, count: int | None = None
) -> Iterator[Entry]:
    """Yield lines of a word, which may hold blanks, and ``width`` numbers.

    With a header, which promised ``count`` words, the first of them stands in line 2.
    """
    first = 1 if count is None else 2
    number = first - 1
    for number, line in enumerate(iter(lambda: stream.readline(LONGEST_LINE), b""), first):
        fields = line.split()
        if len(fields) != width + 1 and (numbers := _numbers_at_end(fields)) != width:
            raise ValueError(f"line {number}: {numbers} numbers, expected a word and {width}")
        try:
            vector = np.array(fields[-width:], dtype=np.float32)
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from error
        yield Entry(f"line {number}", line.rsplit(None, width)[0].lstrip(), vector)
    if count is not None and number - 1 != count:
        raise ValueError(f"line 1: promises {count:,} words, and the file holds {number - 1:,}")


def _numbers_at_end(fields: list[bytes]) -> int:
    """Count the numbers at the end of a line; its first field is never one of them."""
    count = 0
    for field in reversed(fields[1:]):
        try:
            float(field)
        except ValueError:
            break
        count += 1
    return count


def _npz_entries(path: Path) -> Iterator[Entry]:
    """Yield ``words`` (n,) and ``vectors`` (n, width), the latter times ``scale`` (n,) if int8."""
    with np.load(path) as file:  # np.load refuses Python objects
        words, vectors = file["words"], file["vectors"]
        scale = file["scale"] if vectors.dtype == np.int8 else np.ones(len(words), np.float32)
    if (
        words.dtype.kind not in "US"
        or vectors.dtype.kind not in "fi"
        or vectors.ndim != 2
        or not words.shape == scale.shape == vectors.shape[:1]
    ):
        found = ", ".join(
            f"{array.dtype} of shape {array.shape}" for array in (words, vectors, scale)
        )
        raise ValueError(f"expected words (n,), vectors (n, width) and scale (n,), got {found}")
    for row, (word, vector) in enumerate(zip(words.tolist(), vectors)):
        yield Entry(f"row {row}", word, vector.astype(np.float32) * np.float32(scale[row]))


def _write(entries: Iterable[Entry], folder: Path, first_counts: bool) -> None:
    """Write words and vectors in their order.

    ``ValueError`` names the place of an empty or repeated word (if ``first_counts``, only the first
    is kept), of bytes that are not UTF-8, and of a number that is not finite.
    """
    seen: set[str] = set()
    with (
        (folder / "words.txt").open("wb") as words,
        (folder / "vectors.f32").open("wb") as values,
        np.errstate(over="ignore"),  # too large a number becomes infinite, which is refused
    ):
        for place, raw, vector in entries:
            try:
                word = raw.decode() if isinstance(raw, bytes) else raw
            except UnicodeDecodeError as error:
                raise ValueError(f"{place}: not UTF-8 ({error.reason})") from error
            if not word or "\n" in word:
                raise ValueError(f"{place}: {word!r} is not a word")
            if word in seen and first_counts:
                continue
            if word in seen:
                raise ValueError(f"{place}: the word {word!r} stands in the file before")
            if not np.isfinite(vector).all():
                raise ValueError(f"{place}: a number of {word!r} is not finite (NaN or infinity)")
            words.write(f"\n{word}".encode() if seen else word.encode())
            values.write(vector.tobytes())
            seen.add(word)
    if not seen:
        raise ValueError("holds no words")
