"""The figures of the report show the numbers of the records."""

import re

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from made_up import cells, made_up
from sweeping import sweep

from course_kit.research import report
from course_kit.research.report.frames import COMPARISONS, PAPERS
from course_lib.data.catalog import CARDS
from course_lib.explore import explore_values
from course_lib.metrics import power
from course_lib.metrics.attention import uniform_diagonality
from course_lib.metrics.classification import sampling_error
from course_lib.runs.records import load_records


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def agt(seed=0, accuracy=0.5, losses=((1.0, 0.5), (1.0, 0.8)), validation=0.5):
    names = "train_loss", "validation_loss", "validation_accuracy"
    epochs = [dict(zip(names, (*both, validation))) for both in zip(*losses, strict=True)]
    return made_up("agt", "sst5", "paper", accuracy, seed=seed, epochs=epochs, texts=100)


def test_a_network_stands_beside_chance_and_the_better_tfidf():
    records = load_records()
    found = report.baselines(records, {"sst5": ("agt", "paper")})
    row = found.loc["sst5"]
    train, test = (CARDS["sst5"].sizes[part] for part in ("train", "test"))
    assert row.chance == test[int(np.argmax(train))] / sum(test) < 1 / 5
    group = report.seeds_of(records, "agt", "paper", "sst5")
    assert row.accuracy == pytest.approx(np.mean([r["test"]["accuracy"] for r in group]))
    assert row.error == pytest.approx(sampling_error(row.accuracy, 2210))
    simple = [report.seeds_of(records, *s, "sst5")[0] for s in report.SIMPLE.values()]
    assert row.counted == max(r["test"]["accuracy"] for r in simple)
    shown = cells(report.baselines_table(found), "| sst5 |")
    assert shown[:2] == [f"{row.chance:.1%}", f"{row.counted:.1%}"]


def test_two_errors_are_those_of_the_seeds_and_of_the_test_texts():
    runs = [agt(seed, accuracy) for seed, accuracy in enumerate((0.4, 0.5, 0.6))]
    found = report.two_errors(runs)
    errors = pytest.approx((10.0, 100 * sampling_error(0.5, 100)))
    assert found == {"agt paper, sst5": errors}
    assert report.two_errors(runs[:2]) == {}
    every = report.two_errors(load_records())
    assert [e.seeds for e in every.values()] == sorted(e.seeds for e in every.values())[::-1]
    wide = [agt(0, 0.3), agt(1, 0.7)]
    assert report.pooled_deviation(runs, wide) == pytest.approx(100 * ((0.01 + 0.08) / 2) ** 0.5)


def test_losses_of_runs_stand_side_by_side():
    runs = {"one": agt(), "two": agt(1, losses=((3.0, 2.0, 1.0), (3.0, 2.0, 2.5)))}
    figure = report.losses_figure(runs)
    assert [axis.get_title() for axis in figure.axes] == ["one", "two"]
    training, validation = figure.axes[1].lines
    assert list(training.get_ydata()) == [3, 2, 1] and list(validation.get_ydata()) == [3, 2, 2.5]
    assert list(training.get_xdata()) == [1, 2, 3]
    assert [axis.get_ylim() for axis in figure.axes] == [
        (0, pytest.approx(1.08 * top)) for top in (1, 3)
    ]


def test_simulated_experiments_find_as_often_as_the_power_says():
    _, axis = plt.subplots()
    report.draw_experiments(axis, 2.0, 1.0, 5)
    told, mean = re.fullmatch(r"5 seeds: (\d+)% detected, mean \+(.*)", axis.get_title()).groups()
    assert int(told) == pytest.approx(100 * power(2.0, 1.0, 5), abs=2)
    assert 2.0 < float(mean) < 2.6, "those that are detected exaggerate"
    view = explore_values(
        lambda axis, seeds: report.draw_experiments(axis, 2.0, 3.0, seeds),
        {str(seeds): seeds for seeds in (2, 3, 50)}, ("2", "3"), "seeds", "histograms",
    )  # fmt: skip
    assert sweep(view) == 3


