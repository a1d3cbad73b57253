"""The heatmap as a picture: the colour of every cell, its marks, and what is written beside it."""

from itertools import product
from unittest import mock

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb

from course_lib.views.colours import ACCENT, ATTENTION_HEX, INK
from course_lib.views.heatmap import AttentionHeatmap, static


def words(count):
    return [f"w{i}" for i in range(count)]


def near(pixels, colour, tolerance=12):
    """Which pixels (…, 3) have a colour, but for the smoothing of edges."""
    return np.abs(np.asarray(pixels, int) - 255 * np.array(to_rgb(colour))).max(-1) <= tolerance


class Drawn:
    """A view's picture, to be looked at in cells: (x, y) is across and down from its corner."""

    def __init__(self, weights, *arguments, **options):
        view = AttentionHeatmap(weights, *arguments, **options)
        with mock.patch.object(static, "picture", lambda figure: figure):
            figure = view.to_png()
        figure.set_dpi(200)
        figure.canvas.draw()
        self.pixels = np.asarray(figure.canvas.buffer_rgba())[..., :3]
        self.axis, self.bar = figure.axes
        self.to_pixels = self.axis.transData.frozen()
        plt.close(figure)

    def at(self, x, y):
        """The colours (…, 3) at points, given in cells."""
        points = np.stack(np.broadcast_arrays(x, y), -1).astype(float)
        across, up = self.to_pixels.transform(points.reshape(-1, 2)).T.astype(int)
        return self.pixels[len(self.pixels) - 1 - up, across].reshape(*points.shape[:-1], 3)

    def share(self, colour, start, end):
        """How much of a line from (x, y) to (x, y) has a colour."""
        (x, y), (to_x, to_y) = start, end
        return near(self.at(np.linspace(x, to_x, 60), np.linspace(y, to_y, 60)), colour, 60).mean()

    def labels(self, side):
        return [label.get_text() for label in getattr(self.axis, f"{side}axis").get_ticklabels()]


WEIGHTS = np.array([[0, 0.04, 0.16, 0.2], [0.36, 0.64, 0.25, 0.1], [0, 0, 0, 0]])


@pytest.mark.parametrize(
    ("scale", "normalise", "transpose", "most"),
    list(product(("linear", "sqrt"), (False, True), (False, True), (None, 0.8))),
)
def test_every_cell_has_the_colour_of_its_share(scale, normalise, transpose, most):
    """Of the largest weight, of ``most``, or of the largest in its row; zeros are paper."""
    drawn = Drawn(
        WEIGHTS,
        words(3),
        words(4),
        title="One",
        scale=scale,
        normalise=normalise,
        transpose=transpose,
        most=most,
    )
    shares = WEIGHTS / ([[0.2], [0.64], [1]] if normalise else most or 0.64)
    shares = shares**0.5 if scale == "sqrt" else shares
    shares = shares.T if transpose else shares
    for (row, column), share in np.ndenumerate(shares):
        assert near(drawn.at(column + 0.5, row + 0.5), ATTENTION_HEX[round(share * 255)])
    assert drawn.axis.get_title(loc="left") == "One"
    largest = f" ÷ largest of its {'column' if transpose else 'row'}"
    assert drawn.bar.get_ylabel() == "weight" + largest * normalise


@pytest.mark.parametrize(
    ("most", "ticks"), [(0.644, [0, 0.2, 0.4, 0.6]), (0.161, [0, 0.05, 0.1, 0.15])]
)
@pytest.mark.parametrize("scale", ["linear", "sqrt"])
def test_the_numbers_beside_the_scale_are_round(scale, most, ticks):
    drawn = Drawn(
        WEIGHTS * most / 0.64, words(3), words(4), most=most, scale=scale, quantity="gate"
    )
    low, high = drawn.bar.get_ylim()
    shown = [place for place in drawn.bar.get_yticks() if low <= place <= high + 1e-9]
    np.testing.assert_allclose(shown, ticks, atol=1e-9)
    assert drawn.bar.get_ylabel() == "gate"


@pytest.mark.parametrize("transpose", [False, True])
def test_a_line_sets_the_summaries_apart(transpose):
    weights = np.array([[0.5, 1, 0.5, 1, 0.5], [1, 0.5, 1, 0.5, 1]])
    drawn = Drawn(weights, words(2), words(5), extra=2, transpose=transpose)
    for place in range(1, 5):
        ends = (place, 0.2), (place, 0.8)
        ends = [end[::-1] for end in ends] if transpose else ends
        assert (drawn.share(INK, *ends) > 0.9) == (place == 3)
    assert drawn.labels("y" if transpose else "x") == words(5)


@pytest.mark.parametrize("band", [0, 1, 3])
def test_a_band_is_bordered_between_its_cells_and_the_others(band):
    count = 6
    drawn = Drawn(np.zeros((count, count)), words(count), band=band)
    for row, column in np.ndindex(count, count):
        for other, line in (
            ((row, column - 1), [(column, row + 0.15), (column, row + 0.85)]),
            ((row - 1, column), [(column + 0.15, row), (column + 0.85, row)]),
        ):
            if min(other) >= 0:
                bordered = (abs(row - column) <= band) != (abs(other[0] - other[1]) <= band)
                assert (drawn.share(ACCENT, *line) > 0.25) == bordered, (row, column, other)


@pytest.mark.parametrize(
    ("options", "framed"),
    [
        ({"outline": 0.5}, {(1, 1), (3, 1)}),
        ({"outline": 0.5, "transpose": True}, {(1, 1), (1, 3)}),
        ({"outline": 0.9, "normalise": True}, {(1, 1), (3, 1), (2, 3)}),  # of what is shown
    ],
)
def test_cells_above_the_outline_are_framed_and_no_others(options, framed):
    weights = np.zeros((5, 5))
    weights[1, 1], weights[1, 3], weights[3, 1], weights[2, 3] = 0.8, 0.5, 0.51, 0.1
    drawn = Drawn(weights, words(5), **options)

    def has_frame(row, column):
        corners = [(column, row), (column + 1, row), (column + 1, row + 1), (column, row + 1)]
        sides = zip(corners, corners[1:] + corners[:1], strict=True)
        return min(drawn.share(INK, start, end) for start, end in sides) > 0.8

    assert {cell for cell in np.ndindex(5, 5) if has_frame(*cell)} == framed


def test_labels_stand_as_they_are_and_those_without_room_are_left_out_evenly():
    for count, every in ((20, 1), (200, 4)):
        drawn = Drawn(np.eye(count), words(count))
        assert drawn.labels("x") == drawn.labels("y") == words(count)[::every]
        for side in (drawn.axis.xaxis, drawn.axis.yaxis):
            np.testing.assert_allclose(side.get_ticklocs(), np.arange(0, count, every) + 0.5)
    drawn = Drawn(np.eye(4), ["$x_1$", "", " ", "x" * 30], title="$t$")
    assert drawn.labels("y") == [r"\$x_1\$", "(empty)", "(space)", "x" * 21 + "…"]
    assert drawn.axis.get_title(loc="left") == r"\$t\$"
