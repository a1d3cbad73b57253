"""The views' Python side: what they refuse, what they hold, and the form they choose."""

import base64
import html
import io
import json
import re
import zlib
from unittest import mock

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from IPython.core.formatters import DisplayFormatter
from ipywidgets import VBox
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from PIL import Image
from scipy.sparse import csr_array

from course_lib.javascript import module
from course_lib.views import colours
from course_lib.views.colours import ATTENTION_HEX, INK, PAPER, TINTS_HEX, contrast, ink_on
from course_lib.views.heatmap import AttentionHeatmap, AttentionText, widget
from course_lib.views.heatmap.encoding import LIVE_LEVELS, STATIC_LEVELS, deflate, quantise
from course_lib.views.heatmap.static import PICTURE_LIMIT

NOTEBOOKS = ("JPY_SESSION_NAME", "VSCODE_PID", "COLAB_RELEASE_TAG")
WIDGET = "application/vnd.jupyter.widget-view+json"


@pytest.fixture(autouse=True)
def no_front_end(monkeypatch):
    for name in ("COURSE_HEATMAP", *NOTEBOOKS):
        monkeypatch.delenv(name, raising=False)


def attention(*shape, temperature=1.0, seed=0):
    scores = torch.randn(*shape, generator=torch.Generator().manual_seed(seed))
    return (scores / temperature).softmax(-1)


def words(count):
    return [f"w{i}" for i in range(count)]


def unpack(data, shape):
    """What the browser does, written again."""
    high, low = np.frombuffer(zlib.decompress(data[1:]), np.uint8).reshape(2, -1).astype(np.uint16)
    return (high * 2 ** data[0] + low).reshape(shape)


def packed(page):
    """The state and the codes that a static frame holds."""
    document = html.unescape(re.search(r'srcdoc="([^"]*)"', page)[1])
    program, data = re.findall(r'"([A-Za-z0-9+/=]{40,})"', document)
    program = json.loads(zlib.decompress(base64.b64decode(program)))
    assert program["module"] == module()
    state = program["state"]
    return state, unpack(base64.b64decode(data), state["spec"]["shape"])


@given(st.integers(1, 4), st.integers(1, 9), st.integers(1, 9), st.sampled_from([0, 1e-6, 1, 700]))
def test_codes_return_every_weight(steps, rows, columns, largest):
    weights = np.random.default_rng(rows).random((steps, rows, columns), np.float32) * largest
    for levels in (LIVE_LEVELS, STATIC_LEVELS):
        codes = unpack(deflate(quantise(weights, levels)), weights.shape)
        error = np.abs(codes / levels * weights.max() - weights).max()
        assert error <= 1e-4 * weights.max() and codes.any() == weights.any()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_takes_any_float_with_gradients(dtype):
    weights = attention(4, 4).to(dtype).requires_grad_()
    view = AttentionHeatmap(weights, words(4))
    codes = unpack(view.data, (4, 4))
    shown = codes / LIVE_LEVELS * view.spec["peak"]
    np.testing.assert_allclose(shown, weights.detach().float().numpy(), atol=1e-5)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"weights": np.array([[0.5, np.nan], [0, 1]])}, r"weights\[0, 1\] is nan"),
        ({"weights": np.array([[0.5, 0.5], [np.inf, 1]])}, r"weights\[1, 0\] is inf"),
        ({"weights": np.array([[0.5, 0.5], [0, -1]])}, r"weights\[1, 1\] is -1"),
        ({"rows": ["a"]}, "rows has 1 tokens for the 2 rows"),
        ({"columns": ["a", "b", "c"]}, "columns has 3 tokens for the 2 columns"),
        ({"rows": "ab"}, "rows is one string"),
        ({"weights": np.ma.masked_array(np.eye(2), np.eye(2))}, "weights is a masked array"),
        ({"weights": np.eye(2) * 1j}, "weights holds complex numbers"),
        ({"weights": np.eye(2), "rows": {"a", "b"}}, "rows has no order"),
        ({"weights": np.zeros(2)}, "weights has shape"),
        ({"weights": np.zeros((3, 2, 2))}, "weights has shape .3, 2, 2.; it takes .rows, columns"),
        ({"weights": np.zeros((2, 3)), "columns": words(3), "band": 1}, "band needs a square"),
        ({"band": 2}, "band is 2; it takes None or 0 to 1"),
        ({"band": -1}, "band is -1"),
        ({"extra": 2}, "extra is 2"),
        ({"scale": "log"}, "scale is 'log'"),
        ({"most": 0.9}, "most is 0.9; it takes at least the largest weight, 1"),
        ({"most": np.nan}, "most is nan"),
        ({"weights": None}, "weights"),
        ({"weights": [[1], [1, 2]]}, "weights is no array of numbers"),
        ({"weights": [["a", "b"], ["c", "d"]]}, "weights is no array of numbers"),
        ({"rows": 5}, "rows takes a list, got 5"),
        ({"columns": 5}, "columns takes a list, got 5"),
        ({"outline": "x"}, "outline takes a number, got 'x'"),
        ({"outline": np.nan}, "outline takes a number, got nan"),
        ({"extra": "1"}, "extra is '1'; it takes 0 to 1"),
        ({"extra": 0.5}, "extra is 0.5"),
    ],
)
def test_heatmap_says_what_is_wrong(change, says):
    arguments = {"weights": np.eye(2), "rows": ["a", "b"]} | change
    with pytest.raises(ValueError, match=says):
        AttentionHeatmap(**arguments)


