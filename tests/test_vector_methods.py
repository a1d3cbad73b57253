"""The comparison of word vectors: coverage, neighbours and mean vectors."""

import datasets
import numpy as np
import pyarrow as pa
import pytest

from course_kit.research import report
from course_kit.research.vectors.vector_methods import mean_vectors, measure, neighbours
from course_lib.data.vectors import Vectors

MATRIX = np.array([[1, 0], [2, 0.1], [-1, 0], [0, 1]], np.float32)
VECTORS = Vectors("made up", pa.array(["good", "great", "bad", "bank"]), MATRIX, None)


def rows(texts, labels):
    return datasets.Dataset.from_dict({"tokens": [t.split() for t in texts], "label": labels})


def test_neighbours_are_those_of_the_largest_cosine_whatever_their_length():
    assert neighbours(VECTORS, "good", 3) == ["great", "bank", "bad"]
    assert neighbours(VECTORS, "Great", 1) == ["good"]
    assert neighbours(VECTORS, "xyzzy") == []


def test_a_text_is_the_mean_of_the_words_that_have_vectors_parts_side_by_side():
    texts = rows(["good Bad xyzzy", "xyzzy", "bank bank good"], [0, 0, 0])
    expected = np.array([[0, 0], [0, 0], [1 / 3, 2 / 3]])
    means = mean_vectors([VECTORS, VECTORS], texts)
    np.testing.assert_allclose(means, np.hstack([expected, expected]), atol=1e-7)


def test_coverage_is_of_validation_words_and_the_classifier_learns_from_training_texts():
    of = {
        "train": rows(["good", "great", "bad", "bad good bad"] * 5, [1, 1, 0, 0] * 5),
        "validation": rows(["great xyzzy", "bad bad"], [1, 0]),
    }
    measured = measure([VECTORS], of, limit=20)
    assert measured == {
        "occurrences": pytest.approx(3 / 4), "words": pytest.approx(2 / 3), "accuracy": 1.0,
        "texts": 2,
    }  # fmt: skip
    of["validation"] = of["validation"].remove_columns("label").add_column("label", [0, 1])
    assert measure([VECTORS], of, limit=20)["accuracy"] == 0


def test_the_tables_hold_what_the_record_says():
    measured = {"accuracy": 0.7512, "occurrences": 0.98, "words": 0.5, "texts": 9}
    record = {
        "corpora": {"sst2": {"GloVe": measured}, "imdb": {"GloVe": measured | {"accuracy": 0.9}}},
        "neighbours": {"GloVe": {"good": ["great", "fine"], "odd": []}},
    }
    assert report.vectors_table(record).split("\n") == [
        "| vectors | sst2 | imdb |", "|---|---:|---:|",
        "| GloVe | 75.1 (98 % covered) | 90.0 (98 % covered) |",
    ]  # fmt: skip
    assert report.neighbours_table(record).split("\n")[2:] == [
        "| good | great, fine |", "| odd |  |"
    ]  # fmt: skip


def test_a_missing_comparison_says_how_to_make_one(tmp_path):
    with pytest.raises(ValueError, match="attention-course vectors --compare"):
        report.vectors_record(tmp_path / "methods.json")
