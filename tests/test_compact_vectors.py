"""The committed word vectors: how they are made smaller, and that they are what the card says."""

import json

import numpy as np
import pyarrow as pa
import pytest

from course_kit.research.vectors.compact_vectors import (
    COMPACT,
    CompactConfig,
    chosen_words,
    compacted,
    in_bytes,
    make_compact,
)
from course_lib.data.catalog import card
from course_lib.data.vector_store import custom_vectors
from course_lib.data.vectors import Vectors, load_vectors
from course_lib.files import file_digest

RNG = np.random.default_rng(0)
OURS = Vectors("ours", pa.array(["good", "bad", "film", "rare"]), RNG.normal(size=(4, 6)), None)
THEIRS = Vectors("theirs", pa.array(["the", "bad", "bank", "film"]), RNG.normal(size=(4, 3)), None)


def test_the_first_words_of_ours_then_new_ones_of_theirs():
    config = CompactConfig(first=3, second=2)
    assert chosen_words(OURS, THEIRS, config) == ["good", "bad", "film", "the", "bank"]


def test_nothing_is_lost_where_all_directions_are_kept():
    """A rotation keeps all inner products of the centred, weighted parts."""
    words, vectors = compacted(OURS, THEIRS, CompactConfig(first=4, second=2, width=9, weight=3.0))
    parts = []
    for part, weight in ((OURS, 3.0), (THEIRS, 1.0)):
        rows = part.rows_of(tuple(words))
        matrix = np.where(rows[:, None] < 0, np.nan, part.matrix[rows])
        matrix = np.nan_to_num(matrix - np.nanmean(matrix, 0))
        matrix *= np.sqrt(weight * (rows >= 0).sum() / np.square(matrix).sum())
        parts.append(matrix)
    both = np.hstack(parts)
    expected = both @ both.T
    products = vectors @ vectors.T
    products, expected = products / np.trace(products), expected / np.trace(expected)
    np.testing.assert_allclose(products, expected, atol=1e-6)
    assert vectors.std() == pytest.approx(0.4, rel=1e-5)


def test_fewer_directions_are_those_of_the_largest_variance():
    config = CompactConfig(first=4, second=2, width=2)
    _, kept = compacted(OURS, THEIRS, config)
    _, whole = compacted(OURS, THEIRS, CompactConfig(first=4, second=2, width=9))
    values = np.linalg.svd(whole, compute_uv=False)
    ratio = np.linalg.svd(kept, compute_uv=False) / values[:2]
    assert ratio[0] == pytest.approx(ratio[1], rel=1e-4)  # one scale for both


def test_bytes_are_within_half_a_step_of_the_numbers():
    vectors = RNG.normal(size=(50, 7)).astype(np.float32)
    vectors[3] = 0
    numbers, scale = in_bytes(vectors)
    assert numbers.dtype == np.int8 and abs(numbers).max() == 127
    assert (abs(numbers * scale[:, None] - vectors) <= scale[:, None] * 0.501).all()


@pytest.mark.parametrize(
    ("field", "value"), [("first", 0), ("width", 1.5), ("weight", -1.0), ("deviation", None)]
)
def test_a_wrong_setting_is_named(field, value):
    with pytest.raises(ValueError, match=field):
        CompactConfig(**{field: value})


def test_the_file_and_its_record_are_written_and_can_be_read(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_DATA_DIR", str(tmp_path))
    for name, source in (("ours", OURS), ("theirs", THEIRS)):
        words, vectors = np.array(source.words.to_pylist()), source.matrix
        np.savez(tmp_path / f"{name}.npz", words=words, vectors=vectors)
    paths = [str(tmp_path / name) for name in ("ours.npz", "theirs.npz")]
    out = tmp_path / "small.npz"
    record = make_compact(*paths, CompactConfig(first=4, second=2, width=4), out)
    assert json.loads(out.with_suffix(".json").read_text(encoding="utf-8")) == record
    assert record["sha256"] == file_digest(out) and record["words"] == 6
    assert [part["width"] for part in record["made of"]] == [6, 3]
    assert load_vectors(custom_vectors(out)).matrix.shape == (6, 4)


def test_the_committed_file_is_the_cards_and_the_records(tmp_path):
    """Read into an empty cache: it needs no download."""
    vectors = load_vectors("reviews.100d", tmp_path)
    record = json.loads(COMPACT.with_suffix(".json").read_text(encoding="utf-8"))
    (download,) = card("reviews.100d").sources[0].downloads
    assert download.digest == f"sha256:{record['sha256']}" == f"sha256:{file_digest(COMPACT)}"
    assert download.size == record["bytes"] == COMPACT.stat().st_size <= 4e6
    assert vectors.matrix.shape == (record["words"], record["settings"]["width"]) == (30_000, 100)
    assert vectors.matrix.std() == pytest.approx(0.4, rel=0.01)
    awful, terrible, bank = vectors.matrix[vectors.rows_of(("Awful", "terrible", "bank"))]
    cosine = lambda a, b: a @ b / np.linalg.norm(a) / np.linalg.norm(b)  # noqa: E731
    assert cosine(awful, terrible) > 0.7 > 0.2 > cosine(awful, bank)
