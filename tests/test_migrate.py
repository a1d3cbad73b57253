"""Records from before settings were nested: their figures stay, their names and settings follow."""

import json
from dataclasses import asdict

import pytest

from course_lib.experiments import grid
from course_lib.experiments.migrate import (
    address_of,
    migrate_grid,
    migrate_record,
    migrate_results,
    migrate_runs,
)
from course_lib.experiments.spec import RunSpec
from course_lib.files import DataError

HAN = {
    "max_sentences": 7, "max_words": 30, "vocabulary": 29_936, "vectors": "glove.6B.50d",
    "hidden": 50, "attention": 100, "dropout": 0.4, "hops": 1, "penalty": 0.0, "batch_size": 64,
    "learning_rate": 0.003, "epochs": 4, "patience": 2,
}  # fmt: skip
IRAM = {
    "max_tokens": 0, "vocabulary": 1_000_000, "vectors": "glove.6B.50d", "standardise": True,
    "embedding": 50, "hidden": 200, "steps": 3, "penalty": 0.0003, "context_layers": 1,
    "query_layers": 0, "query_highway": False, "ngrams": 0, "embedding_highway": 0, "dropout": 0.1,
    "hidden_dropout": 0.1, "initial_std": 0.01, "trainable": False, "batch_size": 32,
    "learning_rate": 0.0003, "weight_decay": 3e-05, "epochs": 20, "patience": 3,
}  # fmt: skip


def record(system, dataset, preset, settings, overrides, **more):
    spec = {
        "system": system, "dataset": dataset, "preset": preset, "overrides": overrides, "seed": 1,
        "device": "auto", "threads": 1, "limit": None, "test": True,
    }  # fmt: skip
    data = {"dataset": dataset, "content": "0" * 64, "subset": False}
    flat = {"id": "old-name", "spec": spec, "settings": settings | overrides, "data": data}
    return flat | {"seconds": 2.0} | more


@pytest.mark.parametrize(
    ("before", "name"),
    [
        (record("han", "imdb", "report", HAN, {}), "han-imdb-report-s1"),
        (record("han", "imdb", "report", HAN, {"max_words": 40, "hops": 3}),
         "han-imdb-report-max_words40-hops3-s1"),
        (record("iram", "sst2", "vanilla", IRAM, {"epochs": 3, "penalty": 0.0003}),
         "iram-sst2-vanilla-epochs3-s1"),
    ],
)  # fmt: skip
def test_a_record_gets_the_settings_and_name_that_its_run_would_have_now(before, name):
    after = migrate_record(before)
    spec = RunSpec(**after["spec"])
    assert after["id"] == spec.id == name
    assert after["settings"] == json.loads(json.dumps(asdict(spec.settings())))
    assert after["seconds"] == 2.0 and after["data"] == before["data"]


def test_a_setting_that_nobody_knows_is_not_dropped():
    with pytest.raises(DataError, match="han has no setting colour today"):
        migrate_record(record("han", "imdb", "report", HAN | {"colour": 1}, {}))


def test_what_agt_selected_above_the_median_is_withdrawn_and_nothing_else():
    figures = {"selected": [1.0], "relaxed selected": [9.0], "relaxed phrases": [2.0]}
    attention = {"split": "test", "trained": figures, "untrained": figures}
    settings = {
        "max_tokens": 0, "vocabulary": 1_000_000, "vectors": "glove.6B.50d", "embedding": 300,
        "hidden": 200, "layers": 15, "selection_layers": 0, "attention": True, "gate_bias": 1.0,
        "dropout": 0.2, "dropout_at": "both", "frozen": False, "batch_size": 50,
        "optimizer": "adam", "learning_rate": 0.001, "epsilon": 0.0, "weight_decay": 0.0,
        "epochs": 20, "patience": 4,
    }  # fmt: skip
    after = migrate_record(record("agt", "sst5", "paper", settings, {}, attention=attention))
    kept = {"selected": [1.0]}
    assert after["attention"] == {"split": "test", "trained": kept, "untrained": kept}
    assert after["settings"] == json.loads(json.dumps(asdict(RunSpec(**after["spec"]).settings())))


