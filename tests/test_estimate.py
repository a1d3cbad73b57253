"""What runs will cost: by recorded runs, by measured rates, and by the files not yet here."""

import json
from dataclasses import asdict, replace

import pytest

from course_kit.research.grid import estimate, scheduler
from course_kit.research.grid import groups as grid
from course_kit.research.grid.estimate import expected_seconds, measured_rates, words_to_read
from course_lib.data import catalog
from course_lib.data.catalog import CARDS
from course_lib.data.sources import NotObtained
from course_lib.runs import records
from course_lib.runs.settings import SpecError
from course_lib.runs.spec import RunSpec

SPEC = RunSpec("han", "toy", "small")
IRAM = RunSpec("iram", "sst2", "vanilla")


def took(seconds, spec=SPEC, epochs=2, rows=540):
    return {
        "spec": asdict(spec),
        "settings": asdict(spec.settings()),
        "seconds": seconds,
        "epochs": [{"seconds": seconds / epochs}] * epochs,
        "sizes": {"train": rows},
    }


def test_another_seed_of_the_same_settings_tells_how_long_a_run_takes():
    finished = [took(10, replace(SPEC, seed=1)), took(12, replace(SPEC, seed=2))]
    finished.append(took(90, replace(SPEC, overrides={"training.learning_rate": 0.5})))
    finished.append(took(70, replace(SPEC, limit=100)))
    assert expected_seconds(SPEC, finished) == 11


def test_a_resumed_run_took_as_long_as_its_epochs():
    resumed = took(100) | {"seconds": 7}
    assert expected_seconds(SPEC, [resumed]) == 100


def test_more_epochs_and_longer_texts_take_longer_at_the_same_rate():
    finished = [took(10, epochs=2)]
    longer = replace(SPEC, overrides={"training.epochs": 6})
    assert expected_seconds(longer, finished) == pytest.approx(30)
    half = replace(SPEC, limit=300, overrides={"training.epochs": 6})
    assert expected_seconds(half, finished) == pytest.approx(15)
    cut = replace(SPEC, overrides={"training.epochs": 6, "text.max_words": 2})  # 14 of 33.7
    assert expected_seconds(cut, finished) == pytest.approx(30 * 14 / 33.7)


def test_other_vectors_take_at_least_as_long_as_the_measured_rate_says():
    large = replace(IRAM, overrides={"text.vectors": "glove.840B.300d", "model.hidden": 500})
    (rate,) = measured_rates(large)
    words = words_to_read(large) * large.settings().training.epochs
    assert words == pytest.approx(56_405 * 12 * 20)
    fast = took(1.0, IRAM, epochs=9, rows=56_405)
    assert expected_seconds(large, [fast]) == expected_seconds(large, []) == words / rate
    slow = fast | {"seconds": 1e6}
    assert expected_seconds(large, [slow]) == pytest.approx(1e6 * 20 / 9)
    assert expected_seconds(replace(IRAM, seed=1, overrides={"training.epochs": 9}), [fast]) == (
        pytest.approx(1.0)
    )


def test_the_measured_sizes_are_those_of_the_committed_benchmark():
    path = estimate.BENCHMARKS / "throughput_cpu.json"
    assert set(estimate.MEASURED.values()) <= json.loads(path.read_text())["figures"].keys()
    assert measured_rates(RunSpec("tfidf", "toy", "words")) == []
    assert measured_rates(SPEC, estimate.BENCHMARKS / "nowhere") == []


def test_every_dataset_has_a_mean_length():
    for name in catalog.names_of("corpus"):
        assert 4 < estimate.words_per_text(name) < 300


