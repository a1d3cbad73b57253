"""The trained tests' command, its records, and the tables and pictures made of them."""

import json
import re
from functools import partial

import numpy as np
import pytest
from recorded import spec_of, tiny_vectors

from course_kit.research import report
from course_kit.research.faithfulness.trial import choose
from course_kit.research.trained_tests import (
    TESTS,
    adversary,
    guided,
    planted,
    randomisation,
    record_test,
    roar,
)
from course_kit.research.trained_tests import ground as grounds
from course_kit.research.trained_tests import record as recording
from course_kit.research.trained_tests.record import summary
from course_lib import cli
from course_lib.faithfulness import agreement
from course_lib.files import REPOSITORY
from course_lib.runs import records
from course_lib.runs.model_card import DIGEST
from course_lib.runs.records import load_records
from course_lib.runs.run import train
from course_lib.runs.settings import SpecError
from course_lib.runs.weights import publish_weights

SHARES = (0.0, *roar.SHARES)


@pytest.fixture(scope="module")
def name(tmp_path_factory):
    """The id of a recorded network in a ``results/`` of its own; grounds are small."""
    place, spec = tmp_path_factory.mktemp("recorded"), spec_of("bilstm")
    with pytest.MonkeyPatch.context() as patch, tiny_vectors(place):
        patch.setattr(records, "RUNS", place / "runs")
        patch.setattr(records, "RESULTS", place / "results")
        patch.setattr(recording, "TEXTS", 6)
        patch.setattr(agreement, "DRAWS", 100)
        patch.setattr(grounds, "HELD_OUT", 40)
        patch.setitem(grounds.GROUNDS, "planted", partial(planted, rows=40))
        train(spec, records.RUNS / spec.id)
        publish_weights(records.RUNS / spec.id)
        yield spec.id


@pytest.fixture(scope="module")
def made(name):
    """What the command wrote of the adversary."""
    assert cli.main(["trained-tests", "adversary", "--on", "planted", "--seeds", "0", "3"]) == 0
    path = recording.record_path("adversary", "planted")
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def randomised(name):
    assert cli.main(["trained-tests", "randomisation", "--on", name, "--seeds", "0"]) == 0
    path = recording.record_path("randomisation", name)
    return json.loads(path.read_text(encoding="utf-8"))


def test_the_record_says_what_was_trained_on_what_and_how(made):
    ground = grounds.ground_of("planted")
    assert made["command"] == "attention-course trained-tests adversary --on planted --seeds 0 3"
    assert (made["test"], made["on"], made["seeds"]) == ("adversary", "planted", [0, 3])
    assert made["data"] == ground.data and made["marked_words"] == len(ground.marked)
    assert made["sizes"] == {"train": 40, "validation": 40, "test": 40}
    assert made["settings"]["model"]["hidden"] == 32 and made["seconds"] > 0
    assert {"commit", "device", "threads"} <= made["environment"].keys()
    assert set(made["lines"]) == set(adversary.lines(ground, 0))
    assert not re.search("superb|dull|river", json.dumps(made))


def test_its_figures_are_means_over_seeds_and_texts_in_their_intervals(made):
    found = [adversary.lines(grounds.ground_of("planted"), seed) for seed in (0, 3)]
    for line, figures in made["lines"].items():
        for name, mean in figures.items():
            values = np.stack([one[line][name] for one in found])
            assert mean["mean"] == pytest.approx(values.mean(), abs=1e-4)
            np.testing.assert_allclose(mean["by_seed"], values.mean(1), atol=1e-4)
            assert mean["low"] <= mean["mean"] <= mean["high"] and mean["counted"] == 40


def test_a_mean_holds_the_texts_that_have_a_value():
    found = summary(np.array([[1.0, np.nan, 0.0], [0.0, np.nan, 0.0]]))
    assert (found["mean"], found["counted"], found["left_out"]) == (0.25, 2, 1)
    assert found["by_seed"] == [0.5, 0.0] and found["low"] == 0 and found["high"] == 0.5
    nothing = summary(np.full((1, 2), np.nan))
    assert nothing["mean"] is None and nothing["by_seed"] == [None]


