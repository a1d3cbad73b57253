"""Trained tests where we know what must come out: losses by hand, words that decide alone, a
network that ignores its attention, and a guide that knows where to look; then their records."""

import json
import re
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from recorded import spec_of, tiny_vectors
from scipy.special import rel_entr

from course_kit.research import report
from course_kit.research.faithfulness.faithfulness_run import MASK, choose_run
from course_kit.research.sanity_checks import synthetic
from course_kit.research.sanity_checks.synthetic import Text
from course_kit.research.trained_tests import protocols, trained_record, training_setup
from course_kit.research.trained_tests.trained_record import TESTS, record_path, summary
from course_kit.research.trained_tests.training_setup import masked, setup_of, telling_words
from course_kit.research.trained_tests.word_mlp import attention_of, uniform
from course_lib import cli, faithfulness
from course_lib.faithfulness import agreement, objectives, retraining
from course_lib.files import REPOSITORY
from course_lib.metrics.invariants import check_padding
from course_lib.models.bilstm import BiLSTM, BiLSTMConfig, BiLSTMOutput
from course_lib.models.layers import masked_softmax
from course_lib.runs import records
from course_lib.runs.model_card import DIGEST
from course_lib.runs.run import train
from course_lib.runs.weights import publish_weights
from course_lib.training.config import TrainingError


@cache
def small():
    return training_setup.synthetic("planted")


@cache
def base():
    return small().fit(small().untrained(0), 0)


def mean(values):
    return float(np.nanmean(values))


# The losses, and what is taken before a ranking is asked for again


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
    alpha = torch.tensor([[0.5, 0.25, 0.25], [0.2, 0.8, 0.0]])
    marked = torch.tensor([[True, False, True], [False, False, True]])
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


