"""A recorded network put through every test of faithfulness: the record, the command, the tables
and the picture made of it."""

import json
import re

import numpy as np
import pytest
from recorded import spec_of, tiny_vectors

from course_kit.research import report
from course_kit.research.faithfulness import faithfulness_record
from course_kit.research.faithfulness.faithfulness_record import (
    AGREEMENT,
    MASK,
    record_agreement,
    record_faithfulness,
    record_path,
)
from course_kit.research.faithfulness.trial import choose
from course_lib import cli, faithfulness
from course_lib.faithfulness import agreement
from course_lib.faithfulness.document_model import DocumentModel
from course_lib.files import DataError
from course_lib.runs import records
from course_lib.runs.model_card import DIGEST
from course_lib.runs.records import StaleRun, load_records
from course_lib.runs.run import train
from course_lib.runs.settings import SpecError
from course_lib.runs.spec import RunSpec
from course_lib.runs.weights import publish_weights

TEXTS, SLOW = 4, 2
ALWAYS = {
    "attention", "α · ∇α", "gradient × input", "gradient × input, attention detached",
    "integrated gradients", "leave-one-out", "random",
}  # fmt: skip
FURTHER = {"han": set(), "iram": {"attention, step 1", "attention, step 2"}}


@pytest.fixture(scope="module", params=FURTHER)
def name(request, tmp_path_factory):
    """The id of a network whose weights are in a ``results/`` of its own."""
    place, spec = tmp_path_factory.mktemp("recorded"), spec_of(request.param)
    with pytest.MonkeyPatch.context() as patch, tiny_vectors(place):
        patch.setattr(records, "RUNS", place / "runs")
        patch.setattr(records, "RESULTS", place / "results")
        patch.setattr(faithfulness_record, "SLOW_TEXTS", SLOW)
        patch.setattr(agreement, "DRAWS", 100)
        train(spec, records.RUNS / spec.id)
        publish_weights(records.RUNS / spec.id)
        yield spec.id


@pytest.fixture(scope="module")
def made(name):
    """What the command wrote."""
    assert cli.main(["faithfulness", name, "--texts", str(TEXTS)]) == 0
    return json.loads(record_path(name).read_text(encoding="utf-8"))


def means(part):
    """All means of a part of a record, wherever they are in it."""
    if isinstance(part, list):
        return [mean for each in part for mean in means(each)]
    if not isinstance(part, dict):
        return []
    return [part] if "low" in part else [mean for each in part.values() for mean in means(each)]


def test_the_record_says_what_was_tested_how_and_on_which_texts(made, name):
    run = choose(name, TEXTS).run
    assert made["command"] == f"attention-course faithfulness {name} --texts {TEXTS} --seed 0"
    assert (made["id"], made["texts"], made["slow_texts"], made["test_texts"]) == (
        name, TEXTS, SLOW, 200,
    )  # fmt: skip
    assert made["data"] == run.record["data"]["content"]
    assert made["weights"] == run.record[DIGEST]
    assert made["sample"] == choose(name, TEXTS).digest != choose(name, TEXTS, seed=1).digest
    assert made["environment"]["device"].startswith("cpu") and made["seconds"] > 0
    assert made["shares"] == list(faithfulness.SHARES)
    assert made["removals"].keys() == {"deletion", "masking"}
    names = ALWAYS | FURTHER[run.record["spec"]["system"]]
    for found in made["removals"].values():
        assert found["words_to_flip"].keys() >= names
        for measure in ("comprehensiveness", "sufficiency"):
            assert sum(found[measure]["limits"].values()) == SLOW
            assert found[measure]["rankings"].keys() == found["words_to_flip"].keys()
            for figures in found[measure]["rankings"].values():
                assert len(figures["by_share"]) == 5 and figures["aopc"]["counted"] == TEXTS
    assert load_records()[0]["id"] == name  # the folder of faithfulness holds no run


def test_every_mean_stands_in_its_interval(made):
    found = means(made["removals"]) + means(made["kendall"])
    assert len(found) > 100
    for mean in found:
        if mean["counted"]:
            assert mean["low"] <= mean["mean"] <= mean["high"]
        else:
            assert mean["mean"] is None


