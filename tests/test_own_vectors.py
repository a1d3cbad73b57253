"""Word vectors of our own: what they may read, how they are trained, and what their record says."""

import json
import tarfile

import datasets
import numpy as np
import pytest

from course_kit.research.vectors import own_vectors
from course_kit.research.vectors.own_vectors import VectorsConfig, make_vectors, readable_texts
from course_lib import cli
from course_lib.data.catalog import card
from course_lib.data.corpus import Corpus, Provenance
from course_lib.data.readers import READERS
from course_lib.data.sources import NotObtained
from course_lib.data.vector_store import custom_vectors
from course_lib.data.vectors import load_vectors
from course_lib.files import DataError
from course_lib.runs.systems import known_systems


def rows(texts):
    """Reviews of one sentence each."""
    tokens = [text.split() for text in texts]
    return datasets.Dataset.from_dict(
        {
            "text": texts,
            "label": [0] * len(texts),
            "tokens": tokens,
            "sentence_lengths": [[len(words)] for words in tokens],
        }
    )


def corpus(name, **splits):
    of_splits = {split: rows(texts) for split, texts in splits.items()}
    return Corpus(card(name), of_splits, Provenance(name, "made up", {}, content="0" * 64))


HELD = ["Held out one", "Held out two"]  # the first fifth of ten
LABELLED = [*HELD, *(f"Review number {word}" for word in "abcdefg"), "A Test text"]


@pytest.fixture
def reviews():
    labelled = corpus("imdb", train=LABELLED, test=["a  test TEXT", "another"])
    unlabelled = corpus("imdb_unlabelled", train=["New", "held OUT two", "another", "Newer still"])
    return labelled, unlabelled


def test_no_review_that_is_evaluated_is_read(reviews):
    texts = readable_texts(*reviews)
    read = [" ".join(words) for words in texts.sentences()]
    assert read == [*(f"review number {word}" for word in "abcdefg"), "new", "newer still"]
    assert texts.dropped == {
        "held out for validation": 2,
        "imdb: same text as an evaluated review": 1,
        "imdb_unlabelled: same text as an evaluated review": 2,
    }


def test_a_review_of_several_sentences_is_read_sentence_by_sentence():
    one = {"text": "A b. C", "label": 0, "tokens": ["A", "b", ".", "C"], "sentence_lengths": [3, 1]}
    texts = own_vectors.Texts({"imdb": datasets.Dataset.from_list([one])}, {})
    assert list(texts.sentences()) == [["a", "b", "."], ["c"]]


@pytest.fixture
def made_up(monkeypatch):
    """Corpora in which *good* and *fine* stand in the same places, and *bad* in others."""
    kind = [f"the {word} film was a joy" for word in ("good", "fine")] * 150
    other = ["a bad day at the dull office"] * 150
    found = {
        "imdb": corpus("imdb", train=["held out"] * 90 + kind + other, test=["none"]),
        "imdb_unlabelled": corpus("imdb_unlabelled", train=kind),
    }
    monkeypatch.setattr(own_vectors, "load_corpus", found.__getitem__)
    return found


SMALL = {"width": 16, "window": 3, "epochs": 20, "least": 2, "sample": 0.0, "threads": 1}


@pytest.mark.parametrize("method", own_vectors.METHODS)
def test_words_of_the_same_places_get_like_vectors_that_a_run_can_read(method, made_up, tmp_path):
    record = make_vectors(VectorsConfig(method=method, **SMALL), tmp_path / "ours.npz")
    vectors = load_vectors(custom_vectors(tmp_path / "ours.npz", tmp_path), tmp_path)
    good, fine, bad = np.asarray(vectors.matrix[vectors.rows_of(("good", "Fine", "bad"))])
    cosine = lambda a, b: a @ b / np.linalg.norm(a) / np.linalg.norm(b)  # noqa: E731
    assert cosine(good, fine) > cosine(good, bad)
    assert vectors.matrix.shape == (record["words"], 16)
    assert "held" not in vectors.words.to_pylist()
    assert json.loads((tmp_path / "ours.json").read_text(encoding="utf-8")) == record
    assert record["settings"]["method"] == method and len(record["sha256"]) == 64
    assert sorted(path.name for path in tmp_path.glob("ours*")) == ["ours.json", "ours.npz"]


def test_one_thread_and_a_seed_repeat_the_vectors_and_another_seed_does_not(made_up, tmp_path):
    made = [
        make_vectors(VectorsConfig(seed=seed, **SMALL), tmp_path / f"{place}.npz")
        for place, seed in enumerate((0, 0, 1))
    ]
    arrays = [np.load(tmp_path / f"{place}.npz")["vectors"] for place in range(len(made))]
    assert np.array_equal(arrays[0], arrays[1]) and not np.array_equal(arrays[0], arrays[2])


def test_without_the_unlabelled_reviews_the_record_says_so(made_up, monkeypatch, tmp_path, capsys):
    def load(name):
        if name == "imdb_unlabelled":
            raise NotObtained("imdb_unlabelled: nothing could be fetched")
        return made_up[name]

    monkeypatch.setattr(own_vectors, "load_corpus", load)
    record = make_vectors(VectorsConfig(**SMALL), tmp_path / "ours.npz")
    assert list(record["data"]) == list(record["reviews"]) == ["imdb"]
    assert "training half alone" in capsys.readouterr().out


@pytest.mark.parametrize("field", [{"method": "glove"}, {"width": 0}, {"seed": -1}, {"threads": 0}])
def test_a_wrong_setting_is_named(field):
    with pytest.raises(ValueError, match=next(iter(field))):
        VectorsConfig(**field)


def test_unlabelled_reviews_are_read_out_of_the_maas_tree(tmp_path):
    source = tmp_path / "aclImdb"
    for place, text in {"train/unsup/1_0.txt": "one<br />two", "train/neg/1_2.txt": "no"}.items():
        (source / place).parent.mkdir(parents=True, exist_ok=True)
        (source / place).write_text(text)
    with tarfile.open(tmp_path / "tree.tar.xz", "w:xz") as archive:
        archive.add(source, "aclImdb")
    found = list(READERS["acl_imdb_unlabelled"](tmp_path / "tree.tar.xz"))
    assert [(row.split, row.text, row.label) for row in found] == [("train", "one two", 0)]
    with tarfile.open(tmp_path / "evil.tar", "w") as archive:
        archive.add(source / "train/unsup/1_0.txt", "../../evil.txt")
    with pytest.raises(DataError, match="outside the archive"):
        list(READERS["acl_imdb_unlabelled"](tmp_path / "evil.tar"))


@pytest.mark.parametrize("option", ["--width", "--epochs", "--sample"])
def test_the_command_names_a_wrong_option_in_one_line(option, capsys, monkeypatch):
    monkeypatch.setattr(own_vectors, "make_vectors", lambda *_: pytest.fail("nothing may start"))
    assert cli.main(["vectors", option, "-1"]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"error: {option} takes") and said.count("\n") == 1


@pytest.mark.parametrize("name", known_systems())
def test_no_preset_validates_on_a_review_that_the_vectors_have_read(name):
    """They leave out the first ``HELD_OUT`` of the training half, where every split begins."""
    for preset, settings in known_systems()[name].presets.items():
        assert settings.text.validation_share <= own_vectors.HELD_OUT, preset
