"""Positive controls: on texts of which we know what decides, the instruments see it, or cannot.

Each network is small and trained for seconds; ``results/controls`` holds longer trainings of three
seeds, and the last test holds them to the same findings.
"""

import json
import statistics
from collections import Counter
from functools import cache

import pytest
import torch
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from course_kit.research.controls import ControlSpec, accuracy, networks, record
from course_kit.research.controls import halting as of_halting
from course_kit.research.controls import pairs as of_pairs
from course_kit.research.controls import phrases as of_phrases
from course_kit.research.controls import planted as of_planted
from course_kit.research.controls import steps as of_steps
from course_kit.research.controls.texts import (
    CONTROL_TASKS,
    FAR,
    FILLERS,
    encode_texts,
    vocabulary_of,
    write_texts,
)
from course_kit.research.report import sanity_figures, sanity_records, sanity_table
from course_lib.cli import main
from course_lib.files import DataError
from course_lib.metrics.invariants import check_order_blindness, check_padding
from course_lib.models.han import HANConfig
from course_lib.models.iram import IRAMConfig

WORD_BY_WORD = "IRAM word by word"
tasks = pytest.mark.parametrize("task", CONTROL_TASKS)


@cache
def pair_trial(task):
    return of_pairs.trial(task, ControlSpec(rows=3000, epochs=10))


@cache
def step_trial(network):
    return of_steps.trial(network, ControlSpec(rows=1600, epochs=10))


@cache
def phrase_trial():
    return of_phrases.trial("phrase", "phrase", ControlSpec(rows=1500, epochs=6))


@cache
def planted_trial(network):
    return of_planted.trial(network, ControlSpec(rows=1000, epochs=6))


def three(trial, instrument):
    """What an instrument shows of the trained network, its untrained twin and uniform attention."""
    line = trial.line("", instrument)
    return line.trained, line.untrained, line.uniform


# The texts


@tasks
def test_texts_repeat_from_their_seed_and_are_balanced(task):
    texts = write_texts(task, 60, seed=3)
    assert texts == write_texts(task, 60, seed=3) != write_texts(task, 60, seed=4)
    assert [text.label for text in texts] == [0, 1] * 30
    assert len({len(text.words) for text in texts}) == 1
    assert all(text.words[place] not in FILLERS for text in texts for place in text.decides)


@pytest.mark.parametrize(("task", "distance"), [("adjacent", 1), ("distant", FAR)])
def test_twins_of_pairs_are_the_same_bag_and_differ_in_what_stands_together(task, distance):
    texts = write_texts(task, 40)
    for other, own in zip(texts[::2], texts[1::2], strict=True):
        assert Counter(other.words) == Counter(own.words)
        for text in (other, own):
            places = zip(text.decides[::2], text.decides[1::2], strict=True)
            for animal, young in places:
                assert young - animal == distance
                together = text.words[young] == f"{text.words[animal]}'s"
                assert together == (text.label == 1)


def test_the_pointers_question_names_the_fact_that_decides():
    for text in write_texts("pointer", 200):
        question, fact = (text.words[place] for place in text.decides)
        assert fact == f"{question[:-1]}={('bad', 'good')[text.label]}"


@pytest.mark.parametrize("task", ["adjacent", "distant", "pointer", "phrase"])
def test_no_sum_of_words_decides(task):
    """A linear classifier of the bag of words, trained to the end, stays at chance."""
    texts = write_texts(task, 3000)
    counts = CountVectorizer(analyzer=lambda text: text.words).fit_transform(texts)
    labels = [text.label for text in texts]
    linear = LogisticRegression(max_iter=1000).fit(counts[:2000], labels[:2000])
    assert linear.score(counts[2000:], labels[2000:]) < 0.55


def test_what_is_no_task_or_no_number_of_twins():
    with pytest.raises(DataError, match="no check 'nope'; there are: adjacent, "):
        write_texts("nope", 10)
    for rows in (0, 7):
        with pytest.raises(DataError, match=f"so rows is an even number, not {rows}"):
            write_texts("phrase", rows)


