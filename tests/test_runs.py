"""Runs: what they leave behind, that the record tells it truly, and what damage is noticed."""

import json
import platform
import shutil
from dataclasses import asdict, replace
from unittest.mock import MagicMock

import numpy as np
import papermill
import pytest
import torch
from filelock import FileLock, Timeout
from jupyter_client.kernelspec import NoSuchKernel
from safetensors.torch import load_file

from course_lib import cli
from course_lib.data.corpus import load_corpus
from course_lib.files import DataError, file_digest
from course_lib.metrics.classification import classification_metrics
from course_lib.metrics.invariants import check_neighbours, check_padding
from course_lib.runs import records, run
from course_lib.runs.records import StaleRun, kept_accuracy, load_records, publish, read_record
from course_lib.runs.run import execute, load_run, split_rows, train, train_or_load
from course_lib.runs.settings import SpecError
from course_lib.runs.spec import RunSpec
from course_lib.runs.systems import known_systems
from course_lib.training.config import TrainingError

SMALL = {"training.epochs": 2, "model.hidden": 8, "model.attention": 8}
SPEC = RunSpec("han", "toy", "small", SMALL, seed=1, device="cpu", threads=1)
TINY = {"training.epochs": 1, "model.hidden": 2}


@pytest.fixture(scope="module", autouse=True)
def threads_as_before():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a finished run, and the run."""
    folder = tmp_path_factory.mktemp("runs") / SPEC.id
    return folder, train(SPEC, folder)


def change_preset(monkeypatch, part, **values):
    """HAN's small preset with other values in one of its parts."""
    small = known_systems()["han"].presets["small"]
    changed = replace(small, **{part: replace(getattr(small, part), **values)})
    monkeypatch.setitem(known_systems()["han"].presets, "small", changed)


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
    assert record["vectors"] == []
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


def test_a_loaded_run_gives_the_same_predictions_and_they_are_those_of_the_record(finished):
    folder, done = finished
    loaded = load_run(folder)
    assert loaded.vocabulary == done.vocabulary and not loaded.model.training
    rows = split_rows(loaded.corpus)
    look = loaded.system.evaluate(rows["test"]).predictions
    expected = done.system.evaluate(rows["test"]).predictions
    assert torch.equal(look.probabilities, expected.probabilities)
    assert classification_metrics(look) == done.record["test"]
    validation = loaded.system.evaluate(rows["validation"]).predictions
    right = validation.probabilities[torch.arange(60), validation.labels]
    best = done.record["epochs"][done.record["best_epoch"] - 1]
    assert -right.log().mean().item() == pytest.approx(best["validation_loss"], abs=1e-6)


def test_a_loaded_model_keeps_its_invariants(finished):
    folder, done = finished
    batch = done.system.encode(done.corpus.splits["test"]).batch(np.arange(6))
    for check in (check_padding, check_neighbours):
        assert check(load_run(folder).model, batch.tokens, batch.mask, tolerance=1e-5) is None


def test_a_finished_run_is_only_read(finished, monkeypatch):
    folder, done = finished
    monkeypatch.setattr(known_systems()["han"], "fit", None)
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
    change_preset(monkeypatch, "training", learning_rate=0.5)
    with pytest.raises(SpecError, match="holds"):
        train(SPEC, folder)


def test_a_run_on_other_data_is_refused(finished, tmp_path):
    folder, _ = finished
    record = strict((folder / "record.json").read_text())
    record["data"]["content"] = "0" * 64
    copy = shutil.copytree(folder, tmp_path / "copy")
    (copy / "record.json").write_text(json.dumps(record))
    with pytest.raises(StaleRun, match="was made from other data than toy"):
        load_run(copy)


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


def test_two_processes_never_run_in_the_same_folder(tmp_path, monkeypatch):
    """Before anything else a run asks for its folder, and waits as long as another one holds it."""

    class Asked(FileLock):
        def acquire(self):
            assert self.timeout == -1
            with pytest.raises(Timeout):
                super().acquire(timeout=0)
            assert [path.name for path in tmp_path.iterdir()] == [".lock"]
            holder.release()
            return super().acquire()

    holder = FileLock(tmp_path / ".lock")
    monkeypatch.setattr(run, "FileLock", Asked)
    spec = replace(SPEC, limit=50, overrides=TINY)
    with holder:
        assert train(spec, tmp_path).record["id"] == spec.id
        assert not holder.is_locked


