"""A recorded network whose attention changes while its texts stay: the record and its command."""

import json
from dataclasses import replace

import numpy as np
import pytest
from recorded import spec_of, tiny_vectors

from course_kit.research import report
from course_kit.research.faithfulness.faithfulness_record import INTERVENTIONS, record_path
from course_kit.research.faithfulness.interventions_record import record_interventions
from course_kit.research.faithfulness.trial import choose
from course_lib import cli, faithfulness
from course_lib.faithfulness import agreement, interventions
from course_lib.faithfulness.documents import predicted
from course_lib.runs import records
from course_lib.runs.run import train
from course_lib.runs.settings import SpecError
from course_lib.runs.weights import publish_weights

TEXTS = 5
FAMILIES = ("han", "iram")


@pytest.fixture(scope="module", params=FAMILIES)
def names(request, tmp_path_factory):
    """A recorded network, and the folder of a run of it with another seed."""
    place, spec = tmp_path_factory.mktemp("recorded"), spec_of(request.param)
    other = replace(spec, seed=7)
    with pytest.MonkeyPatch.context() as patch, tiny_vectors(place):
        patch.setattr(records, "RUNS", place / "runs")
        patch.setattr(records, "RESULTS", place / "results")
        patch.setattr(agreement, "DRAWS", 100)
        patch.setattr(interventions, "ROUNDS", 3)
        train(spec, records.RUNS / spec.id)
        publish_weights(records.RUNS / spec.id)
        train(other, records.RUNS / other.id)
        yield spec.id, str(records.RUNS / other.id)


@pytest.fixture(scope="module")
def made(names):
    """What the command wrote."""
    name, other = names
    command = ["faithfulness", name, "--texts", str(TEXTS), "--only", "interventions"]
    assert cli.main([*command, "--beside", other]) == 0
    return json.loads(record_path(name, INTERVENTIONS).read_text(encoding="utf-8"))


def test_shuffles_and_adversaries_are_those_of_the_texts_one_by_one(made, names):
    trial = choose(names[0], TEXTS)
    found = {"permutation": [], "divergence": [], "change": []}
    for document in trial.documents:
        attention, real, answer = trial.model.attended(document)
        adversary = faithfulness.adversarial_attention(answer, attention, real)
        found["permutation"].append(faithfulness.permutation_change(answer, attention, real))
        found["divergence"].append(adversary.divergence)
        found["change"].append(adversary.change)
    assert np.ptp(found["divergence"]) > 0  # so that the halves below can differ
    _, certainty = predicted(trial.model, trial.documents)
    more = certainty > np.median(certainty)
    assert made["certainty"]["mean"] == pytest.approx(certainty.mean(), abs=1e-4)
    assert made["certainty"]["median"] == pytest.approx(np.median(certainty), abs=1e-4)
    for part, by_text in (
        (made["permutation"]["change"], found["permutation"]),
        (made["adversary"]["divergence"], found["divergence"]),
    ):
        values = np.array(by_text)
        assert part["all"]["mean"] == pytest.approx(values.mean(), abs=1e-4)
        assert part["certain"]["mean"] == pytest.approx(values[more].mean(), abs=1e-4)
        assert part["hesitant"]["mean"] == pytest.approx(values[~more].mean(), abs=1e-4)
        assert part["certain"]["counted"] + part["hesitant"]["counted"] == TEXTS
    assert made["adversary"]["change"]["mean"] == pytest.approx(np.mean(found["change"]), abs=1e-4)
    assert made["adversary"]["change"]["high"] <= made["adversary"]["epsilon"]


def test_another_seed_stands_beside_by_its_id(made, names):
    mine, theirs = (choose(one, TEXTS) for one in names)
    ((beside, found),) = made["other_seeds"].items()
    assert beside == theirs.run.record["id"] and found["kendall"]["counted"] <= TEXTS
    words = [trial.model.attention(mine.documents)["attention"] for trial in (mine, theirs)]
    assert found["kendall"]["mean"] == pytest.approx(
        np.nanmean(faithfulness.kendall(*words)), abs=1e-4
    )
    rows = []
    for document in mine.documents:
        attention, real, _ = mine.model.attended(document)
        divergence = faithfulness.jensen_shannon(
            attention, theirs.model.attended(document).attention
        )
        rows.append(divergence[real.any(-1)].mean())
    assert found["divergence"]["mean"] == pytest.approx(np.mean(rows), abs=1e-4) and max(rows) > 0
    outputs = [trial.model(mine.documents) for trial in (mine, theirs)]
    change = faithfulness.total_variation(*outputs).mean()
    assert found["change"]["mean"] == pytest.approx(change, abs=1e-4)
    assert made["command"].endswith(f"--only interventions --beside runs/{beside}")


def test_conicity_is_that_of_the_states_that_attention_weighs(made, names):
    trial = choose(names[0], TEXTS)
    cosines = []
    for states in trial.model.states(trial.documents):
        middle = states.mean(0)
        norms = np.linalg.norm(states, axis=1) * np.linalg.norm(middle)
        cosines.append((states @ middle / norms).mean())
    assert made["conicity"]["mean"] == pytest.approx(np.mean(cosines), abs=1e-4)


def test_only_another_seed_of_the_same_network_may_stand_beside_it(names, capsys):
    name, other = names
    trial = choose(name, 2)
    with pytest.raises(SpecError, match=r"differs from .* in more than its seed"):
        record_interventions(trial, beside=[name])
    changed = replace(spec_of(name.split("-")[0]), seed=7, overrides={"training.epochs": 1})
    train(changed, records.RUNS / changed.id)
    with pytest.raises(SpecError, match="in more than its seed"):
        record_interventions(trial, beside=[str(records.RUNS / changed.id)])
    assert cli.main(["faithfulness", name, "--beside", other]) == 2
    assert "--beside goes with --only interventions" in capsys.readouterr().err


def test_the_table_has_both_halves_and_another_seed_or_a_dash(made, names):
    alone = made | {"other_seeds": {}}
    table = report.interventions_table({"a": made, "b": alone})
    head, _, first, second = (line.strip("| ").split(" | ") for line in table.split("\n"))
    ours, theirs = (dict(zip(head, row)) for row in (first, second))
    assert ours["network"] == f"`a`, {TEXTS} texts"
    for title, part in (
        ("a shuffle changes", made["permutation"]["change"]["all"]),
        ("conicity", made["conicity"]),
        ("another seed's divergence", next(iter(made["other_seeds"].values()))["divergence"]),
    ):
        assert ours[title].startswith(f"{part['mean']:.2f} [")
    certain, hesitant = (made["adversary"]["divergence"][half] for half in ("certain", "hesitant"))
    assert [first[5][:4], first[6][:4]] == [f"{certain['mean']:.2f}", f"{hesitant['mean']:.2f}"]
    assert theirs["another seed's divergence"] == theirs["another seed's τ"] == "–"
    assert report.interventions_records() == {made["id"]: made}
    assert "--only interventions" in report.interventions_table({})
