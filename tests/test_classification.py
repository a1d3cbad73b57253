"""Classification metrics against scikit-learn, and the threshold and error bar they promise."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as reference
from strategies import every_device

from course_lib.metrics.classification import (
    Predictions,
    classification_metrics,
    sampling_error,
)


def two_classes(positive, labels, device="cpu"):
    positive = torch.tensor(positive, dtype=torch.float32)
    probabilities = torch.stack([1 - positive, positive], 1)
    return Predictions(probabilities.to(device), torch.tensor(labels).to(device))


@st.composite
def scored_labels(draw):
    """Probabilities, ties and exact halves among them, and labels of both classes."""
    count = draw(st.integers(2, 40))
    steps = draw(st.lists(st.integers(0, 16), min_size=count, max_size=count))
    labels = [0, 1, *draw(st.lists(st.integers(0, 1), min_size=count - 2, max_size=count - 2))]
    return [step / 16 for step in steps], draw(st.permutations(labels))


@every_device
@settings(max_examples=60)
@given(drawn=scored_labels())
def test_two_classes_agree_with_scikit_learn(device, drawn):
    positive, labels = drawn
    guess = np.array(positive) > 0.5
    found = classification_metrics(two_classes(positive, labels, device))
    assert found["accuracy"] == pytest.approx(reference.accuracy_score(labels, guess))
    assert found["f1"] == pytest.approx(reference.f1_score(labels, guess, zero_division=0))
    assert found["auc"] == pytest.approx(reference.roc_auc_score(labels, positive))
    assert found["confusion"] == reference.confusion_matrix(labels, guess, labels=[0, 1]).tolist()
    expected = reference.roc_curve(labels, positive, drop_intermediate=False)[:2]
    np.testing.assert_allclose(found["roc"], expected, atol=1e-5)


@pytest.mark.parametrize("only", [0, 1])
def test_what_one_class_alone_does_not_define_is_zero(only):
    found = classification_metrics(two_classes([0.25, 0.75, 0.75, 1.0], [only] * 4))
    rates = [0.0, 0.25, 0.75, 1.0]
    assert found["auc"] == 0 and found["roc"] == (
        [rates, [0] * 4] if only == 0 else [[0] * 4, rates]
    )
    assert found["f1"] == pytest.approx(0 if only == 0 else 6 / 7)
    none_of_it = classification_metrics(two_classes([0.25, 0.25], [0, 0]))
    assert (none_of_it["f1"], none_of_it["accuracy"]) == (0, 1)


@settings(max_examples=30)
@given(classes=st.integers(3, 5), count=st.integers(1, 30), seed=st.integers(0, 999))
def test_more_classes_agree_with_scikit_learn(classes, count, seed):
    generator = torch.Generator().manual_seed(seed)
    probabilities = torch.rand(count, classes, generator=generator).softmax(1)
    labels = torch.randint(classes, (count,), generator=generator)
    found = classification_metrics(Predictions(probabilities, labels))
    guess = probabilities.argmax(1)
    assert set(found) == {"accuracy", "confusion"}
    assert found["accuracy"] == pytest.approx(reference.accuracy_score(labels, guess))
    expected = reference.confusion_matrix(labels, guess, labels=range(classes))
    assert found["confusion"] == expected.tolist()


def test_a_long_roc_curve_is_thinned_and_still_the_curve():
    random = np.random.default_rng(0)
    labels = random.integers(0, 2, 5000)
    positive = 1 / (1 + np.exp(-random.normal(labels)))
    found = classification_metrics(two_classes(positive, labels))
    false_rate, true_rate = found["roc"]
    assert 100 <= len(false_rate) == len(true_rate) <= 200
    assert (false_rate[0], true_rate[0], false_rate[-1], true_rate[-1]) == (0, 0, 1, 1)
    assert (np.diff(false_rate) >= 0).all() and (np.diff(true_rate) >= 0).all()
    assert reference.auc(false_rate, true_rate) == pytest.approx(found["auc"], abs=2e-3)


@settings(max_examples=30)
@given(right=st.integers(0, 50), wrong=st.integers(1, 50))
def test_sampling_error_is_the_standard_error_of_a_mean_of_zeros_and_ones(right, wrong):
    count = right + wrong
    outcomes = np.repeat([1.0, 0.0], [right, wrong])
    expected = outcomes.std() / np.sqrt(count)
    assert sampling_error(right / count, count) == pytest.approx(expected, abs=1e-12)
