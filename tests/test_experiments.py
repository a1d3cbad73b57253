"""Runs: what a spec may hold, what a run leaves behind, and that the record tells it truly."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from filelock import FileLock
from safetensors.torch import load_file

from course_lib.data.batches import Batches
from course_lib.data.corpus import load_corpus
from course_lib.data.encoding import encode_documents
from course_lib.experiments import run as experiments
from course_lib.experiments.run import (
    RunSpec,
    SpecError,
    execute,
    kept_accuracy,
    load_records,
    load_run,
    main,
    split_rows,
    train,
    train_or_load,
)
from course_lib.experiments.systems import NETWORKS, PRESETS, build_network
from course_lib.experiments.systems.sanet import look_at_sanet
from course_lib.files import REPOSITORY
from course_lib.metrics.attention import gini
from course_lib.metrics.classification import classification_metrics
from course_lib.metrics.composition import selected_words
from course_lib.metrics.invariants import check_neighbours, check_padding
from course_lib.training.config import TrainingError
from course_lib.training.loop import measure, predict

SPEC = RunSpec(
    dataset="toy",
    preset="small",
    overrides={"epochs": 2, "hidden": 8, "attention": 8},
    seed=1,
    device="cpu",
    threads=1,
)


@pytest.fixture(scope="module", autouse=True)
def threads_as_before():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(
    ("field", "says", "change"),
    [
        ("system", "there are: agt, han, iram, sanet, tfidf", {"system": "nope"}),
        ("preset", "there are: long, report, small", {"preset": "nope"}),
        ("preset", "there are: default, words", {"system": "tfidf", "preset": "report"}),
        ("dataset", "there are: ag_news, amazon_full", {"dataset": "nope"}),
        ("dataset", "no dataset 'glove.6B.50d'", {"dataset": "glove.6B.50d"}),
        ("setting", "no han setting 'hiden'; there are: attention", {"overrides": {"hiden": 1}}),
        ("hidden", "takes int, got 8.0", {"overrides": {"hidden": 8.0}}),
        ("hidden", "takes int, got '8'", {"overrides": {"hidden": "8"}}),
        ("hidden", "takes int, got None", {"overrides": {"hidden": None}}),
        ("epochs", "takes int, got True", {"overrides": {"epochs": True}}),
        ("dropout", "takes float, got '0.3'", {"overrides": {"dropout": "0.3"}}),
        ("vectors", "takes str, got 50", {"overrides": {"vectors": 50}}),
        ("hidden", "cannot be negative", {"overrides": {"hidden": -8}}),
        ("penalty", "got -0.1", {"overrides": {"penalty": -0.1}}),
        ("penalty", "got nan", {"overrides": {"penalty": float("nan")}}),
        ("learning_rate", "got inf", {"overrides": {"learning_rate": float("inf")}}),
        ("batch_size", "cannot be 0", {"overrides": {"batch_size": 0}}),
        ("hops", "cannot be 0", {"overrides": {"hops": 0}}),
        ("dropout", "below 1, got 1", {"overrides": {"dropout": 1}}),
        ("limit", "20 to 600 training rows, got 19", {"dataset": "toy", "limit": 19}),
        ("limit", "20 to 600 training rows, got 601", {"dataset": "toy", "limit": 601}),
        ("limit", "got 30.5", {"limit": 30.5}),
        ("limit", "got '30'", {"limit": "30"}),
        ("seed", "got -1", {"seed": -1}),
        ("seed", "got '0'", {"seed": "0"}),
        ("seed", "got 0.5", {"seed": 0.5}),
        ("seed", "got 4294967296", {"seed": 2**32}),
        ("threads", "got 0", {"threads": 0}),
    ],
)
def test_what_cannot_run_is_refused_by_name_before_anything_starts(
    monkeypatch, field, says, change
):
    monkeypatch.setattr(experiments, "load_corpus", None)
    spec = RunSpec(**change)
    for act in (spec.validate, lambda: train(spec)):
        with pytest.raises(SpecError) as raised:
            act()
        assert field in str(raised.value) and says in str(raised.value)


@pytest.mark.parametrize(
    "spec",
    [
        RunSpec(),
        RunSpec(limit=20),
        RunSpec(overrides={"learning_rate": 1, "penalty": 0, "dropout": 0.0, "patience": 0}),
        *(RunSpec(system, "toy", preset) for system in PRESETS for preset in PRESETS[system]),
    ],
)
def test_what_can_run_is_accepted(spec):
    assert spec.validate() is None
    for name, value in spec.overrides.items():
        assert getattr(spec.settings(), name) == value


DIFFERENT = [
    RunSpec(),
    RunSpec(seed=1),
    RunSpec(seed=11),
    RunSpec(preset="long"),
    RunSpec(dataset="toy"),
    RunSpec("tfidf", preset="default"),
    RunSpec("tfidf", preset="words"),
    RunSpec(limit=1000),
    RunSpec(limit=2000),
    RunSpec(test=False),
    RunSpec(limit=1000, test=False),
    RunSpec(overrides={"hidden": 60}),
    RunSpec(overrides={"attention": 60}),
    RunSpec(overrides={"hidden": 61}),
    RunSpec(overrides={"hidden": 60, "attention": 60}),
    RunSpec(overrides={"vectors": "none"}),
    RunSpec(overrides={"hidden": 60}, limit=1000),
]


def test_ids_differ_when_the_result_may():
    ids = [spec.id for spec in DIFFERENT]
    assert len(set(ids)) == len(ids)
    assert all(Path(name).name == name and " " not in name for name in ids)


def test_ids_do_not_depend_on_the_order_of_the_overrides():
    one = RunSpec(overrides={"hidden": 60, "hops": 2})
    other = RunSpec(overrides={"hops": 2, "hidden": 60})
    assert one.id == other.id


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a finished run, and the run."""
    folder = tmp_path_factory.mktemp("runs") / SPEC.id
    return folder, train(SPEC, folder)


