"""The texts of lesson 04, which are read where, and its figure of the paper's table."""

import datasets
import matplotlib.pyplot as plt
import numpy as np
import pytest

from course_kit.exercises import figures, zhang_texts
from course_lib.data.catalog import CARDS
from course_lib.data.corpus import Corpus, Provenance

TOPICS, OPINIONS = ["ag_news", "huffpost"], ["amazon_full", "movies2"]
WORDS = ["zero", "one", "two", "three", "four"]


def corpus_of(name):
    """A corpus whose text with label k says k; each label three times in each half."""
    labels = [k for k in range(len(CARDS[name].classes)) for _ in range(3)]
    rows = {"label": labels, "tokens": [[WORDS[k], "stars"] * 60 for k in labels]}
    rows |= {"text": [" ".join(words) for words in rows["tokens"]]}
    rows |= {"sentence_lengths": [[120]] * len(labels)}
    half = datasets.Dataset.from_dict(rows)
    splits = {"train": half, "test": half}
    return Corpus(CARDS[name], splits, Provenance(name, "made up", {}, ""))


@pytest.fixture
def read(monkeypatch):
    """``read(which)``: the topics and the opinions where the first or the second of two datasets
    can be had; what was asked for is kept in ``read.asked``."""

    def both(which):
        def load(names, most_bytes, first, test):
            assert test > zhang_texts.UNSEEN  # some are left out
            both.asked.append((names, most_bytes))
            return corpus_of(names[which])

        both.asked = []
        monkeypatch.setattr(zhang_texts, "load_first_at_hand", load)
        return zhang_texts.topics("lesson"), zhang_texts.sentiment("lesson")

    return both


@pytest.mark.parametrize(
    ("which", "names"), [(0, ["AG News", "Amazon"]), (1, ["HuffPost", "film sentences"])]
)
def test_titles_name_what_was_read_and_nothing_large_is_asked_for(read, which, names):
    found = read(which)
    assert [texts.name for texts in found] == names
    assert read.asked == [(TOPICS, 30_000_000), (OPINIONS, 30_000_000)]
    topics, opinions = found
    assert topics.system.classes == ("World", "Sports", "Business", "Sci/Tech")
    assert opinions.system.classes == ("negative", "positive")
    whole = f"{sum(CARDS[(TOPICS)[which]].sizes['train']):,}"
    assert topics.size == f"12 of {whole} training texts"
    assert set(topics.train.lengths) == {48} and set(opinions.train.lengths) == {96}
    assert len(topics.vectors) == len(topics.system.vocabulary)


def test_three_stars_are_left_out_and_the_others_are_two_classes(read):
    opinions = read(0)[1]
    for documents in (opinions.train, opinions.unseen):
        first = documents.words[documents.sentence_starts[:-1]]
        words = [opinions.system.vocabulary.encode([word])[0] for word in WORDS]
        told = [words.index(word) for word in first]
        assert told == [0] * 3 + [1] * 3 + [3] * 3 + [4] * 3
        np.testing.assert_array_equal(documents.labels, [0] * 6 + [1] * 6)


def test_at_the_smoke_profile_made_up_reviews_are_read():
    for texts in (zhang_texts.topics("smoke"), zhang_texts.sentiment("smoke")):
        assert texts.name == "made-up reviews" and len(texts.train) == 200


def test_the_dashed_line_is_uniform_attention_and_each_row_has_its_name():
    figure, axis = plt.subplots()
    figures.beside_uniform(axis, 10, {"flat": [7.0, 12.0], "steep": [40.0, 60.0]})
    *rows, dashed = axis.lines
    plt.close(figure)
    assert [line.get_ydata().tolist() for line in rows] == [[7, 12], [40, 60]]
    # 10 + 2 · 9 pairs within one word, and 2 · 8 more within two, of 100
    np.testing.assert_allclose(dashed.get_ydata(), [28, 44], rtol=1e-5)
    assert [text.get_text() for text in axis.texts] == ["flat", "steep"]
    assert "10 words" in axis.get_title()