def test_a_waterfall_goes_on_where_the_last_change_ended_and_ends_before_what_is_not_run(
    monkeypatch,
):
    steps = [{"system": "agt", "dataset": "sst5", "preset": "paper", "seed": n} for n in range(5)]
    chains = {"A": dict(zip(("first", "more", "less"), steps)),
              "B": {"first": steps[3], "missing": steps[4], "run": steps[0]}}  # fmt: skip
    monkeypatch.setitem(COMPARISONS, "chains", chains)
    runs = [agt(n, validation=share) for n, share in enumerate((0.5, 0.75, 0.7, 0.9))]
    for run in runs:
        run["best_epoch"] = 1
    first, second = report.waterfall_figure(runs).axes
    bars = [(bar.get_x(), bar.get_width()) for bar in first.patches]
    assert bars == [pytest.approx(bar) for bar in ((0, 50), (50, 25), (75, -5))]
    assert [text.get_text() for text in first.texts] == ["50.0", "75.0  (+25.0)", "70.0  (-5.0)"]
    assert [text.get_text() for text in second.texts] == ["90.0"]


def test_panels_of_steps_hold_a_dot_for_every_run_and_the_untrained_line():
    def run(seed, **more):
        return made_up("iram", "sst2", "vanilla", seed=seed, validation=0.8, **more)

    made = []
    for seed in (0, 1):
        trained = {"step overlap": 0.1, "step cosine": 0.5, "summary share, step 3": 0.2 + seed / 2}
        attention = {"trained": trained, "untrained": {"step cosine": 0.9 + seed / 50}}
        made.append(run(seed, attention=attention))
    single = run(0, changes={"model.steps": 1})
    figure = report.steps_panels({"": {0.0: [single], 0.5: made}}, "γ", "T", accuracy=(0.5, 1))
    panels = {axis.get_title(): axis for axis in figure.axes if axis.get_title()}
    assert list(panels) == ["validation accuracy", "overlap", "cosine", "last step on summaries"]
    accuracy, shares = panels["validation accuracy"], panels["last step on summaries"]
    assert list(accuracy.lines[0].get_xdata()) == [0, 1, 1] and 0.4 < accuracy.get_ylim()[0] < 0.5
    assert list(shares.lines[0].get_ydata()) == [0.2, 0.7]
    assert list(panels["cosine"].lines[1].get_ydata()) == pytest.approx([0.91, 0.91])


def test_the_band_is_a_mean_over_seeds_by_the_number_of_training_texts():
    def of_size(size, diagonality, **how):
        figures = {"diagonality 3": diagonality, "uniform diagonality 3": 0.03}
        attention = {"trained": figures, "untrained": figures | {"diagonality 3": 0.05}}
        made = made_up("sanet", "imdb", "base", limit=size * 5 // 4, attention=attention, **how)
        return made | {"sizes": {"train": size}}

    found = [
        of_size(1000, 0.9, changes={"training.patience": 15}),  # the other setting has two seeds
        of_size(8000, 0.3), of_size(1000, 0.1), of_size(1000, 0.2, seed=1),
        of_size(1000, 0.9, changes={"model.scaled": True}), of_size(1000, 0.9, test=False),
    ]  # fmt: skip
    points = report.band_by_size(found)
    assert list(points) == [1000, 8000]
    expected = {"trained": 0.15, "untrained": 0.05, "uniform": 0.03}
    assert points[1000] == pytest.approx(expected)


def test_a_length_that_uniform_attention_implies_gives_the_papers_diagonality():
    lengths = report.implied_lengths()
    assert list(lengths) == list(report.ZHANG)
    for dataset, implied in lengths.items():
        papers = PAPERS["sanet_attention"][dataset][1:]
        for b, (length, percent) in enumerate(zip(implied, papers, strict=True), start=1):
            around = torch.tensor([length + 1, length - 1])
            far, near = (100 * uniform_diagonality(around, b)).tolist()
            assert far < percent < near
    axis = report.implied_figure().axes[0]
    assert [line.get_ydata().tolist() for line in axis.lines] == list(lengths.values())
