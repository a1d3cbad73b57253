"""Recorded networks: written small and without text, loaded as they were, refused if changed."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
from recorded import FROZEN, record_file, spec_of, tiny_vectors
from safetensors.torch import load_file, save_file

from course_lib import cli
from course_lib.data import catalog
from course_lib.data.text import TokenisedText
from course_lib.explore import explore_text, read_text
from course_lib.files import REPOSITORY, DataError, file_digest
from course_lib.runs import records, run, weights
from course_lib.runs.model_card import DIGEST
from course_lib.runs.records import StaleRun, load_records, publish, read_record
from course_lib.runs.run import load_run, train
from course_lib.runs.settings import SpecError
from course_lib.runs.spec import RunSpec
from course_lib.runs.systems import known_systems
from course_lib.runs.weights import (
    CLOSE,
    LARGEST,
    load_recorded,
    publish_weights,
    recorded_names,
    weights_path,
)

OURS = TokenisedText(["A", "tender", "film", ".", "The", "acting", "is", "dull"], [4, 4])


@pytest.fixture(scope="module", autouse=True)
def tiny(tmp_path_factory):
    with tiny_vectors(tmp_path_factory.mktemp("vectors")) as card:
        yield card


@pytest.fixture(scope="module", params=FROZEN)
def published(request, tmp_path_factory):
    """A run of each network, its folder, and its weights in ``results/``."""
    place = tmp_path_factory.mktemp("published")
    spec = spec_of(request.param)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records, "RUNS", place / "runs")
        patch.setattr(records, "RESULTS", place / "results")
        done = train(spec, records.RUNS / spec.id)
        publish_weights(records.RUNS / spec.id)
        yield spec, done


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of runs, with one of AGT."""
    runs = tmp_path_factory.mktemp("finished")
    spec = spec_of("agt")
    train(spec, runs / spec.id)
    return runs


@pytest.fixture
def folder(finished, tmp_path, monkeypatch):
    """That run in ``runs/``, and an empty ``results/``."""
    shutil.copytree(finished, tmp_path / "runs")
    monkeypatch.setattr(records, "RUNS", tmp_path / "runs")
    monkeypatch.setattr(records, "RESULTS", tmp_path / "results")
    return records.RUNS / spec_of("agt").id


def logits(system, rows):
    batch = system.encode(rows).batch(np.arange(len(rows)))
    with torch.inference_mode():
        return system.model.eval()(batch.tokens, batch.mask).logits


