"""What chance gives and what a few seeds can show, held against counting and simulation."""

import math

import numpy as np
import pytest
from scipy import stats

from course_lib.metrics import constant_loss, detectable_difference, power


def test_the_loss_of_knowing_the_shares_is_their_entropy_and_grows_where_they_differ():
    assert constant_loss([5, 5], [3, 1]) == pytest.approx(math.log(2))
    assert constant_loss([3, 1], [30, 10]) == pytest.approx(0.5623, abs=1e-4)
    assert constant_loss([3, 1], [10, 30]) == pytest.approx(1.1116, abs=1e-4)
    assert constant_loss([3, 1, 0], [1, 0, 0]) == pytest.approx(-math.log(0.75))


@pytest.mark.parametrize(
    ("difference", "deviation", "seeds"), [(4.0, 1.5, 3), (-2.0, 1.0, 5), (0.0, 1.0, 2)]
)
def test_power_is_how_often_a_simulated_test_finds_the_difference(difference, deviation, seeds):
    first, second = deviation * np.random.default_rng(0).standard_normal((2, 40_000, seeds))
    found = (stats.ttest_ind(first + difference, second, axis=1).pvalue < 0.05).mean()
    assert power(difference, deviation, seeds) == pytest.approx(found, abs=0.01)


def test_the_detectable_difference_has_the_power_asked_for_and_shrinks_with_seeds():
    for seeds in (2, 3, 10):
        found = detectable_difference(1.5, seeds)
        assert power(found, 1.5, seeds) == pytest.approx(0.8, abs=1e-4)
    sizes = [detectable_difference(1.0, seeds) for seeds in (2, 3, 5, 10, 100)]
    assert sizes == sorted(sizes, reverse=True)
    # many seeds: (z(0.975) + z(0.8)) · √(2 / n), the known deviation's formula
    assert sizes[-1] == pytest.approx(2.802 * math.sqrt(2 / 100), rel=0.01)


def test_what_cannot_be_asked_is_named():
    with pytest.raises(ValueError, match="seeds is 1"):
        power(1.0, 1.0, 1)
    with pytest.raises(ValueError, match="deviation is 0"):
        power(1.0, 0, 3)
