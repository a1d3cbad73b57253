"""Every wrong measurement is told from the right one, and its example shows what it says."""

import numpy as np
import pytest
import torch

from course_kit.exercises import WRONG_MEASURES, compare
from course_kit.exercises import measure_probes as probes
from course_kit.exercises import wrong_measures as wrong
from course_lib.faithfulness import aopc, comprehensiveness, leave_one_out, zeroed
from course_lib.metrics.invariants import InvariantError

every_measure = pytest.mark.parametrize(
    "exhibit", WRONG_MEASURES, ids=lambda exhibit: exhibit.wrong
)
TEXT = ["moving", "slow", "quiet", "wonderful", "a", "film"]


@every_measure
def test_its_check_tells_the_wrong_function_from_the_right_one(exhibit):
    exhibit.check(exhibit.healthy)
    with pytest.raises(InvariantError) as found:
        exhibit.check(exhibit.sick)
    assert compare(exhibit).message == str(found.value)


@every_measure
def test_its_example_shows_two_numbers_and_repeats(exhibit):
    found = compare(exhibit)
    assert abs(found.sick - found.healthy) > 0.04  # seen at two decimals
    assert compare(exhibit) == found


def test_the_right_numbers_are_those_one_can_know():
    healthy = [compare(exhibit).healthy for exhibit in WRONG_MEASURES]
    assert healthy[0] == pytest.approx(1) and healthy[1] == pytest.approx(1)
    assert healthy[5] == pytest.approx(1 / (1 + np.exp(-3))) and healthy[6] == pytest.approx(0)


def test_the_right_area_is_the_librarys():
    model, importances = probes.summing(probes.WEIGHTS), probes.true_importances([TEXT])
    expected = aopc(comprehensiveness(model, [TEXT], importances, (0.2, 0.5)))
    found = wrong.area_over_the_curve(model, [TEXT], importances, (0.2, 0.5))
    assert np.array_equal(found, expected)


def test_without_dropout_importances_repeat_whatever_the_mode():
    network = probes.dropping_network()
    found = wrong.without_dropout(network, [TEXT])
    assert all(module.training for module in network.modules())
    assert np.allclose(found, wrong.without_dropout(network.eval(), [TEXT]))
    assert np.allclose(found, wrong.with_dropout(network, [TEXT]))  # nothing is dropped now


def test_the_rest_of_the_program_draws_the_same_numbers():
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    [compare(exhibit) for exhibit in WRONG_MEASURES]
    assert torch.equal(torch.rand(3), expected)


def test_a_made_up_model_uses_the_weights_it_says():
    model, (truth,) = probes.summing(probes.WEIGHTS), probes.true_importances([TEXT])
    (importance,) = leave_one_out(model, [TEXT])
    assert np.array_equal(importance.argsort(), truth.argsort())
    assert np.log(np.divide(*model([TEXT])[0, ::-1])) == pytest.approx(truth.sum())


@pytest.mark.parametrize(
    ("check", "function", "message"),
    [
        (probes.check_sums, lambda attention, gone: attention, "was zeroed has a weight of 0.6"),
        (probes.check_sums, lambda *a: 2 * zeroed(*a), "sums to 2, not to 1"),
        (
            probes.check_columns,
            lambda *_: {"gradients": 1.0, "leave one out": np.nan},
            "leave one out: the ranking is attention's, so τ is 1; it is nan",
        ),
        (probes.check_direction, lambda model, texts, *_: np.full(len(texts), np.nan), "of nan"),
    ],
)
def test_other_mistakes_are_found_too(check, function, message):
    with pytest.raises(InvariantError, match=message):
        check(function)