@pytest.mark.parametrize("most", [1.0, 1e-30, 1e-37])
def test_weights_of_any_size_are_told_to_their_last_level(most):
    weights = np.linspace(0, most, 100, dtype=np.float32).reshape(10, 10)
    shown = quantise(weights, LIVE_LEVELS) / LIVE_LEVELS * float(weights.max())
    assert np.abs(shown - weights).max() <= most / LIVE_LEVELS


@pytest.mark.parametrize("shape", [(4001, 4000), (1, 20_000)])
def test_more_than_a_browser_holds_is_refused_with_a_way_out(shape):
    weights, cells = np.broadcast_to(np.float32(0), shape), f"{np.prod(shape):,} cells"
    with pytest.raises(ValueError, match=rf"{cells}.* 16,384 on a side. Give a slice"):
        AttentionHeatmap(weights, words(shape[0]), words(shape[1]))


def test_traits_refuse_what_does_not_exist_and_forgive_a_rounding_error():
    view = AttentionHeatmap(attention(3, 3), words(3))
    view.band, view.scale, view.selected = 2, "sqrt", [2, 0]
    with pytest.raises(ValueError, match="band is 3"):
        view.band = 3
    assert view.band == 2
    above = AttentionHeatmap(np.eye(2) * 1.000001, words(2), most=1)
    assert above.most == above.spec["peak"] > 1


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"sentences": []}, "sentences is empty"),
        ({"sentences": [["a"], []]}, r"sentences\[1\] holds no tokens"),
        ({"sentences": ["ab", ["a"]]}, r"sentences\[0\] is one string"),
        ({"word_attention": np.ones((1, 2))}, "word_attention has shape"),
        ({"word_attention": np.ones((2, 1))}, "take .2, 2 or more."),
        ({"word_attention": np.full((2, 2), np.nan)}, "word_attention.0, 0. is nan"),
        ({"sentence_attention": np.ones(3)}, "sentence_attention has shape"),
        ({"sentence_attention": np.array([1, -0.5])}, "sentence_attention.1. is -0.5"),
        ({"unit": "line"}, "unit is 'line'; it takes one of sentence, text"),
        ({"tint": "line"}, "tint is 'line'; it takes one of sentence, text"),
        ({"sentences": [["a"] * 20_001, ["b"]]}, "20,002 words; a page holds 20,000"),
        ({"sentences": None}, "sentences takes a list, got None"),
        ({"sentences": [["a"], 5]}, r"sentences\[1\] takes a list, got 5"),
        ({"word_attention": [[1], [1, 2]]}, "word_attention is no array of numbers"),
        ({"sentence_attention": "x"}, "sentence_attention is no array of numbers"),
        ({"rest": 5}, "rest takes a list, got 5"),
        ({"rest": "beyond"}, "rest is one string"),
    ],
)
def test_text_says_what_is_wrong(change, says):
    arguments = {"sentences": [["a", "b"], ["c"]], "word_attention": np.ones((2, 2))} | change
    with pytest.raises(ValueError, match=says):
        AttentionText(**arguments)


def drawn_text(view):
    """What a picture writes, and the colours of the boxes behind it, by their places."""
    figure = view._figure()
    (axis,) = figure.axes
    (boxes,) = axis.collections
    left, right = axis.get_xlim()
    drawn = np.concatenate([path.vertices[:, 0] for path in boxes.get_paths()])
    assert left <= drawn.min() and drawn.max() <= right  # nothing is cut off
    tints = {
        tuple(np.round(path.vertices[0], 2)): tuple(colour[:3])
        for path, colour in zip(boxes.get_paths(), boxes.get_facecolors())
    }
    plt.close(figure)
    return [text.get_text() for text in axis.texts], boxes.get_paths(), tints


