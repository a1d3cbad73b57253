"""Two networks that read the same text: their rows are theirs, and the title measures the gap."""

import numpy as np
import pytest
from sweeping import HOSTILE_TEXTS, sweep
from test_erasing import TEXT, WORDS, parts, small
from test_heatmap import unpack

from course_lib.explore import explore_seeds
from course_lib.explore.views import difference
from course_lib.faithfulness.document_model import DocumentModel
from course_lib.views import AttentionHeatmap


@pytest.fixture(scope="module", params=["han", "agt"])
def pair(request):
    shorter = {"training.learning_rate": 0.01}
    return {"one": small(request.param), "two": small(request.param, **shorter)}


def drawn(heatmap):
    """The numbers that a heatmap holds."""
    codes = unpack(heatmap.data, heatmap.spec["shape"])
    return codes / heatmap.spec["levels"] * heatmap.spec["peak"]


def test_each_row_is_its_networks_attention_and_answer(pair):
    (shown,) = parts(explore_seeds(pair, TEXT), AttentionHeatmap)
    assert shown.spec["columns"] == WORDS
    exact = []  # as drawn they are rounded, which can make two weights equal
    for row, label, (name, run) in zip(drawn(shown), shown.spec["rows"], pair.items(), strict=True):
        model = DocumentModel(run.system)
        document = [WORDS[:4], WORDS[4:]] if run.system.reads_sentences else WORDS
        (answer,), attention = model.answers([document])
        exact.append(attention["attention"][0])
        np.testing.assert_allclose(row, exact[-1], atol=1e-5)
        assert label == f"{name}: {run.system.classes[answer.argmax()]} {answer.max():.2f}"
    assert shown.spec["title"] == difference(*exact) and not np.allclose(*exact)


@pytest.mark.full
def test_every_hostile_text_is_read(pair):
    assert sweep(explore_seeds(pair, TEXT)) > len(HOSTILE_TEXTS)


@pytest.mark.parametrize(
    ("first", "second", "share", "tau"),
    [
        ([0.5, 0.3, 0.2], [0.5, 0.3, 0.2], "0%", "1.00"),
        ([1.0, 0.0], [0.0, 1.0], "100%", "-1.00"),
        ([1.0], [1.0], "0%", None),  # one word has no ranking
    ],
)
def test_how_far_two_attentions_differ(first, second, share, tau):
    said = f"{share} of the weight lies on other words"
    ranks = "" if tau is None else f"; Kendall's τ of the rankings is {tau}"
    assert difference(np.array(first), np.array(second)) == said + ranks


def test_what_cannot_be_compared_is_refused(pair):
    with pytest.raises(ValueError, match="takes two networks by name, got 1"):
        explore_seeds({"alone": pair["one"]}, TEXT)
    blind = small("agt", **{"model.attention": False})
    with pytest.raises(ValueError, match="two has no attention"):
        explore_seeds({"one": pair["one"], "two": blind}, TEXT)
