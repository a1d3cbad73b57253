"""Files of word vectors, whatever their form, read one word at a time.

The form shows in a file's first bytes: GloVe's text, word2vec's text or binary (both begin with a
line of two numbers), either of them compressed by gzip, or an ``.npz`` of ``words`` and ``vectors``
(int8 ones with a ``scale`` for each word, by which its numbers are multiplied). Nothing is
unpickled, and no more than one block of a file is ever in memory.
"""

import gzip
import io
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, BinaryIO, NamedTuple

import numpy as np

HEAD = 1 << 16  # bytes that a form is told by; a line of 300 numbers has some 4,000
LONGEST_LINE = 1 << 20  # bytes
LONGEST_WORD = 1000  # bytes, of a binary file
WIDEST = 10_000  # numbers a word; beyond that a header is not one
BLOCK = 1 << 24  # bytes of an .npz at a time
HEADER = re.compile(rb"\s*(\d+)\s+(\d+)\s*")
PICKLE = re.compile(rb"\x80[\x02-\x05]")
NOT_IN_TEXT = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
FORMS = (
    "GloVe text, word2vec text or binary, either of them gzipped, or an .npz of words and vectors"
)


class Entry(NamedTuple):
    """A word as the file holds it, its vector, and the place to name if anything is wrong."""

    place: str
    word: bytes | str
    vector: np.ndarray


def read_vector_file(path: Path, raw: io.BufferedReader) -> Iterator[Entry]:
    """The words of a file that is open as ``raw``, in its order.

    Raises ``ValueError`` for what cannot be read, with the line, word or row.
    """
    head = raw.peek(HEAD)
    if head.startswith(b"PK\x03\x04"):
        yield from npz_entries(path)
    elif head.startswith(b"\x1f\x8b"):
        with gzip.open(raw) as unpacked, io.BufferedReader(unpacked, HEAD) as stream:
            yield from stream_entries(stream)
    else:
        yield from stream_entries(raw)


def stream_entries(stream: io.BufferedReader) -> Iterator[Entry]:
    """The words of a text with or without a header, or of word2vec's binary."""
    head = stream.peek(HEAD)
    _refuse_other_forms(head)
    line, _, rest = head.removeprefix(b"\xef\xbb\xbf").partition(b"\n")
    header = HEADER.fullmatch(line)
    if header is None:
        yield from text_entries(stream)
        return
    count, width = int(header[1]), int(header[2])
    if not count or not 0 < width <= WIDEST:
        raise ValueError(f"line 1: promises {count} words of {width} numbers")
    stream.readline()
    if NOT_IN_TEXT.search(rest.partition(b"\n")[0]):
        yield from binary_entries(stream, count, width)
    else:
        yield from text_entries(stream, width, count)


def _refuse_other_forms(head: bytes) -> None:
    """Raise ``ValueError`` for what is no form of ours, with a way out where there is one."""
    if not head:
        raise ValueError("is empty")
    if PICKLE.match(head):
        raise ValueError(
            "is a Python pickle, as gensim saves; loading one could run any code. Where gensim is "
            'installed, KeyedVectors.load("…").save_word2vec_format("vectors.bin", binary=True) '
            "exports it"
        )
    if head.startswith(b"\xba\x16\x4f\x2f"):
        raise ValueError("is fastText's own binary; take the .vec file beside it")
    if head.startswith(b"\x93NUMPY"):
        raise ValueError("is one array; np.savez(…, words=…, vectors=…) saves the words too")
    line = head.partition(b"\n")[0]
    if NOT_IN_TEXT.search(line) or not (HEADER.fullmatch(line.strip()) or _numbers_at_end(line)):
        raise ValueError(f"is in no form that can be read here: {FORMS}")


def text_entries(
    stream: BinaryIO, width: int | None = None, count: int | None = None
) -> Iterator[Entry]:
    """Lines of a word and ``width`` numbers; without ``width`` as many as in the first line.

    A word may hold blanks: the last ``width`` fields are the numbers. With ``count`` a first line
    has been read, which promised so many words.
    """
    lines, number = iter(lambda: stream.readline(LONGEST_LINE), b""), int(bool(count))
    for line in lines:
        number += 1
        if len(line) == LONGEST_LINE:
            raise ValueError(f"line {number}: is longer than {LONGEST_LINE:,} bytes")
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        try:
            width = width or _width_of(line)
            word, numbers = _split(line, width)
            vector = _vector_of(numbers)
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from error
        if count and number - 1 > count:
            raise ValueError(f"line {number}: line 1 promises {count:,} words, here is one more")
        yield Entry(f"line {number}", word, vector)
    if count and number - 1 < count:
        raise ValueError(f"line {number}: ends the file, but line 1 promises {count:,} words")


def _split(line: bytes, width: int) -> tuple[bytes, list[bytes]]:
    """A line's word and the fields that should be its numbers."""
    word, *numbers = line.rsplit(None, width) or [b""]
    further = word.split()[1:]
    if len(numbers) < width or (further and _is_number(further[-1])):
        raise ValueError(f"{_numbers_at_end(line)} numbers, expected a word and {width}")
    return word, numbers


def _width_of(line: bytes) -> int:
    """How many numbers follow the word of a file's first line."""
    width = _numbers_at_end(line)
    wrong = [field for field in line.split()[1 : -width or None] if width and _is_number(field)]
    if wrong or not width:
        raise ValueError("is not a word and numbers")
    return width


