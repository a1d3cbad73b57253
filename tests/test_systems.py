"""Every system behind one protocol: built, trained, looked at, read, saved and loaded again."""

import json
from copy import copy
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from datasets import Dataset, concatenate_datasets

from course_lib.data.corpus import load_corpus
from course_lib.data.ngrams import hashed_ngrams
from course_lib.data.text import normalised
from course_lib.data.vectors import load_vectors
from course_lib.explore import read_rows, read_text
from course_lib.metrics.attention import gini
from course_lib.metrics.classification import classification_metrics
from course_lib.metrics.composition import selected_words
from course_lib.runs.run import load_run, split_rows, system_of, train
from course_lib.runs.settings import SpecError
from course_lib.runs.spec import RunSpec
from course_lib.runs.systems import NeuralSystem, known_systems
from course_lib.runs.systems.system import as_tokens
from course_lib.training.config import TrainingError

OURS = "A tender film. The acting is wonderful!"
ATTENTION = {
    "han": {"words": (1, 9), "sentences": (1, 2)},
    "sanet": {"block 1": (9, 9), "pooled": (1, 9)},
    "iram": {"steps": (3, 11)},
    "agt": {"layers": (4, 9)},
    "bilstm": {"words": (1, 9)},
    "tfidf": {},
    "transformer": dict.fromkeys(("rollout", "layer 1", "layer 2"), (9, 9)),
}


class Odd(NamedTuple):
    """An output with a field of which the contract decides whether it may be there."""

    logits: torch.Tensor
    extra: Any


@pytest.fixture(
    scope="module",
    params=[
        name if name in ("han", "sanet") else pytest.param(name, marks=pytest.mark.full)
        for name, system in known_systems().items()
        if hasattr(system, "fit") and name != "minilm"
    ],  # of its own files: test_minilm
)
def trained(request, tmp_path_factory):
    """A run of each system on the toy corpus, and its folder."""
    preset = "default" if request.param == "tfidf" else "small"
    spec = RunSpec(request.param, "toy", preset, device="cpu", threads=1)
    folder = tmp_path_factory.mktemp("run")
    return spec, folder, train(spec, folder)


@pytest.mark.full
def test_it_learns_made_up_reviews(trained):
    spec, folder, done = trained
    simple = spec.system == "tfidf"  # it is fitted to its optimum
    assert done.record["test"]["accuracy"] > (0.98 if simple else 0.9)
    assert done.record["test"]["auc"] > (0.99 if simple else 0.95)
    assert not simple or done.record["validation"]["accuracy"] > 0.95
    assert json.loads((folder / "record.json").read_text()) == json.loads(json.dumps(done.record))
    assert ("epochs" in done.record) != ("validation" in done.record)


def test_a_loaded_one_reads_and_predicts_the_same(trained):
    spec, folder, done = trained
    again = load_run(folder, spec).system
    rows = done.corpus.splits["test"]
    assert classification_metrics(again.evaluate(rows).predictions) == done.record["test"]
    same_reading(again.read(OURS), done.system.read(OURS), within=1e-6)


def same_reading(one, other, within=1e-5):
    assert (one.tokens, one.sentence_lengths) == (other.tokens, other.sentence_lengths)
    np.testing.assert_allclose(one.probabilities, other.probabilities, atol=within)
    assert one.attention.keys() == other.attention.keys()
    for name, attention in one.attention.items():
        assert attention[1:] == other.attention[name][1:]
        np.testing.assert_allclose(attention.weights, other.attention[name].weights, atol=within)


def test_rows_are_read_together_as_each_is_alone(trained):
    _, _, done = trained
    columns = {"tokens": [[], ["Fine"]], "sentence_lengths": [[], [1]], "label": [0, 1]}
    some = done.corpus.splits["test"].select(range(30))
    features = some.select_columns([*columns, "text"]).features
    odd = Dataset.from_dict(columns | {"text": ["", "Fine"]}).cast(features)
    rows = concatenate_datasets([odd, some, odd])
    together = read_rows(done, rows)
    assert len(together) == len(rows)
    for reading, row in zip(together, rows, strict=True):
        same_reading(reading, read_text(done, row))


