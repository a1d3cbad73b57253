"""Sanity checks: on texts of which we know what decides, the instruments see it, or cannot.

Each network is small and trained for seconds; ``results/sanity_checks`` holds longer trainings of
three seeds, which the lessons' claims hold to the same findings, SANet's band and IRAM's steps
among them.
"""

import json
from collections import Counter
from dataclasses import replace
from functools import cache, partial

import pytest
import torch
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from course_kit.research.report import sanity_figures, study_records
from course_kit.research.sanity_checks import ControlSpec, sanity_record, train_check, word_by_word
from course_kit.research.sanity_checks import instruments as shows
from course_kit.research.sanity_checks.synthetic import (
    FAR,
    FILLERS,
    SYNTHETIC_TASKS,
    write_texts,
)
from course_lib.cli import main
from course_lib.files import DataError
from course_lib.metrics.invariants import check_padding
from course_lib.models.han import HANConfig
from course_lib.models.iram import IRAMConfig

WORD_BY_WORD = "IRAM word by word"
SIZES = {"phrase": (1500, 6), "planted word": (1000, 6)}


@cache
def trained(control, network):
    rows, epochs = SIZES[control]
    return train_check(control, network, ControlSpec(rows=rows, epochs=epochs))


def three(control, instrument, **options):
    """What an instrument shows of the trained network, its untrained twin and uniform attention."""
    return control.show(partial(instrument, **options)).values()


# The texts


@pytest.mark.parametrize("task", SYNTHETIC_TASKS)
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
            for animal, young in zip(text.decides[::2], text.decides[1::2], strict=True):
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
    with pytest.raises(DataError, match="no task 'nope'; there are: adjacent, "):
        write_texts("nope", 10)
    for rows in (0, 7):
        with pytest.raises(DataError, match=f"so rows is an even number, not {rows}"):
            write_texts("phrase", rows)


# What an instrument changes in a network


def test_weights_at_a_distance_are_left_out_and_the_others_fill_their_rows(monkeypatch):
    """Seen through what an intervention hands to the network."""
    spec = ControlSpec(rows=32, epochs=1)
    one, given = train_check("sharp band", "SANet, adjacent pairs", spec), []
    see = type(one).see
    monkeypatch.setattr(
        type(one), "see", lambda self, *given_: given.append(given_[1:]) or see(self, *given_)
    )
    assert list(shows.at_distances(one)) == [
        "accuracy, no weight on the words beside it",
        "accuracy, weight on itself and the words beside it alone",
        f"accuracy, no weight {FAR} positions away",
    ]
    beside, alone, away = (some[0][0, 0] for some in given if some)
    weights = one.seen.output.attention[0, 0]
    assert not beside.diagonal(1).any() and torch.equal(beside.diagonal(2), weights.diagonal(2))
    assert torch.equal(alone.diagonal(-1), weights.diagonal(-1)) and not alone.diagonal(2).any()
    assert not away.diagonal(-FAR).any() and torch.equal(away.diagonal(), weights.diagonal())


def test_a_held_query_asks_the_same_again_and_a_masked_summary_gets_no_weight():
    torch.manual_seed(0)
    config = IRAMConfig(embedding=4, hidden=4, steps=2, initial_std=1.0)
    iram = word_by_word.word_by_word_iram(config, 9, 2).eval()
    given = torch.tensor([[3, 4, 5]]), torch.ones(1, 3).bool()
    first, second = word_by_word.with_held_query(iram)(*given).attention[0, :, :3]
    torch.testing.assert_close(second / second.sum(), first)
    output = iram(*given)
    words = output.attention * torch.tensor([1.0, 1, 1, 0])
    masked = iram(*given, words / words.sum(2, keepdim=True)).logits
    torch.testing.assert_close(word_by_word.without_summary(iram, *given), masked)
    assert not torch.allclose(masked, output.logits, atol=1e-3)
    iram.config = replace(iram.config, steps=3)
    with pytest.raises(ValueError, match="takes an IRAM of 2 steps, got 3"):
        word_by_word.without_summary(iram, *given)