def test_an_interrupted_test_keeps_the_seeds_that_are_done(name, monkeypatch):
    def lines(ground, seed):
        if seed == 2:
            raise KeyboardInterrupt
        return {"one": {"accuracy": np.array([seed, 1.0])}}

    test = recording.TrainedTest("stub", ("planted",), partial(recording.on_ground, lines))
    monkeypatch.setitem(TESTS, "guided", test)
    assert cli.main(["trained-tests", "guided"]) == cli.INTERRUPTED
    path = recording.record_path("guided", "planted")
    kept = json.loads(path.read_text(encoding="utf-8"))
    path.unlink()
    assert kept["seeds"] == [0, 1] and kept["command"].endswith("--seeds 0 1")
    assert kept["lines"]["one"]["accuracy"]["by_seed"] == [0.5, 1.0]


def test_the_randomisation_names_the_network_and_its_sample(randomised, name):
    trial = choose(name, 6)
    assert randomised["weights"] == trial.run.record[DIGEST]
    assert randomised["sample"] == trial.digest and randomised["sizes"] == {"test": 6}
    assert next(iter(randomised["lines"])) == "down to classifier"
    top, *_, bottom = randomised["lines"].values()
    # the classifier stands above the attention, whose scores are therefore the same
    assert top["τ of attention"]["mean"] == 1 > bottom["τ of attention"]["mean"]
    assert load_records()[0]["id"] == name  # the folder of trained tests holds no run


