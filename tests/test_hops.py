"""Hops of a HAN and repeated words, on a small network trained once."""

import numpy as np
import pytest

from course_lib import explore, runs
from course_lib.models import HAN, HANConfig
from course_lib.views.reading import Attention, Reading

TEXT = "A dull film. A very dull story, and dull songs. The end is good."


@pytest.fixture(scope="module")
def han():
    spec = runs.RunSpec(
        dataset="toy", preset="small", limit=60, overrides={"model.hops": 3, "training.epochs": 1},
        threads=1, test=False,
    )  # fmt: skip
    return runs.train(spec)


def test_the_mean_over_the_hops_is_what_a_reading_shows(han):
    hops, reading = explore.read_hops(han, TEXT), explore.read_text(han, TEXT)
    assert hops.sentences == reading.sentences and isinstance(han.model, HAN)
    for alpha, shown in zip(
        hops.word_attention, reading.by_sentence(reading.word_weights()), strict=True
    ):
        assert alpha.shape == (3, len(shown))
        np.testing.assert_allclose(alpha.mean(0), shown, atol=1e-6)
    np.testing.assert_allclose(
        hops.sentence_attention.mean(0), reading.sentence_weights(), atol=1e-6
    )
    with pytest.raises(ValueError, match="text holds no word"):
        explore.read_hops(han, "")


def test_overlap_is_the_penalty_that_the_network_would_pay(han):
    rows = runs.split_rows(han.corpus)["validation"].select(range(4))
    overlap = explore.hop_overlap(han, rows)
    charged = HAN(
        HANConfig(**vars(han.model.config) | {"penalty": 1.0}), len(han.vocabulary), 2,
        han.model.embedding.weight.detach(),
    )  # fmt: skip
    charged.load_state_dict(han.model.state_dict())
    batch = han.system.encode(rows).batch(np.arange(4))
    penalty = charged.eval()(batch.tokens, batch.mask).penalty.mean().item()
    assert overlap["words"] + overlap["sentences"] == pytest.approx(penalty, rel=1e-4)


def reading_of(sentences, word_weights, sentence_weights):
    words = tuple(word for sentence in sentences for word in sentence)
    views = {
        "words": Attention(np.concatenate(word_weights)[None], ("",)),
        "sentences": Attention(np.array(sentence_weights)[None], ("",), over="sentences"),
    }
    return Reading(words, tuple(map(len, sentences)), ("no", "yes"), np.array([0.5, 0.5]), views)


class Reads:
    """A system whose rows are readings already."""

    def read(self, row):
        return row


def test_only_important_words_repeat():
    sentences = [["a", "Dull", "film", "."], ["the", "dull", "film", "."]]
    alpha = [np.array([0.0, 0.8, 0.2, 0.0]), np.array([0.1, 0.7, 0.2, 0.0])]
    flat = [np.full(4, 0.25)] * 2
    readings = [reading_of(sentences, weights, [0.5, 0.5]) for weights in (alpha, flat)]
    found = explore.count_repeats(Reads(), readings)
    assert found.important == pytest.approx([0.5 * 0.8 + 0.5 * 0.7, 0])
    assert found.repeated == pytest.approx([0.5 * 0.7, 0])  # "film" and "." never were important


def test_repeats_are_counted_for_each_row_and_by_chance(han):
    rows = runs.split_rows(han.corpus)["validation"].select(range(5))
    found = explore.count_repeats(han, rows, seed=1)
    assert found.important.shape == found.repeated.shape == found.by_chance.shape == (5,)
    assert (found.repeated <= found.important + 1e-9).all() and (found.important <= 1).all()
    assert np.array_equal(found, explore.count_repeats(han, rows, seed=1))
