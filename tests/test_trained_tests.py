"""Trained tests where we know what must come out: a loss by hand, words that decide alone, a
network that ignores its attention; then their records."""

import json
import re
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import rel_entr

from course_kit.research import report
from course_kit.research.rankings_study.ranked_network import MASK
from course_kit.research.sanity_checks import synthetic
from course_kit.research.trained_tests import protocols, training_setup
from course_kit.research.trained_tests.protocols import adversary_loss, remove_further
from course_kit.research.trained_tests.trained_record import TESTS, record_path
from course_kit.research.trained_tests.training_setup import attention_of, masked, setup_of
from course_lib import cli, faithfulness
from course_lib.faithfulness import agreement
from course_lib.metrics.invariants import check_order_blindness, check_padding
from course_lib.models.bilstm import BiLSTMOutput
from course_lib.models.layers import masked_softmax
from course_lib.runs import folders
from course_lib.training.config import TrainingError

pytestmark = pytest.mark.full  # a finished study: networks are trained


@cache
def small():
    return training_setup.synthetic("planted")


@cache
def base():
    return small().fit(small().untrained(0), 0)


def mean(values):
    return float(np.nanmean(values))


def rows(count, places, seed=0):
    powers = torch.rand(count, places, generator=torch.Generator().manual_seed(seed)).exp()
    return powers / powers.sum(1, keepdim=True)


def test_the_adversarys_loss_is_that_of_the_paper():
    p, q, alpha, other = rows(3, 2, 1), rows(3, 2, 2), rows(3, 5, 3), rows(3, 5, 4)
    found = adversary_loss(p, q, alpha, other, 0.5)
    kl = rel_entr(alpha.numpy(), other.numpy()).sum(1)
    tvd = faithfulness.total_variation(p.numpy(), q.numpy())
    np.testing.assert_allclose(found, tvd - 0.5 * kl, atol=1e-6)
    np.testing.assert_allclose(adversary_loss(p, p, alpha, alpha, 1.0), [0] * 3, atol=1e-7)


def test_the_loss_and_its_slopes_are_finite_where_weights_are_0_or_1():
    scores = torch.zeros(2, 3, requires_grad=True)
    mask = torch.tensor([[True, True, False], [True, False, False]])
    alpha = torch.softmax(scores.masked_fill(~mask, -torch.inf), 1)
    nowhere = torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    total = adversary_loss(nowhere[:, :2], nowhere[:, :2], alpha, nowhere, 1.0).sum()
    total.backward()
    assert torch.isfinite(total) and torch.isfinite(scores.grad).all()


@given(st.lists(st.integers(0, 3), min_size=1, max_size=12), st.floats(0.05, 1), st.data())
def test_further_words_go_in_their_order_and_none_comes_back(values, share, data):
    words = [str(place) for place in range(len(values))]
    size = len(words)
    gone = np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)))
    (after,) = remove_further([words], [np.array(values, float)], [gone], share)
    assert (after >= gone).all()
    assert after.sum() == max(gone.sum(), int(np.ceil(share * size - 1e-9)))
    new, left = np.array(values)[after & ~gone], np.array(values)[~after]
    assert not len(new) or not len(left) or new.min() >= left.max()


def test_a_word_wise_network_ignores_padding_and_takes_its_guides_attention():
    guide = attention_of(base())
    model = small().word_mlp(0, guide).eval()
    encoded = synthetic.encode_texts(small().texts.test, small().system.vocabulary)
    batch = encoded.batch(np.arange(4))
    np.testing.assert_allclose(model(*batch[:2]).attention, guide(*batch[:2]), atol=1e-6)
    check_padding(small().word_mlp(0).eval(), *batch[:2])
    check_order_blindness(small().word_mlp(0).eval(), *batch[:2])
    assert not any(name.startswith("guide") for name, _ in model.named_parameters())
    state = {name: value.clone() for name, value in base().state_dict().items()}
    small().fit(model, 0)
    assert all(torch.equal(state[name], value) for name, value in base().state_dict().items())
    assert not base().training  # dropout would change what it attends to


def test_a_loss_that_is_no_number_stops_the_training():
    with pytest.raises(TrainingError, match="some words: the loss is nan in batch 1"):
        small().teach(
            small().untrained(0), lambda output, _: output.logits.sum(1) * np.nan, 0, "some words"
        )


def test_what_is_learned_does_not_depend_on_the_progress_bar(monkeypatch):
    """The learning rate once fell by the bar's count, which is 0 where bars are switched off."""
    texts = small().texts._replace(train=small().texts.train[:64])
    setup, states = replace(small(), texts=texts), []
    for disable in (False, True):
        bar = partial(training_setup.progress, disable=disable)
        monkeypatch.setattr(training_setup, "progress", bar)
        model = protocols.taught_adversary(setup, base(), setup.untrained(1), 0.1, 0)
        states.append(model.state_dict())
    assert all(torch.equal(value, states[1][name]) for name, value in states[0].items())


class IgnoresAttention(torch.nn.Module):
    """Sums what its words say, and attends to them by a number each, for nothing."""

    def __init__(self, seed):
        super().__init__()
        torch.manual_seed(seed)
        words = len(small().system.vocabulary)
        self.says = torch.nn.Embedding(words, 2, padding_idx=0)
        self.scores = torch.nn.Embedding(words, 1, padding_idx=0)
        torch.nn.init.zeros_(self.says.weight)
        torch.nn.init.normal_(self.scores.weight, std=0.1)

    def forward(self, tokens, mask):
        alpha = masked_softmax(10 * self.scores(tokens).squeeze(2), mask)
        return BiLSTMOutput(self.says(tokens).sum(1), alpha)


