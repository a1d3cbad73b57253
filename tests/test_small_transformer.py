"""The small encoder of lesson 10: its records are those of today's settings."""

from itertools import product

import numpy as np
import pytest

from course_kit.exercises.records import committed_record
from course_kit.research import small_transformer
from course_lib.runs.systems.transformer_system import TransformerSystem

VARIANTS = "whole", "without positions", "uniform attention", "one head"


def test_the_record_is_of_todays_settings():
    record = committed_record("results/encoder/movies2.json")
    preset = TransformerSystem.presets["lesson"]
    model = record["settings"]["model"]  # in the words of then: positions and uniform were flags
    assert model.pop("positions") and preset.model.positions == 60
    assert not model.pop("uniform") and preset.control.attention_weights == "learned"
    assert model.items() <= vars(preset.model).items()
    assert preset.model.attention_dropout == model["dropout"]
    assert record["settings"]["training"].items() <= vars(preset.training).items()
    planned = list(product(VARIANTS, range(5)))
    assert [(run["variant"], run["seed"]) for run in record["runs"]] == planned
    assert tuple(record["variants"]) == VARIANTS


def test_costs_are_paired_by_seed():
    runs = committed_record("results/encoder/movies2.json")["runs"]
    by_name = {(run["variant"], run["seed"]): run["accuracy"] for run in runs}
    lost = [100 * (by_name["whole", s] - by_name["uniform attention", s]) for s in range(5)]
    mean, half = small_transformer.measured_costs()["trained with uniform attention"]
    assert mean == pytest.approx(np.mean(lost))
    assert half == pytest.approx(2.776 * np.std(lost, ddof=1) / 5**0.5, rel=1e-3)
    assert f"| trained with uniform attention | {mean:+.1f} ± {half:.1f} |" in (
        small_transformer.costs()
    )
