"""Values of words by hand: the table holds their sums, and wrong signs are told."""

from itertools import product

import pytest
from sweeping import sweep

from course_lib import views
from course_lib.explore import explore_sums
from course_lib.explore.pairs import VALUES

WANTED = [[-1, 1], [1, -1]]


@pytest.fixture
def view():
    return explore_sums(["not", "really"], ["superb", "dull"], WANTED, [-1, 1, 2, -2])


def cells(figure):
    """What stands in the cells of the first table, row by row, and how many are framed."""
    axis = figure.axes[0]
    return [text.get_text() for text in axis.texts], len(axis.patches)


def test_the_table_holds_the_sums_and_frames_the_wrong_ones(view):
    (picture,) = view._stage.children
    assert cells(picture._figure) == (["+1.0\nwrong", "−3.0\nwrong", "+3.0", "−1.0"], 2)
    assert view._caption == "2 of 4 sums have the right sign"
    view.values = [-3, 0, 1, -1]
    assert view.values == (-3, 0, 1, -1) and view._caption.startswith("3 of 4")
    view.values = [0, 0, 0, 0]  # a sum of 0 has no sign
    assert view._caption.startswith("0 of 4")
    (picture,) = view._stage.children
    assert cells(picture._figure)[1] == 4


@pytest.mark.full
def test_no_choice_of_values_gets_all_four(view):
    best = 0
    for not_, superb, dull in product(range(-3, 4, 3), repeat=3):
        view.values = [not_, 1, superb, dull]
        best = max(best, int(view._caption[0]))
    assert best == 3


@pytest.mark.full
def test_every_value_of_every_slider_can_be_chosen(view):
    assert sweep(view) == 4 * len(VALUES)
    assert [label for label, _ in VALUES] == ["−3", "−2", "−1", "0", "+1", "+2", "+3"]
    assert view._picture(view._stills()).startswith(b"\x89PNG")


def test_tables_side_by_side_have_one_scale():
    figure = views.sign_panels({"a": [[-9, 9]], "b": [[0.1, -0.1]]}, ["x"], ["y", "z"], [[-1, 1]])
    first, second = figure.axes
    assert [axis.collections[0].get_clim() for axis in (first, second)] == [(-9, 9), (-9, 9)]
    assert not first.patches and len(second.patches) == 2