def test_its_figures_are_those_of_the_room_with_words_removed_as_it_says(made, name):
    trial = choose(name, TEXTS)
    model, documents = DocumentModel(trial.run.system), trial.documents
    for removal, mask in (("deletion", None), ("masking", MASK)):
        scores = faithfulness.leave_one_out(model, documents, mask)
        found = made["removals"][removal]
        for measure in ("comprehensiveness", "sufficiency"):
            losses = getattr(faithfulness, measure)(model, documents, scores, mask=mask)
            figures = found[measure]["rankings"]["leave-one-out"]
            assert figures["aopc"]["mean"] == pytest.approx(losses.mean(), abs=1e-4)
            shares = [mean["mean"] for mean in figures["by_share"]]
            np.testing.assert_allclose(shares, losses.mean(0), atol=1e-4)
            other = found[measure]["rankings"]["random"]["aopc"]["mean"]
            gap = figures["aopc"]["mean"] - other
            assert figures["minus_random"]["mean"] == pytest.approx(gap, abs=1e-4)
        flips = faithfulness.words_to_flip(model, documents[:SLOW], scores[:SLOW], mask)
        assert found["words_to_flip"]["leave-one-out"]["mean"] == pytest.approx(
            flips.mean(), abs=1e-4
        )
        attention = model.attention(documents)["attention"]
        tau = faithfulness.kendall(attention, [np.abs(s) for s in scores])
        pair = made["kendall"][f"attention–leave-one-out, {removal}"]
        assert pair["mean"] == pytest.approx(np.nanmean(tau), abs=0.03)  # near ties in float32


def test_exact_and_searched_limits_are_kept_apart_from_sampled_ones(name):
    how = ("exact", "sampled", "beam", "exact")
    found = faithfulness_record._by_limit(np.array([0.0, 0.25, 0.5, np.nan]), how, seed=0)
    assert found["exact or beam"] == {
        "mean": 0.25, "low": 0.0, "high": 0.5, "counted": 2, "left_out": 1,
    }  # fmt: skip
    assert found["sampled"]["mean"] == 0.25
    assert faithfulness_record._by_limit(np.array([0.5]), ("beam",), 0).keys() == {"exact or beam"}


def test_no_word_of_a_text_is_in_the_record(made, name):
    text = record_path(name).read_text(encoding="utf-8")
    found = set(re.findall(r"\w+", text))
    ours = {word for key in (*made, "attention gradient") for word in re.findall(r"\w+", key)}
    words = {
        word for document in choose(name, 50).documents for word in faithfulness.words_of(document)
    }
    long = {word for word in words if len(word) > 4}
    assert long and not (long & found) - ours


def test_the_seed_decides_and_a_smaller_sample_is_the_beginning_of_a_larger_one(made, name):
    again, other = (record_faithfulness(choose(name, TEXTS, seed)) for seed in (0, 1))
    changing = ("command", "seconds")
    kept = {key: value for key, value in made.items() if key not in changing}
    assert {key: value for key, value in again.items() if key not in changing} == kept
    assert other["removals"] != again["removals"] and other["sample"] != again["sample"]
    assert choose(name, 2).documents == choose(name, TEXTS).documents[:2]


def test_what_cannot_be_tested_is_refused_before_anything_is_written(
    made, name, capsys, monkeypatch
):
    before = record_path(name).read_bytes()
    for arguments, says in (
        (["nobody"], f"no recorded network 'nobody'; there are: {name}"),
        ([name, "nobody"], "no recorded network 'nobody'"),
        ([name, "--texts", "201"], "texts takes a whole number from 1 to 200"),
        ([name, "--texts", "0"], "got 0"),
    ):
        assert cli.main(["faithfulness", *arguments]) == 2
        assert says in capsys.readouterr().err
    assert record_path(name).read_bytes() == before
    with pytest.raises(DataError):
        choose("nobody")
    with pytest.raises(SpecError):
        choose(name, 201)
    monkeypatch.setattr(records, "prepared_content", lambda dataset: "other rows")
    with pytest.raises(StaleRun, match="other data"):
        choose(name, 2)