def strict(text):
    """JSON as the standard has it, without NaN and Infinity."""

    def refuse(name):
        raise ValueError(f"{name} is not JSON")

    return json.loads(text, parse_constant=refuse)


def test_a_run_leaves_a_record_that_says_everything(finished):
    folder, done = finished
    record = strict((folder / "record.json").read_text())
    assert record == strict(json.dumps(done.record))
    assert record["id"] == SPEC.id and record["spec"] == asdict(SPEC)
    assert record["settings"] == asdict(SPEC.settings())
    provenance = load_corpus("toy").provenance
    assert record["data"] == asdict(provenance) | {"subset": False}
    assert len(record["data"]["content"]) == 64 and record["data"]["source"] == "generated"
    assert record["sizes"] == {"train": 540, "validation": 60, "test": 200}
    assert record["vocabulary"] == {"size": len(done.vocabulary), "covered_by_vectors": None}
    assert record["seconds"] > 0
    environment = record["environment"]
    assert environment["device"].startswith("cpu") and environment["threads"] == 1
    assert environment["versions"]["torch"] == torch.__version__
    assert environment["commit"] and environment["python"]
    assert [set(epoch) for epoch in record["epochs"]] == 2 * [
        {"train_loss", "train_accuracy", "validation_loss", "validation_accuracy", "seconds"}
    ]
    losses = [epoch["validation_loss"] for epoch in record["epochs"]]
    assert record["best_epoch"] == 1 + int(np.argmin(losses))
    assert set(record["test"]) == {"accuracy", "f1", "auc", "confusion", "roc"}
    assert np.sum(record["test"]["confusion"]) == 200


def test_a_run_leaves_the_weights_of_its_model(finished):
    folder, done = finished
    weights, state = load_file(folder / "model.safetensors"), done.model.state_dict()
    assert weights.keys() == state.keys()
    assert all(torch.equal(weights[name], state[name]) for name in state)


def documents_of(done, split="test"):
    settings = done.record["settings"]
    return encode_documents(
        split_rows(done.corpus)[split],
        done.vocabulary,
        settings["max_sentences"],
        settings["max_words"],
    )


def test_a_loaded_run_gives_the_same_predictions_and_they_are_those_of_the_record(finished):
    folder, done = finished
    loaded = load_run(folder)
    assert loaded.vocabulary == done.vocabulary and not loaded.model.training
    found = predict(loaded.model, Batches(documents_of(loaded), 256))
    expected = predict(done.model, Batches(documents_of(done), 256))
    assert torch.equal(found.probabilities, expected.probabilities)
    assert classification_metrics(found) == done.record["test"]
    validation = predict(loaded.model, Batches(documents_of(loaded, "validation"), 128))
    rows = validation.probabilities[torch.arange(60), validation.labels]
    best = done.record["epochs"][done.record["best_epoch"] - 1]
    assert -rows.log().mean().item() == pytest.approx(best["validation_loss"], abs=1e-6)


