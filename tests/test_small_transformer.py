"""The small Transformer of lesson 10: PyTorch's layers under the invariants of this course."""

from itertools import product

import pytest

from course_kit.exercises.records import committed_record
from course_kit.research import small_transformer
from course_lib.data.corpus import load_corpus
from course_lib.faithfulness import DocumentModel
from course_lib.runs import split_rows
from course_lib.runs.systems.transformer_system import TransformerSystem

pytestmark = pytest.mark.full  # a network is trained


def test_it_learns_made_up_reviews():
    corpus = load_corpus("toy")
    rows = split_rows(corpus)
    trained = small_transformer.train_variant("whole", rows, corpus.card.classes, preset="small")
    model = DocumentModel(trained)
    texts, labels = model.documents(rows["validation"]), rows["validation"]["label"]
    assert small_transformer.hits(trained, texts, labels).mean() > 0.85
    plain_mean = small_transformer.plain_mean_hits(trained, rows)
    assert plain_mean.shape == (len(labels),) and set(plain_mean) == {0.0, 1.0}
    assert plain_mean.mean() > 0.7


def test_the_record_is_of_todays_settings():
    record = committed_record("results/encoder/movies2.json")
    preset = TransformerSystem.presets["lesson"]
    model = record["settings"]["model"]  # in the words of then: positions and uniform were flags
    assert model.pop("positions") and preset.model.positions == 60
    assert not model.pop("uniform") and preset.control.attention_weights == "learned"
    assert model.items() <= vars(preset.model).items()
    assert preset.model.attention_dropout == model["dropout"]
    assert record["settings"]["training"].items() <= vars(preset.training).items()
    planned = list(product(small_transformer.VARIANTS, range(5)))
    assert [(run["variant"], run["seed"]) for run in record["runs"]] == planned
    assert record["variants"].keys() == small_transformer.VARIANTS.keys()
