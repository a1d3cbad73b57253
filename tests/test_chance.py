"""What chance gives and what a few seeds can show, held against counting, simulation and tables."""

import math

import numpy as np
import pytest
import torch

from course_kit.research.report import single_changes
from course_lib.metrics import constant_loss, detectable_difference, power, prior_corrected
from course_lib.runs.records import load_records


def test_the_loss_of_knowing_the_shares_is_their_entropy_and_grows_where_they_differ():
    assert constant_loss([5, 5], [3, 1]) == pytest.approx(math.log(2))
    assert constant_loss([3, 1], [30, 10]) == pytest.approx(0.5623, abs=1e-4)
    assert constant_loss([3, 1], [10, 30]) == pytest.approx(1.1116, abs=1e-4)
    assert constant_loss([3, 1, 0], [1, 0, 0]) == pytest.approx(-math.log(0.75))


def test_the_correction_is_bayes_rule_where_only_the_shares_changed():
    """Two classes with known densities: the corrected answer is that of the new shares."""
    x = torch.linspace(-2, 2, 9)
    densities = torch.stack([(-((x - centre) ** 2) / 2).exp() for centre in (-1, 1)], 1)
    old, new = torch.tensor([0.8, 0.2]), torch.tensor([0.3, 0.7])
    expected = densities * new / (densities * new).sum(1, keepdim=True)
    logits = (densities * old).log() + 5  # a constant changes nothing
    torch.testing.assert_close(prior_corrected(logits, old, new), expected)


@pytest.mark.parametrize(
    ("difference", "deviation", "seeds"), [(4.0, 1.5, 3), (-2.0, 1.0, 5), (0.0, 1.0, 2)]
)
def test_power_is_how_often_a_simulated_test_finds_the_difference(difference, deviation, seeds):
    critical = {2: 4.3027, 3: 2.7764, 5: 2.3060}[seeds]  # of t, two-sided 5 %, from a table
    random = np.random.default_rng(0)
    first, second = deviation * random.standard_normal((2, 40_000, seeds))
    error = np.sqrt((first.var(1, ddof=1) + second.var(1, ddof=1)) / seeds)
    t = (first.mean(1) + difference - second.mean(1)) / error
    found = (np.abs(t) > critical).mean()
    assert power(difference, deviation, seeds) == pytest.approx(found, abs=0.01)


def test_the_detectable_difference_has_the_power_asked_for_and_shrinks_with_seeds():
    for seeds in (2, 3, 10):
        for share in (0.5, 0.8, 0.99):
            found = detectable_difference(1.5, seeds, share)
            assert power(found, 1.5, seeds) == pytest.approx(share, abs=1e-4)
    sizes = [detectable_difference(1.0, seeds) for seeds in (2, 3, 5, 10, 100)]
    assert sizes == sorted(sizes, reverse=True)
    # many seeds: (z(0.975) + z(0.8)) · √(2 / n), the known deviation's formula
    assert sizes[-1] == pytest.approx(2.802 * math.sqrt(2 / 100), rel=0.01)


def test_what_cannot_be_asked_is_named():
    with pytest.raises(ValueError, match="seeds is 1"):
        power(1.0, 1.0, 1)
    with pytest.raises(ValueError, match="deviation is 0"):
        power(1.0, 0, 3)
    for share in (0.05, 1):
        with pytest.raises(ValueError, match=f"share is {share}"):
            detectable_difference(1.0, 3, share)


def record(seed=0, limit=None, **settings):
    parts = {"text": {"vectors": "glove"}, "model": {"frozen": False}, "training": {"patience": 4}}
    for address, value in settings.items():
        part, name = address.split("__")
        parts[part] = parts[part] | {name: value}
    spec = {"system": "agt", "dataset": "sst5", "limit": limit, "seed": seed, "preset": "paper"}
    return {"spec": spec, "settings": parts, "data": {"content": "0" * 64}}


def test_pairs_that_differ_in_one_setting_are_found_and_named():
    runs = [
        record(),
        record(seed=1),
        record(model__frozen=True),
        record(model__frozen=True, seed=1),
        record(model__frozen=True, training__patience=10, limit=9),
        record(text__zero=True),
        record(model__frozen=True, training__patience=10, limit=9),  # as the fifth: no pair
    ]
    places = {id(run): place for place, run in enumerate(runs)}
    found = [
        (change.address, places[id(change.first)], places[id(change.second)])
        for change in single_changes(runs)
    ]
    assert found == [
        ("seed", 0, 1), ("model.frozen", 0, 2), ("text.zero", 0, 5),
        ("model.frozen", 1, 3), ("seed", 2, 3),
    ]  # fmt: skip


def test_the_committed_records_hold_changes_of_seeds_and_of_settings():
    changed = {change.address for change in single_changes(load_records())}
    assert {"seed", "model.frozen", "model.penalty", "model.attention"} <= changed
