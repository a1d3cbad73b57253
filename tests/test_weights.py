"""Recorded networks: written small and without text, loaded as they were, refused if changed."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
from recorded import FROZEN, record_file, spec_of, tiny_vectors
from safetensors.torch import load_file, save_file
from strategies import files_below

from course_kit.publishing import recorded_weights
from course_kit.publishing.recorded_weights import CLOSE, LARGEST, publish_weights
from course_lib import cli
from course_lib.data import catalog
from course_lib.data.text import TokenisedText
from course_lib.explore import explore_text, read_text
from course_lib.files import REPOSITORY, DataError, file_digest
from course_lib.runs import folders, records, run
from course_lib.runs.folders import recorded_names, weights_path
from course_lib.runs.records import StaleRun, load_records, publish, read_record
from course_lib.runs.run import load_run, train
from course_lib.runs.settings import SpecError
from course_lib.runs.spec import RunSpec
from course_lib.runs.systems import known_systems
from course_lib.runs.weights import DIGEST, load_recorded
from course_lib.training.weights import save_weights

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
        patch.setattr(folders, "RUNS", place / "runs")
        patch.setattr(folders, "RESULTS", place / "results")
        done = train(spec, folders.RUNS / spec.resolve().id)
        publish_weights(folders.RUNS / spec.resolve().id)
        yield spec, done


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of runs, with one of AGT."""
    runs = tmp_path_factory.mktemp("finished")
    spec = spec_of("agt")
    train(spec, runs / spec.resolve().id)
    return runs


@pytest.fixture
def folder(finished, places):
    """That run in ``runs/``."""
    shutil.copytree(finished, folders.RUNS)
    return folders.RUNS / spec_of("agt").resolve().id


def logits(system, rows):
    batch = system.encode(rows).batch(np.arange(len(rows)))
    with torch.inference_mode():
        return system.model.eval()(batch.tokens, batch.mask).logits


@pytest.mark.full
def test_a_recorded_network_is_the_trained_one_but_for_float16(published):
    spec, done = published
    loaded = load_recorded(spec.resolve().id)
    assert type(loaded) is type(done) and type(loaded.system) is type(done.system)
    rows = done.corpus.splits["test"].select(range(40))
    expected = logits(done.system, rows)
    difference = (logits(loaded.system, rows) - expected).abs().max()
    assert 0 < difference <= CLOSE * max(1, expected.abs().max())
    assert not loaded.model.training and loaded.vocabulary == done.vocabulary
    assert torch.equal(loaded.model.embedding.weight, done.model.embedding.weight)
    assert {(p.dtype, p.device.type) for p in loaded.model.parameters()} == {(torch.float32, "cpu")}


def test_committed_weights_are_written_again_byte_for_byte(tmp_path):
    """All that were written since files have a digest in their metadata."""
    committed = sorted((REPOSITORY / "results" / "weights").glob("*.safetensors"))
    with_digest = [path for path in committed if b'"digest":' in path.read_bytes()[:400]]
    assert len(with_digest) >= 5
    for path in with_digest:
        save_weights(load_file(path), tmp_path / path.name)
        assert (tmp_path / path.name).read_bytes() == path.read_bytes(), path.name


@pytest.mark.full
def test_it_reads_a_text_without_any_dataset(published, no_network, monkeypatch):
    spec, done = published

    def refuse(name, first=None):
        raise AssertionError("reading takes no dataset")

    monkeypatch.setattr(run, "load_corpus", refuse)
    loaded = load_recorded(spec.resolve().id)
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
    path = weights_path(spec.resolve().id)
    stored = load_file(path)
    names = {name for name, _ in done.model.named_parameters()} - {"embedding.weight"}
    assert stored.keys() == names
    assert {values.dtype for values in stored.values()} == {torch.float16}
    data = path.read_bytes()
    assert not any(word.encode() in data for word in done.vocabulary.words if len(word) > 4)
    made = {f"weights/{spec.resolve().id}.safetensors", f"weights/{spec.resolve().id}.md"}
    assert made <= {*files_below(folders.RESULTS)}


def test_the_record_names_the_file_also_when_the_run_is_published_again(published):
    spec, done = published
    digest = f"sha256:{file_digest(weights_path(spec.resolve().id))}"
    first = read_record(records.published_record(spec, spec.resolve().id))
    again = read_record(publish(spec.resolve()))
    assert first == again == json.loads(json.dumps(done.record)) | {DIGEST: digest}
    assert recorded_names() == [spec.resolve().id]
    assert load_run(folders.RUNS / spec.resolve().id, spec).record == first
    assert records.state(spec.resolve()).path is not None