def test_a_loaded_model_keeps_its_invariants(finished):
    folder, done = finished
    batch = documents_of(done).batch(np.arange(6))
    for check in (check_padding, check_neighbours):
        assert check(load_run(folder).model, batch.tokens, batch.mask, tolerance=1e-5) is None


def test_a_finished_run_is_only_read(finished, monkeypatch):
    folder, done = finished
    monkeypatch.setattr(experiments, "fit", None)
    times = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    again = train(SPEC, folder)
    assert again.record == strict(json.dumps(done.record))
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == times


@pytest.mark.parametrize(
    "change",
    [{"seed": 2}, {"test": False}, {"limit": 100}, {"overrides": {}}, {"preset": "report"},
     {"system": "tfidf", "preset": "default", "overrides": {}}],
)  # fmt: skip
def test_another_spec_on_the_same_folder_is_refused(finished, change):
    folder, _ = finished
    before = (folder / "record.json").read_bytes()
    with pytest.raises(SpecError, match="holds"):
        train(replace(SPEC, **change), folder)
    assert (folder / "record.json").read_bytes() == before


def test_a_run_of_a_preset_that_has_changed_is_refused(finished, monkeypatch):
    folder, _ = finished
    changed = replace(PRESETS["han"]["small"], learning_rate=0.5)
    monkeypatch.setitem(PRESETS["han"], "small", changed)
    with pytest.raises(SpecError, match="holds"):
        train(SPEC, folder)


def test_a_run_on_other_data_is_refused(finished, tmp_path):
    folder, _ = finished
    record = strict((folder / "record.json").read_text())
    record["data"]["content"] = "0" * 64
    (tmp_path / "record.json").write_text(json.dumps(record))
    with pytest.raises(SpecError, match="was made from other data than toy"):
        load_run(tmp_path)


def test_an_interrupted_run_goes_on_to_the_same_end(finished, tmp_path):
    _, done = finished

    def interrupt(history):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(SPEC, tmp_path, after_epoch=interrupt)
    assert not (tmp_path / "record.json").exists()
    resumed = train(SPEC, tmp_path)
    for name, value in done.model.state_dict().items():
        assert torch.equal(resumed.model.state_dict()[name], value)
    for found, expected in zip(resumed.record["epochs"], done.record["epochs"], strict=True):
        assert found | {"seconds": 0} == expected | {"seconds": 0}
    assert resumed.record["test"] == done.record["test"]


def test_what_a_killed_run_left_half_written_goes_at_the_next_start(finished, tmp_path):
    _, done = finished
    for name in (".record.json.abcd1234", "checkpoints/.checkpoint-000000.efgh5678"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "half").write_text("{")
    assert train(SPEC, tmp_path).record["test"] == done.record["test"]
    left = [path.name for path in tmp_path.rglob(".*") if path.is_dir()]
    assert left == [] and not list(tmp_path.rglob("half"))


def test_two_processes_never_run_in_the_same_folder(tmp_path):
    """A run waits while another process holds its folder, and then reads what that one left."""
    holder = FileLock(tmp_path / ".lock")
    spec = replace(SPEC, limit=50, overrides={"epochs": 1, "hidden": 2})
    with ThreadPoolExecutor(1) as pool, holder:
        waiting = pool.submit(train, spec, tmp_path)
        with pytest.raises(TimeoutError):
            waiting.result(timeout=2)
        assert [path.name for path in tmp_path.iterdir()] == [".lock"]
        holder.release()
        assert waiting.result(timeout=60).record["id"] == spec.id


def test_the_unfinished_run_of_another_spec_is_not_taken_over(tmp_path):
    """Same folder, but a penalty that the finished half did not have."""

    def interrupt(history):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(SPEC, tmp_path, after_epoch=interrupt)
    other = replace(SPEC, overrides=SPEC.overrides | {"penalty": 0.5})
    with pytest.raises(RuntimeError, match="checkpoint of another configuration"):
        train(other, tmp_path)