def same(one, other, name):
    pairs = zip(*(net.get_submodule(name).parameters() for net in (one, other)), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


def test_layers_are_made_anew_from_the_top_and_vectors_stay():
    torch.manual_seed(0)
    model, other = (BiLSTM(BiLSTMConfig(embedding=4, hidden=6), 9, 2).eval() for _ in range(2))
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


# What is trained


def test_a_setup_repeats_and_its_marked_words_decide_each_text():
    again, other = (training_setup.synthetic("planted", rows) for rows in (1000, 1002))
    setup = small()
    assert setup.data == again.data != other.data
    for texts in setup.texts:
        assert len(texts) >= 400 and np.mean([text.label for text in texts]) == 0.5
        assert all(marked.sum() == 1 for marked in setup.is_marked(texts))
    decoded = setup.system.vocabulary.decode(setup.marked_ids.nonzero().flatten().numpy())
    assert set(decoded) == setup.marked


def test_the_words_that_tell_a_label_are_found_whatever_their_place_or_length():
    documents = ["good a", "b good good", "bad a", "c bad", "a", "a"]
    labels = [1, 1, 0, 0, 1, 0]
    texts = [Text(tuple(words.split()), label) for words, label in zip(documents, labels)]
    assert telling_words(texts, 2) == {"good", "bad"}


def test_a_word_wise_network_ignores_padding_and_takes_its_guides_attention():
    guide = attention_of(base())
    model = small().word_mlp(0, guide).eval()
    encoded = synthetic.encode_texts(small().texts.test, small().system.vocabulary)
    batch = encoded.batch(np.arange(4))
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


def test_what_is_learned_does_not_depend_on_the_progress_bar(monkeypatch):
    """The learning rate once fell by the bar's count, which is 0 where bars are switched off."""
    texts = small().texts._replace(train=small().texts.train[:64])
    setup, states = replace(small(), texts=texts), []
    for disable in (False, True):
        bar = partial(training_setup.tqdm, disable=disable)
        monkeypatch.setattr(training_setup, "tqdm", bar)
        model = protocols.taught_to_avoid(setup, setup.word_mlp(0), 1.0, 0)
        states.append(model.state_dict())
    assert all(torch.equal(value, states[1][name]) for name, value in states[0].items())


# Each protocol finds what was planted


def pointing(setup):
    """All attention on the fact that a text's question names; a word alone does not know it."""
    words = ["", "", *setup.system.vocabulary.words]
    person, of = (torch.tensor([_person(word, mark) for word in words]) for mark in "?=")

    def guide(tokens, mask):
        asked = person[tokens].amax(1, keepdim=True)
        return (of[tokens] == asked).float()

    return guide


def _person(word, mark):
    name, found, _ = word.partition(mark)
    return sum(map(ord, name)) if found else -1


def test_a_guide_that_knows_the_place_helps_and_uniform_attention_does_not():
    setup = training_setup.synthetic("pointer")
    pointed, even = (
        mean(setup.right(setup.fit(setup.word_mlp(0, guide), 0)))
        for guide in (pointing(setup), uniform)
    )
    assert pointed > 0.95 and even < 0.6


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


@pytest.mark.full
def test_an_adversarys_attention_moves_away_as_its_weight_grows():
    found = protocols.adversary(small(), 0, weights=(0.0, 0.1))
    assert list(found) == [
        "the base network", "the base, another seed", "uniform attention",
        "adversary, λ = 0", "adversary, λ = 0.1",
    ]  # fmt: skip
    far, near = (mean(found[protocols.adversary_line(w)][protocols.DIVERGENCE]) for w in (0.1, 0))
    assert far > near + 0.2
    for name in (protocols.VARIATION, protocols.DIVERGENCE):
        np.testing.assert_allclose(found["the base network"][name], np.zeros(400), atol=1e-6)
    even = found["uniform attention"][protocols.DIVERGENCE][0]
    expected = faithfulness.jensen_shannon(np.full(18, 1 / 18), small().attention(base())[0])
    assert even == pytest.approx(expected, abs=1e-5)


@pytest.mark.full
def test_attention_can_avoid_the_word_that_decides_only_where_others_know_of_it():
    """The BiLSTM's other states have read the word. The MLP's have not, so it pays with all it
    knows; and nobody knows a label without these words."""
    found = protocols.avoidance(small(), 0, weights=(0.0, 1.0))
    free, bound = found["BiLSTM, λ = 0"], found["BiLSTM, λ = 1"]
    assert mean(free[protocols.ON_MARKED]) > 0.5 > 0.05 > mean(bound[protocols.ON_MARKED])
    assert mean(bound["accuracy"]) > 0.95 and mean(bound[protocols.PRICE]) > -0.05
    alone = found["MLP, λ = 1"]
    assert mean(alone[protocols.ON_MARKED]) < 0.05 and mean(alone[protocols.PRICE]) < -0.4
    for network in ("BiLSTM", "MLP"):
        assert mean(found[f"{network}, {protocols.WITHOUT}"]["accuracy"]) < 0.6


def test_a_text_without_a_marked_word_has_no_attention_to_any():
    texts = [Text(("the", "superb"), 1), Text(("the", "river"), 1)]
    setup = replace(small(), texts=small().texts._replace(test=texts))
    found = protocols.on_marked(setup, base())
    assert 0 < found[0] < 1 and np.isnan(found[1])
    blind = masked(texts, setup.is_marked(texts))
    assert [text.words for text in blind] == [("the", MASK), ("the", "river")]


@pytest.mark.full
def test_without_the_planted_word_a_network_that_is_trained_again_knows_nothing():
    one = 1 / 18  # one word a text
    found = protocols.roar(small(), 0, shares=(one,))
    line, rankers = protocols.roar_line, protocols.RANKERS
    left = {ranker: mean(found[line(ranker, one)]["accuracy"]) for ranker in rankers}
    assert all(mean(found[line(ranker, 0)]["accuracy"]) > 0.98 for ranker in left)
    assert left["random"] > 0.85 and max(left["attention"], left["|gradient × input|"]) < 0.75
    lost = mean(found[line("attention", one)][protocols.LOSS])
    assert lost == pytest.approx(left["attention"] - left["random"], abs=1e-9)


def test_each_removal_is_ranked_on_the_texts_as_they_are_then():
    """What is masked stays masked, with the mask in its place."""
    texts, whole = small().texts.test, [np.zeros(18, bool)] * 400
    further = partial(protocols.further, small(), base(), "attention", texts)
    first = further(whole, 0.1, 0)
    second = further(first, 0.2, 0)
    for before, after in zip(first, second, strict=True):
        assert before.sum() == 2 and after.sum() == 4 and (after >= before).all()
    assert [text.words.count(MASK) for text in masked(texts, second)] == [4] * 400
    marked = small().is_marked(texts)
    assert np.mean([out[word] for out, word in zip(first, marked)]) > 0.9


# The records


@pytest.fixture(scope="module")
def name(tmp_path_factory):
    """The id of a recorded network in a ``results/`` of its own; setups are small."""
    place, spec = tmp_path_factory.mktemp("recorded"), spec_of("bilstm")
    with pytest.MonkeyPatch.context() as patch, tiny_vectors(place):
        patch.setattr(records, "RUNS", place / "runs")
        patch.setattr(records, "RESULTS", place / "results")
        patch.setattr(trained_record, "TEXTS", 6)
        patch.setattr(agreement, "DRAWS", 100)
        patch.setattr(synthetic, "HELD_OUT", 40)
        tiny = partial(training_setup.synthetic, "planted", rows=40)
        patch.setitem(training_setup.SETUPS, "planted", tiny)
        train(spec, records.RUNS / spec.id)
        publish_weights(records.RUNS / spec.id)
        yield spec.id


def recorded(test, on, *seeds):
    """What the command writes."""
    assert cli.main(["trained-tests", test, "--on", on, "--seeds", *map(str, seeds)]) == 0
    return json.loads(record_path(test, on).read_text(encoding="utf-8"))


def test_a_record_holds_means_over_seeds_and_texts_and_says_what_was_trained(name):
    made, setup = recorded("adversary", "planted", 0, 3), setup_of("planted")
    assert made["command"] == "attention-course trained-tests adversary --on planted --seeds 0 3"
    assert (made["test"], made["on"], made["seeds"]) == ("adversary", "planted", [0, 3])
    assert made["data"] == setup.data and made["marked_words"] == len(setup.marked)
    assert made["sizes"] == {"train": 40, "validation": 40, "test": 40}
    assert made["settings"]["model"]["hidden"] == 32 and made["seconds"] > 0
    assert {"commit", "device", "threads"} <= made["environment"].keys()
    assert not re.search("superb|dull|river", json.dumps(made))
    found = [protocols.adversary(setup, seed) for seed in (0, 3)]
    assert set(made["lines"]) == set(found[0])
    for line, figures in made["lines"].items():
        for figure, shown in figures.items():
            values = np.stack([one[line][figure] for one in found])
            assert shown["mean"] == pytest.approx(values.mean(), abs=1e-4)
            np.testing.assert_allclose(shown["by_seed"], values.mean(1), atol=1e-4)
            assert shown["low"] <= shown["mean"] <= shown["high"] and shown["counted"] == 40
    assert report.trained_records()["adversary-planted"] == made
    assert report.trained_table("adversary").count("\n") == 1 + len(made["lines"])
    report.adversary_figure("planted")


def test_a_mean_holds_the_texts_that_have_a_value():
    found = summary(np.array([[1.0, np.nan, 0.0], [0.0, np.nan, 0.0]]))
    assert (found["mean"], found["counted"], found["left_out"]) == (0.25, 2, 1)
    assert found["by_seed"] == [0.5, 0.0] and found["low"] == 0 and found["high"] == 0.5
    nothing = summary(np.full((1, 2), np.nan))
    assert nothing["mean"] is None and nothing["by_seed"] == [None]


def test_an_interrupted_test_keeps_the_seeds_that_are_done(name, monkeypatch):
    def lines(setup, seed):
        if seed == 2:
            raise KeyboardInterrupt
        return {"one": {"accuracy": np.array([seed, 1.0])}}

    test = TESTS["guided"]._replace(
        on=("planted",), prepare=partial(trained_record.on_setup, lines)
    )
    monkeypatch.setitem(TESTS, "guided", test)
    assert cli.main(["trained-tests", "guided"]) == cli.INTERRUPTED
    path = record_path("guided", "planted")
    kept = json.loads(path.read_text(encoding="utf-8"))
    path.unlink()
    assert kept["seeds"] == [0, 1] and kept["command"].endswith("--seeds 0 1")
    assert kept["lines"]["one"]["accuracy"]["by_seed"] == [0.5, 1.0]


def test_the_randomisation_names_the_network_and_begins_at_its_top(name, monkeypatch):
    made, tested = recorded("randomisation", name, 0), choose_run(name, 6)
    assert made["weights"] == tested.run.record[DIGEST]
    assert made["sample"] == tested.digest and made["sizes"] == {"test": 6}
    assert next(iter(made["lines"])) == "down to classifier"
    top, *_, bottom = made["lines"].values()
    # the classifier is above the attention, whose scores are therefore the same
    assert top["τ of attention"]["mean"] == 1 > bottom["τ of attention"]["mean"]
    monkeypatch.setattr(type(tested.run.system), "before_training", lambda self, seed: self)
    for figures in protocols.randomisation(tested, 0).values():  # the same weights agree wholly
        for values in figures.values():
            np.testing.assert_allclose(values, 1, atol=1e-9)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["adversary", "--on", "nowhere"], "no setup 'nowhere'; there are: planted, "),
        (["randomisation", "--on", "nobody"], "no recorded network 'nobody'"),
        (["roar", "--on", "planted", "--seeds", "1", "1"], "seeds takes different whole numbers"),
        (["roar", "--on", "planted", "--seeds", "-1"], "got [-1]"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(name, arguments, says, capsys):
    assert cli.main(["trained-tests", *arguments]) == 2
    assert says in capsys.readouterr().err


def test_the_committed_records_are_of_commits_and_hold_what_the_report_says():
    found = report.trained_records(REPOSITORY / "results/faithfulness/trained")
    assert {record["test"] for record in found.values()} == set(TESTS)
    for stem, record in found.items():
        assert stem == f"{record['test']}-{record['on']}" and record["seeds"] == [0, 1, 2]
        assert not record["environment"]["commit"].endswith("dirty")
        if record["test"] in ("roar", "adversary"):
            getattr(report, f"{record['test']}_figure")(record["on"], found)
    lines = {stem: record["lines"] for stem, record in found.items()}

    def accuracy(on, ranker):
        return lines[f"roar-{on}"][protocols.roar_line(ranker, 0.1)]["accuracy"]

    left = [accuracy("sst2_sentences", ranker) for ranker in ("attention", "random")]
    assert [round(one["mean"], 2) for one in left] == [0.71, 0.80]
    assert max(left[0]["by_seed"]) < min(left[1]["by_seed"])
    rounded = [round(100 * accuracy("planted", r)["mean"]) for r in protocols.RANKERS]
    assert rounded == [75, 60, 95]
    by_seed = [round(100 * seed) for seed in accuracy("planted", "attention")["by_seed"]]
    assert by_seed == [58, 86, 81]

    def points(stem, line, figure):
        shown = lines[stem][line][figure]
        return [round(100 * shown[part], 1) for part in ("mean", "low", "high")]

    gain = partial(points, "guided-sst2_sentences", figure=protocols.GAIN)
    assert gain("MLP, its own attention") == [1.7, 0.2, 3.2]
    assert gain("MLP, the BiLSTM's attention") == [0, -1.6, 1.5]
    assert round(gain("MLP, the attention of its adversary, λ = 0.1")[0]) == -21
    price = partial(points, "avoidance-sst2_sentences", figure=protocols.PRICE)
    assert price("BiLSTM, λ = 1") == [-0.2, -1.0, 0.7]
    assert price(f"BiLSTM, {protocols.WITHOUT}")[0] == -4.8 and price("MLP, λ = 10")[0] == -18