def files(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_a_recorded_network_is_the_trained_one_but_for_float16(published):
    spec, done = published
    loaded = load_recorded(spec.id)
    assert type(loaded) is type(done) and type(loaded.system) is type(done.system)
    rows = done.corpus.splits["test"].select(range(40))
    expected = logits(done.system, rows)
    difference = (logits(loaded.system, rows) - expected).abs().max()
    assert 0 < difference <= CLOSE * max(1, expected.abs().max())
    assert not loaded.model.training and loaded.vocabulary == done.vocabulary
    assert loaded.record["test"] == done.record["test"]
    assert torch.equal(loaded.model.embedding.weight, done.model.embedding.weight)
    parameters = [p for _, p in loaded.model.named_parameters()]
    assert all(p.dtype == torch.float32 and p.device.type == "cpu" for p in parameters)


def test_it_reads_a_text_without_any_dataset(published, no_network, monkeypatch):
    spec, done = published

    def refuse(name):
        raise AssertionError("reading takes no dataset")

    monkeypatch.setattr(run, "load_corpus", refuse)
    loaded = load_recorded(spec.id)
    reading, expected = read_text(loaded, OURS), read_text(done, OURS)
    np.testing.assert_allclose(reading.probabilities, expected.probabilities, atol=CLOSE)
    assert reading.attention.keys() == expected.attention.keys() != set()
    for name, attention in reading.attention.items():
        other = expected.attention[name].weights
        if name != "pooled":  # shares of maxima, of which two may be nearly equal
            np.testing.assert_allclose(attention.weights, other, atol=CLOSE)
    explore_text(loaded, "A tender film.")
    monkeypatch.undo()
    assert len(loaded.corpus.splits["test"]) == 200


def test_the_file_holds_halves_of_the_parameters_and_no_word(published):
    spec, done = published
    path = weights_path(spec.id)
    stored = load_file(path)
    names = {name for name, _ in done.model.named_parameters()} - {"embedding.weight"}
    assert stored.keys() == names
    assert {values.dtype for values in stored.values()} == {torch.float16}
    data = path.read_bytes()
    assert not any(word.encode() in data for word in done.vocabulary.words if len(word) > 4)
    assert files(records.RESULTS) >= {f"weights/{spec.id}.safetensors", f"weights/{spec.id}.md"}


def test_the_record_names_the_file_also_when_the_run_is_published_again(published):
    spec, done = published
    digest = f"sha256:{file_digest(weights_path(spec.id))}"
    first = read_record(records.published_record(spec))
    again = read_record(publish(spec))
    assert first == again == json.loads(json.dumps(done.record)) | {DIGEST: digest}
    assert recorded_names() == [spec.id]
    assert load_run(records.RUNS / spec.id, spec).record == first
    assert records.state(spec).record is not None


def test_the_card_says_what_it_was_made_of_how_good_it_is_and_what_it_is_not_for(published, tiny):
    spec, done = published
    card = weights_path(spec.id).with_suffix(".md").read_text(encoding="utf-8")
    toy, sizes = catalog.CARDS["toy"], done.record["sizes"]
    for said in (
        *(
            spec.id,
            spec.system,
            toy.title,
            toy.terms,
            toy.citation,
            f"{sizes['train']} training texts",
        ),
        *(tiny.title, tiny.terms, tiny.citation, done.record["vectors"][0]["sha256"]),
        f"{done.record['test']['accuracy']:.2%} of 200 texts",
        f"{records.kept_accuracy(done.record):.2%} in the run",
        f"of {sizes['validation']} texts; 0 of them get another class",
        read_record(records.published_record(spec))[DIGEST],
        "must not be used",
    ):
        assert said in card
    names = [line.split("|")[1] for line in card.splitlines() if line.startswith("| ")]
    assert len(set(names)) == len(names) == 13


def test_a_card_says_when_the_test_half_was_left_unread(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "RUNS", tmp_path / "runs")
    monkeypatch.setattr(records, "RESULTS", tmp_path / "results")
    spec = replace(spec_of("agt"), test=False, limit=200)
    train(spec, records.RUNS / spec.id)
    card = publish_weights(records.RUNS / spec.id).with_suffix(".md").read_text(encoding="utf-8")
    assert "not measured: the run left the test half unread" in card
    assert "180 training texts, a part of the dataset" in card


UNFIT = {
    "a vocabulary of the corpus": (spec_of("agt", **{"text.vocabulary_from": "train"}), "'train'"),
    "no vectors": (
        spec_of("agt", **{"text.vectors": "none", "text.vocabulary_from": "train",
                          "text.without_vector": "random"}), "'none'",
    ),
    "trained vectors": (spec_of("agt", **{"model.frozen": False}), "embedding.weight changed"),
    "trained vectors of HAN": (
        spec_of("han", **{"training.embedding_rate": 1}), "embedding.weight changed",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("spec", "says"), UNFIT.values(), ids=UNFIT)
def test_settings_that_do_not_suffice_are_refused_with_those_that_do(
    spec, says, tmp_path, monkeypatch
):
    monkeypatch.setattr(records, "RUNS", tmp_path / "runs")
    monkeypatch.setattr(records, "RESULTS", tmp_path / "results")
    train(spec, records.RUNS / spec.id)
    with pytest.raises(SpecError, match=says) as refused:
        publish_weights(records.RUNS / spec.id)
    for needed in ("vocabulary_from='vectors'", "model.frozen=true", "embedding_rate=0"):
        assert needed in str(refused.value)
    assert not records.RESULTS.exists()


def test_vectors_of_ones_own_are_refused(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text("film 1 2\ndull 3 4\n")
    with pytest.raises(SpecError, match=r"text.vectors is 'mine.txt@.*word vectors of the catalog"):
        weights.check_recordable(spec_of("agt", **{"text.vectors": str(path)}))


def test_what_is_no_network_is_refused():
    with pytest.raises(SpecError, match="tfidf is no network"):
        weights.check_recordable(RunSpec("tfidf", "toy", "words"))


@pytest.mark.parametrize(("limit", "value"), [("LARGEST", 10_000), ("CLOSE", 1e-9)])
def test_too_large_or_too_different_and_nothing_is_kept(folder, monkeypatch, limit, value):
    before = (folder / "record.json").read_bytes()
    monkeypatch.setattr(weights, limit, value)
    says = {
        "LARGEST": "0.0 MB, and files of at most 0.01 MB",
        "CLOSE": "its logits differ by up to",
    }
    with pytest.raises(DataError, match=says[limit]):
        publish_weights(folder)
    assert files(records.RESULTS) == set() and (folder / "record.json").read_bytes() == before
    assert recorded_names() == []


def test_a_folder_that_is_not_its_runs_is_refused(folder, tmp_path):
    other = tmp_path / "elsewhere"
    shutil.copytree(folder, other)
    with pytest.raises(StaleRun, match=f"elsewhere holds {folder.name}: move it to"):
        publish_weights(other)
    with pytest.raises(StaleRun, match=r"nowhere.*cannot be read"):
        publish_weights(tmp_path / "nowhere")


@pytest.mark.parametrize("name", ["nope", "", "../runs/x", "/etc/passwd", "..\\x"])
def test_an_unknown_id_is_answered_with_those_there_are(folder, name):
    with pytest.raises(DataError, match="there are: none yet"):
        load_recorded(name)
    publish_weights(folder)
    (records.RESULTS / "weights" / "nope.safetensors").write_bytes(b"not one of ours")
    (records.RUNS / "x.safetensors").write_bytes(b"not one of ours")
    with pytest.raises(DataError, match=f"no recorded network .*; there are: {folder.name}"):
        load_recorded(name)


def flipped(path):
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


DAMAGES = {
    "a changed bit": flipped,
    "half": lambda path: path.write_bytes(path.read_bytes()[:1000]),
    "empty": lambda path: path.write_bytes(b""),
    "another network's": lambda path: save_file({"weight": torch.ones(2)}, path),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_file_is_named_with_what_to_do(folder, damage):
    path = publish_weights(folder)
    damage(path)
    with pytest.raises(DataError, match="is not the file that its record names") as refused:
        load_recorded(folder.name)
    for said in (str(path), "git checkout -- ", f"attention-course weights runs/{folder.name}"):
        assert said in str(refused.value)
    publish_weights(folder)
    assert load_recorded(folder.name).system.read(OURS)


def test_a_missing_file_is_named_with_what_to_do(folder):
    path = publish_weights(folder)
    path.unlink()
    with pytest.raises(DataError, match=r"safetensors cannot be read: No such file.*git checkout"):
        load_recorded(folder.name)


def one_wrong_shape(path):
    stored = load_file(path)
    save_file(stored | {"projection.weight": torch.ones(2, 2).half()}, path)


def one_too_few(path):
    stored = load_file(path)
    del stored["projection.weight"]
    save_file(stored, path)


FOREIGN = {
    "no tensors": lambda path: path.write_bytes(b"\x80\x04N."),
    "wrong shape": one_wrong_shape,
    "too few": one_too_few,
}


@pytest.mark.parametrize("foreign", FOREIGN.values(), ids=FOREIGN)
def test_a_foreign_file_that_a_record_names_is_one_error(folder, foreign):
    path = publish_weights(folder)
    foreign(path)
    record = read_record(record_file(folder.name))
    record[DIGEST] = f"sha256:{file_digest(path)}"
    records.write_json(record_file(folder.name), record)
    with pytest.raises(DataError, match="does not hold this network"):
        load_recorded(folder.name)


def test_other_settings_or_other_vectors_than_the_records_are_refused(folder, monkeypatch):
    publish_weights(folder)
    small = known_systems()["agt"].presets["small"]
    with monkeypatch.context() as patch:
        changed = replace(small, model=replace(small.model, hidden=16))
        patch.setitem(known_systems()["agt"].presets, "small", changed)
        with pytest.raises(StaleRun, match=r"model\.hidden is 32, but the spec asks for 16"):
            load_recorded(folder.name)
    path = record_file(folder.name)
    record = read_record(path)
    record["vectors"][0]["sha256"] = "0" * 64
    records.write_json(path, record)
    with pytest.raises(DataError, match="was trained with other vectors than tiny"):
        load_recorded(folder.name)


def test_a_recorded_network_is_loaded_whatever_part_of_its_dataset_is_here(folder):
    publish_weights(folder)
    path = record_file(folder.name)
    record = read_record(path)
    record["data"]["content"] = "0" * 64
    records.write_json(path, record)
    assert load_recorded(folder.name).system.read(OURS)


def test_the_command_writes_them_or_says_in_one_sentence_why_not(folder, capsys):
    assert cli.main(["weights", str(folder)]) == 0
    assert capsys.readouterr().out.strip() == f"{weights_path(folder.name)} (0.0 MB)"
    assert cli.main(["weights", str(folder.parent / "nope")]) == 2
    assert "nope" in capsys.readouterr().err


COMMITTED = [record for record in load_records() if DIGEST in record]


@pytest.mark.parametrize("record", COMMITTED, ids=lambda record: record["id"])
def test_a_committed_network_can_be_loaded_and_reads(record, no_network, monkeypatch):
    monkeypatch.setattr(records, "RESULTS", REPOSITORY / "results")  # not those made here
    done = load_recorded(record["id"])
    assert read_text(done, OURS).probabilities.sum() == pytest.approx(1)
    assert weights_path(record["id"]).stat().st_size <= LARGEST
    card = weights_path(record["id"]).with_suffix(".md").read_text(encoding="utf-8")
    assert record[DIGEST] in card


def test_committed_weights_are_those_of_records():
    paths = (REPOSITORY / "results" / "weights").glob("*")
    expected = {f"{record['id']}.{end}" for record in COMMITTED for end in ("safetensors", "md")}
    assert {path.name for path in paths} == expected
