"""The record of the trained specimens, on made-up reviews."""

import json

import pytest

from course_kit.exercises import museum
from course_kit.exercises.bugs import HEALTHY, MUSEUM
from course_kit.exercises.museum import MuseumSpec, train_museum
from course_lib.cli import main
from course_lib.data.corpus import load_corpus
from course_lib.runs.records import load_records

TOY = MuseumSpec("toy", rows=200, epochs=1, vectors="none")
PAIR = (HEALTHY, MUSEUM[0])


def losses(record):
    return [entry["epochs"][0]["train_loss"] for entry in record["specimens"]]


@pytest.mark.full
def test_a_record_says_what_was_run_and_repeats(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(museum, "train_museum", lambda spec: train_museum(spec, PAIR))
    path = tmp_path / "museum" / "specimens.json"
    arguments = ["--dataset", "toy", "--rows", "200", "--epochs", "1", "--vectors", "none"]
    assert main(["museum", *arguments, "--output", str(path)]) == 0
    record = json.loads(path.read_text())
    assert record["command"] == f"attention-course author museum {' '.join(arguments)}"
    assert record["sizes"] == {"train": 200, "validation": 60}
    assert record["data"]["content"] == load_corpus("toy").provenance.content
    assert {"commit", "device", "threads", "versions"} <= set(record["environment"])
    assert [entry["name"] for entry in record["specimens"]] == [each.name for each in PAIR]
    assert all(0 <= entry["accuracy"] <= 1 for entry in record["specimens"])
    assert losses(record) == losses(train_museum(TOY, PAIR))
    shown = capsys.readouterr().out
    assert all(f"\n{each.name:12} {each.wrong}" in shown for each in PAIR)


@pytest.mark.full
def test_the_order_of_specimens_changes_nothing():
    one, other = losses(train_museum(TOY, PAIR))
    assert one != other
    assert losses(train_museum(TOY, PAIR[::-1])) == [other, one]


def test_a_specimen_that_cannot_be_trained_is_recorded(monkeypatch):
    def broken(*documents, **settings):
        raise museum.TrainingError("loss is nan in epoch 1")

    monkeypatch.setattr(museum.BrokenHAN, "fit", broken)
    entry = train_museum(TOY, PAIR)["specimens"][0]
    assert entry["accuracy"] is None and entry["error"] == "loss is nan in epoch 1"


def test_the_museums_record_is_no_run():
    assert museum.RECORD.parent.parent.name == "results"
    assert all("spec" in record and "system" in record["spec"] for record in load_records())