def test_a_run_is_trained_once_and_anew_when_its_preset_changed(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(experiments, "REPOSITORY", tmp_path)
    spec = replace(SPEC, limit=50, overrides={"epochs": 1, "hidden": 2})
    first = train_or_load(spec)
    assert (tmp_path / "runs" / spec.id / "record.json").exists()
    assert train_or_load(spec).record == strict(json.dumps(first.record))
    assert "Training again" not in capsys.readouterr().out
    changed = replace(PRESETS["han"]["small"], attention=3)
    monkeypatch.setitem(PRESETS["han"], "small", changed)
    assert train_or_load(spec).record["settings"]["attention"] == 3
    assert "Training again" in capsys.readouterr().out


@pytest.mark.parametrize("started", [True, False])
def test_a_missing_device_does_not_throw_a_run_away(tmp_path, monkeypatch, started):
    monkeypatch.setattr(experiments, "REPOSITORY", tmp_path)
    spec = replace(SPEC, device="abacus")
    kept = tmp_path / "runs" / spec.id / "checkpoints" / "best.safetensors"
    if started:
        kept.parent.mkdir(parents=True)
        kept.write_bytes(b"a night of training")
    with pytest.raises(TrainingError, match="device 'abacus' is not available"):
        train_or_load(spec)
    assert kept.exists() == started


def test_a_run_without_a_folder_writes_nothing_and_a_limit_is_a_subset(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    spec = replace(SPEC, limit=50, test=False, overrides={"epochs": 1, "hidden": 2})
    done = train(spec)
    assert done.record["data"]["subset"] and "test" not in done.record
    assert done.record["sizes"]["train"] == 45 and done.record["sizes"]["validation"] == 5
    assert list(tmp_path.iterdir()) == []


def test_a_run_on_a_subset_says_so_without_a_limit(monkeypatch):
    toy = load_corpus("toy")
    subset = replace(toy, provenance=replace(toy.provenance, subset=True))
    monkeypatch.setattr(experiments, "load_corpus", lambda name: subset)
    done = train(RunSpec("tfidf", "toy", "words", test=False))
    assert done.record["data"]["subset"] is True


@pytest.mark.parametrize("limit", [None, 100])
def test_validation_rows_are_not_trained_on_and_the_vocabulary_does_not_know_them(limit):
    corpus = load_corpus("toy")
    split = split_rows(corpus, limit)
    together = [*split["validation"]["text"], *split["train"]["text"]]
    assert together == corpus.splits["train"]["text"][: limit or 600]
    assert len(split["validation"]) == len(together) / 10
    assert split["test"]["text"][:] == corpus.splits["test"]["text"][:]


@pytest.mark.parametrize("limit", [None, 100])
def test_validation_rows_of_the_corpus_itself_are_used_and_a_limit_leaves_them_alone(limit):
    corpus = load_corpus("toy")
    own = corpus.splits["test"].select(range(50))
    split = split_rows(replace(corpus, splits=corpus.splits | {"validation": own}), limit, 0.5)
    assert list(split) == ["train", "validation", "test"]
    assert split["train"]["text"][:] == corpus.splits["train"]["text"][: limit or 600]
    assert split["validation"]["text"][:] == own["text"][:]
    assert split["test"]["text"][:] == corpus.splits["test"]["text"][:]


def test_the_vocabulary_is_that_of_the_training_rows():
    done = train(replace(SPEC, limit=20, test=False, overrides={"epochs": 1, "hidden": 2}))
    rows = split_rows(done.corpus, 20)["train"]
    assert set(done.vocabulary.words) == {word for row in rows["tokens"] for word in row}


def test_the_simple_baseline_is_right_on_made_up_reviews(tmp_path):
    spec = RunSpec("tfidf", "toy", "default", device="cpu", threads=1)
    record = train(spec, tmp_path).record
    assert record["test"]["accuracy"] > 0.98 and record["test"]["auc"] > 0.99
    assert record["validation"]["accuracy"] > 0.95
    assert strict((tmp_path / "record.json").read_text()) == strict(json.dumps(record))
    assert train(spec, tmp_path).record["test"] == record["test"]


def test_a_sanet_learns_and_its_attention_is_measured_beside_an_untrained_one(tmp_path):
    spec = RunSpec("sanet", "toy", "small", overrides={"blocks": 2})
    done = train(spec, tmp_path)
    assert done.record["test"]["accuracy"] > 0.9
    assert done.record["sizes"] == {"train": 480, "validation": 120, "test": 200}
    figures = done.record["attention"]
    assert figures["split"] == "test"
    assert figures["trained"].keys() == figures["untrained"].keys()
    for name, value in figures["trained"].items():
        assert 0 <= value <= 1
        same = value == pytest.approx(figures["untrained"][name], abs=1e-6)
        assert same == ("uniform" in name)  # which depends on the lengths alone
    rows = done.corpus.splits["test"]
    documents = NETWORKS["sanet"].encode(rows, done.vocabulary, spec.settings())
    batches = Batches(documents, 32)
    for model in (done.model, load_run(tmp_path, spec).model):
        found = classification_metrics(predict(model, batches))
        assert found["accuracy"] == done.record["test"]["accuracy"]
    output = done.model(*documents.batch(np.arange(5))[:2], attention=True)
    by_hand = gini(output.attention[:, 1], documents.batch(np.arange(5)).mask)
    _, streamed = measure(done.model, batches, partial(look_at_sanet, done.model))
    torch.testing.assert_close(streamed["block 2 gini"][:5], by_hand, atol=1e-4, rtol=0)


def test_an_agt_learns_and_each_layers_selection_is_measured(tmp_path):
    spec = RunSpec("agt", "toy", "small", overrides={"gate_bias": 0.0})
    done = train(spec, tmp_path)
    assert done.record["test"]["accuracy"] > 0.9
    assert done.record["settings"]["layers"] == 4
    figures = done.record["attention"]
    assert figures["trained"].keys() == figures["untrained"].keys()
    for when in ("trained", "untrained"):
        for name, values in figures[when].items():
            assert len(values) == (3 if name.startswith("gate") else 4), name
        assert all(0 <= value <= 1 for value in figures[when]["gate"] + figures[when]["spread"])
    assert max(abs(value - 0.5) for value in figures["untrained"]["gate"]) < 0.05  # σ(0)
    documents = NETWORKS["agt"].encode(done.corpus.splits["test"], done.vocabulary, spec.settings())
    tokens, mask = documents.batch(np.arange(200))[:2]
    output = load_run(tmp_path, spec).model(tokens, mask)
    selected = selected_words(output.attention, mask).sum(2).double().mean(0).tolist()
    assert figures["trained"]["selected"] == pytest.approx(selected, abs=0.02)


@pytest.mark.parametrize("preset", ["s0-only", "layers-to-2", "mean"])
def test_agts_ablations_are_presets(preset):
    """Narrow ones, to be quick: what selects and what does not is the preset's own."""
    overrides = {"vectors": "none", "embedding": 8, "hidden": 8, "epochs": 1}
    done = train(RunSpec("agt", "toy", preset, overrides, limit=100))
    config = done.model.config
    expected = {"s0-only": (15, 1, True), "layers-to-2": (15, 3, True), "mean": (1, 1, False)}
    assert (config.layers, config.selecting, config.attention) == expected[preset]
    assert ("attention" in done.record) == config.attention


@pytest.mark.parametrize("system", ["agt", "sanet"])
def test_a_baseline_without_attention_has_none_to_measure(system):
    done = train(RunSpec(system, "toy", "small", overrides={"attention": False, "epochs": 1}))
    assert "attention" not in done.record


def test_a_limit_beyond_a_subset_is_refused():
    corpus = load_corpus("toy")
    with pytest.raises(SpecError, match="601 training rows; generated of toy has 600"):
        split_rows(corpus, 601)


def test_records_are_read_by_name(finished, tmp_path):
    _, done = finished
    for name in ("b", "a"):
        (tmp_path / f"{name}.json").write_text(json.dumps(done.record | {"id": name}))
    assert [record["id"] for record in load_records(tmp_path)] == ["a", "b"]


def test_a_finished_run_is_published_as_it_is(finished, tmp_path, monkeypatch):
    folder, _ = finished
    monkeypatch.setattr(experiments, "REPOSITORY", tmp_path)
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / SPEC.id).symlink_to(folder)
    assert execute(SPEC, publish=True) == tmp_path / "runs" / SPEC.id
    published = tmp_path / "results" / f"{SPEC.id}.json"
    assert published.read_bytes() == (folder / "record.json").read_bytes()


@pytest.fixture
def executed(tmp_path, monkeypatch):
    """What the command line would have executed."""
    calls = []
    monkeypatch.setattr(experiments, "REPOSITORY", tmp_path)

    def note(spec, publish=False):
        calls.append((spec, publish))
        return tmp_path / "runs" / spec.id

    monkeypatch.setattr(experiments, "execute", note)
    return calls


def test_the_command_line_makes_the_spec(executed, capsys):
    arguments = "run --system han --dataset toy --preset small --seed 4 --threads 1 --limit 60"
    more = "--no-test --publish --set hidden=8 dropout=0.1 vectors=none"
    assert main([*arguments.split(), *more.split()]) == 0
    overrides = {"hidden": 8, "dropout": 0.1, "vectors": "none"}
    spec = RunSpec("han", "toy", "small", overrides, 4, "auto", 1, 60, test=False)
    assert executed == [(spec, True)]
    assert spec.id in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("run --system nope", "no system 'nope'"),
        ("run --limit 3", "limit takes 20 to 25000"),
        ("run --set hidden=many", "hidden takes int, got 'many'"),
        ("run --set hidden", "hidden takes int, got None"),
    ],
)
def test_the_command_line_refuses_with_the_reason(executed, capsys, arguments, says):
    assert main(arguments.split()) == 2
    assert executed == []
    assert f"error: {says}" in capsys.readouterr().err


