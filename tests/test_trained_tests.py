"""Trained tests where we know what must come out: losses by hand, words that decide alone, a
network that ignores its attention, and a guide that knows where to look."""

from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import rel_entr

from course_kit.research.trained_tests import (
    Ground,
    Texts,
    adversary,
    attention_of,
    avoidance,
    guided,
    made_up,
    planted,
    roar,
)
from course_kit.research.trained_tests import ground as grounds
from course_lib import faithfulness
from course_lib.faithfulness import objectives, retraining
from course_lib.metrics.invariants import check_padding
from course_lib.models.bilstm import BiLSTM, BiLSTMConfig, BiLSTMOutput
from course_lib.models.layers import masked_softmax
from course_lib.runs.settings import SpecError
from course_lib.training.config import TrainingError


@cache
def small():
    return planted()


@cache
def base():
    return small().fit(small().untrained(0), 0)


def mean(values):
    return float(np.nanmean(values))


# The losses


def rows(count, places, seed=0):
    powers = torch.rand(count, places, generator=torch.Generator().manual_seed(seed)).exp()
    return powers / powers.sum(1, keepdim=True)


def test_the_adversarys_loss_is_that_of_the_paper():
    p, q, alpha, other = rows(3, 2, 1), rows(3, 2, 2), rows(3, 5, 3), rows(3, 5, 4)
    found = faithfulness.adversary_loss(p, q, alpha, other, 0.5)
    kl = rel_entr(alpha.numpy(), other.numpy()).sum(1)
    tvd = faithfulness.total_variation(p.numpy(), q.numpy())
    np.testing.assert_allclose(found, tvd - 0.5 * kl, atol=1e-6)
    np.testing.assert_allclose(objectives.divergence(alpha, alpha), [0] * 3, atol=1e-7)


def test_avoiding_costs_minus_the_logarithm_of_the_weight_elsewhere():
    alpha, marked = torch.tensor([[0.5, 0.25, 0.25], [0.2, 0.8, 0.0]]), torch.tensor(
        [[True, False, True], [False, False, True]]
    )  # fmt: skip
    found = faithfulness.avoidance_loss(alpha, marked, 2.0)
    np.testing.assert_allclose(found, [-2 * np.log(0.25), 0], atol=1e-6)


def test_losses_and_their_slopes_are_finite_where_weights_are_0_or_1():
    scores = torch.zeros(2, 3, requires_grad=True)
    mask = torch.tensor([[True, True, False], [True, False, False]])
    alpha = torch.softmax(scores.masked_fill(~mask, -torch.inf), 1)
    nowhere = torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    total = faithfulness.adversary_loss(nowhere[:, :2], nowhere[:, :2], alpha, nowhere, 1.0).sum()
    total = total + faithfulness.avoidance_loss(alpha, mask, 1.0).sum()
    total.backward()
    assert torch.isfinite(total) and torch.isfinite(scores.grad).all()


@pytest.mark.parametrize("weight", [-1.0, float("nan")])
def test_a_weight_below_0_is_refused(weight):
    alpha = rows(1, 3)
    for loss in (
        lambda: faithfulness.adversary_loss(alpha, alpha, alpha, alpha, weight),
        lambda: faithfulness.avoidance_loss(alpha, alpha > 0, weight),
    ):
        with pytest.raises(ValueError, match="weight takes a number from 0"):
            loss()


# What is taken before a ranking is asked for again


@given(st.lists(st.integers(0, 3), min_size=1, max_size=12), st.floats(0.05, 1), st.data())
def test_further_words_go_in_their_order_and_none_comes_back(values, share, data):
    words = [str(place) for place in range(len(values))]
    size = len(words)
    gone = np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)))
    (after,) = faithfulness.remove_further([words], [np.array(values, float)], [gone], share)
    assert (after >= gone).all()
    assert after.sum() == max(gone.sum(), int(np.ceil(share * size - 1e-9)))
    new, left = np.array(values)[after & ~gone], np.array(values)[~after]
    assert not len(new) or not len(left) or new.min() >= left.max()


