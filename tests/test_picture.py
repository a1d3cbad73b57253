"""The heatmap as a picture: the colour of every cell, its marks, and what is written beside it."""

import io

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from PIL import Image

from course_lib.views.colours import ACCENT, ATTENTION_HEX, INK
from course_lib.views.heatmap import AttentionHeatmap, picture


def words(count):
    return [f"w{i}" for i in range(count)]


def near(pixels, colour, tolerance=12):
    """Which pixels (…, 3) have a colour, but for the smoothing of edges."""
    return np.abs(np.asarray(pixels, int) - 255 * np.array(to_rgb(colour))).max(-1) <= tolerance


class Drawn:
    """A view's picture, to be looked at in cells: (x, y) is across and down from its corner."""

    def __init__(self, weights, *arguments, step=0, **options):
        view = AttentionHeatmap(weights, *arguments, **options)
        matrix = np.asarray(weights, np.float32).reshape(view.spec["shape"])[step]
        names = ("scale", "most", "normalise", "band")
        shown = {name: getattr(view, name) for name in names}
        self.figure = picture.heatmap(matrix, view.spec, step=step, **shown)
        self.figure.set_dpi(200)
        self.figure.canvas.draw()
        self.pixels = np.asarray(self.figure.canvas.buffer_rgba())[..., :3]
        self.axis, self.bar = self.figure.axes
        self.to_pixels = self.axis.transData.frozen()
        plt.close(self.figure)

    def at(self, x, y):
        """The colours (…, 3) at points, given in cells."""
        points = np.stack(np.broadcast_arrays(x, y), -1).astype(float)
        across, up = self.to_pixels.transform(points.reshape(-1, 2)).T.astype(int)
        return self.pixels[len(self.pixels) - 1 - up, across].reshape(*points.shape[:-1], 3)

    def share(self, colour, start, end):
        """How much of a line from (x, y) to (x, y) has a colour."""
        (x, y), (to_x, to_y) = start, end
        return near(self.at(np.linspace(x, to_x, 60), np.linspace(y, to_y, 60)), colour, 60).mean()

    def wrong_cells(self, shares, xs=None, ys=None):
        """The cells whose colour is not the one at their share of the map."""
        wrong = []
        for (row, column), share in np.ndenumerate(shares):
            x = column if xs is None else xs[column]
            y = row if ys is None else ys[row]
            colour = ATTENTION_HEX[round(share * 255)]
            if not near(self.at(x + 0.5, y + 0.5), colour):
                wrong.append(f"[{row}, {column}] is not {colour}")
        return wrong


WEIGHTS = np.array([[0, 0.04, 0.16], [0.36, 0.64, 0.25], [0, 0, 0.01]])


def test_cells_have_the_colour_of_their_share_of_the_largest_weight():
    assert Drawn(WEIGHTS, words(3)).wrong_cells(WEIGHTS / 0.64) == []


@pytest.mark.parametrize("most", [1, 0.8])
def test_a_scale_may_reach_beyond_the_largest_weight(most):
    assert Drawn(WEIGHTS, words(3), most=most).wrong_cells(WEIGHTS / most) == []


@pytest.mark.parametrize(
    ("most", "ticks"), [(0.644, [0, 0.2, 0.4, 0.6]), (0.161, [0, 0.05, 0.1, 0.15])]
)
@pytest.mark.parametrize("scale", ["linear", "sqrt"])
def test_the_numbers_beside_the_scale_are_round(scale, most, ticks):
    bar = Drawn(WEIGHTS * most / 0.64, words(3), most=most, scale=scale).bar
    low, high = bar.get_ylim()
    shown = [place for place in bar.get_yticks() if low <= place <= high + 1e-9]
    np.testing.assert_allclose(shown, ticks, atol=1e-9)


def test_what_is_no_weight_is_called_by_its_name():
    assert Drawn(WEIGHTS, words(3), quantity="gate").bar.get_ylabel() == "gate"


def test_the_square_root_scale_shows_the_root_of_the_share():
    assert Drawn(WEIGHTS, words(3), scale="sqrt").wrong_cells(np.sqrt(WEIGHTS / 0.64)) == []


def test_normalised_each_row_reaches_the_darkest_and_zeros_stay_paper():
    weights = np.vstack([WEIGHTS[:2], np.zeros(3)])
    shares = weights / [[0.16], [0.64], [1]]
    drawn = Drawn(weights, words(3), normalise=True)
    assert drawn.wrong_cells(shares) == []
    assert drawn.bar.get_ylabel() == "weight ÷ largest of its row"
    drawn = Drawn(weights, words(3), normalise=True, transpose=True)
    assert drawn.wrong_cells(shares.T) == []
    assert drawn.bar.get_ylabel() == "weight ÷ largest of its column"
    assert Drawn(weights, words(3), normalise=True, scale="sqrt").wrong_cells(np.sqrt(shares)) == []