def test_agreement_alone_is_that_of_the_whole_record_and_takes_the_folder_of_a_run(made, name):
    """A recorded network differs from its run by float16 alone."""
    folder = records.RUNS / name
    command = ["faithfulness", str(folder), "--texts", str(TEXTS), "--only", "agreement"]
    assert cli.main(command) == 0
    found = json.loads(record_path(name, AGREEMENT).read_text(encoding="utf-8"))
    assert found["command"] == (
        f"attention-course faithfulness runs/{name} --texts {TEXTS} --seed 0 --only agreement"
    )
    assert found["weights"] == choose(str(folder), 1).run.record["weights"] != made["weights"]
    assert found.keys() == made.keys() - {"slow_texts", "shares", "removals"}
    for key in ("id", "seed", "texts", "test_texts", "words", "sample", "data"):
        assert found[key] == made[key]
    assert found["kendall"].keys() == {
        "attention–gradient", "attention–gradient, attached", "attention–random",
        "attention–leave-one-out, deletion", "gradient–leave-one-out, deletion",
    }  # fmt: skip
    for pair, mean in found["kendall"].items():
        assert mean["mean"] == pytest.approx(made["kendall"][pair]["mean"], abs=0.1), pair
    assert report.faithfulness_records() == {name: made}  # no other record was written


def test_agreement_is_kendalls_tau_of_absolute_gradients_and_differences(name):
    trial = choose(str(records.RUNS / name), TEXTS)
    model, documents = trial.model, trial.documents
    attention = model.attention(documents)["attention"]
    gradient = faithfulness.gradient_times_input(model.gradients, model, documents, detached=True)
    taus = faithfulness.kendall(attention, [np.abs(scores) for scores in gradient])
    found = record_agreement(trial)["kendall"]["attention–gradient"]
    assert found["mean"] == pytest.approx(np.nanmean(taus), abs=1e-4)
    assert found["deviation"] == pytest.approx(np.nanstd(taus), abs=1e-4)
    signed = faithfulness.kendall(attention, gradient)
    assert abs(np.nanmean(signed) - np.nanmean(taus)) > 1e-3  # so that the test can fail


def test_a_run_without_a_network_is_refused(tmp_path, capsys):
    spec = RunSpec("tfidf", "toy", "words", device="cpu", threads=1)
    train(spec, tmp_path / spec.id)
    assert cli.main(["faithfulness", str(tmp_path / spec.id), "--only", "agreement"]) == 2
    assert "is no network, so it has no attention to test" in capsys.readouterr().err


def test_a_network_without_attention_is_refused(name, monkeypatch):
    monkeypatch.setattr(DocumentModel, "attention", lambda self, documents: {})
    with pytest.raises(SpecError, match="has no attention"):
        record_faithfulness(choose(name, 2))


def mean(value, half=0.1, counted=10):
    return {
        "mean": value, "low": value - half, "high": value + half,
        "counted": counted, "left_out": 0,
    }  # fmt: skip


def made_up(**areas):
    """A record with the comprehensiveness of some rankings; sufficiency is 1 minus that."""
    nothing = {"mean": None, "low": None, "high": None, "counted": 0, "left_out": 3}

    def measured(sign, less):
        rankings = {
            ranking: {
                "aopc": mean(sign + (1 - 2 * sign) * (area - less)),
                "minus_random": mean(area - areas["random"]),
                "normalised": {"exact or beam": mean(0.5, counted=3), "sampled": nothing},
            }
            for ranking, area in areas.items()
        }
        return {"limits": {"exact": 3}, "rankings": rankings}

    return {
        "texts": 10,
        "removals": {
            removal: {
                "comprehensiveness": measured(0, less),
                "sufficiency": measured(1, less),
                "words_to_flip": {ranking: mean(0.5) for ranking in areas},
            }
            for removal, less in (("deletion", 0), ("masking", 0.125))
        },
        "kendall": {"attention–gradient": mean(0.25), "attention–random": nothing},
    }


RECORDS = {
    "one": made_up(**{"attention": 0.5, "leave-one-out": 0.75, "random": 0.25}),
    "two": made_up(**{"attention": 0.25, "leave-one-out": 0.5, "random": 0.5}),
}