@pytest.fixture
def empty(tmp_path, monkeypatch):
    """A cache without a file, and no mirror."""
    monkeypatch.setenv("COURSE_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.delenv("COURSE_DATA_MIRROR", raising=False)
    return tmp_path / "data"


def sized(*names):
    """Megabytes of the named files of the catalog."""
    downloads = {item.filename: item.size for card in CARDS.values() for source in card.sources
                 for item in source.downloads}  # fmt: skip
    return sum(downloads[name] for name in names) / 1e6


def test_a_file_that_several_vectors_share_is_fetched_once_and_what_is_here_not_at_all(
    empty, monkeypatch, tmp_path
):
    both = [replace(IRAM, dataset="toy", overrides={"text.vectors": f"glove.6B.{n}d"})
            for n in (100, 300)]  # fmt: skip
    both.append(replace(IRAM, dataset="toy", overrides={"text.vectors": "a.txt@0123456789ab"}))
    found = estimate.estimate(both, [])
    assert found.runs == 3 and found.megabytes == sized("glove.6B.zip")
    sst = replace(IRAM, overrides={"text.vectors": "none", "text.standardise": False})
    assert estimate.estimate([sst], []).megabytes == sized("trainDevTestTrees_PTB.zip")
    imdb = RunSpec("tfidf", "imdb", "words")
    assert estimate.estimate([imdb], []).megabytes == sized("aclImdb_v1.tar.gz")
    for name in ("glove.6B.zip", "aclImdb_v1.labelled.tar.gz"):
        (tmp_path / name).write_bytes(b"")
    monkeypatch.setenv("COURSE_DATA_MIRROR", str(tmp_path))
    assert estimate.estimate([*both, imdb], []).megabytes == 0
    monkeypatch.delenv("COURSE_DATA_MIRROR")
    for n in (100, 300):
        (empty / "prepared" / f"glove.6B.{n}d").mkdir(parents=True)
    assert estimate.unprepared(both) == []


def test_an_estimate_is_one_line():
    says = str(estimate.Estimate(41, 7_200_000, 3, 4481.2))
    assert says == (
        "41 runs to do, about 2,000 hours on a CPU, one after another, 3 of unknown length, "
        "4.5 GB to download"
    )
    assert str(estimate.Estimate(1, 0, 1, 0)) == "1 run to do, 1 of unknown length"
    assert "about 45 minutes" in str(estimate.Estimate(1, 2700, 0, 69.2))


def test_the_papers_group_is_as_printed():
    specs = grid.choose(["papers"])
    assert len([spec for spec in specs if spec.system == "sanet"]) == 7 * 4
    for spec in specs:
        settings = spec.settings()
        width = {"base": "100d", "big": "200d"}.get(spec.preset.removeprefix("baseline-"), "300d")
        assert f".{width}" in settings.text.vectors and spec.test
        if spec.system == "iram":
            assert settings.model.steps == 3 and settings.model.penalty == 0.0003
            assert settings.text.standardise and settings.training.learning_rate == 3e-4
            assert settings.training.optimizer == "amsgrad" and settings.model.dropout == 0.1
        if spec.system == "agt":
            training = settings.training
            assert (training.optimizer, training.learning_rate) == ("adadelta", 0.0005)
            # at this rate validation accuracy stood still for 50 epochs of 20,000 phrases
            assert training.patience >= training.epochs == 50
            assert (training.batch_size, settings.model.layers, settings.model.hidden) == (
                50,
                15,
                200,
            )
    assert estimate.estimate(specs, records.load_records()).unknown == 0


def test_the_cost_is_told_before_anything_starts_and_what_is_missing_in_one_sentence(
    empty, monkeypatch, capsys, tmp_path
):
    monkeypatch.setattr(records, "RUNS", tmp_path / "runs")
    monkeypatch.setattr(scheduler, "_snakemake", None)

    def unreachable(card, root=None):
        raise NotObtained("Tried:\n  - a network")

    monkeypatch.setattr(grid, "obtain", unreachable)
    with pytest.raises(SpecError) as raised:
        scheduler.run_groups(["papers"])
    assert capsys.readouterr().out.splitlines()[1].startswith("52 runs to do, about ")
    says = str(raised.value)
    for part in ("glove.840B.300d.zip (GloVe 840B", "glove.6B.zip", "jmt_pre", "dbpedia_csv.tgz"):
        assert part in says
    assert "subset" not in says
    assert "\n" not in says and str(empty / "downloads") in says
    assert not (empty / "prepared").exists()
