"""A vectors file of one's own: every form gives the same vectors, and what is wrong is named."""

import gzip
import hashlib
import json
import pickle
import re
import struct

import numpy as np
import pytest

from course_lib.data import vector_store
from course_lib.data.vector_store import custom_vectors, named_vectors
from course_lib.data.vectors import SideBySide, load_vectors
from course_lib.data.vocabulary import Vocabulary
from course_lib.files import DataError

WORDS = ["the", "film", "US", "été", ". . ."]
MATRIX = np.array(
    [[1, 2, 3], [-0.5, 0.25, 1e-3], [7, 8, 9], [0.1, 0.2, 0.3], [-1, 0, 1]], np.float32
)
LINES = [f"{word} {' '.join(map(str, row))}" for word, row in zip(WORDS, MATRIX.tolist())]
TEXT = ("\n".join(LINES) + "\n").encode()
HEADER = b"5 3\n"
PAIRS = list(zip(WORDS, MATRIX))


def binary(pairs=PAIRS[:4], end=b"", count=None):
    """word2vec's binary form, in which words hold no blanks."""
    body = b"".join(word.encode() + b" " + row.tobytes() + end for word, row in pairs)
    return f"{count or len(pairs)} 3\n".encode() + body


def npz(path, words, vectors):
    np.savez_compressed(path, words=words, vectors=vectors)
    return path.read_bytes()


@pytest.fixture
def put(tmp_path):
    """``put(data, name)`` is a file of that name, beside an empty cache."""

    def write(data, name="mine.txt"):
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return write


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


@pytest.mark.parametrize(
    "data",
    [
        TEXT,
        TEXT.rstrip(b"\n"),
        HEADER + TEXT,
        TEXT.replace(b"\n", b" \n"),  # as word2vec ends its lines
        (HEADER + TEXT).replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbf" + TEXT,
        gzip.compress(TEXT),
        gzip.compress(HEADER + TEXT),
    ],
    ids=["glove", "no line break", "header", "blank", "crlf", "mark", "gz", "gz header"],
)
def test_every_text_form_gives_the_same_vectors(put, cache, data):
    vectors = load_vectors(custom_vectors(put(data, "no.suffix"), cache), cache)
    assert vectors.words.to_pylist() == WORDS
    np.testing.assert_array_equal(vectors.matrix, MATRIX)
    assert isinstance(vectors.matrix, np.memmap)


@pytest.mark.parametrize("end", [b"", b"\n"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_word2vecs_binary_gives_the_same_vectors(put, cache, end, pack):
    vectors = load_vectors(custom_vectors(put(pack(binary(end=end))), cache), cache)
    assert vectors.words.to_pylist() == WORDS[:4]
    np.testing.assert_array_equal(vectors.matrix, MATRIX[:4])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ">f4"])
@pytest.mark.parametrize("words", [np.array(WORDS), np.array([w.encode() for w in WORDS])])
def test_an_npz_gives_the_same_vectors(cache, tmp_path, words, dtype):
    npz(tmp_path / "mine.npz", words, MATRIX.astype(dtype))
    vectors = load_vectors(custom_vectors(tmp_path / "mine.npz", cache), cache)
    assert vectors.words.to_pylist() == WORDS
    np.testing.assert_array_equal(vectors.matrix, MATRIX.astype(dtype).astype(np.float32))


def test_bytes_with_a_scale_for_each_word_are_multiplied_out(tmp_path, cache):
    numbers = np.arange(-7, 8, dtype=np.int8).reshape(5, 3)
    scale = np.array([0.5, 2, 1, 0.25, 3], np.float32)
    np.savez(tmp_path / "mine.npz", words=np.array(WORDS), vectors=numbers, scale=scale)
    vectors = load_vectors(custom_vectors(tmp_path / "mine.npz", cache), cache)
    np.testing.assert_array_equal(vectors.matrix, numbers * scale[:, None])


def test_the_name_says_nothing_of_the_machine_and_the_file_is_needed_only_once(put, cache):
    path = put(TEXT, "my größte+list (1).txt")
    name = custom_vectors(path, cache)
    digest = hashlib.sha256(TEXT).hexdigest()
    assert name == f"my_größte_list__1_.txt@{digest[:12]}"
    path.unlink()
    vectors = load_vectors(name, cache)
    assert vectors.provenance == [{"name": name, "sha256": digest, "words": 5, "width": 3}]


