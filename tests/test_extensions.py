"""An AGT that sees the order; systems of finished studies, whose records alone are left."""

import pytest
import torch
from hypothesis import given, settings
from strategies import WORDS, batch, check_independence, every_device, row_lengths, seeds

from course_kit.research.extensions.finished import FinishedSystem
from course_kit.research.extensions.ordered_agt import OrderedAGT, OrderedAGTConfig
from course_kit.research.grid.groups import read_grid
from course_lib.metrics import invariants
from course_lib.models.agt import AGT, AGTConfig
from course_lib.runs.records import state
from course_lib.runs.run import train
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


@pytest.mark.parametrize(
    ("name", "preset", "kept"),
    [("adaptive_iram", "vanilla", 3), ("context_han", "report", 9), ("near_sanet", "base", 7)],
)
def test_records_of_a_finished_study_are_found_and_its_network_is_not_trained(name, preset, kept):
    planned = {s.id: s for specs in read_grid().values() for s in specs if s.system == name}
    assert len(planned) == kept and issubclass(known_systems()[name], FinishedSystem)
    assert all(state(spec).record for spec in planned.values())
    with pytest.raises(SpecError, match="finished study: its records can be read"):
        train(RunSpec(name, "toy", preset))