def test_importances_of_the_same_weights_agree_wholly(name, monkeypatch):
    trial = choose(name, 6)
    monkeypatch.setattr(type(trial.run.system), "before_training", lambda self, seed: self)
    for figures in randomisation.lines(trial, 0).values():
        for values in figures.values():
            np.testing.assert_allclose(values, 1, atol=1e-9)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["adversary", "--on", "nowhere"], "no ground 'nowhere'; there are: planted, "),
        (["randomisation", "--on", "nobody"], "no recorded network 'nobody'"),
        (["roar", "--on", "planted", "--seeds", "1", "1"], "seeds takes different whole numbers"),
        (["roar", "--on", "planted", "--seeds", "-1"], "got [-1]"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(name, arguments, says, capsys):
    assert cli.main(["trained-tests", *arguments]) == 2
    assert says in capsys.readouterr().err


def test_no_seed_is_refused(name):
    with pytest.raises(SpecError, match=r"got \[\]"):
        next(record_test("adversary", "planted", []))


def figure(mean, half=0.05, by_seed=None):
    return {"mean": mean, "low": mean - half, "high": mean + half, "counted": 9, "left_out": 0,
            "by_seed": by_seed or [mean]}  # fmt: skip


def removed(ranker, share):
    lost = {"attention": 0.5, "random": 0.25}.get(ranker, 0.375)
    return {"accuracy": figure(1 - lost * share, by_seed=[0.5, 0.75])}


MADE_UP = {
    "roar-x": {
        "test": "roar", "on": "x", "seeds": [0, 1],
        "lines": {roar.line_name(r, s): removed(r, s) for r in roar.RANKERS for s in SHARES},
    },
    "adversary-x": {
        "test": "adversary", "on": "x", "seeds": [0],
        "lines": {
            line: {adversary.DIVERGENCE: figure(far), adversary.VARIATION: figure(change)}
            for line, far, change in (
                ("the base network", 0.0, 0.0), ("the base, another seed", 0.25, 0.125),
                ("uniform attention", 0.3, 0.2), ("adversary, λ = 0.1", 0.5, 0.375),
            )
        },
    },
}  # fmt: skip


def title_of(axis):
    """It stands on the left in the course's style, and in the middle without."""
    return axis.get_title(loc="left") + axis.get_title()


def test_the_table_has_a_row_for_each_line_with_intervals_and_the_seeds_deviation():
    rows = report.trained_table("roar", MADE_UP).split("\n")
    assert rows[0] == "| on | network | accuracy |" and len(rows) == 2 + 3 * len(SHARES)
    assert rows[2] == (
        "| `x`, 2 seeds | attention, 0% of the words | 1.000 [0.950, 1.050] ± 0.177 |"
    )
    assert r"| \|gradient × input\|, 0% of the words |" in report.trained_table("roar", MADE_UP)
    one = report.trained_table("adversary", MADE_UP).split("\n")
    assert one[3].startswith("| `x`, 1 seed | the base, another seed | 0.250 [0.200, 0.300] | ")
    with pytest.raises(ValueError, match="no trained test 'roars'; there are: guided, adversary"):
        report.trained_table("roars", MADE_UP)
    assert "attention-course trained-tests" in report.trained_table("guided", MADE_UP)


def test_the_curves_show_accuracy_by_what_was_removed():
    (axis,) = report.roar_figure("x", MADE_UP).axes
    curves = {bars.get_label(): bars.lines[0] for bars in axis.containers}
    assert list(curves) == list(roar.RANKERS)
    shares = np.array(SHARES)
    np.testing.assert_allclose(curves["attention"].get_ydata(), 1 - 0.5 * shares)
    np.testing.assert_allclose(curves["attention"].get_xdata(), 100 * shares, atol=1)
    assert "right in 65%; without random ones in 82%" in title_of(axis)
    with pytest.raises(ValueError, match="roar is not recorded on 'y'; there are: x"):
        report.roar_figure("y", MADE_UP)


def test_an_adversary_stands_where_its_attention_and_its_predictions_are():
    drawn = report.adversary_figure("x", MADE_UP)
    (axis,) = drawn.axes
    points = {
        bars.get_label(): (bars.lines[0].get_xdata()[0], bars.lines[0].get_ydata()[0])
        for bars in axis.containers
    }
    assert points == {
        "the base, another seed": (0.25, 0.125), "uniform attention": (0.3, 0.2),
        "adversary, λ = 0.1": (0.5, 0.375),
    }  # fmt: skip
    assert "an adversary, λ = 0.1, attends elsewhere" in drawn.get_suptitle()
    assert "differ by 0.38 (another seed 0.12)" in drawn.get_suptitle()
    with pytest.raises(ValueError, match="adversary is not recorded on 'y'; there are: none yet"):
        report.adversary_figure("y", {})


def test_a_record_of_the_command_fits_the_table_and_the_picture(made, randomised, name):
    found = report.trained_records()
    assert found == {"adversary-planted": made, f"randomisation-{name}": randomised}
    assert report.trained_table("adversary").count("\n") == 1 + len(made["lines"])
    assert report.trained_table("randomisation").count("\n") == 1 + len(randomised["lines"])
    report.adversary_figure("planted")


def test_the_committed_records_are_of_commits_and_fit_the_pictures():
    found = report.trained_records(REPOSITORY / "results/faithfulness/trained")
    assert {record["test"] for record in found.values()} == set(TESTS)
    for stem, record in found.items():
        assert stem == f"{record['test']}-{record['on']}" and record["test"] in TESTS
        assert not record["environment"]["commit"].endswith("dirty")
        if record["test"] == "roar":
            report.roar_figure(record["on"], found)
        if record["test"] == "adversary":
            report.adversary_figure(record["on"], found)


def test_what_the_report_says_of_the_trained_tests_is_in_the_records():
    found = report.trained_records(REPOSITORY / "results/faithfulness/trained")
    on = {name: found[f"{name}-sst2_sentences"] for name in ("roar", "guided", "avoidance")}
    assert all(record["seeds"] == [0, 1, 2] for record in on.values())
    lines = {name: record["lines"] for name, record in on.items()}
    left = [
        lines["roar"][roar.line_name(r, 0.1)]["accuracy"] for r in (roar.ATTENTION, roar.RANDOM)
    ]
    assert [round(accuracy["mean"], 2) for accuracy in left] == [0.71, 0.80]
    assert max(left[0]["by_seed"]) < min(left[1]["by_seed"])
    control = {
        ranker: found["roar-planted"]["lines"][roar.line_name(ranker, 0.1)]["accuracy"]
        for ranker in roar.RANKERS
    }
    rounded = {ranker: round(100 * accuracy["mean"]) for ranker, accuracy in control.items()}
    assert rounded == dict(zip(roar.RANKERS, (75, 60, 95), strict=True))
    assert [round(100 * seed) for seed in control[roar.ATTENTION]["by_seed"]] == [58, 86, 81]
    gains = {line: figures.get(guided.GAIN) for line, figures in lines["guided"].items()}

    def points(mean):
        return [round(100 * mean[part], 1) for part in ("mean", "low", "high")]

    assert points(gains["MLP, its own attention"]) == [1.7, 0.2, 3.2]
    assert points(gains["MLP, the BiLSTM's attention"]) == [0, -1.6, 1.5]
    (fooled,) = (gain for line, gain in gains.items() if "adversary" in line)
    assert round(100 * fooled["mean"]) == -21
    taught, masked = lines["avoidance"]["BiLSTM, λ = 1"], "BiLSTM, marked words masked in all texts"
    price = "accuracy minus that of λ = 0"
    assert points(taught[price]) == [-0.2, -1.0, 0.7]
    assert points(lines["avoidance"][masked][price])[0] == -4.8
    assert points(lines["avoidance"]["MLP, λ = 10"][price])[0] == -18
