"""Word vectors of our own: what they may read, how they are trained and stored."""

import json

import datasets
import numpy as np
import pytest

from course_kit.research.word_vectors import film_vectors
from course_kit.research.word_vectors.compact_vectors import COMPACT, in_bytes
from course_kit.research.word_vectors.config import METHODS, VectorsConfig
from course_kit.research.word_vectors.film_vectors import (
    make_vectors,
    readable_reviews,
)
from course_lib.data.catalog import card
from course_lib.data.corpus import Corpus, Provenance
from course_lib.data.sources import NotObtained
from course_lib.data.vector_files import custom_vectors
from course_lib.data.vectors import load_vectors
from course_lib.files import file_digest
from course_lib.runs.systems import known_systems

# What they may read


def rows(texts):
    """Reviews of one sentence each."""
    tokens = [text.split() for text in texts]
    lengths = [[len(words)] for words in tokens]
    columns = {"text": texts, "tokens": tokens, "sentence_lengths": lengths}
    return datasets.Dataset.from_dict(columns | {"label": [0] * len(texts)})


def corpus(name, **splits):
    of_splits = {split: rows(texts) for split, texts in splits.items()}
    return Corpus(card(name), of_splits, Provenance(name, "made up", {}, content="0" * 64))


def test_no_review_that_is_evaluated_is_read():
    held = ["Held out one", "Held out two"]  # the first fifth of ten
    train = [*held, *(f"Review number {word}" for word in "abcdefg"), "A Test text"]
    labelled = corpus("imdb", train=train, test=["a  test TEXT", "another"])
    unlabelled = corpus("imdb_unlabelled", train=["New", "held OUT two", "another", "Newer still"])
    reviews = readable_reviews(labelled, unlabelled)
    read = [" ".join(words) for words in reviews.sentences()]
    assert read == [*(f"review number {word}" for word in "abcdefg"), "new", "newer still"]
    same = "same text as an evaluated review"
    dropped = {"held out for validation": 2, f"imdb: {same}": 1, f"imdb_unlabelled: {same}": 2}
    assert reviews.dropped == dropped


def test_a_review_of_several_sentences_is_read_sentence_by_sentence():
    one = {"text": "A b. C", "label": 0, "tokens": ["A", "b", ".", "C"], "sentence_lengths": [3, 1]}
    reviews = film_vectors.Reviews({"imdb": datasets.Dataset.from_list([one])}, {})
    assert list(reviews.sentences()) == [["a", "b", "."], ["c"]]


def test_no_preset_validates_on_a_review_that_the_vectors_have_read():
    """They leave out the first ``HELD_OUT`` of the training half, where every split begins."""
    presets = [p for system in known_systems().values() for p in system.presets.values()]
    assert max(p.text.validation_share for p in presets) <= film_vectors.HELD_OUT


# How they are trained


@pytest.fixture
def made_up(monkeypatch):
    """Corpora in which *good* and *fine* stand in the same places, and *bad* in others."""
    kind = [f"the {word} film was a joy" for word in ("good", "fine")] * 150
    other = ["a bad day at the dull office"] * 150
    found = {
        "imdb": corpus("imdb", train=["held out"] * 90 + kind + other, test=["none"]),
        "imdb_unlabelled": corpus("imdb_unlabelled", train=kind),
    }
    monkeypatch.setattr(film_vectors, "load_corpus", found.__getitem__)
    return found


SMALL = {"width": 16, "window": 3, "epochs": 20, "least": 2, "sample": 0.0, "threads": 1}


def cosine(a, b):
    return a @ b / np.linalg.norm(a) / np.linalg.norm(b)


@pytest.mark.parametrize("method", METHODS)
def test_words_of_the_same_places_get_like_vectors_that_a_run_can_read(method, made_up, tmp_path):
    record = make_vectors(VectorsConfig(method=method, **SMALL), tmp_path / "ours.npz")
    vectors = load_vectors(custom_vectors(tmp_path / "ours.npz"))
    good, fine, bad = np.asarray(vectors.matrix[vectors.rows_of(("good", "Fine", "bad"))])
    assert cosine(good, fine) > cosine(good, bad)
    assert vectors.matrix.shape == (record["words"], 16)
    assert "held" not in vectors.words.to_pylist()
    assert json.loads((tmp_path / "ours.json").read_text(encoding="utf-8")) == record
    assert record["settings"]["method"] == method and len(record["sha256"]) == 64
    assert sorted(path.name for path in tmp_path.glob("ours*")) == ["ours.json", "ours.npz"]


def test_one_thread_and_a_seed_repeat_the_vectors_and_another_seed_does_not(made_up, tmp_path):
    arrays = []
    for place, seed in enumerate((0, 0, 1)):
        make_vectors(VectorsConfig(seed=seed, **SMALL), tmp_path / f"{place}.npz")
        arrays.append(np.load(tmp_path / f"{place}.npz")["vectors"])
    assert np.array_equal(arrays[0], arrays[1]) and not np.array_equal(arrays[0], arrays[2])


def test_without_the_unlabelled_reviews_the_record_says_so(made_up, monkeypatch, tmp_path, capsys):
    def load(name):
        if name == "imdb_unlabelled":
            raise NotObtained("imdb_unlabelled: nothing could be fetched")
        return made_up[name]

    monkeypatch.setattr(film_vectors, "load_corpus", load)
    record = make_vectors(VectorsConfig(**SMALL), tmp_path / "ours.npz")
    assert list(record["data"]) == list(record["reviews"]) == ["imdb"]
    assert "training half alone" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("field", "value"), [("method", "glove"), ("width", 0), ("seed", -1), ("sample", -1.0)]
)
def test_a_wrong_setting_is_named(field, value):
    with pytest.raises(ValueError, match=field):
        VectorsConfig(**{field: value})


# How they are stored


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