def test_texts_are_encoded_with_their_labels_and_sentences():
    texts = write_texts("planted", 4)
    vocabulary = vocabulary_of(texts)
    flat, in_sentences = (encode_texts(texts, vocabulary, form) for form in (False, True))
    assert flat.labels.tolist() == in_sentences.labels.tolist() == [0, 1, 0, 1]
    assert tuple(vocabulary.decode(flat.words[:18])) == texts[0].words
    assert in_sentences.batch(torch.arange(4).numpy()).tokens.shape == (4, 3, 6)


# SANet: a band for neighbours, none for distant pairs


def test_sanets_band_appears_where_neighbours_decide():
    sanet = pair_trial("adjacent")
    assert accuracy(sanet.seen) > 0.85
    assert accuracy(sanet.uniform) < 0.6  # this network's answer passes through its attention
    for bandwidth in of_pairs.BANDS:
        trained, untrained, uniform = three(sanet, lambda seen, b=bandwidth: of_pairs.band(seen, b))
        assert trained > untrained + 0.03
        assert trained > uniform + 0.03
    trained, *others = three(sanet, of_pairs.beside)
    assert trained > 1.5 * max(others)


def test_sanet_shows_no_band_where_distant_pairs_decide():
    """Its words may look at themselves, which diagonality counts, but not at their neighbours."""
    sanet = pair_trial("distant")
    assert accuracy(sanet.seen) > 0.85 and accuracy(sanet.uniform) < 0.6
    trained, untrained, uniform = three(sanet, of_pairs.beside)
    assert trained < untrained + 0.01 and trained < uniform + 0.01
    assert of_pairs.beside(pair_trial("adjacent").seen) > 1.5 * trained


# IRAM: steps that part, and what the second one depends on


def test_irams_steps_part_where_a_word_names_the_fact():
    iram = step_trial(WORD_BY_WORD)
    assert accuracy(iram.seen) > 0.95 and accuracy(iram.see(iram.untrained)) < 0.55
    on = {
        (step, which): three(iram, lambda seen, s=step, w=which: of_steps.weight(seen, s, w))
        for step in (0, 1)
        for which in (0, 1)
    }
    trained, untrained, uniform = on[0, 0]  # the first step reads the question
    assert trained > 3 * untrained and trained > 3 * uniform and trained > 3 * on[0, 1][0]
    trained, untrained, uniform = on[1, 1]  # the second one turns to the fact it names
    assert trained > 2 * untrained and trained > 2 * uniform and trained > 2 * on[0, 1][0]
    cosine, *others = three(iram, lambda seen: of_steps.described(seen, "step cosine"))
    assert cosine < min(others) - 0.1
    penalised = step_trial(f"{WORD_BY_WORD}, γ = {of_steps.PENALTY}")
    assert of_steps.described(penalised.seen, "step cosine") < cosine


def test_its_second_step_depends_on_the_query_alone():
    """The summary column could carry the question too, but this network does not use it."""
    iram = step_trial(WORD_BY_WORD)
    held = iram.see(networks.with_held_query(iram.model)).output.attention
    first, second = held[:, 0, :-1], held[:, 1, :-1]  # the same question to the same words
    torch.testing.assert_close(second / second.sum(1, keepdim=True), first, rtol=0, atol=1e-5)
    share = of_steps.ablations(iram)
    assert share["query held"] < 0.75
    assert share["summary masked"] > 0.95
    assert share["query held and summary masked"] < 0.75


def test_an_lstm_hides_the_steps():
    """With its own encoder IRAM solves the same task without steps that part."""
    iram = step_trial("IRAM with its LSTM")
    word_by_word = step_trial(WORD_BY_WORD)

    def cosine(seen):
        return of_steps.described(seen, "step cosine")

    assert accuracy(iram.seen) > 0.95
    assert cosine(iram.seen) > cosine(word_by_word.seen) + 0.05
    assert of_steps.ablations(iram)["query held"] > 0.8


def test_masking_the_summary_takes_two_steps():
    iram = networks.word_by_word_iram(IRAMConfig(steps=3), 5, 2)
    with pytest.raises(ValueError, match="takes an IRAM of 2 steps, got 3"):
        networks.without_summary(iram, torch.ones(1, 2).long(), torch.ones(1, 2).bool())


# AGT: a pair of words, which it can learn, and their order, which it cannot


