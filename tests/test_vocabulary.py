from collections import Counter

import datasets
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.data import vocabulary as vocabulary_module
from course_lib.data.vocabulary import PADDING, UNKNOWN, Vocabulary
from course_lib.files import DataError

WORD = st.text(st.characters(codec="utf-8", exclude_categories=["Z", "C"]), min_size=1, max_size=4)
WORDS = st.lists(WORD, unique=True, min_size=1, max_size=12).map(tuple)
DOCUMENTS = st.lists(st.lists(st.sampled_from(["a", "b", "B", "é", "zz", "``", "日"])), max_size=9)


def rows_of(documents):
    features = datasets.Features({"tokens": datasets.List(datasets.Value("string"))})
    return datasets.Dataset.from_dict({"tokens": documents}, features=features)


def test_padding_is_0_unknown_is_1_and_words_begin_at_2():
    vocabulary = Vocabulary(("the", "film"))
    assert (PADDING, UNKNOWN) == (0, 1)
    assert len(vocabulary) == 4
    assert vocabulary.encode(["film", "never seen", "the", ""]).tolist() == [3, 1, 2, 1]
    assert vocabulary.decode(np.array([0, 1, 2, 3])) == ["", "⟨unknown⟩", "the", "film"]


def test_a_folded_vocabulary_takes_a_word_as_written_and_else_in_lower_case(tmp_path):
    vocabulary = Vocabulary(("the", "US", "us"), folded=True)
    assert vocabulary.encode(["The", "US", "Us", "Film"]).tolist() == [2, 3, 4, UNKNOWN]
    assert Vocabulary(("the",)).encode(["The"]).tolist() == [UNKNOWN]
    vocabulary.save(tmp_path / "words.txt")
    assert Vocabulary.load(tmp_path / "words.txt", folded=True) == vocabulary


@given(DOCUMENTS)
def test_words_come_by_falling_frequency_and_ties_by_alphabet(documents):
    counts = Counter(word for document in documents for word in document)
    expected = sorted(counts, key=lambda word: (-counts[word], word))
    assert list(Vocabulary.build(rows_of(documents)).words) == expected


@given(DOCUMENTS, st.integers(2, 8), st.integers(1, 4))
def test_size_counts_the_reserved_ids_and_minimum_the_occurrences(documents, size, minimum):
    everything = Vocabulary.build(rows_of(documents)).words
    counts = Counter(word for document in documents for word in document)
    vocabulary = Vocabulary.build(rows_of(documents), size, minimum)
    frequent = [word for word in everything if counts[word] >= minimum]
    assert list(vocabulary.words) == frequent[: size - 2]
    assert len(vocabulary) <= size


@pytest.mark.parametrize("size", [0, 1, 2])
def test_size_without_room_for_a_word_leaves_only_the_reserved_ids(size):
    vocabulary = Vocabulary.build(rows_of([["a", "b", "c"]]), size)
    assert vocabulary.words == ()
    assert vocabulary.encode(["a"]).tolist() == [UNKNOWN]


@given(DOCUMENTS, st.randoms(use_true_random=False))
def test_order_of_the_rows_does_not_matter(documents, random):
    shuffled = random.sample(documents, len(documents))
    assert Vocabulary.build(rows_of(documents)) == Vocabulary.build(rows_of(shuffled))


def test_counting_spans_chunks_of_rows_and_obeys_a_selection(monkeypatch):
    monkeypatch.setattr(vocabulary_module, "CHUNK", 3)
    rows = rows_of([["a"], ["b", "b"], [], ["b"], ["a"], ["a"], ["c"], ["a"], ["c"]])
    assert Vocabulary.build(rows).words == ("a", "b", "c")
    assert Vocabulary.build(rows.select([8, 1, 6, 0, 6])).words == ("c", "b", "a")


@given(WORDS, st.lists(WORD))
def test_encoding_agrees_with_a_dictionary_and_decoding_undoes_it(words, tokens):
    vocabulary = Vocabulary(words)
    ids = {word: number for number, word in enumerate(words, start=2)}
    tokens = tokens + list(words)
    encoded = vocabulary.encode(tokens)
    assert encoded.dtype == np.int32
    assert encoded.tolist() == [ids.get(token, 1) for token in tokens]
    assert vocabulary.decode(encoded) == [t if t in ids else "⟨unknown⟩" for t in tokens]


def test_encoding_takes_arrow_arrays_with_an_offset():
    tokens = pa.array(["skipped", "b", "a", "x", "b"])[1:]
    assert Vocabulary(("a", "b")).encode(tokens).tolist() == [3, 2, 1, 3]


@given(words=WORDS)
def test_saving_and_loading_gives_the_same_vocabulary(tmp_path_factory, words):
    path = tmp_path_factory.mktemp("vocabulary") / "words.txt"
    Vocabulary(words).save(path)
    assert Vocabulary.load(path) == Vocabulary(words)
    assert len(Vocabulary.load(path)) == len(words) + 2


def test_saving_replaces_the_old_file_and_leaves_no_other(tmp_path):
    Vocabulary(("old",)).save(tmp_path / "words.txt")
    Vocabulary(("new",)).save(tmp_path / "words.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["words.txt"]
    assert Vocabulary.load(tmp_path / "words.txt").words == ("new",)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"a\nb\na", "the word 'a' stands twice"),
        (b"a\nb\na\nb", "the word 'a' stands twice"),
        (b"", "line 1 has no word"),
        (b"a\nb\n", "line 3 has no word"),
        (b"a\n\nb", "line 2 has no word"),
        ("cafe\ncafé".encode("latin-1"), "not UTF-8 at byte 8"),
        (b"a\n" * 3 + b"\xff\xfe\0", "not UTF-8 at byte 6"),
    ],
)
def test_damaged_file_is_named_with_its_place(tmp_path, content, reason):
    path = tmp_path / "words.txt"
    path.write_bytes(content)
    with pytest.raises(DataError) as error:
        Vocabulary.load(path)
    assert str(error.value) == f"{path}: damaged ({reason}). Delete it and train again."


def test_missing_file_and_folder_in_its_place_are_named(tmp_path):
    (tmp_path / "folder").mkdir()
    for name, reason in (("none", "No such file"), ("folder", "Is a directory")):
        with pytest.raises(DataError, match=rf"{tmp_path / name}: cannot be read \({reason}"):
            Vocabulary.load(tmp_path / name)


@pytest.mark.parametrize("word", ["a\rb", "8\xa01/2", "x\u2028y", "x\x85y", "\ufeff"])
def test_words_come_back_whatever_other_programs_take_for_a_line_break(tmp_path, word):
    Vocabulary(("a", word)).save(tmp_path / "words.txt")
    assert Vocabulary.load(tmp_path / "words.txt").words == ("a", word)
