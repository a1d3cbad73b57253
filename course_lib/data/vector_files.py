"""Files of word vectors, whatever their form: converted into the cache once, and memory-mapped.

The form shows in a file's first bytes: GloVe's text, word2vec's text or binary (both begin with a
line of two numbers), or an ``.npz`` of ``words`` and ``vectors`` (int8 ones with a ``scale`` for
each word, by which its numbers are multiplied). Nothing is unpickled. gensim's reader would take no
word that holds a blank, and GloVe 840B has such words; nor does it refuse NaN.

A folder of the cache holds ``words.txt``, ``vectors.f32`` (float32, one row a word) and
``origin.json``: the sha256 of the text or file that they came from.
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
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np

from course_lib.data.catalog import names_of
from course_lib.data.naming import CUSTOM, custom_folder, custom_name, unchanged_digest
from course_lib.data.readers import naming
from course_lib.files import DataError, atomic_path, file_digest
from course_lib.front_end import progress

HEAD = 1 << 16  # bytes that a form is told by; a line of 300 numbers has some 4,000
LONGEST_LINE = 1 << 20  # bytes
LONGEST_WORD = 1000  # bytes, of a binary file
WIDEST = 10_000  # numbers a word; beyond that a header is not one
MARK = b"\xef\xbb\xbf"  # with which some programs begin UTF-8
HEADER = re.compile(rb"\s*(\d+)\s+(\d+)\s*")
NOT_IN_TEXT = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
OTHER = (
    "is in no form that can be read here: GloVe text, word2vec text or binary, either of them "
    "gzipped, or an .npz of words and vectors. gensim's own files are pickles, which could run any "
    "code: save_word2vec_format exports them; of fastText take the .vec file"
)


class Entry(NamedTuple):
    """A word as the file holds it, its vector, and the place to name if anything is wrong."""

    place: str
    word: bytes | str
    vector: np.ndarray


def custom_vectors(path: Path) -> str:
    """The name of a vectors file of one's own, such as ``mine.txt@0123456789ab``, for settings.

    The name holds nothing of this machine: the file's own name and the beginning of its sha256. On
    first use the file is converted into the cache; later it need not be there. Raises ``DataError``
    naming file and line, word or row for what is no file of vectors.
    """
    if not path.is_file():
        raise DataError(f"{path}: {'is no file' if path.exists() else 'no such file of vectors'}")
    with naming(path):
        name = custom_name(path.name, unchanged_digest(path))
    folder = custom_folder("own", name)
    if not folder.exists():
        convert(path, folder)
    return name


def named_vectors(value: str, base: Path = Path()) -> str:
    """A setting ``text.vectors`` in which paths, relative to ``base``, have become names.

    Names of the catalog, and what is neither a name nor a path, stay. ``DataError`` as
    ``custom_vectors``.
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
    """Read a file of any form, or the text ``member`` of a zip or tar, into ``folder``.

    ``DataError`` names file and line, word or row of what no vectors file should hold, and says
    when the text is not the one of sha256 ``content``. A repeated word is an error in a file; in a
    member the first one counts: a canonical file is as it is, and nobody can mend it.
    """
    where = f"{path}: {member}" if member else str(path)
    with atomic_path(folder) as temporary, naming(path):
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
            inside = (entry for entry in tar if PurePosixPath(entry.name) == PurePosixPath(member))
            stream = tar.extractfile(next(inside, member))  # some names begin with ./
        stream = io.BufferedReader(stack.enter_context(stream), 1 << 20)
        if stream.peek(len(MARK)).startswith(MARK):
            stream.read(len(MARK))
        yield stream


def _entries(path: Path, member: str | None) -> Iterator[Entry]:
    """The words of a file of any form in their order; ``ValueError`` for what cannot be read, with
    the line, word or row."""
    with path.open("rb") as file:
        is_npz = member is None and file.read(4) == b"PK\x03\x04"
    if is_npz:
        yield from _npz_entries(path)
        return
    with _opened(path, member) as stream:
        line, _, rest = stream.peek(HEAD).partition(b"\n")
        if b"\r" in line.rstrip(b"\r"):
            raise ValueError("its lines end in CR alone, as on old Macs; write them with LF")
        if not line.strip() or NOT_IN_TEXT.search(line):
            raise ValueError(OTHER if line or rest else "is empty")
        if header := HEADER.fullmatch(line):
            count, width = int(header[1]), int(header[2])
            if not count or not 0 < width <= WIDEST:
                raise ValueError(f"line 1: promises {count} words of {width} numbers")
            stream.readline()
            # numbers in binary may hold the byte of a line end: all that is seen is searched
            binary = NOT_IN_TEXT.search(rest)
            yield from (_binary_entries if binary else _text_entries)(stream, width, count)
        elif width := _numbers_at_end(line.split()):
            yield from _text_entries(stream, width)
        else:
            raise ValueError(OTHER)


def _text_entries(
    stream: io.BufferedReader, width: int, count: int | None = None
) -> Iterator[Entry]:
    """Lines of a word, which may hold blanks, and ``width`` numbers; a header promised ``count``
    of them."""
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
    """How many numbers follow the first field at the end of a line."""
    count = 0
    for field in reversed(fields[1:]):
        try:
            float(field)
        except ValueError:
            break
        count += 1
    return count


def _binary_entries(stream: io.BufferedReader, width: int, count: int) -> Iterator[Entry]:
    """``count`` words of word2vec's binary form: a word, a blank, ``width`` float32."""
    for number in range(1, count + 1):
        word = bytearray()
        while (byte := stream.read(1)) != b" ":
            if not byte or len(word) == LONGEST_WORD:
                raise ValueError(f"word {number:,} of {count:,}: has no end")
            word += byte
        numbers = stream.read(4 * width)
        if len(numbers) < 4 * width:
            raise ValueError(f"word {number:,} of {count:,}: the file ends within it")
        # some writers end each vector with a line break
        yield Entry(f"word {number:,}", bytes(word).lstrip(b"\n"), np.frombuffer(numbers, "<f4"))
    if stream.read(2).strip():
        raise ValueError(f"word {count + 1:,}: the file goes on, but line 1 promises {count:,}")


def _npz_entries(path: Path) -> Iterator[Entry]:
    """Rows of ``words`` (n,) and ``vectors`` (n, width), times ``scale`` (n,) if they are int8."""
    with np.load(path) as file:  # which refuses Python objects
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
    """Write words and vectors as they come; ``ValueError`` for what no vectors file should hold."""
    seen: set[str] = set()
    with (
        (folder / "words.txt").open("wb") as words,
        (folder / "vectors.f32").open("wb") as values,
        np.errstate(over="ignore"),  # what is too large becomes infinite, which is refused
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
