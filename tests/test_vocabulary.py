"""Words to ids and back: which words count, in what order, and how they are kept."""

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


def test_padding_is_0_unknown_is_1_and_a_folded_one_takes_lower_case_where_it_must():
    vocabulary = Vocabulary(("the", "US", "us"), folded=True)
    assert (PADDING, UNKNOWN, len(vocabulary)) == (0, 1, 5)
    assert vocabulary.encode(["The", "US", "Us", "Film", ""]).tolist() == [2, 3, 4, 1, 1]
    assert vocabulary.decode(np.array([0, 1, 2, 3])) == ["", "⟨unknown⟩", "the", "US"]
    assert Vocabulary(("the",)).encode(["The"]).tolist() == [UNKNOWN]


@given(DOCUMENTS, st.none() | st.integers(0, 8))
def test_words_come_by_falling_frequency_and_ties_by_alphabet(documents, size):
    """``size`` counts the reserved ids; chunks change nothing."""
    counts = Counter(word for document in documents for word in document)
    expected = sorted(counts, key=lambda word: (-counts[word], word))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vocabulary_module, "CHUNK", 3)
        vocabulary = Vocabulary.build(rows_of(documents), size)
    assert list(vocabulary.words) == expected[: None if size is None else max(0, size - 2)]


def test_a_selection_of_rows_is_counted_as_it_stands():
    rows = rows_of([["a"], ["b", "b"], [], ["b"], ["a"], ["a"], ["c"], ["a"], ["c"]])
    assert Vocabulary.build(rows.select([8, 1, 6, 0, 6])).words == ("c", "b", "a")


@given(WORDS, st.lists(WORD))
def test_encoding_agrees_with_a_dictionary_and_decoding_undoes_it(words, tokens):
    vocabulary = Vocabulary(words)
    ids = {word: number for number, word in enumerate(words, start=2)}
    tokens = tokens + list(words)
    encoded = vocabulary.encode(pa.array(["skipped", *tokens])[1:])  # an array with an offset
    assert encoded.dtype == np.int32 and encoded.tolist() == vocabulary.encode(tokens).tolist()
    assert encoded.tolist() == [ids.get(token, 1) for token in tokens]
    assert vocabulary.decode(encoded) == [t if t in ids else "⟨unknown⟩" for t in tokens]


@given(WORDS, st.sampled_from(["a\rb", "8\xa01/2", "x\u2028y", "x\x85y", "\ufeff"]), st.booleans())
def test_saving_and_loading_gives_the_same_vocabulary(tmp_path_factory, words, odd, folded):
    """Whatever other programs take for a line break; a file that is there is replaced."""
    path = tmp_path_factory.getbasetemp() / "vocabulary" / "words.txt"
    vocabulary = Vocabulary((*words, odd), folded)
    vocabulary.save(path)
    assert Vocabulary.load(path, *[True] * folded) == vocabulary
    assert [file.name for file in path.parent.iterdir()] == ["words.txt"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"a\nb\na", "the word 'a' stands twice"),
        (b"", "line 1 has no word"),
        (b"a\nb\n", "line 3 has no word"),
        (b"a\n\nb", "line 2 has no word"),
        ("cafe\ncafé".encode("latin-1"), "not UTF-8 at byte 8"),
        (None, r"\[Errno 2\] No such file"),
    ],
)
def test_a_damaged_or_missing_file_is_named_with_its_place(tmp_path, content, reason):
    path = tmp_path / "words.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(
        DataError, match=rf"^{path}: damaged \({reason}.*\)\. Delete it and run aga"
    ):
        Vocabulary.load(path)