def two_networks():
    networks = []
    for seed in (0, 1):
        torch.manual_seed(seed)
        networks.append(BiLSTM(BiLSTMConfig(embedding=4, hidden=6), 9, 2).eval())
    return networks


def same(one, other, name):
    pairs = zip(
        one.get_submodule(name).parameters(), other.get_submodule(name).parameters(), strict=True
    )
    return all(torch.equal(a, b) for a, b in pairs)


def test_layers_are_made_anew_from_the_top_and_vectors_stay():
    model, other = two_networks()
    kept = {name: value.clone() for name, value in model.state_dict().items()}
    names = retraining.parts_from_top(model)
    assert names[:2] == ["classifier", "pooling"] and len(names) == 3
    found = list(faithfulness.randomised_from_top(model, other))
    assert [name for name, _ in found] == names
    for number, (_, mixed) in enumerate(found, start=1):
        assert same(mixed, model, "embedding") and not mixed.training
        for place, name in enumerate(names):
            assert same(mixed, other if place < number else model, name)
            assert not same(mixed, model if place < number else other, name)
    assert all(torch.equal(kept[name], value) for name, value in model.state_dict().items())


# The ground


def test_a_ground_repeats_and_its_marked_words_decide_each_text():
    ground = small()
    assert ground.data == planted().data != planted(rows=1002).data
    for texts in (ground.train, ground.validation, ground.test):
        assert len(texts.documents) == len(texts.labels) >= 400 and texts.labels.mean() == 0.5
        assert all(sum(w in ground.marked for w in words) == 1 for words in texts.documents)
    decoded = ground.system.vocabulary.decode(ground.marked_ids.nonzero().flatten().numpy())
    assert set(decoded) == ground.marked
    with pytest.raises(SpecError, match="no ground 'nowhere'; there are: planted, sst2_sentences"):
        grounds.ground_of("nowhere")


def test_the_words_that_tell_a_label_are_found_whatever_their_place_or_length():
    documents = [["good", "a"], ["b", "good", "good"], ["bad", "a"], ["c", "bad"], ["a"], ["a"]]
    texts = Texts(documents, np.array([1, 1, 0, 0, 1, 0]))
    assert grounds.telling_words(texts, 2) == {"good", "bad"}


def test_a_word_wise_network_ignores_padding_and_takes_its_guides_attention():
    guide = attention_of(base())
    model = small().word_mlp(0, guide).eval()
    batch = small().encode(small().test).batch(np.arange(4))
    np.testing.assert_allclose(model(*batch[:2]).attention, guide(*batch[:2]), atol=1e-6)
    check_padding(small().word_mlp(0).eval(), *batch[:2])
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


# Guided: a guide that knows where to look, where the sum of the words hides it


def pointing(ground):
    """All attention on the fact that a text's question names; a word alone does not know it."""
    words = ["", "", *ground.system.vocabulary.words]
    person = torch.tensor([_person(word, "?") for word in words])
    of = torch.tensor([_person(word, "=") for word in words])

    def guide(tokens, mask):
        asked = person[tokens].amax(1, keepdim=True)
        return (of[tokens] == asked).float()

    return guide


def _person(word, mark):
    name, found, _ = word.partition(mark)
    return sum(map(ord, name)) if found else -1


def test_a_guide_that_knows_the_place_helps_and_uniform_attention_does_not():
    ground = made_up("pointer", rows=1000)
    accuracies = {
        name: mean(guided.guided(ground, 0, guide))
        for name, guide in (("pointed", pointing(ground)), ("uniform", guided.uniform))
    }
    assert accuracies["pointed"] > 0.95 and accuracies["uniform"] < 0.6


# The adversary


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
    other = adversary.adversary(small(), start, IgnoresAttention(1), 0.1, 0)
    found = {name: mean(values) for name, values in adversary.beside(small(), other, start).items()}
    assert found[adversary.VARIATION] < 0.02 and found["accuracy"] > 0.98
    furthest = [
        faithfulness.jensen_shannon(alpha, np.eye(len(alpha))[alpha.argmin()])
        for alpha in small().attention(start)
    ]
    assert found[adversary.DIVERGENCE] > 0.8 * np.mean(furthest)


