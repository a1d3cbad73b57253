"""What an AGT's layers select: in a text, over many, and drawn."""

import re

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from sweeping import HOSTILE_TEXTS, sweep
from test_erasing import small

from course_kit.research import side_notes
from course_kit.research.side_notes.agt_dictionaries import word_scores
from course_lib import explore
from course_lib.data.corpus import load_corpus
from course_lib.explore import layers
from course_lib.metrics.composition import selected_words
from course_lib.models.agt import AGT, AGTConfig
from course_lib.runs.run import split_rows
from course_lib.views import Attention, Reading, lines_over_layers

WORDS = ("not", "a", "dull", "moment")
BY_HAND = np.array([[0.4, 0.1, 0.4, 0.1], [0.1, 0.6, 0.2, 0.1], [0.25, 0.25, 0.25, 0.25]])


@pytest.fixture(scope="module")
def agt():
    return small("agt", **{"model.layers": 4})


@pytest.fixture(scope="module")
def documents(agt):
    return agt.system.encode(split_rows(load_corpus("toy"))["validation"].select(range(40)))


def reading(weights=BY_HAND, words=WORDS):
    rows = tuple(f"layer {row}" for row in range(len(weights)))
    shares = np.array([0.3, 0.7])
    kept = {"layers": Attention(weights.astype(np.float32), rows)}
    return Reading(words, (len(words),), ("bad", "good"), shares, kept)


def test_the_table_of_phrases_runs_nothing_of_a_text():
    shown = layers.phrases_table(reading(words=("<script>", "a", "dull", "moment"))).value
    by_layer, both = re.findall(">([^<>]*)</td>", shown), ["&lt;script&gt; · dull"] * 2
    assert by_layer == ["0", *both, "1", "a", "a dull", "2", "", ""]
    assert "<script>" not in shown and "above the median" in shown
    assert layers.layer_table(reading()).spec["title"].startswith("good 0.70; words by layer")


def test_a_text_of_ones_own_can_be_typed(agt):
    view = explore.explore_layers(agt, "A tender film.")
    assert sweep(view) > len(HOSTILE_TEXTS)  # the button, with each of them in the box


def test_counts_are_those_of_a_plain_loop(agt, documents):
    size = len(agt.vocabulary)
    counts = side_notes.count_words(agt.model, documents, size)
    selected, occurrences, labels = np.zeros((4, size)), np.zeros(size), np.zeros(size)
    for number in range(len(documents)):
        batch = documents.batch(np.array([number]))
        with torch.no_grad():
            attention = agt.model.eval()(batch.tokens, batch.mask).attention
        chosen = selected_words(attention, batch.mask)[0]
        for place, word in enumerate(batch.tokens[0].tolist()):
            occurrences[word] += 1
            labels[word] += int(batch.labels[0])
            selected[:, word] += chosen[:, place].numpy()
    assert counts.occurrences.tolist() == occurrences.tolist()
    assert counts.selected.tolist() == selected.tolist()
    there = occurrences > 0
    assert np.allclose(counts.grade.numpy()[there], labels[there] / occurrences[there])
    known = counts.frequent(5)
    assert known.tolist() == [word for word in range(2, size) if occurrences[word] >= 5]
    mean = labels.sum() / occurrences.sum()
    assert np.allclose(
        counts.strength(known), abs(labels / np.maximum(occurrences, 1) - mean)[known], atol=1e-6
    )


def test_ranks_by_count_and_by_rate(agt, documents):
    counts = side_notes.count_words(agt.model, documents, len(agt.vocabulary))._replace(
        selected=torch.tensor([[0, 0, 9, 5, 0]]), occurrences=torch.tensor([9, 9, 90, 5, 7])
    )
    among = counts.frequent(5)
    assert among.tolist() == [2, 3, 4]  # neither padding nor unknown
    found = [counts.ranks(word, 0, among) for word in among.tolist()]
    assert found == [(1, 2), (2, 1), (3, 3)]


def test_dictionaries_are_compared_with_a_property_and_with_each_other():
    torch.manual_seed(0)
    model = AGT(AGTConfig(embedding=8, hidden=8, layers=3), vocabulary=50, classes=2)
    with torch.no_grad():
        model.attention.weight[1] = model.attention.weight[0]
        model.attention.vector[1] = -model.attention.vector[0]  # the opposite dictionary
    words = torch.arange(2, 50)
    with torch.no_grad():
        strength = word_scores(model, words)[2]
    found = side_notes.compare_dictionaries(model, words, strength)
    assert found.follows[2].item() == pytest.approx(1, abs=1e-5)
    assert found.between[0, 1].item() == pytest.approx(-1, abs=1e-5)
    others = [found.between[a, b].item() for a in range(3) for b in range(3) if a != b]
    assert found.alike == pytest.approx(np.mean(others), abs=1e-6)


# The figures


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_panels_over_layers_share_one_scale_and_name_their_lines_once():
    panels = {"strict": {"trained": [1.0, 2.0], "untrained": [0.0, 0.5]}, "loose": {"trained": [3]}}
    bands = {"strict": {"trained": ([0.5, 1.5], [1.5, 2.5])}}
    figure = lines_over_layers(
        panels, "words", "Longer", bands=bands, line=("random order", 0.0), first=1
    )
    left, right = figure.axes
    assert left.get_ylim() == right.get_ylim()
    assert "strict" in (left.get_title(), left.get_title(loc="left"))
    named = [text.get_text() for text in figure.legends[0].get_texts()]
    assert named == ["random order", "trained", "untrained"]
    assert left.lines[1].get_xdata().tolist() == [1, 2] and len(left.collections) == 1
    whole = lines_over_layers(panels, "words", "Longer", ylim=(0, 5))
    assert whole.axes[0].get_ylim() == (0, 5)


def test_histograms_are_shares_of_each_layer_on_one_scale():
    counts = np.array([[3, 1], [0, 8]])
    figure = side_notes.weight_histograms({"untrained": counts, "trained": counts * 5}, "Spiky")
    pictures = [axis.collections[0] for axis in figure.axes[:2]]
    assert all(np.allclose(image.get_array(), [[0.75, 0.25], [0, 1]]) for image in pictures)
    assert {image.get_clim() for image in pictures} == {(0, 0.3)}