@pytest.mark.parametrize("tint", ["sentence", "text"])
def test_a_picture_of_a_text_has_the_tints_the_bars_and_the_scale_of_the_live_view(tint):
    weights, shares = np.array([[0.5, 0.3, 0.2], [1, 0, 0]]), [0.8, 0.2]
    view = AttentionText([["a", "b", "c"], ["d"]], weights, shares, tint=tint)
    texts, paths, tints = drawn_text(view)
    # share × weight × all four words, or weight × the words of the sentence
    times = {"sentence": (1.5, 0.9, 0.6, 1.0), "text": (1.6, 0.96, 0.64, 0.8)}[tint]
    clip = {"sentence": 4, "text": 8}[tint]
    assert (view.spec["clip"], view.spec["over"]) == (clip, tint)
    for (row, column), of_uniform in zip(((0, 0), (0, 2), (0, 4), (1, 0)), times):
        wanted = TINTS_HEX[round(of_uniform / clip * (len(TINTS_HEX) - 1))]
        np.testing.assert_allclose(tints[column - 0.3, row + 0.42], to_rgb(wanted))
    bars = [path.vertices for path in paths if path.vertices[:, 0].min() == -8.8]
    ends = sorted(bar[:, 0].max() for bar in bars)
    np.testing.assert_allclose(ends, [-8.8 + 7.6 / 4, -1.2, -1.2, -1.2])  # two grounds, two bars
    assert {"80.0%", "20.0%"} <= {*texts}
    assert texts[-6:-1] == {4: ["0", "1", "2", "3", "≥ 4"], 8: ["0", "2", "4", "6", "≥ 8"]}[clip]
    assert texts[-1] == f"times the weight of uniform attention in the {tint}"
    fewer, *_ = drawn_text(AttentionText([["a", "b", "c"], ["d"]], None))
    assert fewer == ["a", "b", "c", "d"]  # without weights there is no scale


@pytest.mark.filterwarnings("ignore:Sparse CSC")
def test_what_has_one_meaning_is_shown_in_every_form():
    square = torch.tensor([[0.25, 0.75], [1.0, 0.0]])
    for weights in (square.to_sparse(), square.to_sparse_csc(), csr_array(square.numpy())):
        np.testing.assert_array_equal(AttentionHeatmap(weights, ["a", "b"])._matrix, square)
    view = AttentionHeatmap(
        square,
        ["a", "b"],
        title=5,
        quantity=7,
        transpose=np.True_,
        extra=np.int64(1),
        outline=np.float32(0.5),
    )
    words = (list(part) for part in [["a", "b"]])
    text = AttentionText(words, square[:1].to_sparse(), title=5, rest=None)
    assert view.name == "Heatmap, each cell a 7, 2 × 2: 5"
    assert text.name == "Attention over 1 sentence: 5"
    for each in (view, text):
        assert each.to_html() and each.to_png()


VIEWS = {
    "heatmap": lambda: AttentionHeatmap(attention(5, 5), words(5), title="Five"),
    "text": lambda: AttentionText([["a", "$b"], ["c"]], attention(2, 2), title="Two"),
}
PAGE = {"text/plain", "text/html", "image/png"}
LIVE = {"text/plain", WIDGET}


