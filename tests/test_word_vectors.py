"""Word vectors of our own: what they have read, and how they are stored."""

import json

import numpy as np
import pytest

from course_kit.research.word_vectors.compact_vectors import COMPACT, in_bytes
from course_lib.data.catalog import card
from course_lib.data.vectors import load_vectors
from course_lib.files import file_digest
from course_lib.runs.systems import known_systems


def test_no_preset_validates_on_a_review_that_the_vectors_have_read():
    """They leave out the first part of the training half, where every split begins."""
    record = json.loads(COMPACT.with_name("imdb-cbow-300d-s0.json").read_text(encoding="utf-8"))
    held_out = record["left out"]["held out for validation"] / sum(card("imdb").sizes["train"])
    presets = [p for system in known_systems().values() for p in system.presets.values()]
    assert max(p.text.validation_share for p in presets) <= held_out


def cosine(a, b):
    return a @ b / np.linalg.norm(a) / np.linalg.norm(b)


def test_bytes_are_within_half_a_step_of_the_numbers():
    vectors = np.random.default_rng(0).normal(size=(50, 7)).astype(np.float32)
    vectors[3] = 0
    numbers, scale = in_bytes(vectors)
    assert numbers.dtype == np.int8 and abs(numbers).max() == 127
    assert (abs(numbers * scale[:, None] - vectors) <= scale[:, None] * 0.501).all()


@pytest.mark.parametrize(("name", "width"), [("reviews.100d", 100), ("minilm.160d", 160)])
def test_a_committed_file_is_the_cards_and_the_records(name, width):
    """Read into an empty cache: it needs no download."""
    vectors, path = load_vectors(name), COMPACT.with_name(f"{name}.npz")
    record = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    (download,) = card(name).sources[0].downloads
    assert download.digest == f"sha256:{record['sha256']}" == f"sha256:{file_digest(path)}"
    assert download.size == record["bytes"] == path.stat().st_size <= 4e6
    assert vectors.matrix.shape == (record["words"], record["settings"]["width"]) == (30_000, width)
    assert vectors.matrix.std() == pytest.approx(0.4, rel=0.01)
    awful, terrible, bank = vectors.matrix[vectors.rows_of(("Awful", "terrible", "bank"))]
    assert cosine(awful, terrible) > 0.7 > 0.2 > cosine(awful, bank)