def test_results_are_renamed_and_a_second_time_left_alone(tmp_path):
    (tmp_path / "old-name.json").write_text(json.dumps(record("han", "imdb", "report", HAN, {})))
    assert migrate_results(tmp_path) == ["han-imdb-report-s1"]
    (path,) = tmp_path.iterdir()
    assert path.name == "han-imdb-report-s1.json"
    before = path.read_bytes()
    assert migrate_results(tmp_path) == [] and path.read_bytes() == before


def test_a_readers_own_runs_are_renamed_with_their_weights(tmp_path):
    folder = tmp_path / "old-name"
    folder.mkdir()
    (folder / "record.json").write_text(json.dumps(record("han", "imdb", "report", HAN, {})))
    (folder / "model.safetensors").write_bytes(b"weights")
    unfinished = tmp_path / "unfinished" / "checkpoints"
    unfinished.mkdir(parents=True)
    assert migrate_runs(tmp_path) == ["han-imdb-report-s1"]
    moved = tmp_path / "han-imdb-report-s1"
    assert (moved / "model.safetensors").read_bytes() == b"weights"
    assert json.loads((moved / "record.json").read_text())["weights"].startswith("sha256:")
    assert unfinished.exists()


def old_run(folder):
    folder.mkdir()
    (folder / "record.json").write_text(json.dumps(record("han", "imdb", "report", HAN, {})))
    return folder


def test_a_run_that_was_moved_aside_stays_aside(tmp_path):
    aside = old_run(tmp_path / "old-name.stale-17")
    before = (aside / "record.json").read_bytes()
    assert migrate_runs(tmp_path) == []
    assert (aside / "record.json").read_bytes() == before


def test_a_run_whose_new_name_is_taken_can_be_migrated_once_it_is_free(tmp_path):
    old_run(tmp_path / "old-name")
    taken = tmp_path / "han-imdb-report-s1"
    (taken / "checkpoints").mkdir(parents=True)
    with pytest.raises(OSError, match="not empty"):
        migrate_runs(tmp_path)
    (taken / "checkpoints").rmdir()
    assert migrate_runs(tmp_path) == ["han-imdb-report-s1"]
    assert not (tmp_path / "old-name").exists()
    assert json.loads((taken / "record.json").read_text())["id"] == "han-imdb-report-s1"


@pytest.mark.parametrize("damage", ['{"id": "han', "[]", '{"id": "han"}', "\x00"])
def test_a_damaged_record_is_named_and_the_others_are_migrated(tmp_path, capsys, damage):
    damaged = old_run(tmp_path / "a-damaged-one") / "record.json"
    damaged.write_text(damage)
    old_run(tmp_path / "old-name")
    assert migrate_runs(tmp_path) == ["han-imdb-report-s1"]
    assert f"{damaged} is no record" in capsys.readouterr().err
    assert damaged.read_text() == damage
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "b.json").write_text(damage)
    assert migrate_results(tmp_path / "results") == []
    assert "b.json is no record" in capsys.readouterr().err


def test_a_grids_overrides_are_named_by_address(tmp_path):
    path = tmp_path / "grid.yaml"
    path.write_text(
        "# epochs: a comment\n"
        "a:\n"
        "  - {system: iram, dataset: sst2, preset: full, overrides: &x {epochs: 3, penalty: 0}}\n"
        "  - {system: iram, dataset: sst2, preset: vanilla, overrides: *x, seeds: [1]}\n"
    )
    assert migrate_grid(path) == 1
    assert "overrides: &x {training.epochs: 3, model.penalty: 0}}" in path.read_text()
    assert path.read_text().startswith("# epochs: a comment\n")
    names = [spec.id for spec in grid.read_grid(path)["a"]]
    assert names == ["iram-sst2-full-penalty0-epochs3-s0", "iram-sst2-vanilla-penalty0-epochs3-s1"]
    assert migrate_grid(path) == 0


def test_a_setting_that_never_was_is_refused_by_name():
    with pytest.raises(DataError, match="han has no setting 'hiden' today"):
        address_of("han", "hiden")