def test_the_card_says_what_it_was_made_of_how_good_it_is_and_what_it_is_not_for(published, tiny):
    spec, done = published
    card = weights_path(spec.resolve().id).with_suffix(".md").read_text(encoding="utf-8")
    toy, sizes = catalog.CARDS["toy"], done.record["sizes"]
    for said in (
        *(spec.resolve().id, spec.system, toy.title, toy.terms, toy.citation),
        *(tiny.title, tiny.terms, tiny.citation, done.record["vectors"][0]["sha256"]),
        f"{sizes['train']} training texts",
        f"{done.record['test']['accuracy']:.2%} of 200 texts",
        f"{records.kept_accuracy(done.record):.2%} in the run",
        f"of {sizes['validation']} texts; 0 of them get another class",
        read_record(records.published_record(spec, spec.resolve().id))[DIGEST],
        "must not be used",
    ):
        assert said in card
    names = [line.split("|")[1] for line in card.splitlines() if line.startswith("| ")]
    assert len(set(names)) == len(names) == 13


@pytest.mark.usefixtures("places")
def test_a_card_says_when_the_test_half_was_left_unread():
    spec = replace(spec_of("agt"), test=False, limit=200)
    train(spec, folders.RUNS / spec.resolve().id)
    path = publish_weights(folders.RUNS / spec.resolve().id)
    card = path.with_suffix(".md").read_text(encoding="utf-8")
    assert "not measured: the run left the test half unread" in card
    assert "180 training texts, a part of the dataset" in card


UNFIT = {
    "a vocabulary of the corpus": ({"text.vocabulary_from": "train"}, "'train'"),
    "no vectors": (
        {"text.vectors": "none", "text.vocabulary_from": "train", "text.without_vector": "random"},
        "'none'",
    ),
    "trained vectors": ({"model.frozen": False}, "embedding.weight changed"),
}


@pytest.mark.usefixtures("places")
@pytest.mark.parametrize(("changes", "says"), UNFIT.values(), ids=UNFIT)
def test_settings_that_do_not_suffice_are_refused_with_those_that_do(changes, says):
    spec = spec_of("agt", **changes)
    train(spec, folders.RUNS / spec.resolve().id)
    with pytest.raises(SpecError, match=says) as refused:
        publish_weights(folders.RUNS / spec.resolve().id)
    for needed in ("vocabulary_from='vectors'", "model.frozen=true", "embedding_rate=0"):
        assert needed in str(refused.value)
    assert not folders.RESULTS.exists()