@pytest.mark.parametrize("make", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize(
    ("variables", "holds"),
    [
        ({}, PAGE),
        ({"COURSE_HEATMAP": "png"}, PAGE - {"text/html"}),
        ({"COURSE_HEATMAP": "live"}, LIVE),
        *(({name: "1"}, LIVE) for name in NOTEBOOKS),
        ({"JPY_SESSION_NAME": "a.ipynb", "COURSE_HEATMAP": "static"}, PAGE),
    ],
)
def test_the_form_follows_the_environment(monkeypatch, make, variables, holds):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    data, metadata = make()._repr_mimebundle_()
    assert set(data) == holds
    assert data["text/plain"].startswith("Attention")
    if "image/png" in holds:
        assert metadata["image/png"]["alt"] == data["text/plain"]
        assert Image.open(io.BytesIO(base64.b64decode(data["image/png"]))).format == "PNG"
    monkeypatch.setenv("COURSE_HEATMAP", "svg")
    with pytest.raises(ValueError, match="'svg'; it takes one of live, static, png"):
        make()._repr_mimebundle_()


def test_nothing_is_sent_before_it_is_shown_or_linked(monkeypatch):
    sent = mock.Mock(side_effect=lambda **_: mock.Mock(comm_id=f"comm {sent.call_count}"))
    monkeypatch.setattr("comm.create_comm", sent)
    view = VIEWS["heatmap"]()
    view.zoom, view.scale = 2, "sqrt"
    view._repr_mimebundle_()
    assert not sent.called
    box = VBox([view])  # a container sends the models of its children along with its own
    assert view.model_id in {f"comm {i}" for i in range(1, sent.call_count + 1)}
    assert box.model_id != view.model_id


@pytest.mark.parametrize("make", VIEWS.values(), ids=VIEWS)
def test_a_live_view_leaves_its_static_page_in_the_notebook(monkeypatch, make):
    shown, view = [], make()
    monkeypatch.setattr(widget, "display", lambda bundle, raw: shown.append(bundle))
    assert set(DisplayFormatter().format(view)[0]) == PAGE and not shown
    monkeypatch.setenv("COURSE_HEATMAP", "live")
    assert DisplayFormatter().format(view)[0] == {}
    kept, live = shown
    assert set(live) == LIVE and set(kept) == {"text/html"}
    assert view.to_html() in kept["text/html"].replace(' loading="lazy"', "")


def test_static_pages_hold_what_is_shown():
    weights = attention(6, 6)
    view = AttentionHeatmap(weights, words(6), band=1)
    view.scale, view.selected = "sqrt", [2, 3]
    state, codes = packed(view.to_html())
    assert (state["scale"], state["band"]) == ("sqrt", 1)
    assert state["selected"] == [2, 3]
    assert state["spec"]["rows"] == words(6)
    shown = codes / state["spec"]["levels"] * state["spec"]["peak"]
    np.testing.assert_allclose(shown, weights, atol=1e-4 * weights.max())


def test_static_pages_are_small():
    small = AttentionHeatmap(attention(60, 60), words(60))
    assert len(small.to_html()) <= 35_000
    large = AttentionHeatmap(attention(500, 500), words(500))
    assert len(large.to_html()) <= 450_000


HOSTILE = ["</iframe>", "</script>", '"]]>', "<img src=x onerror=alert(1)>", "&quot;", "\ud800"]


@pytest.mark.parametrize("token", HOSTILE)
def test_no_token_stands_in_a_static_page(token):
    frame = re.compile(r'<iframe title="[^"<>]*" sandbox="allow-scripts" srcdoc="[^"<>]*"')
    for view in (
        AttentionHeatmap(np.eye(2), [token, "b"], title=token),
        AttentionText([[token, "b"]], np.ones((1, 2)), title=token),
    ):
        assert frame.match(view.to_html()), "a token broke out of its attribute"
        assert view.to_html().count("<") == 2  # the frame's own tag and its end


@pytest.mark.full
@pytest.mark.parametrize(
    "view",
    [
        lambda: AttentionHeatmap(attention(300, 300), words(300), band=4),
        lambda: AttentionHeatmap(attention(3, 40), words(3), words(40), extra=2, title="$x_1$"),
        lambda: AttentionHeatmap(np.eye(9), words(9), transpose=True, outline=0.9, normalise=True),
        lambda: AttentionText([words(150)] * 3, np.full((3, 150), 1 / 150), np.ones(3) / 3),
    ],
)
def test_pictures_are_small_enough_to_commit(view):
    data = view().to_png()
    assert len(data) <= PICTURE_LIMIT
    assert min(Image.open(io.BytesIO(data)).size) > 60


@pytest.mark.full
@pytest.mark.parametrize("count, cut", [(1_000, False), (20_000, True)])
def test_a_long_text_is_drawn_once_and_its_picture_says_what_it_leaves_out(count, cut):
    sentence = [f"w{n}" for n in range(count)]
    view = AttentionText([sentence], np.full((1, count), 1 / count))
    figure = view._figure()
    texts = [text.get_text() for text in figure.axes[0].texts]
    plt.close(figure)
    shown, notes = (
        [each for each in texts if each[0] == "w"],
        [each for each in texts if "…" in each],
    )
    assert shown == sentence[: len(shown)] and (len(shown) < count) is cut
    left_out = [f"… and {count - len(shown):,} more words, left out of this picture"]
    assert notes == (left_out if cut else [])
    with mock.patch.object(Figure, "savefig", autospec=True, side_effect=Figure.savefig) as drawn:
        data = view.to_png()
    assert drawn.call_count == 1 and len(data) <= PICTURE_LIMIT
    assert (f"w{count - 1}" in view._saved("csv").decode()) and len(
        view.spec["sentences"][0]
    ) == count


def test_of_more_cells_than_a_picture_has_dots_the_mean_of_neighbours_is_drawn():
    weights = np.zeros((3, 4_001), np.float32)
    weights[0, 4], weights[1, 4_000], weights[2] = 1, 1, 0.5
    view = AttentionHeatmap(weights, words(3), words(4_001), outline=0.4)
    figure = view._figure()
    drawn, note = figure.axes[0].images[0].get_array(), figure.axes[0].get_xlabel()
    frames = [each for each in figure.axes[0].collections if isinstance(each, PolyCollection)]
    plt.close(figure)
    assert drawn.shape == (3, 1_334) and drawn[0, 1] == pytest.approx(1 / 3)
    assert drawn[0].sum() == drawn[0, 1] and drawn[1, -1] == 0.5 and (drawn[2] == 0.5).all()
    assert not frames and note == "no frames: more than 300 cells a side"


def luminance(colour):
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


def lightness(colour):
    """CIELAB L*, from the luminance."""
    y = luminance(colour)
    return 116 * np.cbrt(y) - 16 if y > 0.008856 else 903.3 * y


def test_zero_is_paper_and_lightness_falls_in_equal_steps():
    assert VIEWS["heatmap"]().spec["colours"] == ATTENTION_HEX
    assert VIEWS["text"]().spec["tints"] == TINTS_HEX == ATTENTION_HEX[: len(TINTS_HEX)]
    assert ATTENTION_HEX[0] == TINTS_HEX[0] == PAPER
    steps = -np.diff([lightness(colour) for colour in ATTENTION_HEX[::15]])
    assert len(ATTENTION_HEX) == 256
    np.testing.assert_allclose(steps, steps.mean(), atol=0.5)  # 8 bits a channel allow no better
    assert steps.sum() > 70
    assert (np.diff([lightness(colour) for colour in ATTENTION_HEX]) < 0.05).all()


def test_a_tint_has_one_form_by_night():
    assert colours.NIGHT.format("${colour}") in module()


@pytest.mark.parametrize("shades", [colours.ATTENTION, colours.SIGNED, colours.TINTS])
def test_text_can_be_read_on_paper_and_on_every_tint(shades):
    """With luminances of the test's own; either ink alone would fail on some tint."""
    for theme in (colours.THEME, colours.DARK_THEME):
        for name in ("ink", "accent", "muted"):
            assert contrast(theme["paper"], theme[name]) >= 4.5
    assert min(contrast(INK, tint) for tint in TINTS_HEX) >= 4.5
    for number in range(shades.N):
        ground = shades(number)
        dark, light = sorted(luminance(colour) + 0.05 for colour in (ink_on(ground), ground))
        assert light / dark >= 4.5, (number, ink_on(ground))
        assert contrast(ink_on(ground), ground) == pytest.approx(light / dark, rel=1e-3)
    assert ink_on(shades(0.5 if shades is colours.SIGNED else 0.0)) == INK


def test_a_view_is_saved_as_a_drawing_as_dots_and_as_numbers(tmp_path):
    weights = np.array([[0.25, 0.75], [1, 0]], np.float32)
    matrix = AttentionHeatmap(weights, ["a", "b, c"])
    text = AttentionText([["so", "good"], ["b"]], np.array([[0.25, 0.75], [1, 0]], np.float32))
    tables = (
        "row,column,weight/a,a,0.25/a,'b, c',0.75/'b, c',a,1/'b, c','b, c',0",
        "sentence,word,weight/1,so,0.25/1,good,0.75/2,b,1.0",
    )
    for shown, table in zip((matrix, text), tables):
        for form, start in (("svg", b"<?xml"), ("png", b"\x89PNG")):
            assert shown.save(tmp_path / f"one.{form}").read_bytes().startswith(start)
        assert Image.open(tmp_path / "one.png").info["dpi"] == pytest.approx((300, 300), abs=0.1)
        saved = shown.save(str(tmp_path / "one.csv")).read_text(encoding="utf-8")
        assert "/".join(saved.splitlines()).replace('"', "'") == table
        with pytest.raises(ValueError, match=r"saved as .svg, .png or .csv, not as 'gif'"):
            shown.save(tmp_path / "one.gif")
        shown.send = mock.Mock()
        shown._handle_custom_msg({"save": "csv"}, [])
        shown._handle_custom_msg({"save": "../x"}, [])
        shown._handle_custom_msg("csv", [])
        shown.send.assert_called_once_with({"saved": "csv"}, [saved.encode()])
