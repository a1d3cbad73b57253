"""A pre-trained Transformer as a reading: tried with arrays, since nothing is loaded here."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from course_kit.exercises import pretrained
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


class Pieces(dict):
    """What a tokeniser gives: *unforgettable* in three pieces, two special tokens."""

    def word_ids(self):
        return [None, 0, 1, 1, 1, None]


def installed(monkeypatch, load):
    """As if ``transformers`` were installed, with these ways to load."""
    asked = {}

    def cut(words, max_length, **options):
        asked.update(words=words, max_length=max_length, options=options)
        return Pieces(input_ids=torch.zeros(1, 6, dtype=torch.long))

    cut.model_max_length = 10**30
    fake = SimpleNamespace(
        AutoModelForSequenceClassification=SimpleNamespace(from_pretrained=load),
        AutoTokenizer=SimpleNamespace(from_pretrained=lambda name, use_fast: cut),
    )
    monkeypatch.setitem(sys.modules, "transformers", fake)
    return asked


class Model(torch.nn.Module):
    """Two layers of uniform attention over six pieces, and a sure answer."""

    config = SimpleNamespace(
        id2label={0: "no", 1: "yes"}, num_labels=2, max_position_embeddings=512
    )

    def forward(self, input_ids, output_attentions):
        assert output_attentions and not self.training
        alpha = torch.full((1, 3, 6, 6), 1 / 6)
        return SimpleNamespace(attentions=(alpha, alpha), logits=torch.tensor([[0.0, 9.0]]))


def test_a_model_with_its_tokeniser_becomes_a_reading(monkeypatch):
    asked = installed(monkeypatch, lambda name, attn_implementation: Model())
    reading = pretrained.read_pretrained("Wholly unforgettable", "some/model")
    assert asked["words"] == ["Wholly", "unforgettable"] and asked["max_length"] == 512
    assert asked["options"]["is_split_into_words"] and asked["options"]["truncation"]
    assert reading.tokens == ("Wholly", "unforgettable") and reading.answer == "yes 1.00"
    assert list(reading.attention) == ["layer 2", "layer 1"]
    assert np.allclose(reading.attention["layer 1"].weights, [[1 / 6, 1 / 2, 1 / 3]] * 2)


def test_a_model_that_cannot_be_loaded_is_named(monkeypatch):
    def load(name, attn_implementation):
        raise OSError("no such thing.\nA long explanation")

    installed(monkeypatch, load)
    with pytest.raises(pretrained.NoPretrained, match=r"'some/model' is .*\(no such thing\)"):
        pretrained.read_pretrained("A tender film.", "some/model")