def test_the_command_itself_exits_with_two():
    done = subprocess.run(
        [sys.executable, "-m", "course_lib.experiments.run", "run", "--system", "nope"],
        cwd=REPOSITORY, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 2
    assert "no system 'nope'; there are: agt, han, iram, sanet, tfidf" in done.stderr
    assert "Traceback" not in done.stderr


def test_overrides_on_the_command_line_are_read_as_numbers(monkeypatch):
    seen = []
    monkeypatch.setattr(
        experiments, "execute", lambda spec, publish: seen.append(spec) or REPOSITORY
    )
    command = ["run", "--set", "learning_rate=5e-4", "epochs=2", "vectors=none"]
    assert main(command) == 0
    assert seen[0].overrides == {"learning_rate": 5e-4, "epochs": 2, "vectors": "none"}


def test_an_iram_learns_and_its_steps_are_measured_beside_an_untrained_one(tmp_path):
    spec = RunSpec("iram", "toy", "small", overrides={"ngrams": 50})
    done = train(spec, tmp_path)
    assert done.record["test"]["accuracy"] > 0.9
    figures = done.record["attention"]
    assert set(figures["trained"]) == set(figures["untrained"]) == {
        "summary share, step 2", "summary share, step 3", "step overlap", "step cosine"
    }  # fmt: skip
    assert all(0 < value < 1 for value in figures["trained"].values())
    again = load_run(tmp_path, spec)
    documents = NETWORKS["iram"].encode(again.corpus.splits["test"], again.vocabulary,
                                        spec.settings())  # fmt: skip
    found = classification_metrics(predict(again.model, Batches(documents, 32)))
    assert found["accuracy"] == done.record["test"]["accuracy"]
    assert torch.equal(again.model.ngrams_of_word, done.model.ngrams_of_word)
    assert not done.model.ngrams_of_word[:2].any() and done.model.ngrams_of_word[2:].any(1).all()


def test_fixed_word_vectors_outlast_training_and_weight_decay():
    overrides = {"trainable": False, "epochs": 1, "weight_decay": 0.1}
    spec = RunSpec("iram", "toy", "small", overrides=overrides, test=False)
    done = train(spec)
    untrained, _ = build_network("iram", spec.settings(), done.vocabulary, 2, spec.seed)
    assert torch.equal(done.model.embedding.weight, untrained.embedding.weight)
    assert not torch.equal(done.model.steps.attend.weight, untrained.steps.attend.weight)


@pytest.mark.parametrize("overrides", [{"steps": 0}, {"steps": 1}])
def test_an_iram_of_less_than_two_steps_has_none_to_compare(overrides):
    done = train(RunSpec("iram", "toy", "small", overrides=overrides | {"epochs": 1}))
    assert "attention" not in done.record


def test_irams_vocabulary_covers_all_splits_since_its_vectors_are_fixed():
    done = train(RunSpec("iram", "toy", "small", overrides={"epochs": 1}, test=False, limit=20))
    rows = split_rows(done.corpus, 20)
    assert set(done.vocabulary.words) == {
        word for split in rows.values() for row in split["tokens"] for word in row
    }


def test_irams_ablations_each_leave_one_part_out():
    full = asdict(PRESETS["iram"]["full"])
    changed = {
        name: {key for key, value in asdict(PRESETS["iram"][name]).items() if value != full[key]}
        for name in ("full-no-ngrams", "full-no-query", "full-no-embedding")
    }
    assert changed == {
        "full-no-ngrams": {"ngrams"},
        "full-no-query": {"query_layers", "query_highway"},
        "full-no-embedding": {"embedding_highway"},
    }


def test_the_kept_epoch_is_counted_from_one():
    epochs = [{"validation_accuracy": accuracy} for accuracy in (0.5, 0.9, 0.7)]
    assert kept_accuracy({"epochs": epochs, "best_epoch": 2}) == 0.9
