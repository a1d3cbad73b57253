"""Rows to a prepared corpus: their order, what is verified, and what a failure leaves behind."""

import json
import random
from collections import Counter

import numpy as np
import pytest
from strategies import ORIGIN, made_up_card

from course_lib.data import corpus
from course_lib.data.batches import Batches
from course_lib.data.corpus import prepare
from course_lib.data.encoding import encode_documents
from course_lib.data.readers import Row, order_key
from course_lib.data.vocabulary import UNKNOWN, Vocabulary
from course_lib.files import DataError


def test_order_depends_on_the_rows_alone(tmp_path):
    rows = [Row("train", f"Review {i % 40}.", (i // 40) % 2) for i in range(100)]
    rows += [Row("test", "Other.", 1)]
    card = made_up_card(rows)
    results = []
    for seed in range(3):
        shuffled = random.Random(seed).sample(rows, len(rows))
        folder = tmp_path / str(seed)
        prepare(card, lambda shuffled=shuffled: iter(shuffled), ORIGIN, folder)
        splits = {s: corpus.datasets.load_from_disk(str(folder / "splits" / s)) for s in card.sizes}
        results.append({split: rows.to_dict() for split, rows in splits.items()})
    assert results[0] == results[1] == results[2]
    texts = results[0]["train"]["text"]
    assert texts != sorted(texts) and Counter(texts) == Counter(
        row.text for row in rows if row.split == "train"
    )


@pytest.mark.parametrize("part", [1, 7, 50])
def test_rows_read_in_parts_stand_in_the_order_of_one_sort(tmp_path, monkeypatch, part):
    rows = [Row("train", f"Review {i % 90}.", (i // 90) % 2) for i in range(200)]
    rows += [Row("test", "Other.", 1)]
    tables = []
    for size in (1000, part):
        monkeypatch.setattr(corpus, "READ", size)
        prepare(made_up_card(rows), lambda: iter(rows), ORIGIN, tmp_path / str(size))
        splits = corpus.datasets.load_from_disk(str(tmp_path / str(size) / "splits"))
        tables.append({split: table.to_dict() for split, table in splits.items()})
    assert tables[0] == tables[1]
    found = list(zip(tables[1]["train"]["text"], tables[1]["train"]["label"], strict=True))
    assert found == sorted(found, key=lambda row: (order_key(row[0]), row[1]))


def test_number_of_workers_changes_nothing(tmp_path):
    rows = [Row("train", f"Review {i}. It has {i % 7} stars.", i % 2) for i in range(1100)]
    card = made_up_card(rows)
    tables = []
    for workers in (1, 2):
        prepare(card, lambda: iter(rows), ORIGIN, tmp_path / str(workers), workers=workers)
        splits = corpus.datasets.load_from_disk(str(tmp_path / str(workers) / "splits"))
        tables.append(splits["train"].to_dict())
    assert tables[0] == tables[1]
    assert len(tables[0]["text"]) == 1100


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sizes": {"train": (2, 1)}}, r"made-up: train has \(1, 1\).*says \(2, 1\)"),
        ({"sizes": {"train": (1, 1), "test": (1, 0)}}, r"made-up: test has \(0, 0\)"),
        ({"content": "0" * 64}, f"made-up from a list: the rows hash to .*says {'0' * 64}"),
    ],
)
def test_rows_other_than_promised_are_refused_and_leave_nothing(tmp_path, change, message):
    rows = [Row("train", "a", 0), Row("train", "b", 1)]
    with pytest.raises(DataError, match=message):
        prepare(
            made_up_card(rows, **change), lambda: iter(rows), ORIGIN, tmp_path / "p" / "made-up"
        )
    assert list((tmp_path / "p").iterdir()) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows[:-1] + [rows[-1]._replace(text=rows[-1].text + "!")],
        lambda rows: [rows[0]._replace(label=1), rows[1]._replace(label=0)] + rows[2:],
        lambda rows: rows[2:] + [rows[0], rows[0]._replace(label=rows[1].label)],
    ],
)
def test_content_digest_sees_a_changed_text_and_exchanged_labels(tmp_path, change):
    rows = [Row("train", f"Review {i}.", i % 2) for i in range(6)]
    digests = []
    for version in (rows, change(rows)):
        folder = tmp_path / str(len(digests))
        prepare(made_up_card(rows), lambda version=version: iter(version), ORIGIN, folder)
        digests.append(json.loads((folder / "provenance.json").read_text())["content"])
    assert digests[0] != digests[1]


@pytest.mark.parametrize("stop", [DataError("line 7"), KeyboardInterrupt(), MemoryError()])
def test_reading_that_stops_half_way_leaves_nothing(tmp_path, stop):
    def read():
        yield from (Row("train", str(i), 0) for i in range(1200))
        raise stop

    card = made_up_card([Row("train", "x", 0)])
    with pytest.raises(type(stop)):
        prepare(card, read, ORIGIN, tmp_path / "p" / "made-up")
    assert list((tmp_path / "p").iterdir()) == []


def overflowing(rows):
    """Rows, then the last one again and again; far more are a failure to stop."""
    yield from rows
    for _ in range(3 * corpus.READ):
        yield rows[-1]
    pytest.fail("reading went on and on")


@pytest.mark.parametrize(
    ("last", "message"),
    [
        (Row("train", "b", 1), "made-up: train has more rows of class positive than the 1 that"),
        (Row("train", "b", 2), "made-up: train has more rows of class 2 than the 0 that"),
        (Row("train", "b", -1), "made-up: train has more rows of class -1 than the 0 that"),
        (Row("dev", "b", 1), "made-up: a row of split 'dev'; the catalog has train, test"),
    ],
)
def test_reading_stops_soon_after_the_rows_that_were_promised(tmp_path, last, message):
    sizes = {"train": (1, 1), "test": (1, 0)}
    rows = [Row("train", "a", 0), last]
    with pytest.raises(DataError, match=message):
        prepare(
            made_up_card([], sizes=sizes),
            lambda: overflowing(rows),
            ORIGIN,
            tmp_path / "p" / "made-up",
        )
    assert list((tmp_path / "p").iterdir()) == []


def test_what_is_being_prepared_lies_under_one_temporary_name(tmp_path):
    """So a run that is killed leaves nothing but what ``clear_leftovers`` removes."""
    rows = [Row("train", str(i), 0) for i in range(3)]
    names = []

    def read():
        yield from rows
        names.extend(path.name for path in tmp_path.iterdir())

    prepare(made_up_card(rows), read, ORIGIN, tmp_path / "made-up")
    (name,) = names
    assert name.startswith(".made-up.")
    assert [path.name for path in tmp_path.iterdir()] == ["made-up"]


def test_empty_and_enormous_reviews_survive_to_the_batch(tmp_path):
    rows = [
        Row("train", "", 0),
        Row("train", "x" * 100_000, 1),
        Row("train", " ".join(["word"] * 100_000), 1),
        Row("train", "A word.", 0),
    ]
    card = made_up_card(rows)
    prepare(card, lambda: iter(rows), ORIGIN, tmp_path / "made-up")
    split = corpus.datasets.load_from_disk(str(tmp_path / "made-up" / "splits"))["train"]
    assert Counter(map(len, split["tokens"])) == {0: 1, 1: 1, 100_000: 1, 3: 1}
    vocabulary = Vocabulary.build(split, minimum=2)
    assert vocabulary.words == ("word",)
    documents = encode_documents(split, vocabulary)
    by_text = {row["text"][:7]: i for i, row in enumerate(split)}
    whole = documents.batch(np.arange(4))
    assert whole.tokens.shape == (4, 1, 100_000)
    real = {text: whole.tokens[i][whole.mask[i]].tolist() for text, i in by_text.items()}
    assert real[""] == []
    assert real["x" * 7] == [UNKNOWN]
    assert real["word wo"] == [2] * 100_000
    assert real["A word."] == [UNKNOWN, 2, UNKNOWN]
    for batch in Batches(encode_documents(split, vocabulary, 5, 7), 1, seed=0).epoch():
        assert batch.tokens.numel() <= 7
