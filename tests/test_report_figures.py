"""The deviation of accuracies over seeds, and experiments that are simulated with it."""

import re

import matplotlib.pyplot as plt
import pytest
from made_up import made_up
from sweeping import sweep

from course_kit.research import report
from course_lib.explore import explore_values
from course_lib.metrics import power


def agt(seed, accuracy):
    return made_up("agt", "sst5", "paper", accuracy, seed=seed, texts=100)


def test_the_deviation_over_seeds_is_pooled_over_networks():
    runs = [agt(seed, accuracy) for seed, accuracy in enumerate((0.4, 0.5, 0.6))]
    assert report.pooled_deviation(runs) == pytest.approx(10)
    wide = [agt(0, 0.3), agt(1, 0.7)]
    assert report.pooled_deviation(runs, wide) == pytest.approx(100 * ((0.01 + 0.08) / 2) ** 0.5)


def test_every_line_of_the_implied_lengths_is_named():
    (axis,) = report.implied_figure().axes
    named = {text.get_text().partition(",")[0]: text.get_color() for text in axis.texts}
    assert set(named) == {report.ZHANG[dataset] for dataset in report.implied_lengths()}
    assert sorted(named.values()) == sorted(line.get_color() for line in axis.lines)


@pytest.mark.full
def test_simulated_experiments_find_as_often_as_the_power_says():
    _, axis = plt.subplots()
    report.draw_experiments(axis, 2.0, 1.0, 5)
    told, mean = re.fullmatch(
        r"5 seeds: (\d+)% detected; their mean: \+(.*)", axis.get_title()
    ).groups()
    assert int(told) == pytest.approx(100 * power(2.0, 1.0, 5), abs=2)
    assert 2.0 < float(mean) < 2.6, "those that are detected exaggerate"
    view = explore_values(
        lambda axis, seeds: report.draw_experiments(axis, 2.0, 3.0, seeds),
        {str(seeds): seeds for seeds in (2, 3, 50)},
        ("2", "3"),
        "seeds",
        "histograms",
    )
    assert sweep(view) == 3
    plt.close("all")