def test_where_attention_is_ignored_an_adversary_reaches_any_other_at_no_cost():
    start = small().fit(IgnoresAttention(0), 0)
    other = protocols.taught_adversary(small(), start, IgnoresAttention(1), 0.1, 0)
    figures = protocols.distance(small(), other, start)
    found = {name: mean(values) for name, values in figures.items()}
    assert found[protocols.VARIATION] < 0.02 and found["accuracy"] > 0.98
    furthest = [
        faithfulness.jensen_shannon(alpha, np.eye(len(alpha))[alpha.argmin()])
        for alpha in small().attention(start)
    ]
    assert found[protocols.DIVERGENCE] > 0.8 * np.mean(furthest)


def test_each_removal_is_ranked_on_the_texts_as_they_are_then():
    """What is masked stays masked, with the mask in its place."""
    texts, whole = small().texts.test, [np.zeros(18, bool)] * 400
    further = partial(protocols.further, small(), base(), "attention", texts)
    first = further(whole, 0.1, 0)
    second = further(first, 0.2, 0)
    for before, after in zip(first, second, strict=True):
        assert before.sum() == 2 and after.sum() == 4 and (after >= before).all()
    assert [text.words.count(MASK) for text in masked(texts, second)] == [4] * 400
    assert np.mean([out[text.decides[0]] for out, text in zip(first, texts)]) > 0.9


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """The setup ``planted`` with few texts, and a ``results/`` of its own."""
    monkeypatch.setattr(folders, "RESULTS", tmp_path)
    monkeypatch.setattr(agreement, "DRAWS", 100)
    monkeypatch.setattr(synthetic, "HELD_OUT", 40)
    few = partial(training_setup.synthetic, "planted", rows=40)
    monkeypatch.setitem(training_setup.SETUPS, "planted", few)


def recorded(test, on, *seeds):
    """What the command writes."""
    assert cli.main(["trained-tests", test, "--on", on, "--seeds", *map(str, seeds)]) == 0
    return json.loads(record_path(test, on).read_text(encoding="utf-8"))


def test_a_record_holds_means_over_seeds_and_texts_and_says_what_was_trained(tiny):
    made, setup = recorded("adversary", "planted", 0, 3), setup_of("planted")
    assert made["command"].endswith("author trained-tests adversary --on planted --seeds 0 3")
    assert (made["test"], made["on"], made["seeds"]) == ("adversary", "planted", [0, 3])
    assert made["data"] == setup.data
    assert made["sizes"] == {"train": 40, "validation": 40, "test": 40}
    assert made["settings"]["model"]["hidden"] == 32 and made["seconds"] > 0
    assert {"commit", "device", "threads"} <= made["environment"].keys()
    assert not re.search("superb|dull|river", json.dumps(made))
    found = [protocols.adversary(setup, seed) for seed in (0, 3)]
    positive = np.array([text.label for text in setup.texts.test]) == 1
    assert set(made["lines"]) == set(found[0])
    for line, figures in made["lines"].items():
        for figure, shown in figures.items():
            values = np.stack([one[line][figure] for one in found])
            assert shown["mean"] == pytest.approx(values.mean(), abs=1e-4)
            np.testing.assert_allclose(shown["by_seed"], values.mean(1), atol=1e-4)
            assert shown["low"] <= shown["mean"] <= shown["high"] and shown["counted"] == 40
        right = np.stack([one[line]["accuracy"] for one in found]) == 1
        for values, shown in zip(right, made["f1_by_seed"][line], strict=True):
            hits = (values & positive).sum()
            assert shown == pytest.approx(2 * hits / (2 * hits + (~values).sum()), abs=1e-4)
    assert report.study_records("faithfulness/trained")["adversary-planted"] == made


def test_what_a_ranking_costs_is_its_distance_to_random_removals(tiny):
    found, line = protocols.roar(setup_of("planted"), 0, shares=(0.5,)), protocols.roar_line
    lost = {ranker: mean(found[line(ranker, 0.5)]["accuracy"]) for ranker in protocols.RANKERS}
    told = mean(found[line("attention", 0.5)][protocols.LOSS])
    assert told == pytest.approx(lost["attention"] - lost["random"], abs=1e-9)
    assert all(mean(found[line(ranker, 0)]["accuracy"]) > 0.5 for ranker in lost)


def test_an_interrupted_test_keeps_the_seeds_that_are_done(tiny, monkeypatch):
    def lines(setup, seed):
        if seed == 2:
            raise KeyboardInterrupt
        return {"one": {"accuracy": np.repeat([seed, 1.0], 20)}}

    test = TESTS["guided"]._replace(on=("planted",), lines=lines)
    monkeypatch.setitem(TESTS, "guided", test)
    assert cli.main(["trained-tests", "guided"]) == cli.INTERRUPTED
    kept = json.loads(record_path("guided", "planted").read_text(encoding="utf-8"))
    assert kept["seeds"] == [0, 1] and kept["command"].endswith("--seeds 0 1")
    assert kept["lines"]["one"]["accuracy"]["by_seed"] == [0.5, 1.0]
