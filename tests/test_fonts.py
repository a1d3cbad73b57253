"""Words that a figure's own font cannot draw are drawn by another, or one warning tells of them."""

import warnings
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

from course_lib.views import fonts, plots
from course_lib.views.heatmap import AttentionHeatmap, AttentionText
from course_lib.views.panels import bar_panels

pytestmark = pytest.mark.full  # a process for each font

IN_STIX = "\N{LATIN SMALL LETTER D WITH PALATAL HOOK}"  # and in no DejaVu


@pytest.fixture(autouse=True)
def only_matplotlib_s_own_fonts(monkeypatch):
    own = [
        font
        for font in fonts.fontManager.ttflist
        if Path(font.fname).is_relative_to(matplotlib.get_data_path())
    ]
    monkeypatch.setattr(fonts.fontManager, "ttflist", own)
    fonts._holding.cache_clear()
    yield
    fonts._holding.cache_clear()


def shown(word):
    """Each kind of picture with a word in it."""
    yield AttentionText([[word, "b"]], np.ones((1, 2))).to_png
    yield AttentionHeatmap(np.eye(2), [word, "b"]).to_png
    yield AttentionHeatmap(np.eye(2), ["a", "b"], title=word).to_png
    figure = bar_panels({"": [0.5, 0.5]}, [word, "b"])
    yield lambda: plots.show(figure, "bars")


def test_another_font_draws_what_the_first_one_lacks():
    for draw in shown(IN_STIX):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            draw()
    figure, axis = plt.subplots()
    text = axis.text(0, 0, f"a{IN_STIX}", family="monospace")
    with fonts.legible(figure):
        assert text.get_fontfamily() == ["monospace", "STIXGeneral"]
    plt.close(figure)


@pytest.mark.parametrize(
    "word, named",
    [
        ("电影", "Install Noto Sans CJK,"),
        ("映画の", "Install Noto Sans CJK,"),
        ("फ़िल्म", "Install Noto Sans Devanagari,"),
        ("电फ", "Install Noto Sans CJK and Noto Sans Devanagari,"),
        ("\N{DESERT}", "Install GNU Unifont,"),
    ],
)
def test_one_warning_names_a_font_to_install(word, named):
    for draw in shown(word):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            draw()
        (warning,) = told
        assert named in str(warning.message) and warning.category is UserWarning


def test_a_chinese_character_takes_two_columns():
    view = AttentionText([["电影", "b"]], np.ones((1, 2)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        figure = view._figure()
    assert [text.get_position()[0] for text in figure.axes[0].texts][:2] == [0, 5]
    plt.close(figure)