def test_agt_learns_a_pair_that_no_sum_of_words_decides():
    agt = phrase_trial()
    assert accuracy(agt.seen) > 0.95
    weight, untrained, uniform = three(agt, of_phrases.on_pair)
    assert weight > 2.5 * untrained and weight > 2.5 * uniform
    selected, untrained, _ = three(agt, of_phrases.of_pair)
    assert selected > 0.7 and selected > 2 * untrained


def test_its_phrases_come_from_the_text_and_not_from_the_network():
    """The layers together select negator and adjective. Side by side they make a phrase, apart they
    do not; the network's output is the same."""
    agt = phrase_trial()
    together, chance = (use(agt.seen) for use in (of_phrases.over_layers,
                                                  of_phrases.over_layers_by_chance))  # fmt: skip
    assert together > chance + 0.2
    order = torch.arange(agt.batch.tokens.shape[1]).roll(-1).view(2, -1).T.flatten()  # a riffle
    tokens, mask = agt.batch.tokens[:, order], agt.batch.mask
    with torch.inference_mode():
        apart = agt.model(tokens, mask)
    torch.testing.assert_close(apart.logits, agt.seen.output.logits, rtol=0, atol=1e-4)
    assert of_phrases.over_layers(agt.seen._replace(output=apart)) < together - 0.2


def test_agt_fails_at_order_provably():
    """Its logits are the same for twins with the same words, so it gets exactly one of them."""
    agt = of_phrases.trial("order", "adjacent", ControlSpec(rows=400, epochs=2))
    tokens, mask = agt.batch.tokens, agt.batch.mask
    check_order_blindness(agt.model, tokens, mask)
    assert of_phrases.between_twins(agt.seen) < 1e-6
    right = agt.seen.output.logits.argmax(1) == agt.seen.labels
    assert right[::2].logical_xor(right[1::2]).float().mean() > 0.98  # ties fall by rounding
    assert abs(accuracy(agt.seen) - 0.5) < 0.01
    sanet = pair_trial("adjacent")
    with pytest.raises(AssertionError):
        check_order_blindness(
            lambda t, m: sanet.model(t, m, return_attention=True), tokens[:8], mask[:8]
        )


# One planted word


@pytest.mark.parametrize(
    ("network", "named"),
    [("AGT", 0.3), ("HAN word by word", 0.3), ("HAN with its GRU", 0.4), (WORD_BY_WORD, 0.4),
     ("IRAM with its LSTM", 0.4)],
)  # fmt: skip
def test_attention_finds_the_planted_word(network, named):
    one = planted_trial(network)
    assert accuracy(one.seen) > 0.95
    share, untrained, uniform = three(one, of_planted.on_planted)
    assert share > named and untrained < 0.1 and uniform == pytest.approx(1 / 18, abs=1e-3)
    beside, *others = three(one, of_planted.on_neighbours)
    assert beside < min(others)
    assert accuracy(one.reweighted(~one.decides)) < 0.65


def test_only_recurrent_neighbours_carry_the_planted_word():
    """All weight on the word beside it: chance word by word, better where an encoder reads on."""
    shares = {
        network: accuracy(one.reweighted(of_planted.neighbour(one)))
        for network in of_planted.NETWORKS
        if not network.startswith("SANet")
        for one in [planted_trial(network)]
    }
    for network in ("AGT", "HAN word by word", WORD_BY_WORD):
        assert shares[network] == pytest.approx(0.5, abs=0.03), network
    for network in ("HAN with its GRU", "IRAM with its LSTM"):
        assert shares[network] > 0.56, network


def test_sanets_pool_names_the_planted_word_without_attention():
    """``pooled_from`` rises above chance as much without attention as with it."""
    for network in ("SANet", "SANet without attention"):
        one = planted_trial(network)
        assert accuracy(one.seen) > 0.95
        share, untrained, _ = three(one, of_planted.on_planted)
        assert share > 1.7 / 18 and share > 1.4 * untrained
        assert of_planted.largest(one.seen) > 3 * of_planted.largest(one.see(one.untrained))


# An IRAM that halts itself


def test_where_one_fact_decides_an_iram_halts_sooner_than_where_one_names_the_other():
    network, spec = "a step costs 0.01", ControlSpec(rows=1600, epochs=8)
    one, two = (of_halting.trial(control, network, spec) for control in of_halting.TASKS)
    assert min(accuracy(one.seen), accuracy(two.seen)) > 0.95
    few, untrained, _ = three(one, of_halting.steps_taken)
    more = of_halting.steps_taken(two.seen)
    assert untrained == 4 and few < 1.8 < more < 3
    assert of_halting.first_weight(one.seen) > 0.9 > of_halting.first_weight(two.seen)