def test_all_steps_share_one_scale():
    weights = np.stack([WEIGHTS, WEIGHTS / 4])
    drawn = Drawn(weights, words(3), steps=["all", "a quarter"], step=1, title="Two")
    assert drawn.wrong_cells(WEIGHTS / 4 / 0.64) == []
    assert drawn.axis.get_title(loc="left") == "Two · a quarter"


def test_zeros_alone_are_paper():
    assert Drawn(np.zeros((3, 3)), words(3)).wrong_cells(np.zeros((3, 3))) == []


@pytest.mark.parametrize("transpose", [False, True])
def test_a_line_sets_the_summaries_apart(transpose):
    weights = np.array([[0.5, 1, 0.5, 1, 0.5], [1, 0.5, 1, 0.5, 1]])
    drawn = Drawn(weights, words(2), words(5), extra=2, transpose=transpose)
    assert drawn.wrong_cells(weights.T if transpose else weights) == []
    for place in range(1, 5):
        ends = (place, 0.2), (place, 0.8)
        ends = [end[::-1] for end in ends] if transpose else ends
        assert (drawn.share(INK, *ends) > 0.9) == (place == 3)
    axis = drawn.axis.yaxis if transpose else drawn.axis.xaxis
    assert [label.get_text() for label in axis.get_ticklabels()] == words(5)


@pytest.mark.parametrize("band", [0, 1, 3])
def test_a_band_is_bordered_between_its_cells_and_the_others(band):
    count = 6
    drawn = Drawn(np.zeros((count, count)), words(count), words(count), band=band)

    def bordered(row, column, other):
        """Whether a border of the band lies between two cells."""
        return (abs(row - column) <= band) != (abs(other[0] - other[1]) <= band)

    for row, column in np.ndindex(count, count):
        if column:
            share = drawn.share(ACCENT, (column, row + 0.15), (column, row + 0.85))
            assert (share > 0.25) == bordered(row, column, (row, column - 1)), (row, column)
        if row:
            share = drawn.share(ACCENT, (column + 0.15, row), (column + 0.85, row))
            assert (share > 0.25) == bordered(row, column, (row - 1, column)), (row, column)


def outlined(drawn, row, column):
    corners = [(column, row), (column + 1, row), (column + 1, row + 1), (column, row + 1)]
    sides = zip(corners, corners[1:] + corners[:1], strict=True)
    return min(drawn.share(INK, start, end) for start, end in sides) > 0.8


def test_cells_above_the_outline_are_framed_and_no_others():
    weights = np.zeros((5, 5))
    weights[1, 1], weights[1, 3], weights[3, 1] = 0.8, 0.5, 0.51
    drawn = Drawn(weights, words(5), outline=0.5)
    framed = {(row, column) for row, column in np.ndindex(5, 5) if outlined(drawn, row, column)}
    assert framed == {(1, 1), (3, 1)}
    drawn = Drawn(weights, words(5), outline=0.5, transpose=True)
    assert outlined(drawn, 1, 3) and not outlined(drawn, 3, 1)


def test_an_outline_is_compared_with_what_is_shown():
    weights = np.zeros((5, 5))
    weights[1, 1], weights[3, 1], weights[3, 3] = 0.1, 0.4, 0.2
    drawn = Drawn(weights, words(5), outline=0.9, normalise=True)
    framed = {(row, column) for row, column in np.ndindex(5, 5) if outlined(drawn, row, column)}
    assert framed == {(1, 1), (3, 1)}


def test_labels_that_have_no_room_are_left_out_evenly():
    for count, every in ((20, 1), (200, 4)):
        axis = Drawn(np.eye(count), words(count)).axis
        for side in (axis.xaxis, axis.yaxis):
            assert [label.get_text() for label in side.get_ticklabels()] == words(count)[::every]
            np.testing.assert_allclose(side.get_ticklocs(), np.arange(0, count, every) + 0.5)


def test_tokens_are_written_as_they_stand_and_endless_ones_are_cut():
    tokens = ["$x_1$", "", " ", "x" * 30]
    axis = Drawn(np.eye(4), tokens, title="$t$").axis
    labels = [label.get_text() for label in axis.yaxis.get_ticklabels()]
    assert labels == [r"\$x_1\$", "(empty)", "(space)", "x" * 21 + "…"]
    assert axis.get_title(loc="left") == r"\$t\$"


def test_a_view_draws_its_own_traits():
    weights = np.zeros((2, 12, 12))
    weights[0, :4], weights[0, 4:8], weights[1, :8] = 0.25, 1, 0.75
    view = AttentionHeatmap(weights, words(12), steps=["first", "second"])

    def colours():
        """Places in the map of the colours that fill a good part of the picture."""
        pixels = np.array(Image.open(io.BytesIO(view.to_png())).convert("RGB")).reshape(-1, 3)
        places = (0, 64, 128, 191, 255)
        return {place for place in places if near(pixels, ATTENTION_HEX[place]).mean() > 0.1}

    assert colours() == {0, 64, 255}
    view.scale = "sqrt"
    assert colours() == {0, 128, 255}
    view.normalise = True
    assert colours() == {0, 255}
    view.scale, view.normalise, view.step = "linear", False, 1
    assert colours() == {0, 191}
