"""A pre-trained Transformer as a reading: tried with arrays, since nothing is loaded here."""

import sys

import numpy as np
import pytest
import torch

from course_lib.teaching import pretrained
from course_lib.views import show_attention, show_reading

WORDS = ["the", "acting", "is", "unforgettable", "cut"]
WORD_OF = [-1, 0, 1, 2, 3, 3, 3, -1]


@pytest.fixture
def attention():
    source = torch.Generator().manual_seed(0)
    return torch.randn(2, 3, 8, 8, generator=source).softmax(-1)  # (layers, heads, pieces, pieces)


def test_pieces_become_words_by_sums_of_columns_and_means_of_rows(attention):
    one = attention[0, 0]
    table = pretrained.by_word(one, torch.tensor(WORD_OF))
    assert table.shape == (4, 5)
    assert torch.allclose(table.sum(1), torch.ones(4))
    assert torch.allclose(table[1, 3], one[2, 4:7].sum())
    assert torch.allclose(table[3, 1], one[4:7, 2].mean())
    assert torch.allclose(table[3, 4], one[4:7][:, [0, 7]].sum(1).mean())


def test_a_word_without_a_piece_has_an_empty_row(attention):
    table = pretrained.by_word(attention[0, 0, :3, :3], torch.tensor([-1, 0, 2]))
    assert table.shape == (3, 4) and table[1].eq(0).all() and table[:, 1].eq(0).all()


def test_the_views_of_the_course_show_it(attention):
    reading = pretrained.as_reading(WORDS, WORD_OF, attention, [0.2, 0.8], ["no", "yes"])
    assert reading.tokens == tuple(WORDS[:4]) and reading.rest == ("cut",)
    assert list(reading.attention) == ["layer 2", "layer 1"]  # the top layer tints the words
    upper = pretrained.by_word(attention[1].mean(0), torch.tensor(WORD_OF))
    assert np.allclose(reading.attention["layer 2"].weights, upper)
    assert len(reading.word_weights()) == 4
    assert "yes 0.80" in show_attention(reading, "layer 1").name
    assert show_reading(reading).children


def test_a_text_without_words_is_refused(attention):
    with pytest.raises(ValueError, match="names no word"):
        pretrained.as_reading([], [-1, -1], attention[:, :, :2, :2], [0.5, 0.5], ["no", "yes"])


def test_without_the_package_it_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)  # as if it were not installed
    with pytest.raises(pretrained.NoPretrained, match=r"pip install .transformers"):
        pretrained.read_pretrained("A tender film.", "some/model")
