"""Steps under a slider: every network's map is its own attention, and the title its figures."""

import numpy as np
import pytest
from sweeping import HOSTILE_TEXTS, sweep
from test_erasing import parts, small
from test_explore_seeds import drawn

from course_lib.explore import explore_penalties, read_text
from course_lib.explore.explorer import WordSlider
from course_lib.views import AttentionHeatmap

TEXT = "A dull plot but a superb cast"


@pytest.fixture(scope="module")
def networks():
    return {label: small("iram", **{"model.penalty": float(label)}) for label in ("0", "5")}


def shown(view):
    (heatmap,) = parts(view, AttentionHeatmap)
    return heatmap


def cosine(rows):
    """The mean cosine of the pairs of three rows, by hand."""
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return np.mean([unit[i] @ unit[j] for i, j in ((0, 1), (0, 2), (1, 2))])


def test_the_slider_shows_the_attention_of_the_network_it_names(networks):
    view = explore_penalties(networks, TEXT, ["0"])
    seen = []
    for label, network in networks.items():
        view.label = label
        reading = read_text(network, TEXT)
        weights = reading.attention["steps"].weights
        seen.append(weights)
        np.testing.assert_allclose(drawn(shown(view)), weights, atol=1e-4)
        assert shown(view).most == 1 and shown(view).spec["extra"] == 2
        assert shown(view).spec["title"] == (
            f"γ = {label}: P(positive) = {reading.probabilities[1]:.2f}; cosine of the steps "
            f"{cosine(weights):.2f}; step 3 on summaries {weights[2, -2:].sum():.2f}"
        )
    assert not np.allclose(*seen)


@pytest.mark.full
def test_without_a_kernel_the_panels_stand_one_below_the_other(networks):
    view = explore_penalties(networks, TEXT, ["0", "5"])
    (first, _), (second, heatmap) = view._stills()
    assert first.startswith("γ = 0: ") and second == heatmap.spec["title"]
    assert second.startswith("γ = 5: ")
    one, both = (explore_penalties(networks, TEXT, some) for some in (["5"], ["0", "5"]))
    assert len(both._picture(both._stills())) > len(one._picture(one._stills()))


@pytest.mark.full
def test_every_network_reads_every_hostile_text(networks):
    view = explore_penalties(networks, TEXT, ["5", "0"])
    assert sweep(view) > len(HOSTILE_TEXTS) + len(networks)
    (slider,) = parts(view, WordSlider)
    assert slider.options == ("0", "5") and slider.value == "5"
    view.text = "()"  # may hold no word
    view.read()
    view._picture(view._stills())


def test_panels_are_labels(networks):
    for wrong in ([], ["0.5"]):
        with pytest.raises(ValueError, match="there are 0, 5"):
            explore_penalties(networks, TEXT, wrong)
