"""What deleting words says of attention, on made-up areas whose means are known."""

import numpy as np
import pytest

from course_kit.research.report import erasure
from course_lib.metrics.statistics import Estimate, crossed
from course_lib.runs import records as run_records

RANKINGS = list({erasure.RANDOM, *erasure.RIVALS}.union(*erasure.RIVALS.values()))


@pytest.fixture
def made(tmp_path, monkeypatch):
    monkeypatch.setattr(run_records, "RESULTS", tmp_path)
    (tmp_path / "faithfulness").mkdir()

    def make(network, given):
        areas, records = np.array([given.get(name, np.zeros(6)) for name in RANKINGS]), {}
        part = {measure: {"rankings": dict.fromkeys(RANKINGS)} for measure in erasure.MEASURES}
        for seed, texts in enumerate((4, 6, 5)):
            name = f"{network}-compact-s{seed}"
            both = dict.fromkeys(erasure.MEASURES, areas[:, :texts])
            np.savez(tmp_path / "faithfulness" / f"{name}.npz", **both)
            records[name] = {"texts": texts, "removals": {"deletion": part}}
        return records

    return make


def test_trainings_are_compared_on_the_texts_that_they_share(made):
    attention, other = np.array([0.4, 0.5, 0.3, 0.6, 9, 9]), np.array([0.1, 0.2, 0.1, 0.2, 0, 0])
    areas = {"attention": attention, "|gradient × input|": other}
    two = dict(list(made("iram-sst2", areas).items())[:2])  # too few for an interval
    gaps = erasure.sign_gaps(made("sanet-ag_news", areas) | made("han-imdb", areas) | two)
    assert list(gaps) == ["HAN on IMDb", "SANet on AG"]  # news come last
    assert gaps["SANet on AG"]["attention − |gradient × input|"] == crossed(
        np.stack([attention[:4] - other[:4]] * 3)
    )


def test_the_best_is_chosen_on_texts_that_do_not_judge_it(made):
    lucky, good = np.array([0.3, 0, 0.3, 0, 0, 0]), np.array([0, 0.6, 0, 0.6, 0, 0])
    areas = {"|gradient × input|": lucky, "|integrated gradients|": good}
    gaps, names = erasure.best_gaps(made("han-imdb", areas))
    (head, gap), *_ = gaps["HAN on IMDb"].items()
    assert (names["HAN on IMDb", head], gap.value) == ("|gradient × input|", 0)


def test_holm_counts_the_networks_that_read_texts_of_one_kind():
    clear, doubtful = Estimate(0.5, 0.01, 1000), Estimate(0.21, 0.01, 1000)  # p < 0.001; 0.036
    gaps = {"AGT on IMDb": clear, "HAN on IMDb": doubtful, "IRAM on IMDb": doubtful}
    gaps = {name: {"a": gap} for name, gap in (gaps | {"SANet on AG": doubtful}).items()}
    assert erasure._detected(gaps) == {("AGT on IMDb", "a"), ("SANet on AG", "a")}
