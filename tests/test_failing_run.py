"""Lesson 09: its failing run has one defect and no other."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

from course_kit.exercises import failing_run, figures


@pytest.fixture(scope="module")
def run():
    return failing_run.FailingRun()


def on_the_first(tokens, mask):
    return (torch.arange(tokens.shape[1]) == 0).float().expand(tokens.shape)


def test_the_network_gets_the_reviews_and_labels_of_the_file_in_two_orders(run):
    reviews, labels = run.file("train")
    given = [tuple(run.words(ids)) for ids in run.given.tokens]
    assert sorted(given) == sorted(map(tuple, reviews))
    assert sorted(run.given.labels.tolist()) == sorted(labels) == [0] * 300 + [1] * 200
    of_file = dict(zip(map(tuple, reviews), labels, strict=True))  # a review has one label
    assert all(of_file[tuple(review)] == label for review, label in zip(reviews, labels))
    right = np.mean([of_file[words] == label for words, label in zip(given, run.given.labels)])
    by_chance = 0.6**2 + 0.4**2
    assert abs(right - by_chance) < 0.05
    new, true = run.file("test")
    assert [run.words(ids) for ids in run.new.tokens] == new, "a word is unknown"
    assert run.new.labels.tolist() == true


def test_a_longer_training_begins_like_a_shorter_one_and_weights_are_the_only_change(run):
    short, longer = run.train(1), run.train(2)
    assert longer.training[:1] == short.training and longer.accuracy[:1] == short.accuracy
    own = run.train(1, lambda tokens, mask: None)
    assert own.training == short.training
    assert run.train(1, on_the_first).training != short.training
    files = run.encode(*run.file("train"))
    assert run.train(1, given=files).training != short.training


def test_given_weights_replace_the_learned_ones(run):
    batch, network = run.new.some(torch.arange(4)), run.network()
    weights = on_the_first(batch.tokens, batch.mask)
    logits = failing_run._logits(network, batch, on_the_first)
    torch.testing.assert_close(logits, network(batch.tokens, batch.mask, weights).logits)
    assert not torch.allclose(logits, failing_run._logits(network, batch, None))


def test_the_pictures_show_the_numbers_of_the_run(run):
    trained = run.train(2)
    _, weights, positive = trained.watched[-1]
    drawn = failing_run.attention_figure(trained).axes[0]
    assert [bar.get_height() for bar in drawn.patches] == pytest.approx(weights.tolist())
    assert sum(weights) == pytest.approx(1)
    assert [tick.get_text() for tick in drawn.get_xticklabels()] == failing_run.OURS.split()
    title = drawn.get_title("left") or drawn.get_title()  # where, the style says
    assert title == f"after epoch 2: P(positive) = {positive:.2f}"
    left, right = failing_run.curves_figure(trained, 0.673).axes
    assert [list(line.get_ydata()) for line in left.lines[:2]] == [
        trained.training,
        trained.validation,
    ]
    assert list(right.lines[0].get_ydata()) == trained.accuracy
    gaps = np.array([[1.0, -2.0], [0.5, 3.0], [0.0, 1.5]])
    grid = figures.pairs_grid(gaps, abs(gaps) / 10, "ours", "theirs").axes[0]
    assert [text.get_text() for text in grid.texts[:2]] == ["+1.0\np = 0.100", "−2.0\np = 0.200"]
    assert (grid.get_ylabel(), grid.get_xlabel()) == ("ours", "theirs")
    assert [len(axis.get_ticklabels()) for axis in (grid.xaxis, grid.yaxis)] == [2, 3]
    plt.close("all")