@pytest.mark.parametrize(
    "output, says",
    [
        (lambda logits: Odd(logits, torch.zeros(3)), r"'extra'.*here of 2; got the shape \(3,\)"),
        (lambda logits: Odd(logits, torch.tensor(0.5)), r"'extra'.*here of 2; got the shape \(\)"),
        (lambda logits: Odd(logits, 0.5), "'extra'.*here of 2; got float"),
        (lambda logits: SimpleNamespace(logits=logits), "NamedTuple, got SimpleNamespace"),
    ],
)
def test_an_output_that_cannot_be_split_into_its_documents_is_refused(trained, output, says):
    _, _, done = trained
    if not isinstance(done.system, NeuralSystem):
        pytest.skip("it is no network")
    system = copy(done.system)
    system.forward = lambda tokens, mask: output(done.system.forward(tokens, mask).logits)
    with pytest.raises(TypeError, match=says):
        system.read_together([OURS, OURS])


def test_what_it_reads_has_all_probabilities_and_its_attention_by_name(trained):
    spec, _, done = trained
    reading = done.system.read(OURS)
    assert reading.tokens == ("A", "tender", "film", ".", "The", "acting", "is", "wonderful", "!")
    assert reading.sentence_lengths == (4, 5) and reading.classes == ("negative", "positive")
    assert reading.probabilities.sum() == pytest.approx(1, abs=1e-5)
    assert reading.predicted == "positive"
    shapes = {name: attention.weights.shape for name, attention in reading.attention.items()}
    assert shapes == ATTENTION[spec.system]
    for name, attention in reading.attention.items():
        by_sentence = spec.system == "han" and name == "words"  # each sentence sums to one
        for part in np.split(attention.weights, [4] if by_sentence else [], 1):
            np.testing.assert_allclose(part.sum(1), 1, atol=1e-5)


@pytest.mark.parametrize("text", ["", " \n", "\u202e", "x" * 10_000, "so " * 3_000, "😀"])
def test_odd_texts_are_read_without_an_error(trained, text):
    reading = trained[2].system.read(text)
    assert np.isfinite(reading.probabilities).all()
    assert len(reading.tokens) + len(reading.rest) == len(normalised(text).split())


IRAM_FIGURES = {"summary share, step 2", "summary share, step 3", "step overlap", "step cosine"}


@pytest.fixture(scope="module")
def measured(trained):
    """A run whose system measures its attention."""
    spec, _, done = trained
    if spec.system in ("han", "tfidf", "transformer"):
        assert "attention" not in done.record
        pytest.skip("it measures no attention")
    return spec, done


def test_the_record_has_the_means_of_the_figures_of_all_test_rows(measured):
    spec, done = measured
    recorded = done.record["attention"]
    trained, untrained = recorded["trained"], recorded["untrained"]
    assert recorded["split"] == "test" and trained.keys() == untrained.keys()
    assert trained != untrained
    assert spec.system != "iram" or trained.keys() == IRAM_FIGURES
    figures = done.system.evaluate(done.corpus.splits["test"]).figures
    for name, mean in trained.items():
        assert figures[name].double().mean(0).tolist() == pytest.approx(mean, abs=1e-5)


def test_figures_are_those_of_the_attention(measured):
    spec, done = measured
    rows = done.corpus.splits["test"]
    look = done.system.evaluate(rows)
    tokens, mask = done.system.encode(rows).batch(np.arange(len(rows)))[:2]
    output = done.system.forward(tokens, mask)
    if spec.system == "sanet":
        by_hand = gini(output.attention[:, 0], mask)
        torch.testing.assert_close(look.figures["gini"], by_hand, atol=1e-4, rtol=0)
    if spec.system == "agt":
        by_hand = selected_words(output.attention, mask).sum(2).float()
        torch.testing.assert_close(look.figures["selected"], by_hand)
    if spec.system == "bilstm":
        pairs = zip(look.figures["gini"].double(), look.figures["entropy"].double(), strict=True)
        for row, real, (unequal, entropy) in zip(output.attention, mask, pairs, strict=True):
            alpha = row[real].double()
            by_hand = (alpha[:, None] - alpha).abs().mean() * len(alpha) / 2  # weights' mean: 1/n
            torch.testing.assert_close(unequal, by_hand, atol=1e-5, rtol=0)
            by_hand = -(alpha * alpha.log()).sum() / np.log(len(alpha))
            torch.testing.assert_close(entropy, by_hand, atol=1e-5, rtol=0)
    if spec.system == "iram":
        found = look.figures["summary share, step 2"]
        by_hand = output.attention[:, 1, mask.shape[1] :].sum(1)
        torch.testing.assert_close(found, by_hand, atol=1e-5, rtol=0)