def test_the_unfinished_run_of_another_spec_is_not_taken_over(tmp_path):
    """Same folder, but a penalty that the finished half did not have."""

    def interrupt(history):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(SPEC, tmp_path, after_epoch=interrupt)
    other = replace(SPEC, overrides=SPEC.overrides | {"model.penalty": 0.5})
    with pytest.raises(StaleRun, match=r"model.penalty is 0.0, but the spec asks for 0.5"):
        train(other, tmp_path)


def test_a_record_made_with_vectors_of_ones_own_names_them_and_no_path(tmp_path, monkeypatch):
    corpus = load_corpus("toy")  # from the usual cache, before another folder takes its place
    monkeypatch.setattr(run, "load_corpus", lambda name: corpus)
    monkeypatch.setenv("COURSE_DATA_DIR", str(tmp_path / "cache"))
    path = tmp_path / "my vectors.txt"
    path.write_text("the 1 0\nfilm 0 1\nwas 1 1\n")
    spec = replace(SPEC, limit=50, overrides=TINY | {"text.vectors": str(path)})
    digest = file_digest(path)
    name = f"my_vectors.txt@{digest[:12]}"
    assert spec.overrides["text.vectors"] == spec.settings().text.vectors == name
    assert "my" not in spec.id or f"vectors-{name.replace('@', '_')}" in spec.id
    done = train(spec, tmp_path / "run")
    assert done.record["vectors"] == [{"name": name, "sha256": digest, "words": 3, "width": 2}]
    assert done.model.embedding.weight.shape[1] == 2
    assert str(tmp_path) not in (tmp_path / "run" / "record.json").read_text()
    path.unlink()
    assert load_run(tmp_path / "run").record == done.record
    assert (
        train(RunSpec(**done.record["spec"]), tmp_path / "again").record["test"]
        == (done.record["test"])
    )
    path.write_text("le 1 0\nchien 0 1\n")
    with pytest.raises(
        DataError, match=r"my_vectors\.txt@\w+: none of the .* words .* has a vector"
    ):
        train(replace(spec, overrides={"text.vectors": str(path)}))


def test_the_unfinished_run_with_other_vectors_is_not_taken_over(tmp_path):
    """Its network has the same shape, so the checkpoint alone would be resumed."""

    def interrupt(history):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(SPEC, tmp_path, after_epoch=interrupt)
    other = replace(SPEC, overrides=SPEC.overrides | {"text.standardise": True})
    with pytest.raises(StaleRun, match=r"text.standardise is False, but the spec asks for True"):
        train(other, tmp_path)


