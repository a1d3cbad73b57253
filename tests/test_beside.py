"""What an accuracy is compared with: tables and figures of the lesson on failed replications."""

import math
import re

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sweeping import sweep

from course_kit.research import report
from course_lib import metrics
from course_lib.data.catalog import CARDS
from course_lib.explore import explore_values
from course_lib.metrics.classification import sampling_error
from course_lib.runs.records import load_records


@pytest.fixture(scope="module")
def records():
    return load_records()


def run(seed, accuracy=0.5, validation=0.5, losses=((1.0, 0.5), (1.0, 0.8)), **changed):
    spec = {
        "system": "agt", "preset": "paper", "dataset": "sst5", "limit": None, "seed": seed,
        "overrides": {},
    }  # fmt: skip
    epochs = [
        {"train_loss": t, "validation_loss": v, "validation_accuracy": validation}
        for t, v in zip(*losses, strict=True)
    ]
    return {
        "id": f"{seed}-{changed}", "spec": spec, "data": {"content": "0", "subset": False},
        "settings": {"text": {"vectors": "none"}, "model": {"width": 1, **changed},
                     "control": {"attention_weights": "learned"}},
        "epochs": epochs, "best_epoch": 1, "sizes": {"test": 100, "validation": 50},
        "test": {"accuracy": accuracy},
    }  # fmt: skip


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def test_the_chance_line_is_the_test_share_of_the_commonest_training_class():
    for name in ("imdb", "sst5"):
        train, test = (CARDS[name].sizes[part] for part in ("train", "test"))
        expected = test[int(np.argmax(train))] / sum(test)
        assert report.chance_line(name) == pytest.approx(expected)
    assert report.chance_line("sst5") < 1 / 5  # neutral leads in training alone


def test_networks_stand_beside_chance_and_the_better_tfidf(records):
    (row,) = report.beside_chance(records, {"sst5": ("agt", "paper")})
    group = report.seeds_of(records, "agt", "paper", "sst5")
    assert row.accuracy == pytest.approx(np.mean([r["test"]["accuracy"] for r in group]))
    assert row.error == pytest.approx(sampling_error(row.accuracy, 2210))
    simple = [report.seeds_of(records, *s, "sst5")[0] for s in report.SIMPLE.values()]
    assert row.counted == max(r["test"]["accuracy"] for r in simple)
    table = report.beside_table([row]).splitlines()
    assert table[-1].startswith(f"| sst5 | {row.chance:.1%} | {row.counted:.1%} |")


def test_a_pair_of_groups_is_told_with_its_difference():
    pair = [run(0, 0.40), run(1, 0.44)], [run(0, 0.50), run(1, 0.54)]
    (line,) = report.pairs_table({"a − b": pair}).splitlines()[2:]
    assert line.startswith("| a − b | 42.0 ± 2.8 (2) | 52.0 ± 2.8 (2) | -10.0 ±")


def test_movements_hold_points_by_the_one_setting_that_changed_and_the_seed_first():
    runs = [run(0, validation=0.5), run(1, validation=0.52), run(0, validation=0.6, width=2),
            run(1, validation=0.4, deep=True)]  # fmt: skip
    moved = report.movements(runs)
    assert list(moved) == ["seed", "model.deep", "model.width"]
    assert moved["seed"] == pytest.approx([2.0]) and moved["model.width"] == pytest.approx([10.0])
    figure = report.movements_figure(moved, 3.0, "title")
    rows = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert rows == ["seed (1)", "model.deep (1)", "model.width (1)"]
    assert [len(line.get_xdata()) for line in figure.axes[0].lines] == [1, 1, 1]


def test_two_errors_are_those_of_the_seeds_and_of_the_test_texts(records):
    runs = [run(seed, accuracy) for seed, accuracy in enumerate((0.4, 0.5, 0.6))]
    ((name, errors),) = report.two_errors(runs).items()
    assert name == "agt paper, sst5"
    assert errors == pytest.approx((10.0, 100 * sampling_error(0.5, 100)))
    assert report.two_errors(runs[:2]) == {}
    every = report.two_errors(records)
    assert [e.seeds for e in every.values()] == sorted(e.seeds for e in every.values())[::-1]
    figure = report.two_errors_figure(every, "title")
    assert len(figure.axes[0].get_yticklabels()) == len(every)
    assert report.pooled_deviation(runs, runs) == pytest.approx(10.0)
    wide = [run(0, 0.3), run(1, 0.7)]
    assert report.pooled_deviation(runs, wide) == pytest.approx(100 * math.sqrt((0.01 + 0.08) / 2))


def test_losses_of_runs_stand_side_by_side():
    runs = {"one": run(0), "two": run(1, losses=((3.0, 2.0, 1.0), (3.0, 2.0, 2.5)))}
    figure = report.losses_figure(runs)
    assert [axis.get_title() for axis in figure.axes] == ["one", "two"]
    training, validation = figure.axes[1].lines
    assert list(training.get_ydata()) == [3, 2, 1] and list(validation.get_ydata()) == [3, 2, 2.5]
    limits = [axis.get_ylim()[1] for axis in report.losses_figure(runs, same_scale=True).axes]
    assert limits[0] == limits[1] > 3
    assert report.curve(runs["two"], "train_loss") == [3.0, 2.0, 1.0]


def test_a_run_made_again_is_dashed_in_the_colour_of_the_first():
    again = run(0, losses=((1.0, 0.9, 0.8), (1.0, 0.9, 0.8)))
    loss, accuracy = report.patience_figure({"seed 0": run(0), "seed 1": run(1)}, again).axes
    first, _, last = loss.lines
    assert first.get_color() == last.get_color() and last.get_linestyle() == "--"
    assert len(last.get_xdata()) == 3 and accuracy.get_ylabel() == "validation accuracy"


def test_simulated_experiments_find_as_often_as_the_power_says():
    _, axis = plt.subplots()
    report.draw_experiments(axis, 2.0, 1.0, 5)
    told, mean = re.fullmatch(r"5 seeds: (\d+)% told, mean \+(.*)", axis.get_title()).groups()
    assert int(told) == pytest.approx(100 * metrics.power(2.0, 1.0, 5), abs=2)
    assert 2.0 < float(mean) < 2.6, "those that are told apart exaggerate"
    view = explore_values(
        lambda axis, seeds: report.draw_experiments(axis, 2.0, 3.0, seeds),
        {str(seeds): seeds for seeds in (2, 3, 50)}, ("2", "3"), "seeds", "histograms",
    )  # fmt: skip
    assert sweep(view) == 3
