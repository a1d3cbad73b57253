"""Files of word vectors, whatever their form, read one word at a time.

The form shows in a file's first bytes: GloVe's text, word2vec's text or binary (both begin with a
line of two numbers), or an ``.npz`` of ``words`` and ``vectors`` (int8 ones with a ``scale`` for
each word, by which its numbers are multiplied). Nothing is unpickled. gensim's reader would take no
word that holds a blank, and GloVe 840B has such words; nor does it refuse NaN.
"""

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

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


def stream_entries(stream: io.BufferedReader) -> Iterator[Entry]:
    """The words of a text with or without a header, or of word2vec's binary, in their order.

    Raises ``ValueError`` for what cannot be read, with the line or word.
    """
    head = stream.peek(HEAD).removeprefix(MARK)
    line, _, rest = head.partition(b"\n")
    if not line.strip() or NOT_IN_TEXT.search(line):
        raise ValueError(OTHER if head else "is empty")
    header = HEADER.fullmatch(line)
    if header is None:
        width = _numbers_at_end(line.split())
        if not width:
            raise ValueError(OTHER)
        yield from _text_entries(stream, width)
        return
    count, width = int(header[1]), int(header[2])
    if not count or not 0 < width <= WIDEST:
        raise ValueError(f"line 1: promises {count} words of {width} numbers")
    stream.readline()
    if NOT_IN_TEXT.search(rest.partition(b"\n")[0]):
        yield from _binary_entries(stream, count, width)
    else:
        yield from _text_entries(stream, width, count)


def _text_entries(
    stream: io.BufferedReader, width: int, count: int | None = None
) -> Iterator[Entry]:
    """Lines of a word, which may hold blanks, and ``width`` numbers; a header promised ``count``
    of them."""
    first = 1 if count is None else 2
    number = first - 1
    for number, line in enumerate(iter(lambda: stream.readline(LONGEST_LINE), b""), first):
        line = line.removeprefix(MARK) if number == 1 else line
        fields = line.split()
        if len(fields) != width + 1 and (numbers := _numbers_at_end(fields)) != width:
            raise ValueError(f"line {number}: {numbers} numbers, expected a word and {width}")
        try:
            vector = np.array(fields[-width:], dtype=np.float32)
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from error
        yield Entry(f"line {number}", line.rsplit(None, width)[0], vector)
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


def _binary_entries(stream: io.BufferedReader, count: int, width: int) -> Iterator[Entry]:
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


def npz_entries(path: Path) -> Iterator[Entry]:
    """Rows of ``words`` (n,) and ``vectors`` (n, width) of an ``.npz``; ``ValueError`` for others.

    Vectors of int8 are multiplied by ``scale`` (n,), which the file must then hold too.
    """
    with np.load(path) as file:  # which refuses Python objects
        words, vectors = file["words"], file["vectors"]
        scale = file["scale"] if vectors.dtype == np.int8 else np.ones(len(words), np.float32)
    if words.dtype.kind not in "US" or not (vectors.dtype.kind == "f" or vectors.dtype == np.int8):
        raise ValueError(f"holds words of {words.dtype} and vectors of {vectors.dtype}")
    if vectors.ndim != 2 or not words.shape == scale.shape == vectors.shape[:1]:
        raise ValueError(
            f"holds words of shape {words.shape}, vectors of shape {vectors.shape} and a scale of "
            f"shape {scale.shape}, expected (words,), (words, numbers) and (words,)"
        )
    for row, (word, vector) in enumerate(zip(words.tolist(), vectors)):
        yield Entry(f"row {row}", word, vector.astype(np.float32) * np.float32(scale[row]))