def test_untrained_figures_are_those_of_the_weights_that_a_training_begins_with(measured):
    spec, done = measured
    system, rows = system_of(spec, done.corpus), split_rows(done.corpus)
    system.build(rows, spec.seed)
    figures = system.evaluate(rows["test"]).figures
    for name, mean in done.record["attention"]["untrained"].items():
        assert figures[name].double().mean(0).tolist() == pytest.approx(mean, abs=1e-5)


def quick(system, **overrides):
    """A run of one epoch on few rows."""
    changes = {"training.epochs": 1} | {name.replace("__", "."): v for name, v in overrides.items()}
    return RunSpec(system, "toy", "small", changes, device="cpu", threads=1, limit=100, test=False)


@pytest.mark.parametrize(
    ("system", "cut", "lengths"),
    [
        ("han", {"text__max_sentences": 1, "text__max_words": 2}, (2,)),
        ("agt", {"text__max_tokens": 5}, (4, 1)),
    ],
)
def test_a_cut_is_what_is_read(system, cut, lengths):
    reading = train(quick(system, **cut)).system.read(OURS)
    assert reading.sentence_lengths == lengths and len(reading.tokens) == sum(lengths)
    assert [*reading.tokens, *reading.rest] == as_tokens(OURS).tokens


def test_two_blocks_have_figures_and_views_of_their_own():
    done = train(quick("sanet", model__blocks=2))
    assert {"block 1 gini", "block 2 gini"} <= done.record["attention"]["trained"].keys()
    assert list(done.system.read(OURS).attention) == ["block 1", "block 2", "pooled"]


@pytest.mark.parametrize(
    ("system", "overrides"),
    [
        ("sanet", {"model__attention": False}),
        ("agt", {"model__attention": False}),
        ("iram", {"model__steps": 0}),
        ("iram", {"model__steps": 1}),
    ],
)
def test_a_baseline_without_attention_has_none_to_measure(system, overrides):
    assert "attention" not in train(quick(system, **overrides)).record


def test_irams_vocabulary_covers_all_splits_and_its_n_grams_are_those_of_its_words():
    done = train(quick("iram", model__ngrams=50))
    rows = split_rows(done.corpus, 100)
    assert set(done.vocabulary.words) == {
        word for split in rows.values() for row in split["tokens"] for word in row
    }
    table = done.model.ngrams_of_word
    assert not table[:2].any() and torch.equal(table[2:], hashed_ngrams(done.vocabulary.words, 50))


@pytest.mark.full
@pytest.mark.parametrize("name", ["han", "sanet", "iram", "agt"])
def test_a_compact_preset_reads_the_committed_vectors_as_they_are(name, tmp_path):
    """Its vocabulary and word vectors are those of the file, before training and after it."""
    spec = replace(quick(name), preset="compact", limit=40)
    system = train(spec).system
    vectors = load_vectors("reviews.100d")
    assert system.vocabulary == vectors.vocabulary
    standardise = spec.resolve().settings.text.standardise
    before, _ = vectors.embedding_for(vectors.vocabulary, 0, standardise, "zero")
    table = system.model.embedding.weight
    assert torch.equal(table, before) and not table.requires_grad
    assert not table[:2].any() and table[2:].any(1).all()
    system.save(tmp_path)
    loaded = known_systems()[name](spec.resolve().settings, system.classes, "untrained")
    loaded.load(tmp_path)
    text = "A Wonderful film, xyzzy!"
    assert np.array_equal(loaded.read(text).probabilities, system.read(text).probabilities)


@pytest.mark.parametrize(
    ("changes", "error", "says"),
    [
        ({"training.most_iterations": 2}, TrainingError, "not converged in 2 iterations"),
        ({"model.minimum_documents": 540}, SpecError, r"model\.minimum_documents is 540"),
    ],
)
def test_a_fit_that_cannot_be_is_an_error_and_no_record(changes, error, says):
    with pytest.raises(error, match=says):
        train(RunSpec("tfidf", "toy", "words", changes, threads=1))


def test_a_class_that_the_training_rows_lack_has_probability_zero():
    corpus = load_corpus("toy")
    system = system_of(RunSpec("tfidf", "toy", "words"), corpus)
    system.classes = ("negative", "positive", "never seen")
    rows = split_rows(corpus)
    system.build(rows, 0)
    system.fit(rows, 0)
    assert system.read(OURS).probabilities[2] == 0