def test_a_file_is_converted_once_and_anew_when_it_changed(put, cache, monkeypatch):
    path = put(TEXT)
    first = custom_vectors(path, cache)
    monkeypatch.setattr(vector_store, "stream_entries", None)
    assert custom_vectors(path, cache) == first
    assert custom_vectors(put(TEXT, "copy.txt"), cache) == first.replace("mine", "copy")
    monkeypatch.undo()
    path.write_bytes(TEXT + b"more 1 1 1\n")
    second = custom_vectors(path, cache)
    assert second != first
    assert (
        len(load_vectors(first, cache).words) == 5 and len(load_vectors(second, cache).words) == 6
    )


def test_paths_become_names_and_names_stay(put, cache, tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_DATA_DIR", str(cache))
    name = custom_vectors(put(TEXT))
    assert named_vectors("mine.txt", tmp_path) == name
    assert named_vectors(str(tmp_path / "mine.txt")) == name
    assert named_vectors(f"glove.6B.50d+{tmp_path}/mine.txt") == f"glove.6B.50d+{name}"
    for kept in ("none", "glove.6B.50d", "glov", name, f"{name}+glove.840B.300d"):
        assert named_vectors(kept, tmp_path) == kept
    with pytest.raises(DataError, match=r"nowhere/mine\.txt: no such file of vectors"):
        named_vectors("nowhere/mine.txt", tmp_path)


def test_a_name_that_this_machine_does_not_hold_asks_for_the_file(cache):
    with pytest.raises(DataError, match=r"^mine\.txt@0123456789ab: not in the cache here; .*path"):
        load_vectors("mine.txt@0123456789ab", cache)


BAD = {
    b"": "is empty",
    b"5 3\n": "line 1: promises 5 words, and the file holds 0",
    b"0 3\n": "line 1: promises 0 words of 3 numbers",
    b"5 99999\nthe 1 2 3\n": "line 1: promises 5 words of 99999 numbers",
    TEXT + b"\n": "line 6: 0 numbers, expected a word and 3",
    TEXT + b"short 1 2\n": "line 6: 2 numbers, expected a word and 3",
    TEXT + b"long 1 2 3 4\n": "line 6: 4 numbers, expected a word and 3",
    TEXT + b" 1 2 3\n": "line 6: 2 numbers, expected a word and 3",
    TEXT + b"text 1 two 3\n": "line 6: could not convert string to float",
    TEXT + b"x nan 2 3\n": "line 6: a number of 'x' is not finite (NaN or infinity)",
    TEXT + b"x 1 2 -inf\n": "line 6: a number of 'x' is not finite (NaN or infinity)",
    TEXT + b"film 1 2 3\n": "line 6: the word 'film' stands in the file before",
    TEXT + b"caf\xe9 1 2 3\n": "line 6: not UTF-8 (unexpected end of data)",
    b"the 1 two 3\n" + TEXT: "line 2: 3 numbers, expected a word and 1",
    HEADER + TEXT + b"one 1 2 3\n": "line 1: promises 5 words, and the file holds 6",
    b"6 3\n" + TEXT: "line 1: promises 6 words, and the file holds 5",
    b"5 4\n" + TEXT: "line 2: 3 numbers, expected a word and 4",
    b"Dear diary,\nthe film was long\n": "is in no form that can be read here: GloVe text, ",
    b"\x89HDF\r\n\x1a\n" + bytes(99): "is in no form that can be read here: GloVe text, ",
    "the 1 2\n".encode("utf-16"): "is in no form that can be read here: GloVe text, ",
    pickle.dumps({"vectors": [1.0]}): "is in no form that can be read here: GloVe text, ",
    struct.pack("<i", 793712314) + bytes(40): "is in no form that can be read here: GloVe text, ",
    binary()[:-5]: "word 4 of 4: the file ends within it",
    binary(count=5): "word 5 of 5: has no end",
    binary(count=3): "word 4: the file goes on, but line 1 promises 3",
    binary([("x", np.array([1, np.nan, 0], np.float32))]): "word 1: a number of 'x' is not finite",
    binary([*PAIRS[:2], PAIRS[1]]): "word 3: the word 'film' stands in the file before",
    binary([("", MATRIX[0]), PAIRS[1]]): "word 1: '' is not a word",
    gzip.compress(TEXT + b"film 1 2 3\n"): "line 6: the word 'film' stands in the file before",
    gzip.compress(TEXT * 50)[:-20]: "cannot be read, truncated or damaged",
    b"PK\x03\x04 and nothing": "cannot be read, truncated or damaged",
}


@pytest.mark.parametrize(("data", "says"), BAD.items(), ids=BAD.values())
def test_a_file_that_is_no_vectors_is_named_with_the_place_and_leaves_nothing(
    put, cache, data, says
):
    path = put(data)
    with pytest.raises(DataError) as error:
        custom_vectors(path, cache)
    assert str(error.value).startswith(f"{path}: {says}")
    assert "\n" not in str(error.value)
    assert list((cache / "prepared").iterdir()) == []


INFINITE = np.where(np.eye(5, 3, -1), np.inf, MATRIX)
TWICE = np.array(["the", "a", "the", "b", "c"])
SHAPES = "holds words of shape "
BYTES = np.ones((5, 3), np.int8)
BAD_NPZ = [
    ("cannot be read, truncated or damaged", {"words": None}),
    (SHAPES, {"words": np.array(WORDS[:4])}),
    (SHAPES, {"words": np.array(WORDS)[:, None]}),
    (SHAPES, {"vectors": MATRIX[:, 0]}),
    ("Object arrays cannot be loaded", {"words": np.array(WORDS, object)}),
    ("holds words of int64", {"words": np.arange(5)}),
    ("holds words of <U5 and vectors of int64", {"vectors": np.arange(15).reshape(5, 3)}),
    ("cannot be read, truncated or damaged", {"vectors": BYTES}),
    (SHAPES, {"vectors": BYTES, "scale": np.ones(4)}),
    ("row 0: a number of 'the' is not finite", {"vectors": BYTES, "scale": np.full(5, np.nan)}),
    ("row 1: a number of 'film' is not finite", {"vectors": INFINITE}),
    ("row 2: the word 'the' stands in the file before", {"words": TWICE}),
    ("row 1: '' is not a word", {"words": np.array(["the", "", "a", "b", "c"])}),
    ("row 0: 'two\\nlines' is not a word", {"words": np.array(["two\nlines", *"abcd"])}),
    ("holds no words", {"words": np.array([], "U3"), "vectors": MATRIX[:0]}),
]


@pytest.mark.parametrize(("says", "arrays"), BAD_NPZ)
def test_an_npz_that_is_no_vectors_is_named_with_the_row_and_leaves_nothing(
    tmp_path, cache, says, arrays
):
    path = tmp_path / "mine.npz"
    arrays = {"words": np.array(WORDS), "vectors": MATRIX} | arrays
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})
    with pytest.raises(DataError) as error:
        custom_vectors(path, cache)
    assert str(error.value).startswith(f"{path}: {says}")
    assert list((cache / "prepared").iterdir()) == []


