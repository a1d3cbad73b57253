"""Extensions: an AGT that sees the order, HANs whose attention is read for repeats, and systems of
finished studies, whose records are all that is left."""

import json

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from strategies import WORDS, batch, check_independence, every_device, row_lengths, seeds

from course_kit.research.extensions.finished import FinishedSystem
from course_kit.research.extensions.ordered_agt import OrderedAGT, OrderedAGTConfig
from course_kit.research.grid.groups import read_grid
from course_lib import cli
from course_lib.explore import count_repeats
from course_lib.metrics import invariants
from course_lib.models.agt import AGT, AGTConfig
from course_lib.runs.records import state
from course_lib.runs.run import load_run, split_rows, train
from course_lib.runs.settings import SpecError
from course_lib.runs.spec import RunSpec
from course_lib.runs.systems import known_systems

orders = pytest.mark.parametrize("order", ["gru", "positions"])


def ordered_agt(order, seed=0, **changes):
    torch.manual_seed(seed)
    sizes = {"embedding": 6, "hidden": 8, "layers": 4, "frozen": False}
    return OrderedAGT(OrderedAGTConfig(order=order, **sizes | changes), WORDS, 3).eval()


@every_device
@orders
@settings(max_examples=8)
@given(lengths=row_lengths(), seed=seeds)
def test_all_invariants_hold_on_any_ragged_batch(device, order, lengths, seed):
    model = ordered_agt(order, seed, dropout=0.3).to(device)
    tokens, mask = (part.to(device) for part in batch(lengths, seed))
    with torch.backends.cudnn.flags(allow_tf32=False):
        attention = model(tokens, mask).attention
        invariants.check_attention(attention, mask.unsqueeze(1).expand_as(attention))
        check_independence(model, tokens, mask, 1e-5)


@orders
def test_gradients_reach_every_parameter_and_order_matters(order):
    tokens, mask = batch([5, 3, 1, 0, 4])
    invariants.check_gradients(ordered_agt(order), tokens, mask)
    invariants.check_permutation(ordered_agt(order), tokens, mask, matters=True)


def test_an_agt_is_blind_to_order_and_these_are_not():
    """The invariant that AGT passes must fail here, or the variants would see nothing."""
    torch.manual_seed(0)
    tokens, mask = batch([5, 4])
    invariants.check_order_blindness(AGT(AGTConfig(6, 8, 4), WORDS, 3).eval(), tokens, mask)
    for order in ("gru", "positions"):
        with pytest.raises(AssertionError):
            invariants.check_order_blindness(ordered_agt(order), tokens, mask)
        with pytest.raises(ValueError, match="depend on its place"):
            ordered_agt(order).word_scores(tokens[0])


def test_a_wrong_order_is_named():
    with pytest.raises(ValueError, match="order"):
        OrderedAGTConfig(order="lstm")


# Finished studies


@pytest.mark.parametrize(("name", "kept"), [("adaptive_iram", 3), ("near_sanet", 7)])
def test_the_records_of_a_finished_study_are_found_and_its_network_is_not_trained(name, kept):
    planned = {s.id: s for specs in read_grid().values() for s in specs if s.system == name}
    assert len(planned) == kept and issubclass(known_systems()[name], FinishedSystem)
    assert all(state(spec).record for spec in planned.values())
    with pytest.raises(SpecError, match="finished study: its records can be read"):
        train(RunSpec(name, "toy", "vanilla" if name == "adaptive_iram" else "base"))


# How much of a HAN's attention returns


def trained(folder, system, **how):
    """The folder, as an argument, with a run of a system on made-up reviews."""
    train(RunSpec(system, "toy", "small", {"training.epochs": 1}, threads=1, **how), folder)
    return str(folder)


@pytest.mark.parametrize("split", ["test", "validation"])
def test_the_record_says_how_much_of_a_hans_attention_returns(split, tmp_path):
    """Of a run that left the test texts unread, validation texts are read."""
    system = "context_han" if split == "test" else "han"
    folder = trained(tmp_path, system, test=split == "test")
    assert cli.main(["extensions", folder, "--texts", "40", "--seed", "3"]) == 0
    record = json.loads((tmp_path / "extensions.json").read_text(encoding="utf-8"))
    assert record["command"].endswith("--texts 40 --seed 3") and record["split"] == split
    assert {"id", "texts", "data", "weights", "environment"} <= record.keys()
    run = load_run(tmp_path)
    rows = split_rows(run.corpus)[split]
    chosen = rows.select(np.random.default_rng(3).permutation(len(rows))[:40])
    found = count_repeats(run.system, chosen, 3)
    for name, values in found._asdict().items():
        assert record["repeats"][name]["mean"] == pytest.approx(values.mean(), abs=1e-4)
    assert record["repeats"]["much"]["mean"] == pytest.approx((found.repeated > 0.1).mean())


def test_a_network_of_which_nothing_is_asked_is_refused(tmp_path, capsys):
    assert cli.main(["extensions", trained(tmp_path, "sanet")]) == cli.REFUSED
    assert "extensions reads context_han, han; " in capsys.readouterr().err