def test_the_table_has_a_row_for_each_ranking_of_each_network():
    rows = report.faithfulness_table(records=RECORDS).split("\n")
    assert len(rows) == 2 + 6
    assert rows[3] == (
        "| `one`, 10 texts | attention | 0.50 [0.40, 0.60] | 0.25 [0.15, 0.35] "
        "| 0.50 (3, exact or beam) | 0.50 [0.40, 0.60] | 0.25 [0.15, 0.35] "
        "| 0.50 (3, exact or beam) | 0.50 [0.40, 0.60] |"
    )
    assert rows[4].startswith("| `one`, 10 texts | random | 0.25 [0.15, 0.35] | – |")
    masked = report.faithfulness_table("masking", RECORDS).split("\n")
    assert "| attention | 0.38 [0.28, 0.47] |" in masked[3]
    with pytest.raises(ValueError, match="removal takes one of deletion, masking, got 'cutting'"):
        report.faithfulness_table("cutting", RECORDS)


def test_the_overview_sets_attention_beside_random_and_the_best_other_ranking():
    records = {"a": made_up(attention=0.5, random=0.125, **{"α · ∇α": 0.25, "leave-one-out": 0.75})}
    head, _, row = report.faithfulness_overview(records).split("\n")
    cells = dict(zip(head.strip("| ").split(" | "), row.strip("| ").split(" | ")))
    assert cells["network"] == "`a`, 10 texts"
    assert cells["comprehensiveness: attention"] == "0.50 [0.40, 0.60]"
    assert cells["comprehensiveness: best other"] == "0.75 [0.65, 0.85] (leave-one-out)"
    assert cells["sufficiency: best other"] == "0.25 [0.15, 0.35] (leave-one-out)"
    assert cells["normalised: attention"] == "0.50 [0.40, 0.60] (3)"
    assert cells["τ attention–gradient"] == "0.25 [0.15, 0.35]"
    assert cells["τ gradient–leave-one-out"] == "–"  # not in this record
    assert report.faithfulness_overview({}) == report.faithfulness_table(records={})


def test_agreement_has_a_row_for_each_network_and_a_dash_where_there_is_no_order():
    further = RECORDS["two"] | {"kendall": {"attention–gradient": mean(-0.5)}}
    rows = report.agreement_table(RECORDS | {"three": further}).split("\n")
    assert rows[0] == "| network | attention–gradient | attention–random |"
    assert rows[2] == "| `one`, 10 texts | 0.25 [0.15, 0.35] | – |"
    assert rows[4] == "| `three`, 10 texts | -0.50 [-0.60, -0.40] | – |"


def test_the_picture_shows_every_ranking_with_its_interval_the_most_comprehensive_first():
    figure = report.faithfulness_figure("one", RECORDS)
    first, second = figure.axes
    assert [label.get_text() for label in first.get_yticklabels()] == [
        "leave-one-out", "attention", "random",
    ]  # fmt: skip
    assert first.get_ylim()[0] > first.get_ylim()[1]  # the first row is at the top
    deletion, masking = first.containers
    assert deletion.lines[0].get_xdata().tolist() == [0.75, 0.5, 0.25]
    assert masking.lines[0].get_xdata().tolist() == [0.625, 0.375, 0.125]
    ends = deletion.lines[2][0].get_segments()[0][:, 0]
    np.testing.assert_allclose(ends, [0.65, 0.85])
    assert second.containers[0].lines[0].get_xdata().tolist() == [0.25, 0.5, 0.75]
    title = figure.get_suptitle()
    assert (
        title.startswith("one, 10 texts")
        and "costs 0.50 of the probability, random words 0.25" in title
    )
    with pytest.raises(ValueError, match="'three' has no record of faithfulness; there are: one"):
        report.faithfulness_figure("three", RECORDS)


def test_without_a_record_there_is_a_sentence_and_nothing_else(tmp_path):
    found = report.faithfulness_records(tmp_path / "nowhere")
    assert found == {}
    for table in (report.faithfulness_table(records=found), report.agreement_table(found)):
        assert "attention-course faithfulness" in table and "|" not in table


def test_a_record_of_the_command_fits_the_tables_and_the_picture(made, name):
    found = report.faithfulness_records()
    assert found == {name: made}
    rankings = made["removals"]["deletion"]["words_to_flip"]
    assert report.faithfulness_table(records=found).count("\n") == 1 + len(rankings)
    assert report.agreement_table(found).count("\n") == 2
    report.faithfulness_figure(name, found)