def test_a_cut_npz_is_refused(tmp_path, cache):
    data = npz(tmp_path / "mine.npz", np.array(WORDS), MATRIX)
    (tmp_path / "mine.npz").write_bytes(data[: len(data) // 2])
    with pytest.raises(DataError, match=r"mine\.npz: cannot be read, truncated or damaged"):
        custom_vectors(tmp_path / "mine.npz", cache)


@pytest.mark.parametrize(("name", "says"), [("absent", "no such file"), ("", "is no file")])
def test_a_missing_file_and_a_folder_are_refused(tmp_path, cache, name, says):
    with pytest.raises(DataError, match=re.escape(f"{tmp_path / name}: {says}")):
        custom_vectors(tmp_path / name, cache)


def test_a_damaged_note_of_the_origin_is_named(put, cache):
    name = custom_vectors(put(TEXT), cache)
    (folder,) = (cache / "prepared").iterdir()
    assert json.loads((folder / "origin.json").read_text())["sha256"].startswith(name[-12:])
    (folder / "origin.json").write_text("{")
    with pytest.raises(DataError, match=f"{re.escape(str(folder))}.*Delete it"):
        load_vectors(name, cache)


def test_side_by_side_is_one_after_the_other_and_covers_as_the_first(put, cache):
    other = TEXT.replace(b"the 1.0 2.0 3.0", b"zebra 4 5 6")
    names = [custom_vectors(put(data, name), cache) for data, name in ((TEXT, "a"), (other, "b"))]
    vocabulary = Vocabulary(("zebra", "the", "film"))
    both = load_vectors("+".join(names), cache)
    assert isinstance(both, SideBySide)
    assert [part["name"] for part in both.provenance] == names
    embedding, coverage = both.embedding_for(vocabulary, 0)
    left, share = load_vectors(names[0], cache).embedding_for(vocabulary, 0)
    right, _ = load_vectors(names[1], cache).embedding_for(vocabulary, 0)
    assert coverage == share == pytest.approx(2 / 3)
    assert embedding[:, :3].equal(left) and embedding[:, 3:].equal(right)
    assert embedding[4].tolist() == pytest.approx([*MATRIX[1], *MATRIX[1]])
