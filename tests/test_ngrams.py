"""Hashed character n-grams: which ones a word has, and that the same have the same row."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.data.ngrams import hashed_ngrams

words = st.lists(st.text(min_size=1, max_size=9), min_size=1, max_size=5)


def rows(word, buckets=10**6, **settings):
    return [row for row in hashed_ngrams([word], buckets, **settings)[0].tolist() if row]


def test_a_word_has_the_ngrams_of_its_framed_letters():
    """<at>: <a at t> <at at> <at>; ab and ba in baba are rows of bab, too."""
    assert len(rows("at")) == 3 + 2 + 1
    assert len(set(rows("aaaa", sizes=(2,)))) == 3  # <a, aa three times, a>
    assert set(rows("not", sizes=(2,))) & set(rows("knot", sizes=(2,))) == set(
        rows("not", sizes=(2,))[1:]
    )
    assert rows("of") != rows("fo")


@given(words=words, buckets=st.integers(1, 50))
def test_rows_depend_on_the_word_alone_and_lie_in_the_table(words, buckets):
    together = hashed_ngrams(words, buckets)
    assert together.shape[0] == len(words) and together.min() >= 0 and together.max() <= buckets
    for word, row in zip(words, together.tolist(), strict=True):
        alone = rows(word, buckets)
        assert row == alone + [0] * (len(row) - len(alone))


def test_rows_are_the_same_on_every_machine():
    assert rows("no", 1000) == [64, 640, 405, 903, 572, 141]


def test_no_words_and_no_buckets():
    assert hashed_ngrams([], 5).shape == (0, 0)
    with pytest.raises(ValueError, match="at least one bucket, got 0"):
        hashed_ngrams(["a"], 0)
