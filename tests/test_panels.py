"""Small multiples share their scale and say what they show."""

from itertools import combinations

import numpy as np
import pytest

from course_lib import views
from course_lib.views import plots


def test_heatmaps_side_by_side_share_a_scale_that_begins_at_zero():
    flat, sharp = np.full((2, 4), 0.25), np.eye(4)[:2]
    figure = views.heatmap_panels({"flat": flat, "sharp": sharp}, ["a", "b"], list("wxyz"), "T")
    *panels, bar = figure.axes
    assert [axis.get_title() for axis in panels] == ["flat", "sharp"]
    assert {axis.collections[0].get_clim() for axis in panels} == {(0.0, 1.0)}
    assert bar.get_ylabel() == "attention"
    assert panels[0].texts[0].get_text() == ".25" and panels[1].texts[0].get_text() == "1.00"
    assert figure.get_suptitle() == "T"


@pytest.mark.parametrize(
    ("matrix", "options", "limits", "first"),
    [
        (np.eye(2), {"most": 0.4}, (0, 0.4), ["1.00"]),  # ends below the largest value
        ([[-2.0, 1.0], [0.0, 0.5]], {"signed": True}, (-2, 2), ["-2.0"]),  # zero in its middle
        ([[-0.001, 1.0], [0.0, 0.5]], {"numbers": "z.0%"}, (0, 1), ["0%", "100%"]),
        (np.eye(21), {}, (0, 1), []),  # too large for numbers
    ],
)
def test_a_scale_has_its_limits_and_a_small_matrix_its_numbers(matrix, options, limits, first):
    names = ["$w"] * len(matrix)
    axis, bar = views.heatmap_panels({"": matrix}, names, names, **options).axes
    assert axis.collections[0].get_clim() == limits
    assert [text.get_text() for text in axis.texts][: len(first)] == first
    assert len(bar.patches) == ("most" in options)  # the arrow of the colour bar


def test_a_matrix_that_does_not_fit_its_names_is_named():
    with pytest.raises(ValueError, match=r"matrix 'b' has the shape \(2, 3\); 2 rows and 2"):
        views.heatmap_panels({"a": np.eye(2), "b": np.ones((2, 3))}, ["x", "y"], ["x", "y"])


def test_bars_share_a_scale_and_the_line_of_equal_shares():
    panels = {"one": [0.1, 0.9, 0], "two": [0.3, 0.3, 0.4]}
    figure = views.bar_panels(panels, list("abc"), "share", uniform=True)
    first, second = figure.axes
    assert first.get_ylim() == second.get_ylim() and figure.get_supylabel() == "share"
    assert [bar.get_height() for bar in first.patches] == [0.1, 0.9, 0]
    assert len({bar.get_facecolor() for bar in first.patches}) == 1
    assert any(np.allclose(line.get_ydata(), 1 / 3) for line in second.lines)


def test_a_score_of_the_wrong_sign_is_framed_and_says_so():
    tables = {"one": [[1.0, -2.0], [0.0, 3.0]], "two": [[1.0, 2.0], [-1.0, -3.0]]}
    figure = views.sign_panels(tables, ["a", "b"], ["x", "y"], [[1, 1], [-1, -1]])
    said = [{text.get_position(): text.get_text() for text in axis.texts} for axis in figure.axes]
    assert said[0] == {
        (0.5, 0.5): "+1.0",
        (1.5, 0.5): "−2.0\nwrong",
        (0.5, 1.5): "+0.0\nwrong",
        (1.5, 1.5): "+3.0\nwrong",
    }
    assert not any("wrong" in text for text in said[1].values())
    framed, none = ([np.floor(patch.get_xy()) for patch in axis.patches] for axis in figure.axes)
    assert np.array_equal(framed, [(1, 0), (0, 1), (1, 1)]) and not none


def test_signed_bars_have_a_scale_each_and_the_second_colour_below_zero():
    figure = views.bar_panels({"value": [-1.0, 0.0, 1.0], "weight": [9, 1, 0]}, "abc", signed=True)
    value, weight = figure.axes
    assert value.get_ylim()[1] < 2 < weight.get_ylim()[1]
    below, zero, above = [bar.get_facecolor() for bar in value.patches]
    assert below != zero == above


