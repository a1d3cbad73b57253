"""The test predictions that a run keeps: what they hold, how small they are, what damage is
noticed."""

import json
import pickle
import shutil

import datasets
import numpy as np
import pytest
import torch

from course_lib.data.corpus import load_corpus
from course_lib.files import REPOSITORY, DataError, file_digest
from course_lib.metrics import Predictions, classification_metrics
from course_lib.runs import folders
from course_lib.runs.predictions import read_predictions, write_predictions
from course_lib.runs.records import load_records, predictions_of, publish
from course_lib.runs.run import train
from course_lib.runs.spec import RunSpec

LARGEST = 90_000  # bytes, for the 25,000 reviews of IMDb's test half
SPEC = RunSpec("tfidf", "toy", "words", threads=1)
PLAN = SPEC.resolve()


def drawn(texts, classes, spread=3.0):
    """Predictions that compress badly, and their rows."""
    random = torch.Generator().manual_seed(0)
    probabilities = (spread * torch.randn(texts, classes, generator=random)).softmax(1)
    labels = torch.randint(classes, (texts,), generator=random)
    rows = {"text": [f"text {number}" for number in range(texts)], "label": labels.tolist()}
    return Predictions(probabilities, labels), datasets.Dataset.from_dict(rows)


@pytest.mark.parametrize("classes", [2, 5, 14])
def test_what_is_read_is_what_was_predicted_and_the_file_is_small_and_always_the_same(
    tmp_path, classes
):
    predictions, rows = drawn(25_000, classes)
    one, two = (
        write_predictions(tmp_path / name, predictions, rows) for name in ("a.npz", "b.npz")
    )
    assert one == two and (tmp_path / "a.npz").stat().st_size <= LARGEST
    found = read_predictions(tmp_path / "a.npz", one)
    highest, guess = predictions.probabilities.max(1)
    assert np.array_equal(found.classes, guess) and np.array_equal(found.labels, rows["label"][:])
    assert abs(found.probabilities - highest.numpy()).max() < 1e-5
    assert found.right.mean() == pytest.approx(classification_metrics(predictions)["accuracy"])


def test_even_odds_are_the_class_that_the_metrics_count(tmp_path):
    predictions = Predictions(torch.full((4, 2), 0.5), torch.tensor([0, 0, 0, 1]))
    rows = datasets.Dataset.from_dict({"text": list("abcd"), "label": [0, 0, 0, 1]})
    digest = write_predictions(tmp_path / "p.npz", predictions, rows)
    found = read_predictions(tmp_path / "p.npz", digest)
    assert found.right.mean() == classification_metrics(predictions)["accuracy"] == 0.75


def test_the_digest_of_the_items_tells_other_texts_labels_and_orders(tmp_path):
    texts, labels = ["one", "two", "three"], [0, 1, 1]
    rows = [
        (texts, labels),
        (texts, [1, 1, 1]),
        (["one", "two", "four"], labels),
        (texts[::-1], labels[::-1]),
        (texts[:2], labels[:2]),
    ]
    found = []
    for text, label in [*rows, rows[0]]:
        predictions = Predictions(torch.full((len(text), 2), 0.5), torch.tensor(label))
        table = datasets.Dataset.from_dict({"text": text, "label": label})
        digest = write_predictions(tmp_path / "p.npz", predictions, table)
        found.append(read_predictions(tmp_path / "p.npz", digest).items)
    assert len(set(found)) == len(rows) and found[0] == found[-1]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of runs, and a finished run in it."""
    runs = tmp_path_factory.mktemp("runs")
    return runs, train(SPEC, runs / PLAN.id)


@pytest.fixture
def kept(finished, places):
    """The predictions of a finished run in ``runs/``; ``results/`` is empty."""
    shutil.copytree(finished[0], folders.RUNS)
    return folders.RUNS / PLAN.id / "predictions.npz"


def test_a_run_keeps_its_test_predictions_and_publishes_them_with_its_record(finished, kept):
    done = finished[1]
    published = json.loads(publish(PLAN).read_text())
    assert f"sha256:{file_digest(kept)}" == published["predictions"] == done.record["predictions"]
    found = predictions_of(published)
    rows = load_corpus("toy").splits["test"]
    assert np.array_equal(found.labels, rows["label"][:])
    probabilities = done.system.evaluate(rows).predictions.probabilities.numpy()
    assert np.array_equal(found.classes, probabilities.argmax(1))
    assert found.right.mean() == pytest.approx(published["test"]["accuracy"])


def archive(**arrays):
    """What writes an archive of arrays to a path."""
    return lambda path: np.savez(path, **arrays)


THREE = np.zeros(3, np.uint8)
DAMAGES = {
    "missing": lambda path: path.unlink(),
    "a changed byte": lambda path: path.write_bytes(path.read_bytes()[:-1] + b"\1"),
    "of another run": archive(classes=THREE, labels=THREE, probabilities=THREE, items="x"),
}
FOREIGN = {
    "no archive": lambda path: path.write_text("not an archive"),
    "with code": archive(classes=np.array([print]), labels=THREE, probabilities=THREE, items="x"),
    "a pickle": lambda path: path.write_bytes(pickle.dumps([1])),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damaged_predictions_are_one_error_and_nothing_is_published(kept, damage):
    damage(kept)
    with pytest.raises(DataError, match=r"predictions\.npz"):
        publish(PLAN)
    assert not folders.RESULTS.exists()


@pytest.mark.parametrize("foreign", FOREIGN.values(), ids=FOREIGN)
def test_nothing_in_a_foreign_file_is_run_though_a_record_names_it(tmp_path, foreign):
    path = tmp_path / "predictions.npz"
    foreign(path)
    with pytest.raises(ValueError):
        read_predictions(path, f"sha256:{file_digest(path)}")


def test_committed_predictions_are_small_and_give_the_figures_of_their_records():
    items = {}
    committed = {r["id"]: r for r in load_records() if "predictions" in r}
    paths = sorted((REPOSITORY / "results" / "predictions").glob("*"))
    assert {path.name for path in paths} == {f"{name}.npz" for name in committed}
    assert all(path.stat().st_size <= LARGEST for path in paths)
    for name, record in committed.items():
        found = predictions_of(record)
        assert len(found.classes) == record["sizes"]["test"], name
        assert found.right.mean() == pytest.approx(record["test"]["accuracy"], abs=1e-6), name
        confusion = np.zeros_like(record["test"]["confusion"])
        np.add.at(confusion, (found.labels, found.classes), 1)
        assert confusion.tolist() == record["test"]["confusion"], name
        rows = record["data"]["content"]
        assert items.setdefault(rows, found.items) == found.items, name
