"""The views of language models: what they show is what the network computes."""

import ipywidgets as widgets
import pytest
import torch
from sweeping import HOSTILE_TEXTS, sweep

from course_lib.data.pairs import WORDS, ids_of
from course_lib.explore import explore_hiding, explore_next_word
from course_lib.models import Decoder, TransformerConfig

TEXT = "Ann tea Ben rice Ann"


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(0)
    sizes = {"layers": 2, "heads": 2, "feed_forward": 16, "width": 8, "positions": 24}
    return Decoder(
        TransformerConfig(dropout=0.0, attention_dropout=0.0, **sizes), len(WORDS)
    ).eval()


@torch.no_grad()
def told(network, text, hidden=()):
    """The likeliest word and its probability, as a caption says it."""
    likely = network(ids_of(text), hidden=hidden).logits[0, -1].softmax(0)
    return f"{WORDS[likely.argmax()]} {likely.max():.2f}"


def test_the_caption_and_the_picture_are_of_the_text(network):
    view = explore_next_word({"small": network, "same": network}, WORDS, TEXT)
    assert view._caption.startswith("After “… Ben rice Ann”: small: " + told(network, TEXT))
    before = view._stage.children[0].value
    view.text = "Ida nuts Ida"
    assert told(network, "Ida nuts Ida") in view._caption
    assert view._stage.children[0].value != before and view.to_png().startswith(b"\x89PNG")
    ((about, _),) = view._stills()
    assert about == view._caption and about in view._page()


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
@pytest.mark.parametrize(
    "make",
    [
        pytest.param(explore_hiding, marks=pytest.mark.full),
        lambda n, *rest: explore_next_word({"": n}, *rest),
    ],
)
def test_a_text_that_cannot_be_read_says_why_and_leaves_the_picture(text, make, network):
    view = make(network, WORDS, TEXT)
    before = view._stage.children
    view.text = text
    assert view._stage.children == before
    if 0 < len(text.split()) <= 24:
        assert f"{text.split()[0]} is no word of theirs" in view._caption
    else:
        assert f"The text has {len(text.split())} words" in view._caption
    assert "<script" not in view._message.value and "<img" not in view._message.value
    view.text = TEXT
    assert told(network, TEXT) in view._caption


@pytest.mark.full
def test_hiding_heads_shows_what_the_network_computes_without_them(network):
    view = explore_hiding(network, WORDS, TEXT)
    assert sweep(view) >= 8
    assert view.hidden == []
    buttons = [part for part in view.children[1].children]
    assert [type(button) for button in buttons] == [widgets.ToggleButton] * 4
    buttons[1].value = True
    assert view.hidden == [(0, 1)]
    assert f"without layer 1, head 2: {told(network, TEXT, [(0, 1)])}" in view._caption
    view.hidden = [(1, 0), (0, 0)]
    assert [button.value for button in buttons] == [True, False, True, False]
    assert told(network, TEXT, [(0, 0), (1, 0)]) in view._caption
    with pytest.raises(ValueError, match=r"no head \(2, 0\)"):
        view.hidden = [(2, 0)]


@pytest.mark.full
def test_the_pictures_of_a_hidden_head_are_empty(network):
    view = explore_hiding(network, WORDS, TEXT)
    view.hidden = [(0, 1)]
    meshes = [axis.collections[0].get_array() for axis in view._stage.children[0]._figure.axes[:4]]
    expected = network(ids_of(TEXT), hidden=[(0, 1)], return_attention=True).attention[0]
    for mesh, head in zip(meshes, expected.flatten(0, 1), strict=True):
        torch.testing.assert_close(torch.tensor(mesh).float(), head.detach())
    assert not meshes[1].any()
