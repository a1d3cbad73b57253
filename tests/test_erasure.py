"""What deleting words says of attention."""

import numpy as np
import pytest

from course_kit.research import minilm
from course_kit.research.report import erasure


def test_networks_with_two_trainings_have_no_interval():
    counts = {"iram-sst2": 2, "han-imdb": 3}
    names = [f"{network}-compact-s{seed}" for network, n in counts.items() for seed in range(n)]
    assert list(erasure._several({name: {} for name in names})) == ["HAN on IMDb"]


def test_rankings_are_paired_by_training_not_by_place(monkeypatch):
    """What all trainings share does not widen the interval, and trainings that one ranking lacks
    do not count."""
    texts, source = 40, np.random.default_rng(0)
    shared = {f"s{n}": n + source.normal(size=texts) for n in range(3)}
    kinds = {
        "first": {n: of + 0.5 for n, of in shared.items()},
        "second": {n: shared[n][:30] for n in ("s2", "s1")},
    }
    monkeypatch.setattr(minilm, "_of_trainings", lambda network, ranking: kinds[ranking])
    gap = minilm.paired("first", "second")
    assert gap.value == pytest.approx(0.5) and gap.interval == pytest.approx((0.5, 0.5))
