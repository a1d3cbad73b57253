"""Runs: what they leave behind, that the record tells it truly, and what damage is noticed."""

import json
import platform
import re
import shutil
import subprocess
from dataclasses import asdict, replace
from unittest.mock import MagicMock

import numpy as np
import papermill
import pytest
import torch
from filelock import FileLock, Timeout
from jupyter_client.kernelspec import NoSuchKernel
from torch.nn.modules.module import register_module_forward_pre_hook

from course_lib import cli
from course_lib.data.corpus import load_corpus
from course_lib.files import WORKROOM, DataError, file_digest
from course_lib.models.han import HAN
from course_lib.runs import folders, records, run
from course_lib.runs.records import StaleRun, publish, read_record
from course_lib.runs.run import execute, load_run, split_rows, train, train_or_load
from course_lib.runs.settings import SpecError
from course_lib.runs.spec import RunSpec
from course_lib.runs.systems import known_systems
from course_lib.training.config import TrainingError

SMALL = {"training.epochs": 2, "model.hidden": 8, "model.attention": 8}
SPEC = RunSpec("han", "toy", "small", SMALL, seed=1, device="cpu", threads=1)
PLAN = SPEC.resolve()
SHORT = replace(SPEC, limit=50, overrides={"training.epochs": 1, "model.hidden": 2})


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a finished run, and the run."""
    folder = tmp_path_factory.mktemp("runs") / PLAN.id
    return folder, train(SPEC, folder)


def strict(text):
    """JSON as the standard has it, without NaN and Infinity."""
    return json.loads(json.dumps(json.loads(text), allow_nan=False))


def test_a_run_leaves_a_record_that_says_everything(finished):
    folder, done = finished
    record = strict((folder / "record.json").read_text())
    assert record == strict(json.dumps(done.record))
    assert record["id"] == PLAN.id and record["spec"] == asdict(SPEC)
    assert record["settings"] == asdict(PLAN.settings)
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


def test_a_finished_run_is_only_read(finished, monkeypatch):
    folder, done = finished
    monkeypatch.setattr(known_systems()["han"], "fit", None)
    times = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    again = train(SPEC, folder)
    assert again.record == strict(json.dumps(done.record))
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == times


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 2},
        {"test": False},
        {"limit": 100},
        {"overrides": {}},
        {"system": "tfidf", "preset": "default", "overrides": {}},
    ],
)
def test_another_spec_on_the_same_folder_is_refused(finished, change):
    folder, _ = finished
    before = (folder / "record.json").read_bytes()
    with pytest.raises(SpecError, match="holds"):
        train(replace(SPEC, **change), folder)
    assert (folder / "record.json").read_bytes() == before


def interrupted(folder):
    """Leaves the first epoch of a training in a folder."""

    def interrupt(history):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(SPEC, folder, after_epoch=interrupt)
    assert not (folder / "record.json").exists()


def test_an_interrupted_run_goes_on_to_the_same_end(finished, tmp_path):
    _, done = finished
    interrupted(tmp_path)
    resumed = train(SPEC, tmp_path)
    for name, value in done.model.state_dict().items():
        assert torch.equal(resumed.model.state_dict()[name], value)
    for found, expected in zip(resumed.record["epochs"], done.record["epochs"], strict=True):
        assert found | {"seconds": 0} == expected | {"seconds": 0}
    assert resumed.record["test"] == done.record["test"]
    assert list((tmp_path / "checkpoints").iterdir()) == []  # the record has taken their place


@pytest.mark.parametrize(
    ("address", "value", "says"),
    [
        ("model.penalty", 0.5, "model.penalty is 0.0, but the spec asks for 0.5"),
        ("text.standardise", True, "text.standardise is False, but the spec asks for True"),
    ],
)
def test_the_unfinished_run_of_another_spec_is_not_taken_over(tmp_path, address, value, says):
    """A network of other vectors has the same shape: its checkpoint alone would be resumed."""
    interrupted(tmp_path)
    with pytest.raises(StaleRun, match=says):
        train(replace(SPEC, overrides=SMALL | {address: value}), tmp_path)


def test_what_a_killed_run_left_half_written_goes_at_the_next_start(finished, tmp_path):
    _, done = finished
    for name in (f"{WORKROOM}abcd1234", f"checkpoints/{WORKROOM}efgh5678"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "half").write_text("{")
    (tmp_path / "started.json").write_bytes((finished[0] / "started.json").read_bytes())
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
    with holder:
        assert train(SHORT, tmp_path).record["id"] == SHORT.resolve().id
        assert not holder.is_locked


def test_a_record_made_with_vectors_of_ones_own_names_them_and_no_path(tmp_path, monkeypatch):
    corpus = load_corpus("toy")  # from the usual cache, before another folder takes its place
    monkeypatch.setattr(run, "load_corpus", lambda name, first=None: corpus)
    monkeypatch.setenv("COURSE_DATA_DIR", str(tmp_path / "cache"))
    path = tmp_path / "my vectors.txt"
    path.write_text("the 1 0\nfilm 0 1\nwas 1 1\n")
    spec = replace(SHORT, overrides=SHORT.overrides | {"text.vectors": str(path)})
    plan = spec.resolve()
    digest = file_digest(path)
    name = f"my_vectors.txt@{digest[:12]}"
    assert plan.spec.overrides["text.vectors"] == plan.settings.text.vectors == name
    assert "my" not in plan.id or f"vectors-{name.replace('@', '_')}" in plan.id
    done = train(plan, tmp_path / "run")
    assert done.record["vectors"] == [{"name": name, "sha256": digest, "words": 3, "width": 2}]
    assert done.model.embedding.weight.shape[1] == 2
    assert str(tmp_path) not in (tmp_path / "run" / "record.json").read_text()
    path.unlink()
    assert load_run(tmp_path / "run").record == done.record
    again = train(RunSpec(**done.record["spec"]), tmp_path / "again")
    assert again.record["test"] == done.record["test"]
    path.write_text("le 1 0\nchien 0 1\n")
    with pytest.raises(DataError, match=r"my_vectors\.txt@\w+: none of the .* words .* has a ve"):
        train(replace(spec, overrides={"text.vectors": str(path)}))


def test_a_run_is_trained_once_and_anew_when_it_is_damaged_or_its_preset_changed(
    places, monkeypatch, capsys
):
    first = train_or_load(SHORT)
    assert train_or_load(SHORT).record == strict(json.dumps(first.record))
    assert "Training again" not in capsys.readouterr().out
    weights = places / "runs" / SHORT.resolve().id / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-40] + 40 * b"\0")
    assert train_or_load(SHORT).record["test"] == first.record["test"]
    small = known_systems()["han"].presets["small"]
    changed = replace(small, model=replace(small.model, attention=3))
    monkeypatch.setitem(known_systems()["han"].presets, "small", changed)
    assert train_or_load(SHORT).record["settings"]["model"]["attention"] == 3
    assert capsys.readouterr().out.count("Training again, because") == 2
    assert len(list((places / "runs").glob("*.stale-*"))) == 2


def test_a_folder_of_the_user_keeps_all_that_is_in_it(tmp_path):
    for name in (".python3.11/lib", "notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("mine")
    train(SHORT, tmp_path)
    assert (tmp_path / ".python3.11" / "lib").exists() and (tmp_path / "notes.txt").exists()
    for name in ("vocabulary.txt", "predictions.npz", "model.safetensors"):
        folder = tmp_path / name.replace(".", "_")
        folder.mkdir()
        (folder / name).write_text("mine")
        with pytest.raises(DataError, match=f"{name} exists already"):
            train(SHORT, folder)
        assert (folder / name).read_text() == "mine"


def test_no_other_process_may_move_aside_what_is_looked_at_or_trained(places, monkeypatch):
    train_or_load(SHORT)
    (places / "runs" / SHORT.resolve().id / "vocabulary.txt").write_text("spoilt")
    seen = []

    def alone(original):
        def called(*arguments):
            with pytest.raises(Timeout):
                FileLock(places / "runs" / ".locks" / SHORT.resolve().id, timeout=0).acquire()
            seen.append(original.__name__)
            return original(*arguments)

        return called

    for each in (run.load_run, run._train, records.move_aside):
        monkeypatch.setattr(
            run if hasattr(run, each.__name__) else records, each.__name__, alone(each)
        )
    train_or_load(SHORT)
    assert seen == ["load_run", "move_aside", "_train"]


def with_crlf(path):
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))


def exchanged(path):
    first, second, *others = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([second, first, *others]))


@pytest.mark.parametrize("change", [with_crlf, exchanged])
def test_another_vocabulary_is_refused(finished, tmp_path, change):
    folder = shutil.copytree(finished[0], tmp_path / "run")
    change(folder / "vocabulary.txt")
    with pytest.raises(StaleRun, match=r"vocabulary.txt: sha256 is"):
        load_run(folder)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"weights": None}, "weights is no digest"),
        ({"weights": 5}, "weights is no digest"),
        ({"words": ["x"]}, "words is no digest"),
        ({"best_epoch": 0}, "best epoch is 0 of 2"),
        ({"best_epoch": -1}, "best epoch is -1 of 2"),
        ({"best_epoch": 3}, "best epoch is 3 of 2"),
    ],
)
def test_a_record_that_says_what_cannot_be_is_refused(finished, tmp_path, change, says):
    folder = shutil.copytree(finished[0], tmp_path / "run")
    record = json.loads((folder / "record.json").read_text())
    (folder / "record.json").write_text(json.dumps(record | change))
    with pytest.raises(StaleRun, match=says):
        load_run(folder)


@pytest.mark.parametrize("key", ["weights", "words"])
def test_files_without_a_digest_are_not_loaded_until_their_owner_trusts_them(
    finished, tmp_path, key
):
    folder = shutil.copytree(finished[0], tmp_path / "run")
    record = json.loads((folder / "record.json").read_text())
    del record[key]
    (folder / "record.json").write_text(json.dumps(record))
    with pytest.raises(StaleRun, match="holds no digest") as told:
        load_run(folder)
    added = re.search(rf'"{key}": "(sha256:\w+)"', str(told.value))[1]
    (folder / "record.json").write_text(json.dumps(record | {key: added}))
    assert load_run(folder).record["test"] == finished[1].record["test"]


@pytest.mark.parametrize("started", [True, False])
def test_a_missing_device_does_not_throw_a_run_away(places, started):
    spec = replace(SPEC, device="abacus")
    kept = places / "runs" / spec.resolve().id / "checkpoints" / "checkpoint-000001" / "model.bin"
    if started:
        kept.parent.mkdir(parents=True)
        kept.write_bytes(b"a night of training")
    with pytest.raises(TrainingError, match="device 'abacus' is not available"):
        train_or_load(spec)
    assert kept.exists() == started


def test_a_run_without_a_folder_writes_nothing_and_a_limit_is_a_subset(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = train(replace(SHORT, test=False))
    assert done.record["data"]["subset"] and "test" not in done.record
    assert done.record["sizes"]["train"] == 45 and done.record["sizes"]["validation"] == 5
    assert list(tmp_path.iterdir()) == []
    assert len(done.corpus.splits["test"]) == 50  # nobody reads more of it
    rows = split_rows(done.corpus, 50)["train"]
    assert set(done.vocabulary.words) == {word for row in rows["tokens"] for word in row}
    toy = load_corpus("toy")
    subset = replace(toy, provenance=replace(toy.provenance, subset=True))
    monkeypatch.setattr(run, "load_corpus", lambda name, first=None: subset)
    assert train(RunSpec("tfidf", "toy", "words", test=False)).record["data"]["subset"] is True


@pytest.mark.parametrize("limit", [None, 100])
def test_validation_rows_are_held_out_of_training_unless_the_corpus_has_its_own(limit):
    corpus = load_corpus("toy")
    every, test = (corpus.splits[part]["text"][:] for part in ("train", "test"))
    split = split_rows(corpus, limit)
    assert [*split["validation"]["text"], *split["train"]["text"]] == every[: limit or 600]
    assert len(split["validation"]) == (limit or 600) / 10 and split["test"]["text"][:] == test
    own = corpus.splits["test"].select(range(50))
    split = split_rows(replace(corpus, splits=corpus.splits | {"validation": own}), limit, 0.5)
    assert list(split) == ["train", "validation", "test"]
    assert split["train"]["text"][:] == every[: limit or 600]
    assert split["validation"]["text"][:] == test[:50] and split["test"]["text"][:] == test


def test_a_limit_beyond_a_subset_is_refused():
    with pytest.raises(SpecError, match="601 training rows; generated of toy has 600"):
        split_rows(load_corpus("toy"), 601)


@pytest.mark.parametrize(
    "change",
    [
        lambda record: record.pop("test"),
        lambda record: record.pop("settings"),
        lambda record: record["test"].update(accuracy=float("nan")),
        lambda record: record.pop("version"),
        lambda record: record.update(version=3),
        lambda record: record["spec"].pop("seed"),
        lambda record: record.update(best_epoch=99),
        lambda record: record["data"].update(content=None),
        None,
    ],
)
def test_what_is_no_whole_record_of_its_settings_does_not_load(finished, tmp_path, change):
    record = json.loads((finished[0] / "record.json").read_text())
    if change:
        change(record)
    (tmp_path / "record.json").write_text(json.dumps(record) if change else 100_000 * "[")
    with pytest.raises(StaleRun, match=r"record.json is no record .*Move it or delete it"):
        read_record(tmp_path / "record.json")


def test_settings_that_are_not_those_of_the_spec_do_not_load(finished, tmp_path):
    folder = shutil.copytree(finished[0], tmp_path / "run")
    record = json.loads((folder / "record.json").read_text())
    record["settings"]["model"]["hidden"] = 3
    (folder / "record.json").write_text(json.dumps(record))
    with pytest.raises(StaleRun, match=r"holds another run: model\.hidden is 3, but"):
        load_run(folder)


def changed(**values):
    """A damage that gives a record other values."""
    return lambda data: json.dumps(json.loads(data) | values).encode()


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("record.json", lambda data: data[: len(data) // 2]),
        ("record.json", changed(spec=asdict(SPEC) | {"system": "nope"})),
        ("record.json", changed(spec=asdict(SPEC) | {"threads": 0})),
        ("record.json", lambda data: re.sub(rb'(?<="content": ")\w{8}', b"00000000", data)),
        ("record.json", None),
        ("model.safetensors", lambda data: data[:-400] + 400 * b"\0"),
        ("model.safetensors", None),
        ("vocabulary.txt", lambda data: data[: len(data) // 2]),
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


def test_new_records_do_not_make_the_code_dirty(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "REPOSITORY", tmp_path)
    files = [
        tmp_path / name for name in ("results/runs/a.json", "benchmarks/results/b.json", "c.py")
    ]
    for path in files:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("1")
    author = ("-c", "user.name=A", "-c", "user.email=a@b.c")
    for arguments in (["init"], ["add", "."], [*author, "commit", "-m", "1"]):
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True, capture_output=True)
    clean = records.current_commit()
    assert re.fullmatch("[0-9a-f]{12}", clean)
    for path, commit in zip(files, (clean, clean, f"{clean}-dirty"), strict=True):
        path.write_text("2")
        assert records.current_commit() == commit


def test_a_run_needs_no_git(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    done = train(replace(SHORT, test=False), tmp_path / "run")
    assert done.record["environment"]["commit"] == "unknown"
    assert not {"test", "predictions"} & done.record.keys()
    assert read_record(tmp_path / "run" / "record.json")["id"] == done.record["id"]


def test_the_environment_names_the_processor_by_its_model(finished, tmp_path, monkeypatch):
    environment = finished[1].record["environment"]
    assert environment["instructions"] == torch.backends.cpu.get_cpu_capability()
    assert environment["device"] == f"cpu ({records.processor_name(torch.device('cpu'))})"
    listing = "processor\t: 0\nmodel name\t: Abacus 9000\nflags\t: fpu\n\nmodel name\t: Abacus 1\n"
    (tmp_path / "cpuinfo").write_text(listing)
    monkeypatch.setattr(records, "CPUINFO", tmp_path / "cpuinfo")
    assert records.processor_name(torch.device("cpu")) == f"{platform.machine()}, Abacus 9000"
    monkeypatch.setattr(records, "CPUINFO", tmp_path / "nowhere")
    assert records.processor_name(torch.device("cpu")) == platform.machine()


def training_of(seed):
    """The classifier's weights that a run starts from, and the words that it trains on, in its
    order."""
    start, seen = [], []
    spec = replace(
        SPEC, seed=seed, limit=200, overrides={"model.hidden": 2, "training.epochs": 1}, test=False
    )

    def watch(model, inputs):
        if isinstance(model, HAN) and model.training:
            start.append(model.classifier.weight.detach().clone())
            seen.append(inputs[0].tolist())

    with register_module_forward_pre_hook(watch):
        train(spec)
    return start[0], seen


def test_the_seed_of_a_run_decides_its_first_weights_and_the_order_of_its_batches():
    (start, one), (same_start, same), (other_start, other) = (
        training_of(seed) for seed in (0, 0, 1)
    )
    assert torch.equal(start, same_start) and not torch.equal(start, other_start)
    assert one == same and len(one) > 3
    assert one != other
    assert sorted(map(len, one)) == sorted(map(len, other))


def test_a_finished_run_is_published_as_it_is(finished, places):
    folder, _ = finished
    shutil.copytree(folder, places / "runs" / PLAN.id)
    assert execute(PLAN) == places / "runs" / PLAN.id  # nothing is run again
    assert publish(PLAN) == places / "results" / "runs" / "han" / "toy" / f"{PLAN.id}.json"
    assert strict(publish(PLAN).read_text()) == strict((folder / "record.json").read_text())


def test_what_is_not_the_record_of_the_spec_is_not_published(finished, places):
    folder = shutil.copytree(finished[0], places / "runs" / PLAN.id)
    other = strict((folder / "record.json").read_text())
    other["spec"]["seed"] = 7
    (folder / "record.json").write_text(json.dumps(other))
    with pytest.raises(StaleRun, match=f"{PLAN.id} holds another run: seed is 7, but .* for 1"):
        publish(PLAN)
    assert not (places / "results").exists()


TOY = ["run", "--system", "han", "--dataset", "toy", "--preset", "small"]
TESTED = {
    "test": {"accuracy": 0.75, "confusion": [[900, 100], [300, 300]]},
    "sizes": {"test": 1600},
}


@pytest.fixture
def executed(tmp_path, monkeypatch):
    """What the command line would have executed."""
    calls = []
    monkeypatch.setattr(folders, "RUNS", run.REPOSITORY / "runs")
    monkeypatch.setattr(run, "execute", lambda spec: calls.append(spec) or run.REPOSITORY)
    monkeypatch.setattr(run, "read_record", lambda path: TESTED)
    return calls


@pytest.mark.parametrize(
    ("arguments", "spec"),
    [
        (
            "--system han --dataset toy --preset small --seed 4 --threads 1 --limit 60 --no-test "
            "--set model.hidden=8 training.learning_rate=5e-4 text.vectors=none",
            RunSpec(
                "han",
                "toy",
                "small",
                {"model.hidden": 8, "training.learning_rate": 5e-4, "text.vectors": "none"},
                4,
                "auto",
                1,
                60,
                test=False,
            ),
        ),
        (
            (
                "--system han --set model.hidden=8 --set "
                "training.decay=False training.learning_rate=.01"
            ),
            RunSpec(
                overrides={
                    "model.hidden": 8,
                    "training.decay": False,
                    "training.learning_rate": 0.01,
                }
            ),
        ),
    ],
)
def test_the_command_line_makes_the_spec(executed, arguments, spec):
    assert cli.main(["run", *arguments.split()]) == 0
    assert executed == [spec.resolve()]


@pytest.mark.parametrize(
    "error", [RuntimeError("Kernel died before replying"), NoSuchKernel("python3")]
)
@pytest.mark.usefixtures("places")
def test_a_kernel_that_is_not_there_or_dies_is_one_sentence(monkeypatch, capsys, error):
    monkeypatch.setattr(papermill, "execute_notebook", MagicMock(side_effect=error))
    assert cli.main(TOY) == 2
    assert "error: the notebook's kernel " in capsys.readouterr().err


def test_the_command_line_tells_how_good_the_predictions_are(executed, capsys):
    assert cli.main(TOY) == 0
    told = capsys.readouterr()
    assert told.out == ".\n"  # the folder, and nothing else
    assert told.err == (
        "accuracy on 1,600 test texts: 75.0% (always the most frequent class: 62.5%)\n"
    )
    untested = {"epochs": [{"validation_accuracy": 0.5}, {"validation_accuracy": 0.6}]}
    said = "accuracy on the validation texts: 60.0%"
    assert records.outcome(untested | {"best_epoch": 2}) == said
    assert records.outcome({"validation": {"accuracy": 0.6}}) == said


def test_a_run_is_published_when_that_is_asked_for(executed, monkeypatch):
    published = []
    monkeypatch.setattr(run.records, "publish", lambda s: published.append(s) or run.REPOSITORY)
    assert cli.main(TOY) == 0 and published == []
    assert cli.main([*TOY, "--publish"]) == 0
    assert published == [RunSpec("han", "toy", "small").resolve()]