def test_agt_learns_a_pair_that_no_sum_of_words_decides():
    agt = trained("phrase", "AGT")
    assert shows.accuracy(agt.seen) > 0.95
    weight, untrained, uniform = three(agt, shows.on_pair)
    assert weight > 2.5 * untrained and weight > 2.5 * uniform
    selected, untrained, _ = three(agt, shows.of_pair)
    assert selected > 0.7 and selected > 2 * untrained
    over_layers = partial(shows.phrase_length, agt.seen, over_layers=True)
    assert over_layers() > over_layers(by_chance=True) + 0.2, "negator and adjective, side by side"


# One planted word


@pytest.mark.parametrize(
    ("network", "named"),
    [("AGT", 0.3), ("HAN word by word", 0.3), ("HAN with its GRU", 0.4), (WORD_BY_WORD, 0.4),
     ("IRAM with its LSTM", 0.4)],
)  # fmt: skip
def test_attention_finds_the_planted_word_and_only_recurrent_neighbours_carry_it(network, named):
    one = trained("planted word", network)
    assert shows.accuracy(one.seen) > 0.95
    share, untrained, uniform = three(one, shows.on_planted)
    assert share > named and untrained < 0.1 and uniform == pytest.approx(1 / 18, abs=1e-3)
    beside, *others = three(one, shows.on_neighbours)
    assert beside < min(others)
    assert shows.largest(one.seen) > 3 * shows.largest(one.see(one.untrained))
    accuracy = shows.reweighting(one)
    assert accuracy["accuracy, no weight on it"] < 0.65
    # all weight on the word beside it: chance word by word, better where an encoder reads on
    neighbour = accuracy["accuracy, all weight on a neighbour"]
    assert neighbour > 0.56 if "with its" in network else abs(neighbour - 0.5) < 0.03


# The encoders that read word by word


@pytest.mark.parametrize("shape", [(3, 5), (3, 2, 4)])
def test_word_by_word_encoders_know_no_neighbours(shape):
    torch.manual_seed(0)
    tokens, mask = torch.randint(1, 9, shape), torch.ones(shape, dtype=torch.bool)
    mask[0, ..., -1] = False
    if len(shape) == 3:
        model = word_by_word.word_by_word_han(HANConfig(embedding=4, hidden=4, attention=4), 9, 2)
        states, x = model.words.gru, model.embedding(tokens).flatten(0, 1)
    else:
        model = word_by_word.word_by_word_iram(IRAMConfig(embedding=4, hidden=4), 9, 2)
        states, x = model.encoder.words, model.embedding(tokens)
    check_padding(model, tokens, mask)
    real = mask.view(x.shape[:2])
    changed = x.clone()
    changed[:, 0] += 1
    before, after = states(x, real), states(changed, real)
    assert not before[~real].any() and not torch.equal(before[:, 0], after[:, 0])
    assert torch.equal(before[:, 1:], after[:, 1:])


# The record and its table


def test_the_command_records_every_figure(tmp_path, capsys):
    path = tmp_path / "s1.json"
    arguments = ["--rows", "32", "--epochs", "1", "--seed", "1"]
    assert main(["sanity-checks", *arguments, "--output", str(path)]) == 0
    made = json.loads(path.read_text(encoding="utf-8"))
    assert made["command"] == f"attention-course author sanity-checks {' '.join(arguments)}"
    assert {"commit", "device", "threads", "versions"} <= set(made["environment"])
    assert made["spec"]["seed"] == 1 and set(made["tasks"]) == set(SYNTHETIC_TASKS)
    finished = {key for key in sanity_figures() if key[0].startswith("halting")}
    assert sanity_figures({"made": made}).keys() == sanity_figures().keys() - finished
    assert "step cosine" in capsys.readouterr().out


def test_one_control_is_recorded_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(sanity_record, "RECORDS", tmp_path)
    assert main(["sanity-checks", "--control", "order", "--rows", "32", "--epochs", "1"]) == 0
    made = json.loads((tmp_path / "order-s0.json").read_text(encoding="utf-8"))
    assert 'author sanity-checks --control "order" --rows 32' in made["command"]
    assert {line["control"] for line in made["lines"]} == {"order"}


def test_the_committed_records_are_of_three_seeds_and_clean_commits():
    records = study_records("sanity_checks")
    assert records.keys() == {f"{of}s{seed}" for of in ("", "sharp-band-") for seed in range(3)}
    for name, made in records.items():
        assert made["spec"] == vars(ControlSpec(seed=int(name[-1])))
        assert "dirty" not in made["environment"]["commit"]