def test_vectors_of_ones_own_and_what_is_no_network_are_refused(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text("film 1 2\ndull 3 4\n")
    with pytest.raises(SpecError, match=r"text.vectors is 'mine.txt@.*word vectors of the catalog"):
        recorded_weights.check_recordable(spec_of("agt", **{"text.vectors": str(path)}).resolve())
    with pytest.raises(SpecError, match="tfidf is no network"):
        recorded_weights.check_recordable(RunSpec("tfidf", "toy", "words").resolve())


@pytest.mark.parametrize(
    ("limit", "value", "says"),
    [
        ("LARGEST", 10_000, "0.0 MB, and files of at most 0.01 MB"),
        ("CLOSE", 1e-9, "its logits differ by up to"),
    ],
)
def test_too_large_or_too_different_and_nothing_is_kept(folder, monkeypatch, limit, value, says):
    before = (folder / "record.json").read_bytes()
    monkeypatch.setattr(recorded_weights, limit, value)
    with pytest.raises(DataError, match=says):
        publish_weights(folder)
    assert files_below(folders.RESULTS) == [] and (folder / "record.json").read_bytes() == before
    assert recorded_names() == []


def test_a_folder_that_is_not_its_runs_is_refused(folder, tmp_path):
    other = tmp_path / "elsewhere"
    shutil.copytree(folder, other)
    with pytest.raises(StaleRun, match=f"elsewhere holds {folder.name}: move it to"):
        publish_weights(other)
    with pytest.raises(StaleRun, match="nowhere: no finished run; attention-course run prints"):
        publish_weights(tmp_path / "nowhere")


@pytest.mark.parametrize("name", ["nope", "", "../runs/x", "/etc/passwd", "..\\x"])
def test_an_unknown_id_is_answered_with_those_there_are(folder, name):
    with pytest.raises(DataError, match="there are: none yet"):
        load_recorded(name)
    publish_weights(folder)
    (folders.RESULTS / "weights" / "nope.safetensors").write_bytes(b"not one of ours")
    (folders.RUNS / "x.safetensors").write_bytes(b"not one of ours")
    with pytest.raises(DataError, match=f"no recorded network .*; there are: {folder.name}"):
        load_recorded(name)


def flipped(path):
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def with_tensors(change):
    """A file of tensors whose dictionary is changed."""
    return lambda path: save_file(change(load_file(path)), path)


OTHER, NOT_OURS = "the file is damaged or another version", "does not hold this network"
DAMAGES = {  # what happens to the file, whether the record names it so, and what is said
    "a changed bit": (flipped, False, OTHER),
    "missing": (lambda path: path.unlink(), False, "cannot be read .No such file"),
    "no tensors": (lambda path: path.write_bytes(b"\x80\x04N."), True, NOT_OURS),
    "another network's": (with_tensors(lambda _: {"weight": torch.ones(2)}), True, NOT_OURS),
    "wrong shape": (
        with_tensors(lambda stored: stored | {"projection.weight": torch.ones(2, 2).half()}),
        True,
        NOT_OURS,
    ),
}


@pytest.mark.parametrize(("damage", "named", "says"), DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_or_foreign_file_is_named_with_what_to_do(folder, damage, named, says):
    path = publish_weights(folder)
    damage(path)
    if named:
        change_record(folder.name, lambda record: record | {DIGEST: f"sha256:{file_digest(path)}"})
    with pytest.raises(DataError, match=says) as refused:
        load_recorded(folder.name)
    again = f"attention-course author weights runs/{folder.name}"
    for said in (str(path), "git checkout -- ", again):
        assert said in str(refused.value)
    publish_weights(folder)
    assert load_recorded(folder.name).system.read(OURS)


def change_record(name, change):
    path = record_file(name)
    records.write_json(path, change(read_record(path)))


def test_other_settings_or_other_vectors_than_the_records_are_refused(folder, monkeypatch):
    publish_weights(folder)
    small = known_systems()["agt"].presets["small"]
    with monkeypatch.context() as patch:
        changed = replace(small, model=replace(small.model, hidden=16))
        patch.setitem(known_systems()["agt"].presets, "small", changed)
        with pytest.raises(StaleRun, match=r"model\.hidden is 32, but the spec asks for 16"):
            load_recorded(folder.name)
    vectors = [read_record(record_file(folder.name))["vectors"][0] | {"sha256": "0" * 64}]
    change_record(folder.name, lambda record: record | {"vectors": vectors})
    with pytest.raises(DataError, match="was trained with other vectors than tiny"):
        load_recorded(folder.name)


def test_a_recorded_network_is_loaded_whatever_part_of_its_dataset_is_here(folder):
    publish_weights(folder)
    other = {"content": "0" * 64}
    change_record(folder.name, lambda record: record | {"data": record["data"] | other})
    assert load_recorded(folder.name).system.read(OURS)


def test_the_command_writes_them_or_says_in_one_sentence_why_not(folder, capsys):
    assert cli.main(["weights", str(folder)]) == 0
    assert capsys.readouterr().out.strip() == f"{weights_path(folder.name)} (0.0 MB)"
    assert cli.main(["weights", str(folder.parent / "nope")]) == 2
    assert "nope" in capsys.readouterr().err


@pytest.mark.full
def test_committed_networks_can_be_loaded_and_read_and_each_file_has_its_record(
    no_network, monkeypatch
):
    monkeypatch.setattr(folders, "RESULTS", REPOSITORY / "results")  # not those made here
    committed = {r["id"]: r for r in load_records() if DIGEST in r}
    paths = (REPOSITORY / "results" / "weights").glob("*")
    expected = {f"{name}.{end}" for name in committed for end in ("safetensors", "md")}
    assert {path.name for path in paths} == expected
    for name, record in committed.items():
        if record["spec"]["system"] == "minilm":  # made again from the network's files: test_bert
            continue
        assert read_text(load_recorded(name), OURS).probabilities.sum() == pytest.approx(1), name
        assert weights_path(name).stat().st_size <= LARGEST, name
        assert record[DIGEST] in weights_path(name).with_suffix(".md").read_text(encoding="utf-8")
