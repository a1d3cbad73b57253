"""Hashed character n-grams: which ones a word has, and that the same have the same row."""

from hypothesis import given
from hypothesis import strategies as st

from course_lib.data.ngrams import hashed_ngrams

words = st.lists(st.text(min_size=1, max_size=9), min_size=1, max_size=5)


def rows(word, buckets=10**6):
    return [row for row in hashed_ngrams([word], buckets)[0].tolist() if row]


def test_a_word_has_the_ngrams_of_its_framed_letters():
    """<at>: <a at t> <at at> <at>; ab and ba in baba are rows of bab, too."""
    assert len(rows("at")) == 3 + 2 + 1
    assert len(set(rows("aaaa")[:5])) == 3  # <a, aa three times, a>
    assert set(rows("not")[:4]) & set(rows("knot")[:5]) == set(rows("not")[1:4])
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


def test_no_words():
    assert hashed_ngrams([], 5).shape == (0, 0)