# The encoders that read word by word


@pytest.mark.parametrize("shape", [(3, 5), (3, 2, 4)])
def test_word_by_word_encoders_know_no_neighbours(shape):
    torch.manual_seed(0)
    tokens, mask = torch.randint(1, 9, shape), torch.ones(shape, dtype=torch.bool)
    mask[0, ..., -1] = False
    if len(shape) == 3:
        model = networks.word_by_word_han(HANConfig(embedding=4, hidden=4, attention=4), 9, 2)
        states = model.words.gru
        x = model.embedding(tokens).flatten(0, 1)
    else:
        model = networks.word_by_word_iram(IRAMConfig(embedding=4, hidden=4), 9, 2)
        states = model.encoder.words
        x = model.embedding(tokens)
    check_padding(model, tokens, mask)
    real = mask.view(x.shape[:2])
    changed = x.clone()
    changed[:, 0] += 1
    before, after = states(x, real), states(changed, real)
    assert not before[~real].any() and not torch.equal(before[:, 0], after[:, 0])
    assert torch.equal(before[:, 1:], after[:, 1:])


def test_the_sum_of_words_adds_nothing_for_padding():
    model = networks.SumOfWords(9, 2)
    check_padding(model, torch.tensor([[3, 4]]), torch.ones(1, 2).bool())


# The record and its table


def test_the_command_records_every_figure(tmp_path, capsys):
    path = tmp_path / "s1.json"
    arguments = ["--rows", "32", "--epochs", "1", "--seed", "1"]
    assert main(["controls", *arguments, "--output", str(path)]) == 0
    made = json.loads(path.read_text(encoding="utf-8"))
    assert made["command"] == f"attention-course controls {' '.join(arguments)}"
    assert {"commit", "device", "threads", "versions"} <= set(made["environment"])
    assert made["spec"]["seed"] == 1 and set(made["tasks"]) == set(CONTROL_TASKS)
    assert list(sanity_figures([made])) == list(sanity_figures())
    assert "step cosine" in capsys.readouterr().out
    table = sanity_table("order", [made])
    assert table.splitlines()[2].startswith("| order | AGT | accuracy | 0.5")
    with pytest.raises(ValueError, match="no check 'nope'; the records hold: adjacent pairs, "):
        sanity_table("nope", [made])
    with pytest.raises(ValueError, match="`attention-course controls` makes one"):
        sanity_records(tmp_path / "empty")


def recorded(control, network, figure, column="trained"):
    return statistics.mean(sanity_figures()[control, network, figure][column])


def test_the_committed_records_are_of_three_seeds_and_say_the_same():
    records = sanity_records(record.RECORDS)
    assert [made["spec"] | {"seed": None} for made in records] == [
        ControlSpec(seed=None).__dict__
    ] * 3
    assert [made["spec"]["seed"] for made in records] == [0, 1, 2]
    assert not any("dirty" in made["environment"]["commit"] for made in records)
    for bandwidth in of_pairs.BANDS:
        figure = "SANet", f"diagonality {bandwidth}"
        assert recorded("adjacent pairs", *figure) > 0.02 + max(
            recorded("adjacent pairs", *figure, column) for column in ("untrained", "uniform")
        )
    beside = "distant pairs", "SANet", "weight on the words beside it"
    assert recorded(*beside) <= recorded(*beside, "uniform")
    cosine = "pointer", f"{WORD_BY_WORD}, γ = {of_steps.PENALTY}", "step cosine"
    assert recorded(*cosine) < 0.3 < 0.9 < recorded(*cosine, "untrained")
    assert recorded("order", "AGT", "accuracy") == pytest.approx(0.5, abs=0.005)
    assert recorded("pointer", WORD_BY_WORD, "accuracy, summary masked") > 0.95
    assert recorded("pointer", WORD_BY_WORD, "accuracy, query held") < 0.75
    steps = [recorded(control, "a step costs 0.01", "steps taken") for control in of_halting.TASKS]
    assert steps[0] < 1.6 < 2 < steps[1] < 2.7