def test_an_adversarys_attention_moves_away_as_its_weight_grows():
    found = adversary.lines(small(), 0, weights=(0.0, 0.1))
    assert list(found) == [
        "the base network", "the base, another seed", "uniform attention",
        "adversary, λ = 0", "adversary, λ = 0.1",
    ]  # fmt: skip
    far, near = (mean(found[f"adversary, λ = {w}"][adversary.DIVERGENCE]) for w in ("0.1", "0"))
    assert far > near + 0.2
    for name in (adversary.VARIATION, adversary.DIVERGENCE):
        np.testing.assert_allclose(found["the base network"][name], np.zeros(400), atol=1e-6)
    even = found["uniform attention"][adversary.DIVERGENCE][0]
    alpha = small().attention(base())[0]
    expected = faithfulness.jensen_shannon(np.full(18, 1 / 18), alpha)
    assert even == pytest.approx(expected, abs=1e-5)


# Attention that avoids the words that decide


def test_attention_can_avoid_the_word_that_decides_only_where_others_know_of_it():
    """The BiLSTM's other states have read the word. The MLP's have not, so it pays with all it
    knows; and nobody knows a label without these words."""
    found = avoidance.lines(small(), 0, weights=(0.0, 1.0))
    free, bound = found["BiLSTM, λ = 0"], found["BiLSTM, λ = 1"]
    assert mean(free[avoidance.ON_MARKED]) > 0.5 > 0.05 > mean(bound[avoidance.ON_MARKED])
    assert mean(bound["accuracy"]) > 0.95 and mean(bound[avoidance.PRICE]) > -0.05
    alone = found["MLP, λ = 1"]
    assert mean(alone[avoidance.ON_MARKED]) < 0.05 and mean(alone[avoidance.PRICE]) < -0.4
    for network in ("BiLSTM", "MLP"):
        assert mean(found[f"{network}, {avoidance.WITHOUT}"]["accuracy"]) < 0.6


def test_a_text_without_a_marked_word_has_no_attention_to_any():
    texts = Texts([["the", "superb"], ["the", "river"]], np.array([1, 0]))
    ground = replace(small(), test=texts)
    found = avoidance.on_marked(ground, base())
    assert 0 < found[0] < 1 and np.isnan(found[1])
    masked = avoidance.ground_without(ground).test.documents
    assert masked == [["the", avoidance.MASK], ["the", "river"]]


# ROAR


def test_without_the_planted_word_a_network_that_is_trained_again_knows_nothing():
    one = 1 / 18  # one word a text
    found = roar.lines(small(), 0, shares=(one,))
    left = {ranker: mean(found[roar.line_name(ranker, one)]["accuracy"]) for ranker in roar.RANKERS}
    assert all(mean(found[roar.line_name(ranker, 0)]["accuracy"]) > 0.98 for ranker in left)
    assert left.pop("random") > 0.85
    assert all(accuracy < 0.75 for accuracy in left.values())
    lost = found[roar.line_name("attention", one)][roar.LOSS]
    assert mean(lost) == pytest.approx(
        left["attention"] - mean(found[roar.line_name("random", one)]["accuracy"]), abs=1e-9
    )


def test_each_removal_is_ranked_on_the_texts_as_they_are_then():
    """What is masked stays masked, with the mask in its place."""
    holes = roar.untouched(small().test)
    first = roar.further(small(), base(), "attention", holes, 0.1, 0)
    second = roar.further(small(), base(), "attention", first, 0.2, 0)
    for words, before, after in zip(small().test.documents, first.gone, second.gone, strict=True):
        assert before.sum() == 2 and after.sum() == 4 and (after >= before).all()
        assert len(words) == 18
    assert [words.count(roar.MASK) for words in second.left.documents] == [4] * 400
    again = partial(roar.further, small(), base(), "attention", holes, 0.2)
    np.testing.assert_array_equal(again(0).gone, again(0).gone)


def test_grounds_are_what_they_say():
    assert isinstance(small(), Ground) and small().name == "planted"