def _numbers_at_end(line: bytes) -> int:
    fields = line.split()
    count = 0
    while count < len(fields) - 1 and _is_number(fields[-1 - count]):
        count += 1
    return count


def _vector_of(numbers: list[bytes]) -> np.ndarray:
    try:
        return np.array(numbers, dtype=np.float32)
    except ValueError:
        wrong = next(field for field in numbers if not _is_number(field))
        raise ValueError(f"{wrong.decode(errors='replace')!r} is no number") from None


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def binary_entries(stream: BinaryIO, count: int, width: int) -> Iterator[Entry]:
    """``count`` words of word2vec's binary form: a word, a blank, ``width`` float32."""
    for number in range(1, count + 1):
        word, size = _binary_word(stream, number), 4 * width
        numbers = stream.read(size)
        if len(numbers) < size:
            raise ValueError(f"word {number:,} of {count:,}: the file ends within it")
        yield Entry(f"word {number:,}", word, np.frombuffer(numbers, "<f4"))
    if stream.read(2).strip():
        raise ValueError(f"word {count + 1:,}: the file goes on, but line 1 promises {count:,}")


def _binary_word(stream: BinaryIO, number: int) -> bytes:
    word = bytearray()
    while (byte := stream.read(1)) != b" ":
        if not byte or len(word) == LONGEST_WORD:
            what = "has no end" if byte else "is missing: the file ends before it"
            raise ValueError(f"word {number:,}: {what}")
        word += byte
    return bytes(word).lstrip(b"\n")  # some writers end each vector with a line break


def npz_entries(path: Path) -> Iterator[Entry]:
    """Rows of ``words`` (n,) and ``vectors`` (n, width) of an ``.npz``, read in blocks.

    Vectors of int8 are multiplied by ``scale`` (n,), which the file must then hold too.
    """
    with zipfile.ZipFile(path) as archive:
        if absent := {"words.npy", "vectors.npy"} - set(archive.namelist()):
            raise ValueError(
                f"is a zip without {' and '.join(sorted(absent))}: "
                "an .npz of words and vectors is read, other archives must be unpacked"
            )
        with archive.open("words.npy") as words, archive.open("vectors.npy") as vectors:
            (count, *more), word_type = _array_header(words, "words", "US")
            shape, number_type = _array_header(vectors, "vectors", "fi")
            if more or len(shape) != 2 or shape[0] != count or not 0 < shape[1] <= WIDEST:
                raise ValueError(
                    f"words has shape {(count, *more)} and vectors {shape}, "
                    "expected (words,) and (words, numbers)"
                )
            scale = _scales(archive, count, number_type)
            block = max(1, BLOCK // max(word_type.itemsize, shape[1] * number_type.itemsize))
            for start in range(0, count, block):
                rows = min(block, count - start)
                chunk = zip(
                    _rows(words, "words", rows, word_type, start).tolist(),
                    _rows(vectors, "vectors", rows * shape[1], number_type, start).reshape(
                        rows, -1
                    ),
                )
                for row, (word, vector) in enumerate(chunk, start=start):
                    numbers = vector.astype(np.float32, copy=False)
                    yield Entry(
                        f"row {row}", word, numbers if scale is None else numbers * scale[row]
                    )


def _scales(archive: zipfile.ZipFile, count: int, number_type: np.dtype) -> np.ndarray | None:
    """What each of ``count`` words' int8 numbers are multiplied by; None for other numbers."""
    if number_type.kind == "f":
        return None
    if number_type != np.int8:
        raise ValueError(f"vectors is an array of {number_type}, expected floats or int8")
    if "scale.npy" not in archive.namelist():
        raise ValueError("vectors is an array of int8 without a scale: save scale=…, one a word")
    with archive.open("scale.npy") as stream:
        shape, dtype = _array_header(stream, "scale", "f")
        if shape != (count,):
            raise ValueError(f"scale has shape {shape}, expected {(count,)}")
        return _rows(stream, "scale", count, dtype, 0).astype(np.float32)


def _array_header(stream: IO[bytes], name: str, kinds: str) -> tuple[tuple[int, ...], np.dtype]:
    """Shape and type of an array that can be read row by row, and without unpickling."""
    version = np.lib.format.read_magic(stream)
    read = np.lib.format.read_array_header_1_0
    if version != (1, 0):
        read = np.lib.format.read_array_header_2_0
    shape, by_columns, dtype = read(stream)
    if dtype.hasobject:
        raise ValueError(
            f"{name} holds Python objects, which only unsafe loading reads: "
            "save np.array(words, dtype=str)"
        )
    if dtype.kind not in kinds or not shape or not dtype.itemsize:
        raise ValueError(f"{name} is an array of {dtype} of shape {shape}, which is not expected")
    if by_columns and len(shape) > 1:
        raise ValueError(f"{name} is stored by columns: save np.ascontiguousarray({name})")
    return shape, dtype


def _rows(stream: IO[bytes], name: str, count: int, dtype: np.dtype, start: int) -> np.ndarray:
    data = stream.read(count * dtype.itemsize)
    if len(data) < count * dtype.itemsize:
        raise ValueError(f"row {start}: {name} ends within the block that begins here")
    return np.frombuffer(data, dtype)