def test_a_stack_of_heatmaps_shares_its_columns_and_sets_the_last_ones_apart():
    figure = views.heatmap_panels(
        {"one": np.eye(3, 5), "two": np.eye(3, 5)}, list("abc"), list("vwxyz"), across=1, extra=2
    )
    first, second, _ = figure.axes
    assert first.get_position().y0 > second.get_position().y1
    assert figure.get_figheight() < 4  # its rows are lower, so that a page holds it
    assert [list(line.get_xdata()) for line in first.lines] == [[3, 3]]
    assert first.get_ylim() == second.get_ylim() == (3, 0)  # the first row is on top in both


def test_dots_stand_for_runs_and_scales_run_from_zero_to_one():
    panels = {
        "share": {"one": {"a": [0.1, 0.2], "b": [0.9]}, "two": {"b": [0.4]}},
        "accuracy": {"one": {"a": [0.8], "b": [0.82]}, "two": {}},
    }
    figure = views.dot_panels(
        panels,
        "γ",
        "T",
        limits={"accuracy": (0.7, 0.9)},
        reference="untrained",
        lines={"share": 0.5},
    )
    share, accuracy = figure.axes
    one, two, line = share.lines
    assert list(one.get_ydata()) == [0.1, 0.2, 0.9] and list(two.get_ydata()) == [0.4]
    assert [round(x) for x in (*one.get_xdata(), *two.get_xdata())] == [0, 0, 1, 1]
    assert list(line.get_ydata()) == [0.5, 0.5] and share.get_ylim()[1] < 1.1
    assert 0.65 < accuracy.get_ylim()[0] < 0.7 and not len(accuracy.lines[1].get_ydata())
    assert [tick.get_text() for tick in share.get_xticklabels()] == ["a", "b"]
    assert [t.get_text() for t in figure.legends[0].texts] == ["one", "two", "untrained"]


def test_a_single_series_without_a_name_needs_no_legend():
    figure = views.dot_panels({"p": {"": {"a": [0.5]}}})
    assert figure.legends == [] and figure.axes[0].get_title() == "p"


def test_intervals_leave_out_rows_and_mark_the_reference():
    panels = {
        "all": {"": {"a": (0.3, 0.2, 0.5), "b": (0.1, 0.0, 0.2)}},
        "one": {"": {"b": (0.2, 0, 1)}},
    }
    every, one = plots.means_with_intervals(panels, ["a", "b"], "area", "T", "b").axes
    dots, line = every.containers[0][0], every.lines[1]
    assert [list(dots.get_xdata()), list(dots.get_ydata())] == [[0.3, 0.1], [0, 1]]
    assert list(line.get_xdata()) == [0.1, 0.1] and line.get_label() == "b"
    (bars,) = every.containers[0][2]
    assert [tuple(ends[:, 0].round(6)) for ends in bars.get_segments()] == [(0.2, 0.5), (0, 0.2)]
    assert list(one.containers[0][0].get_ydata()) == [1]


def test_lines_between_two_rankings_cross_where_they_disagree():
    rankings = {"one": [0.5, 0.1, 0.9, 0.2], "other": [4, 3, 2, 1]}
    (axis,) = views.ranked_columns({"four": rankings}, {"four": ["a", "b", "c", "$d"]}).axes
    lines = [line.get_ydata() for line in axis.lines]
    crossing = sum((a[0] < b[0]) != (a[1] < b[1]) for a, b in combinations(lines, 2))
    first, other = map(np.array, rankings.values())
    apart = np.sign(np.subtract.outer(first, first) * np.subtract.outer(other, other))
    assert crossing == (apart < 0).sum() / 2 == 3
    by_place = {text.get_text(): [] for text in axis.texts}
    for text in axis.texts:
        by_place[text.get_text()].append(text.get_position()[1])
    assert by_place == {"a": [1, 0], "b": [3, 1], "c": [0, 2], r"\$d": [2, 3]}
    assert [tick.get_text() for tick in axis.get_xticklabels()] == ["one", "other"]