def test_a_run_is_trained_once_and_anew_when_its_preset_changed(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(records, "RUNS", tmp_path / "runs")
    spec = replace(SPEC, limit=50, overrides=TINY)
    first = train_or_load(spec)
    assert (tmp_path / "runs" / spec.id / "record.json").exists()
    assert train_or_load(spec).record == strict(json.dumps(first.record))
    assert "Training again" not in capsys.readouterr().out
    change_preset(monkeypatch, "model", attention=3)
    assert train_or_load(spec).record["settings"]["model"]["attention"] == 3
    assert "Training again" in capsys.readouterr().out


@pytest.mark.parametrize("started", [True, False])
def test_a_missing_device_does_not_throw_a_run_away(tmp_path, monkeypatch, started):
    monkeypatch.setattr(records, "RUNS", tmp_path / "runs")
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
    spec = replace(SPEC, limit=50, test=False, overrides=TINY)
    done = train(spec)
    assert done.record["data"]["subset"] and "test" not in done.record
    assert done.record["sizes"]["train"] == 45 and done.record["sizes"]["validation"] == 5
    assert list(tmp_path.iterdir()) == []


def test_a_run_on_a_subset_says_so_without_a_limit(monkeypatch):
    toy = load_corpus("toy")
    subset = replace(toy, provenance=replace(toy.provenance, subset=True))
    monkeypatch.setattr(run, "load_corpus", lambda name: subset)
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
    done = train(replace(SPEC, limit=20, test=False, overrides=TINY))
    rows = split_rows(done.corpus, 20)["train"]
    assert set(done.vocabulary.words) == {word for row in rows["tokens"] for word in row}


def test_a_limit_beyond_a_subset_is_refused():
    corpus = load_corpus("toy")
    with pytest.raises(SpecError, match="601 training rows; generated of toy has 600"):
        split_rows(corpus, 601)


def test_records_are_read_by_name(finished, tmp_path):
    _, done = finished
    for name in ("b", "a"):
        path = tmp_path / "runs" / f"of {name}" / "toy" / f"{name}.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(done.record | {"id": name}))
    assert [record["id"] for record in load_records(tmp_path)] == ["a", "b"]


def no_test(record):
    del record["test"]


def not_a_number(record):
    record["test"]["accuracy"] = float("nan")


def no_epoch(record):
    record["best_epoch"] = 99


def other_settings(record):
    record["settings"]["model"]["hidden"] = 3


def another_seed(record):
    record["spec"]["seed"] = 7


@pytest.mark.parametrize(
    "spoil", [no_test, not_a_number, no_epoch, other_settings, another_seed, None]
)
def test_what_is_no_whole_record_of_its_settings_does_not_load(finished, tmp_path, spoil):
    folder, _ = finished
    record = json.loads((folder / "record.json").read_text())
    if spoil:
        spoil(record)
    (tmp_path / "record.json").write_text(json.dumps(record) if spoil else 100_000 * "[")
    with pytest.raises(StaleRun, match=r"record.json is no record .*Move it or delete it"):
        read_record(tmp_path / "record.json")


def test_the_kept_epoch_is_counted_from_one():
    epochs = [{"validation_accuracy": accuracy} for accuracy in (0.5, 0.9, 0.7)]
    assert kept_accuracy({"epochs": epochs, "best_epoch": 2}) == 0.9


def changed(**values):
    """A damage that gives a record other values."""
    return lambda data: json.dumps(json.loads(data) | values).encode()


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("record.json", lambda data: data[: len(data) // 2]),
        ("record.json", lambda data: b"{}"),
        ("record.json", lambda data: b"[1]"),
        ("record.json", lambda data: b"\xff\xfe"),
        ("record.json", changed(settings=[])),
        ("record.json", changed(spec=asdict(SPEC) | {"overrides": []})),
        ("record.json", changed(spec=asdict(SPEC) | {"overrides": {"model.nope": 1}})),
        ("record.json", changed(spec=asdict(SPEC) | {"dataset": "nope"})),
        ("record.json", changed(spec=asdict(SPEC) | {"system": "nope"})),
        ("record.json", None),
        ("model.safetensors", lambda data: data[:400]),
        ("model.safetensors", lambda data: data[:-400] + 400 * b"\0"),
        ("model.safetensors", lambda data: b""),
        ("model.safetensors", None),
        ("vocabulary.txt", lambda data: data[: len(data) // 2]),
        ("vocabulary.txt", lambda data: b"\xff" + data),
        ("vocabulary.txt", lambda data: b""),
        ("vocabulary.txt", None),
    ],
)
def test_a_damaged_run_is_one_error_that_names_its_folder(finished, tmp_path, name, damage):
    copy = shutil.copytree(finished[0], tmp_path / "copy")
    if damage:
        (copy / name).write_bytes(damage((copy / name).read_bytes()))
    else:
        (copy / name).unlink()
    with pytest.raises(StaleRun) as raised:
        load_run(copy)
    assert str(copy) in str(raised.value)


def test_a_damaged_run_is_moved_aside_and_trained_again(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(records, "RUNS", tmp_path / "runs")
    spec = replace(SPEC, limit=50, overrides=TINY)
    first = train_or_load(spec)
    weights = tmp_path / "runs" / spec.id / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-40] + 40 * b"\0")
    again = train_or_load(spec)
    assert again.record["test"] == first.record["test"]
    assert "Training again, because" in capsys.readouterr().out
    assert len(list((tmp_path / "runs").glob("*.stale-*"))) == 1


def test_a_training_that_fails_is_not_tried_again(tmp_path, monkeypatch):
    """Its loss is no longer finite: the folder is no reason, and must stay."""
    monkeypatch.setattr(records, "RUNS", tmp_path / "runs")
    tries = []

    def diverge(*_, **__):
        tries.append(1)
        raise TrainingError("loss is nan in epoch 1")

    monkeypatch.setattr(known_systems()["han"], "fit", diverge)
    with pytest.raises(TrainingError, match="loss is nan"):
        train_or_load(replace(SPEC, limit=50, overrides=TINY))
    assert len(tries) == 1 and not list((tmp_path / "runs").glob("*.stale-*"))


def test_a_run_needs_no_git(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    done = train(replace(SPEC, limit=50, overrides=TINY, test=False), tmp_path / "run")
    assert done.record["environment"]["commit"] == "unknown"
    assert read_record(tmp_path / "run" / "record.json")["id"] == done.record["id"]


def test_the_environment_names_processor_and_instructions(finished):
    environment = finished[1].record["environment"]
    assert environment["instructions"] == torch.backends.cpu.get_cpu_capability()
    assert environment["device"].startswith("cpu (")
    assert records.processor_name(torch.device("cpu")) in environment["device"]


def test_a_processor_is_named_by_its_model(tmp_path, monkeypatch):
    listing = "processor\t: 0\nmodel name\t: Abacus 9000\nflags\t: fpu\n\nmodel name\t: Abacus 1\n"
    (tmp_path / "cpuinfo").write_text(listing)
    monkeypatch.setattr(records, "CPUINFO", tmp_path / "cpuinfo")
    assert records.processor_name(torch.device("cpu")) == f"{platform.machine()}, Abacus 9000"
    monkeypatch.setattr(records, "CPUINFO", tmp_path / "nowhere")
    assert records.processor_name(torch.device("cpu")) == platform.machine()


def weights_before_training(seed):
    spec = replace(SPEC, seed=seed, limit=50, overrides={"model.hidden": 2})
    corpus = load_corpus("toy")
    system = run.system_of(spec, corpus)
    system.build(split_rows(corpus, 50), spec.seed)
    return system.model.state_dict()


def test_the_seed_of_a_run_decides_its_initial_weights():
    one, same, other = map(weights_before_training, (0, 0, 1))
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert not torch.equal(one["classifier.weight"], other["classifier.weight"])
    assert not torch.equal(one["embedding.weight"], other["embedding.weight"])


def training_of(seed, monkeypatch):
    """The classifier's weights that a run starts from, and the words that it trains on, in its
    order."""
    start, seen = [], []
    spec = replace(SPEC, seed=seed, limit=200, overrides={"model.hidden": 2, "training.epochs": 1},
                   test=False)  # fmt: skip
    network = known_systems()["han"].network

    def watch(model, inputs):
        if model.training:
            start.append(model.classifier.weight.detach().clone())
            seen.append(inputs[0].tolist())

    def watched(self, embedding):
        model = network(self, embedding)
        model.register_forward_pre_hook(watch)
        return model

    with monkeypatch.context() as patch:
        patch.setattr(known_systems()["han"], "network", watched)
        train(spec)
    return start[0], seen


def test_the_seed_of_a_run_decides_its_first_weights_and_the_order_of_its_batches(monkeypatch):
    (start, one), (same_start, same), (other_start, other) = (
        training_of(seed, monkeypatch) for seed in (0, 0, 1)
    )
    assert torch.equal(start, same_start) and not torch.equal(start, other_start)
    assert one == same and len(one) > 3
    assert one != other
    assert sorted(map(len, one)) == sorted(map(len, other))


def test_a_record_says_which_seed_made_it(finished):
    folder, done = finished
    again = train(replace(SPEC, seed=done.record["spec"]["seed"]))
    for name, value in load_file(folder / "model.safetensors").items():
        assert torch.equal(again.model.state_dict()[name], value)


def test_a_finished_run_is_published_as_it_is(finished, tmp_path, monkeypatch):
    folder, _ = finished
    monkeypatch.setattr(records, "RUNS", tmp_path / "runs")
    monkeypatch.setattr(records, "RESULTS", tmp_path / "results")
    shutil.copytree(folder, tmp_path / "runs" / SPEC.id)
    assert execute(SPEC) == tmp_path / "runs" / SPEC.id  # nothing is run again
    assert publish(SPEC) == tmp_path / "results" / "runs" / "han" / "toy" / f"{SPEC.id}.json"
    assert strict(publish(SPEC).read_text()) == strict((folder / "record.json").read_text())


@pytest.mark.parametrize("record", ['{"id": "han', '{"id": "x"}', None])
def test_what_is_not_the_record_of_the_spec_is_not_published(
    finished, tmp_path, monkeypatch, record
):
    monkeypatch.setattr(records, "RUNS", tmp_path / "runs")
    monkeypatch.setattr(records, "RESULTS", tmp_path / "results")
    folder = shutil.copytree(finished[0], tmp_path / "runs" / SPEC.id)
    other = strict((folder / "record.json").read_text())
    other["spec"]["seed"] = 7
    (folder / "record.json").write_text(record or json.dumps(other))
    with pytest.raises(StaleRun, match=SPEC.id):
        publish(SPEC)
    assert not (tmp_path / "results").exists()


TESTED = {
    "test": {"accuracy": 0.75, "confusion": [[900, 100], [300, 300]]},
    "sizes": {"test": 1600},
}


@pytest.fixture
def executed(tmp_path, monkeypatch):
    """What the command line would have executed."""
    calls = []
    monkeypatch.setattr(records, "RUNS", run.REPOSITORY / "runs")
    monkeypatch.setattr(run, "execute", lambda spec: calls.append(spec) or run.REPOSITORY)
    monkeypatch.setattr(run, "read_record", lambda path: TESTED)
    return calls


def test_the_command_line_makes_the_spec(executed):
    arguments = "run --system han --dataset toy --preset small --seed 4 --threads 1 --limit 60"
    more = "--no-test --set model.hidden=8 training.learning_rate=5e-4 text.vectors=none"
    assert cli.main([*arguments.split(), *more.split()]) == 0
    overrides = {"model.hidden": 8, "training.learning_rate": 5e-4, "text.vectors": "none"}
    assert executed == [RunSpec("han", "toy", "small", overrides, 4, "auto", 1, 60, test=False)]


@pytest.mark.parametrize(
    "error", [RuntimeError("Kernel died before replying"), NoSuchKernel("python3")]
)
def test_a_kernel_that_is_not_there_or_dies_is_one_sentence(tmp_path, monkeypatch, capsys, error):
    monkeypatch.setattr(records, "RUNS", tmp_path)
    monkeypatch.setattr(papermill, "execute_notebook", MagicMock(side_effect=error))
    assert cli.main(["run", "--dataset", "toy", "--preset", "small"]) == 2
    assert "error: the notebook's kernel " in capsys.readouterr().err


def test_the_command_line_tells_how_good_the_predictions_are(executed, capsys):
    assert cli.main(["run", "--dataset", "toy", "--preset", "small"]) == 0
    told = capsys.readouterr()
    assert told.out == ".\n"  # the folder, and nothing else
    assert told.err == (
        "accuracy on 1,600 test texts: 75.0% (always the most frequent class: 62.5%)\n"
    )
    untested = {"epochs": [{"validation_accuracy": 0.5}, {"validation_accuracy": 0.6}]}
    said = "accuracy on the validation texts: 60.0%"
    assert records.outcome(untested | {"best_epoch": 2}) == said
    assert records.outcome({"validation": {"accuracy": 0.6}}) == said


@pytest.mark.parametrize("rank", [0, 1])
def test_of_the_processes_of_one_training_the_main_one_publishes(executed, monkeypatch, rank):
    trained, published = [], []
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", str(rank))
    monkeypatch.setattr(run, "train", lambda spec, folder: trained.append(spec))
    monkeypatch.setattr(run, "publish", lambda spec: published.append(spec) or run.REPOSITORY)
    assert cli.main(["run", "--dataset", "toy", "--preset", "small", "--publish"]) == 0
    assert trained == [RunSpec("han", "toy", "small")] and executed == []
    assert published == trained[: 1 - rank]


def test_settings_may_be_given_one_by_one_and_as_python_writes_them(executed):
    arguments = "run --set model.hidden=8 --set training.decay=False training.learning_rate=.01"
    assert cli.main([*arguments.split(), "--set", "training.patience=1"]) == 0
    assert executed[0].overrides == {
        "model.hidden": 8, "training.decay": False, "training.learning_rate": 0.01,
        "training.patience": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("run --system nope", "no system 'nope'"),
        ("run --limit 3", "limit takes 20 to 25000"),
        ("run --set model.hidden=many", "model.hidden takes a whole number from 1, got 'many'"),
        ("run --set model.hidden", "model.hidden takes a whole number from 1, got None"),
        ("run --set hidden=8", "no setting 'hidden'; do you mean model.hidden?"),
    ],
)
def test_the_command_line_refuses_with_the_reason(executed, capsys, arguments, says):
    assert cli.main(arguments.split()) == 2
    assert executed == []
    assert f"error: {says}" in capsys.readouterr().err
