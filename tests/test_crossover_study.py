"""When does sparse attention help: encoders, attentions, the ruler, runs, and the plan's tests."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import asdict
from itertools import product

import numpy as np
import pandas as pd
import pytest
import torch

from course_kit.research.crossover_study import (
    analysis,
    cell,
    corpora,
    design,
    intervals,
    measures,
    planted,
    power,
    publishing,
    ruler,
    runner,
    training,
)
from course_kit.research.crossover_study.attentions import ATTENTIONS
from course_kit.research.crossover_study.encoders import ENCODERS
from course_kit.research.crossover_study.encoders.bilstm import BiLSTM
from course_kit.research.crossover_study.encoders.mixed import Mixed
from course_kit.research.crossover_study.encoders.transformer import Blocks
from course_kit.research.crossover_study.network import Pooled, Reader, with_deletions
from course_lib import faithfulness, metrics
from course_lib.data.vocabulary import Vocabulary
from course_lib.faithfulness.erasure import orders
from course_lib.files import REPOSITORY, DataError, data_root

pytestmark = pytest.mark.full  # a study

DATA = data_root()  # looked up before a fixture hides it
WIDTH = 8
WORDS = tuple("abcdefghijklmnopqrst")
TEXT = list(WORDS)
WORD_BY_WORD = ["projected", "minilm", "blocks0", "blocks1-window0", "blocks2-window0"]
WORD_BY_WORD += ["bilstm-mix0.0", "transformer-mix0.0"]


def detector(documents):
    """Sure of class 1 if "g" is there, else of nothing."""
    there = np.array(["g" in document for document in documents])
    return np.stack([np.where(there, 0.1, 0.5), np.where(there, 0.9, 0.5)], 1)


def additive_model(values):
    """The probability of class 1 falls by a word's value when the word goes."""

    def model(documents):
        p = np.array([0.05 + sum(values[w] for w in document) for document in documents])
        return np.stack([1 - p, p], 1)

    return model


def reader_of(encoder="projected", attention="additive"):
    torch.manual_seed(1)
    table = torch.randn(len(WORDS) + 2, WIDTH)
    table[0] = 0
    return Reader(Pooled(encoder, attention, table, 2), Vocabulary(WORDS), None)


def changed_places(encoder, place):
    """Where states change when the word at ``place`` becomes another one."""
    torch.manual_seed(0)
    network = ENCODERS[encoder](WIDTH).eval()
    x, mask = torch.randn(1, 12, WIDTH), torch.ones(1, 12, dtype=torch.bool)
    other = x.clone()
    other[0, place] = torch.randn(WIDTH)
    gaps = (network(x, mask) - network(other, mask)).abs().amax(2)[0]
    return (gaps > 1e-6).nonzero()[:, 0].tolist()


@pytest.mark.parametrize("encoder", WORD_BY_WORD)
def test_without_context_a_state_does_not_change_with_its_neighbours(encoder):
    assert changed_places(encoder, 5) == [5]


@pytest.mark.parametrize(
    "encoder, reach", [("blocks1-window1", 1), ("blocks2-window1", 2), ("blocks1-window4", 4)]
)
def test_a_window_is_as_wide_as_it_says(encoder, reach):
    assert changed_places(encoder, 5) == list(range(5 - reach, 6 + reach))


@pytest.mark.parametrize("encoder", ["bilstm", "transformer", "blocks1", "transformer-mix0.25"])
def test_other_states_have_read_the_whole_text(encoder):
    assert changed_places(encoder, 5) == list(range(12))


@pytest.mark.parametrize("encoder", [BiLSTM, Blocks])
def test_a_mix_of_one_is_the_encoder(encoder):
    torch.manual_seed(0)
    mixed = Mixed(encoder, 1.0, WIDTH).eval()
    x, mask = torch.randn(2, 5, WIDTH), torch.ones(2, 5, dtype=torch.bool)
    assert torch.allclose(mixed(x, mask), mixed.encoder(x, mask))


@pytest.mark.parametrize("encoder, contextual", [("projected", False), ("bilstm", True)])
def test_contextuality_is_zero_word_by_word_only(encoder, contextual):
    reader, texts = reader_of(encoder), [list("abcdefg"), list("gkb")]
    found = measures.contextuality(reader, texts, reader.see(texts).states)
    assert found.shape == (2,) and ((found > 0.01) == contextual).all()
    assert contextual or found == pytest.approx(0, abs=1e-5)


@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize("encoder", ["projected", "bilstm", "transformer", "blocks1-window1"])
def test_padding_changes_nothing(encoder, attention):
    reader, texts = reader_of(encoder, attention), [TEXT[:12], TEXT[5:9]]
    together = reader.see(texts)
    for n, text in enumerate(texts):
        alone = reader.see([text])
        assert np.allclose(together.probabilities[n], alone.probabilities[0], atol=1e-6)
        assert np.allclose(together.attention[n], alone.attention[0], atol=1e-6)
        assert together.attention[n].sum() == pytest.approx(1, abs=1e-6)


def test_a_lower_temperature_concentrates():
    found = {
        name: measures.concentration(reader_of("projected", name).see([TEXT]).attention[0])
        for name in ("sharp", "additive", "flat", "uniform")
    }
    assert found["sharp"] > found["additive"] > found["flat"] > found["uniform"] - 1e-9
    assert found["uniform"] == pytest.approx(0, abs=1e-6)


def test_query_and_key_start_as_attention():
    """The scores of a dot product with the state itself start near 0; these do not."""
    torch.manual_seed(0)
    h, mask = torch.randn(50, 20, 64), torch.ones(50, 20, dtype=torch.bool)
    alpha = ATTENTIONS["query_key"](64)(h, mask)[1]
    assert alpha.amax(2).mean() > 2 / 20


def test_deleted_words_leave_the_others_in_order():
    torch.manual_seed(0)
    tokens = torch.arange(1, 41).repeat(100, 1)
    mask = torch.arange(40) < torch.randint(5, 41, (100, 1))
    left, real = with_deletions(tokens.masked_fill(~mask, 0), mask, 0.5)
    assert (left[:, 0] == 1).all() and (real == (left > 0)).all()
    for row, kept in zip(left, real):
        assert (row[kept].diff() > 0).all()
    lost = 1 - real.sum(1) / mask.sum(1)
    assert 0.15 < lost.mean() < 0.3 and lost.max() < 0.75
    same, still = with_deletions(tokens, torch.ones_like(tokens, dtype=torch.bool), 0.0)
    assert torch.equal(same, tokens) and still.all()


def test_all_kinds_lose_the_same_number_of_words():
    """A support of two words shortens the first edition's ruler, and no other."""
    asked = []

    def model(documents):
        asked.extend(map(len, documents))
        return detector(documents)

    weights = np.zeros(20)
    weights[[6, 2]] = 0.7, 0.3
    wanted = ruler.sizes(20, 2)
    assert wanted[ruler.EQUAL_K] == ruler.sizes(20, 20)[ruler.EQUAL_K] == (1, 2, 4, 8)
    assert wanted[ruler.EQUAL_SHARES] == ruler.sizes(20, 20)[ruler.EQUAL_SHARES] == (2, 4, 10)
    assert wanted[ruler.OLD] == (2, 2, 2)
    ruler.losses(model, [TEXT], [ruler.orders(TEXT, weights)], [wanted[ruler.EQUAL_K]])
    assert sorted(set(asked)) == [12, 16, 18, 19, 20]


def test_ties_come_from_a_stream_of_their_own():
    streams = [ruler.stream(TEXT, which).random(5) for which in (ruler.TIES, ruler.RANDOM)]
    assert not np.array_equal(*streams)
    equal = np.full(20, 0.05)
    drawn = ruler.orders(TEXT, equal, draws=200)
    assert np.array_equal(drawn, ruler.orders(TEXT, equal, draws=200))
    first = np.bincount(drawn[:, 0], minlength=20)
    assert first.max() < 30  # of 200, where 10 are expected
    others = [*ruler.random_orders(TEXT), orders([TEXT], [equal])[0]]
    others += [np.argsort(-faithfulness.random_importance([TEXT])[0])]
    taken = {tuple(order) for order in drawn} | {tuple(order[::-1]) for order in drawn}
    assert not taken & {tuple(order) for order in others}


@pytest.mark.parametrize("own, of_other", [("TIES", "RANDOM"), ("RANDOM", "TIES")])
def test_neither_stream_depends_on_the_other(own, of_other, monkeypatch):
    def drawn():
        ties, random = ruler.orders(TEXT, np.zeros(20)), ruler.random_orders(TEXT)
        return {"TIES": ties, "RANDOM": random}

    before = drawn()
    monkeypatch.setattr(ruler, own, 9)
    after = drawn()
    assert not np.array_equal(before[own], after[own])
    assert np.array_equal(before[of_other], after[of_other])


def test_only_tied_words_change_places():
    weights = np.zeros(20)
    weights[[6, 2]] = 0.7, 0.3
    drawn = ruler.orders(TEXT, weights)
    assert len(drawn) == ruler.DRAWS and (drawn[:, :2] == [6, 2]).all()
    assert len({tuple(order[2:]) for order in drawn}) == ruler.DRAWS
    assert len(ruler.orders(TEXT, np.arange(20.0))) == 1


@pytest.mark.parametrize("support", [1, 5, 20])
def test_attention_to_the_deciding_word_is_worth_one(support):
    """Whatever else has weight: the truth is the same, and so is the value."""
    weights = np.zeros(20)
    weights[:support] = 0.1 / support
    weights[6] = 0.9
    found = ruler.places(detector, [TEXT], {"": [weights]}, [support])
    for name in ruler.RULERS:
        assert found[name, ""].value[0] == pytest.approx(1), name
    assert found[ruler.EQUAL_K, "random"].value[0] < 0.8


def test_attention_that_avoids_the_deciding_word_is_worth_nothing():
    weights = 1 - np.eye(20)[6]
    found = ruler.places(detector, [TEXT], {"": [weights]}, [19])
    assert found[ruler.FIRST_WORD, ""].value[0] == 0


def test_without_room_there_is_no_value():
    """A word that changes the probability by half a point is no reason to rank it first."""
    found = ruler.places(
        additive_model(dict.fromkeys(WORDS, 0) | {"g": 0.005}),
        [TEXT],
        {"": [np.arange(20.0)]},
        [20],
    )
    assert np.isnan(found[ruler.EQUAL_K, ""].value[0])


def test_a_filler_takes_the_place_of_a_removed_word():
    seen = []

    def model(documents):
        seen.extend(documents)
        return detector(documents)

    ruler.losses(model, [TEXT], [np.arange(20)[None]], [(2,)], filler="x")
    assert seen[-1] == ["x", "x", *TEXT[2:]]


def test_the_beam_finds_what_words_alone_do_not_show():
    """Without "a", the decision rests on "g"; alone, "g" counts less than any other word."""

    def model(documents):
        stay = [0.6 if {"a", "g"} & set(d) else 0.1 for d in documents]
        rest = [0.1 * ("a" in d) + 0.01 * len(set(d) - {"a", "g"}) for d in documents]
        p = np.array(stay) + np.array(rest)
        return np.stack([1 - p, p], 1)

    in_turn = np.arange(20.0, 0, -1)
    alone = ruler.places(model, [TEXT], {"": [in_turn]}, [20])[ruler.EQUAL_K, ""].upper[0]
    beam = ruler.beam_limits(model, [TEXT])[0]
    assert beam > alone and beam == pytest.approx((0.1 + 0.6 + 0.62 + 0.66) / 4)


def test_the_beam_is_exact_where_words_add_up():
    values = dict(zip(WORDS, np.linspace(0, 0.09, 20)))
    largest = np.sort(list(values.values()))[::-1].cumsum()[[0, 1, 3, 7]]
    assert ruler.beam_limits(additive_model(values), [TEXT])[0] == pytest.approx(largest.mean())


def test_truth_counts_pairs():
    assert measures.truth(np.array([0.1, 0.7, 0.2]), (1,)) == 1
    assert measures.truth(np.array([0.7, 0.1, 0.2]), (1,)) == 0
    assert measures.truth(np.array([0.5, 0.5, 0, 0]), (0,)) == pytest.approx(5 / 6)
    assert measures.truth(np.array([0.4, 0.1, 0.3, 0.2]), (0, 1)) == pytest.approx(0.5)
    assert np.isnan(measures.truth(np.ones(3), ()))


@pytest.mark.parametrize("encoder", ["projected", "bilstm"])
def test_gradients_are_those_of_the_log_odds(encoder):
    reader = reader_of(encoder)
    ((x, slope),) = reader.gradients([TEXT], np.array([1]))
    with torch.no_grad():
        vectors, step = (torch.from_numpy(each).float() for each in (x, 0.001 * slope))
        moved = torch.stack([vectors + step, vectors - step])
        logits = reader.network.read(moved, torch.ones(2, 20, dtype=torch.bool)).logits
    gain = (logits[:, 1] - logits[:, 0]).tolist()
    assert gain[0] - gain[1] == pytest.approx(0.002 * (slope**2).sum(), rel=0.02)


def test_every_ranking_is_measured_by_the_same_limits():
    reader = reader_of("bilstm", "sparsemax")
    split = corpora.Split([TEXT, TEXT[::-1]], np.array([0, 1]), [(3,), (4,)])
    found = measures.measure(reader, split, beam=True)
    for name in ruler.RULERS:
        of = ["", " of random", *(f" of {each}" for each in measures.RANKERS)]
        for ranking, removal in product(of, planted.SUFFIXES):
            values = found[name + ranking + removal]
            assert np.isnan(values).all() or ((values > -1e-9) & (values < 1 + 1e-9)).all()
    assert (found["equal k, beam, masking"] >= found["equal k, loss, masking"] - 1e-9).all()
    beam = ruler.beam_limits(reader, split.words, measures.UNKNOWN)
    assert np.allclose(found["equal k, beam, masking"], beam)
    assert not np.allclose(found["equal k, loss"], found["equal k, loss, masking"])
    assert len(cell.rows(design.groups()["pilot"][0], split, found, 0.8)) == 2


def test_planted_texts_have_the_words_that_decide():
    for deciding, name in corpora.PLANTED.items():
        splits = corpora.load(name)
        good, bad = set(corpora.GOOD), set(corpora.BAD)
        for words, label, places in zip(
            splits["test"].words, splits["test"].labels, splits["test"].decides
        ):
            judged = [n for n, word in enumerate(words) if word in good | bad]
            assert sorted(places) == judged and len(judged) == deciding
            assert {words[n] for n in judged} <= (good if label else bad)
        assert not set(splits["train"].digests) & set(splits["test"].digests)


def test_the_texts_are_those_of_the_list(monkeypatch, tmp_path):
    listed = tmp_path / "held_out.json"
    monkeypatch.setattr(corpora, "HELD_OUT", listed)
    known = corpora.described(corpora.load.__wrapped__("planted"))
    listed.write_text(json.dumps({"planted": known}))
    corpora.load.__wrapped__("planted")
    known["splits"]["train"] = "0" * 16
    listed.write_text(json.dumps({"planted": known}))
    with pytest.raises(DataError, match="planted: these are not the texts"):
        corpora.load.__wrapped__("planted")


@pytest.mark.skipif(
    not (DATA / "prepared" / "sst2_sentences-v1").exists(), reason="takes the real texts"
)
def test_the_corpora_are_new(monkeypatch):
    """None of their measured texts was read by the first edition, and all are long enough."""
    monkeypatch.setenv("COURSE_DATA_DIR", str(DATA))
    first = json.loads(corpora.FIRST_HELD_OUT.read_text(encoding="utf-8"))
    for name in corpora.NEW:
        splits = corpora.load.__wrapped__(name)
        measured = corpora.measured(splits["test"])
        assert len(measured) == corpora.MEASURED
        assert min(map(len, measured.words)) >= corpora.LEAST_WORDS
        assert not set(measured.digests) & {d for each in first.values() for d in each}
        assert not set(measured.digests) & set(splits["train"].digests)


def test_clustered_is_the_crossed_estimate_on_a_full_table():
    random = np.random.default_rng(0)
    table = random.normal(size=(4, 9)) + random.normal(size=(4, 1)) + random.normal(size=(1, 9))
    networks, texts = np.repeat(np.arange(4), 9), np.tile(np.arange(9), 4)
    found, wanted = intervals.clustered(table.ravel(), networks, texts), metrics.crossed(table)
    assert found.value == pytest.approx(wanted.value)
    assert found.by_seeds == pytest.approx(wanted.by_seeds)
    assert found.by_texts == pytest.approx(wanted.by_texts)
    assert found.freedom == 3


def test_clustered_intervals_hold_the_mean_with_gaps_in_the_table():
    random, held = np.random.default_rng(1), 0
    networks, texts = np.repeat(np.arange(5), 30), np.tile(np.arange(30), 5)
    for _ in range(200):
        table = 0.2 * random.normal(size=(5, 1)) + 0.2 * random.normal(size=(1, 30))
        values = (table + 0.3 * random.normal(size=(5, 30))).ravel()
        values[random.random(150) < 0.3] = np.nan
        low, high = intervals.clustered(values, networks, texts).interval
        held += low < 0 < high
    assert held >= 0.9 * 200


def test_drawn_levels_are_the_sample():
    parts = [metrics.statistics.Estimate(value, 0.1, 9) for value in (0.1, 0.2, 0.3)]
    found = intervals.drawn(parts)
    assert found.value == pytest.approx(0.2)
    assert found.half_width() == pytest.approx(4.303 * 0.1 / 3**0.5, rel=1e-3)


def planted_rows(gap, kinds=("additive", "sparsemax")):
    """Texts of equal truth in which the second kind's value is larger by ``gap``."""
    random = np.random.default_rng(0)
    rows = [
        ("planted", "bilstm", kind, seed, f"t{text}", 1.0, 0.5 + gap * n + 0.05 * random.normal())
        for n, kind in enumerate(kinds)
        for seed in range(5)
        for text in range(20)
    ]
    names = ["corpus", "encoder", "attention", "seed", "text", "truth", "value"]
    table = pd.DataFrame(rows, columns=names)
    ends = {"lower": 0.0, "upper": 0.8, "beam": 1.0}
    table = table.assign(**{f"{ruler.EQUAL_K}, {end}": value for end, value in ends.items()})
    return table.assign(**{column: table["value"] for column in planted.COLUMNS})


def test_a_ruler_passes_where_equal_truth_has_equal_values(monkeypatch):
    monkeypatch.setattr(planted, "DRAWN", 5)
    found = planted.decision(planted_rows(0.0))
    assert found["equal"] == planted.COLUMNS and found["looseness"] == {
        "bilstm": pytest.approx(0.2)
    }
    for gap in (0.15, -0.15):
        within = planted.equal_truth(planted_rows(gap), ruler.EQUAL_K)["within"]
        assert within.tolist() == [False]


def test_a_ruler_that_never_changes_does_not_see_the_truth():
    table = planted_rows(0.0)
    table.loc[(table["attention"] == "sparsemax") & (table["seed"] > 2), "truth"] = 0.5
    for column, seen in {"constant": False, "truthful": True, "reversed": False}.items():
        table["constant"], table["truthful"], table["reversed"] = (
            1.0,
            table["truth"],
            -table["truth"],
        )
        value, low, high, texts = planted.larger_truth(table, column)["bilstm"]
        assert texts == 40 and (low > 0) == seen
        assert low <= value <= high


@pytest.mark.parametrize("sees, primary", [("equal shares", "equal shares"), ("", None)])
def test_the_primary_measure_sees_the_truth(sees, primary, monkeypatch):
    """All pass the first test here; without the second, the first column would be chosen."""
    monkeypatch.setattr(planted, "DRAWN", 5)
    table = planted_rows(0.0)
    table.loc[(table["attention"] == "sparsemax") & (table["seed"] > 2), "truth"] = 0.5
    if sees:
        table[sees] = table["truth"] + 0.01 * table["value"]
    found = planted.decision(table)
    assert len(found["equal"]) == len(planted.COLUMNS) and found["primary"] == primary


def test_the_interval_of_a_correlation_turns_with_its_sign():
    random, setting = np.random.default_rng(0), ["corpus", "seed", "attention", "text"]
    rows = pd.DataFrame(product("ab", range(5), ["additive", "dot", "sparsemax"], range(4)))
    rows = rows.set_axis(setting, axis=1).assign(encoder="bilstm", truth=random.random(len(rows)))
    rows["value"] = rows["truth"] + random.normal(size=len(rows))
    (found,) = planted.correlations(rows, "value").values()
    (turned,) = planted.correlations(rows.assign(value=-rows["value"]), "value").values()
    rho, low, high = found
    assert -1 <= low < rho < high <= 1 and turned == pytest.approx((-rho, -high, -low))


def test_stopping_at_the_support_is_the_gain_of_the_old_ruler():
    table = planted_rows(0.0)
    table[ruler.OLD] += 0.3 * (table["attention"] == "sparsemax")
    found = planted.stopping(table)
    assert found["bilstm, sparsemax"][0] == pytest.approx(0.3, abs=1e-3)
    assert found["bilstm, additive"][0] == 0


def test_the_primary_measure_is_what_the_planted_texts_chose():
    decided = json.loads(planted.DECISION.read_text(encoding="utf-8"))
    assert decided["primary"] == analysis.PRIMARY
    again = planted.tested(pd.read_parquet(planted.TABLE), analysis.PRIMARY)
    assert again == decided["rulers"][analysis.PRIMARY]


def test_unequal_truth_is_not_compared():
    table = planted_rows(0.5)
    table.loc[table["attention"] == "sparsemax", "truth"] = 0.5
    assert planted.equal_truth(table, ruler.EQUAL_K)["within"].isna().all()


def made_up(effects, seeds=6, texts=40, corpora_=("huffpost", "films")):
    """A table of every setting of the plan's tests, with ``effects`` by setting."""
    random = np.random.default_rng(0)
    settings = {(c.encoder, c.attention, c.training) for c in design.cells()}
    rows = []
    for corpus in corpora_:
        for setting in sorted(settings):
            base = 0.5 + effects.get(setting, 0.0)
            noise = 0.02 * random.normal(size=(seeds, 1)) + 0.1 * random.normal(size=(seeds, texts))
            rows += [
                (corpus, *setting, s, f"{corpus}{t}", base + noise[s, t], 0.5)
                for s in range(seeds)
                for t in range(texts)
            ]
    names = ["corpus", *analysis.SETTING, "seed", "text", analysis.PRIMARY]
    columns = [*names, f"{ruler.EQUAL_K} of integrated gradient, masking"]
    return pd.DataFrame(rows, columns=columns)


def test_the_analysis_finds_what_a_made_up_table_holds():
    effects = {
        ("bilstm", "sparsemax", "usual"): -0.03,
        ("transformer", "sparsemax", "usual"): -0.15,
        ("projected", "additive", "usual"): 0.2,
        ("projected", "sparsemax", "usual"): 0.3,
    }
    found = analysis.results(made_up(effects)).set_index("hypothesis")
    row = found.loc["sparsemax, BiLSTM − Transformer"]
    assert row["low"] < 0.12 < row["high"] and row["outcome"] == "as predicted"
    assert found.loc["sparsemax over the Transformer", "outcome"] == "as predicted"
    assert found.loc["sparsemax over the BiLSTM", "outcome"] == "as predicted"
    assert found.loc["sharp − flat", "outcome"] == "as predicted"
    value = found.loc["sparsemax, projected − contextual", "value"]
    assert value == pytest.approx(0.1 + (0.03 + 0.15) / 2, abs=0.05)
    beyond = found.loc["projected − Transformer, beyond gradients", "value"]
    assert beyond == pytest.approx(0.2, abs=0.05)
    assert found.loc["entmax 1.5, BiLSTM − Transformer", "outcome"] == "open"


def test_a_failed_prediction_is_against_it():
    effects = {("bilstm", "sparsemax", "usual"): 0.2, ("transformer", "sparsemax", "usual"): 0.3}
    found = analysis.results(made_up(effects)).set_index("hypothesis")["outcome"]
    assert found["sparsemax over the Transformer"] == "against it"
    assert found["sparsemax over the BiLSTM"] == "against it"
    assert found["sparsemax, BiLSTM − Transformer"] == "against it"


def test_what_was_not_run_is_not_done_and_stays_in_holms_family():
    table = made_up({("transformer", "sparsemax", "usual"): -0.15})
    some = table[~table["encoder"].str.contains("window")]
    found = analysis.results(some).set_index("hypothesis")
    assert found.loc["additive, by window", "outcome"] == "not done"
    p = found["p"].fillna(1.0)
    assert p.isna().sum() == 0 and (found["p"].isna().sum()) == 2
    assert found["holm"].tolist() == pytest.approx(metrics.holm(p.tolist()))


def test_a_corpus_without_the_networks_of_a_contrast_is_left_out():
    table = made_up({("transformer", "sparsemax", "usual"): -0.15})
    gone = (table["corpus"] == "films") & (table["attention"] == "sparsemax")
    (hypothesis,) = [h for h in analysis.HYPOTHESES if h.name == "sparsemax over the Transformer"]
    alone = analysis.fixed(table[table["corpus"] == "huffpost"], hypothesis)
    assert analysis.fixed(table[~gone], hypothesis) == alone


def test_networks_that_have_not_learned_are_left_out(tmp_path):
    columns = {"corpus": ["huffpost"] * 2, "accuracy": [0.39, 0.41]}
    pd.DataFrame(columns).to_parquet(tmp_path / "huffpost.parquet")
    pd.DataFrame({"corpus": ["films"], "accuracy": [0.59]}).to_parquet(tmp_path / "films.parquet")
    assert analysis.load(tmp_path)["accuracy"].tolist() == [0.41]


def test_slopes_are_those_of_least_squares():
    values = {"a": 1.0, "b": 1.5, "c": 4.0}
    doses = [("a", 0.0), ("b", 0.5), ("c", 2.0)]
    made = analysis.slope(None, lambda _, encoder: pd.Series([values[encoder]]), doses)
    wanted = np.polyfit([dose for _, dose in doses], list(values.values()), 1)[0]
    assert made[0] == pytest.approx(wanted)


def test_a_window_is_a_step_of_the_dose():
    effects = {(name, "additive", "usual"): -0.1 * n for n, name in enumerate(analysis.WINDOWS)}
    found = analysis.results(made_up(effects)).set_index("hypothesis")
    row = found.loc["additive, by window"]
    assert row["low"] < -0.3 < row["high"] and row["outcome"] == "as predicted"
    assert found.loc["sparsemax, by window", "value"] == pytest.approx(0.3, abs=0.05)


def test_every_ruler_has_a_column_beside_the_primary_one(monkeypatch):
    monkeypatch.setattr(planted, "COLUMNS", [analysis.PRIMARY, ruler.FIRST_WORD])
    table = made_up({("transformer", "sparsemax", "usual"): -0.15}, seeds=3, texts=9)
    table[analysis.RAW] = 2 * table[analysis.PRIMARY]
    found = analysis.by_ruler(table)
    values = analysis.results(table)["value"].to_numpy()
    assert found[analysis.PRIMARY].to_numpy() == pytest.approx(values)
    assert found[analysis.RAW].to_numpy()[:4] == pytest.approx(2 * values[:4])
    assert found[ruler.FIRST_WORD].isna().all()


def test_every_setting_of_a_hypothesis_is_in_the_design():
    """With all groups run, no hypothesis lacks a network."""
    assert not (analysis.results(made_up({}, seeds=3, texts=9))["outcome"] == "not done").any()


def test_power_grows_with_the_effect_and_false_alarms_are_few(monkeypatch):
    monkeypatch.setattr(power, "STUDIES", 60)
    each = power.Spread(0.05, 0.1, 0.4)
    none, some = (power.power(analysis.ABOVE, effect, 5, each)[0] for effect in (0.0, 0.1))
    assert none < 0.15 < 0.8 < some
    assert power.power(analysis.WITHIN, 0.0, 10, each._replace(left=0.1))[0] > 0.3


def test_spread_finds_what_made_a_table():
    random = np.random.default_rng(0)
    table = 0.3 * random.normal(size=(60, 1)) + 0.2 * random.normal(size=(1, 300))
    table = pd.DataFrame(table + 0.4 * random.normal(size=(60, 300)))
    gaps = table.rename_axis("seed").rename_axis("text", axis=1).stack()
    assert power.spread(gaps) == pytest.approx((0.3, 0.2, 0.4), rel=0.2)


CELLS = [design.Cell("planted", "projected", name, "usual", 0) for name in ("additive", "uniform")]


def test_the_runner_skips_what_is_done_and_what_is_in_progress(tmp_path, monkeypatch):
    done = []

    def run(one, folder, plan):
        done.append(one)
        cell.record_path(one, folder).write_text("{}")
        return {"processor_seconds": {"training": 1.0}}

    monkeypatch.setattr(runner, "run", run)
    parent = os.getppid()
    with runner.FileLock(cell.record_path(CELLS[0], tmp_path).with_suffix(".lock")):
        runner.work(CELLS, tmp_path, None, None, parent)
    assert done == CELLS[1:]
    runner.work(CELLS, tmp_path, None, None, parent)
    runner.work(CELLS, tmp_path, None, None, parent)
    assert done == CELLS[::-1]
    another = design.Cell("planted", "bilstm", "additive", "usual", 0)
    runner.work([another], tmp_path, None, None, parent=-1)  # its runner is gone
    assert len(done) == 2


def test_a_cell_that_dies_leaves_no_record(tmp_path, monkeypatch):
    small = training.Way(training.TrainingConfig(epochs=1, embedding_rate=0.5, precision="no"))
    monkeypatch.setitem(training.TRAININGS, "usual", small)
    table = torch.randn(200, 32, generator=torch.Generator().manual_seed(0))
    vectors = type("Vectors", (), {"embedding_for": lambda self, v, seed: (table[: len(v)], 1.0)})
    monkeypatch.setattr(training, "load_vectors", lambda name: vectors())

    monkeypatch.setattr(corpora, "measured", lambda split: split.part(range(5)))

    def killed(*arguments, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as at_the_end:
        at_the_end.setattr(cell, "write_json", killed)
        with pytest.raises(KeyboardInterrupt):
            cell.run(CELLS[0], tmp_path, None)
    assert not cell.record_path(CELLS[0], tmp_path).exists()
    record = cell.run(CELLS[0], tmp_path, "0" * 12)
    written = json.loads(cell.record_path(CELLS[0], tmp_path).read_text(encoding="utf-8"))
    assert written["plan"] == "0" * 12 and written["texts"] == record["texts"]
    assert len(json.dumps(written, indent=1)) < 6000
    rows = pd.read_parquet(cell.record_path(CELLS[0], tmp_path).with_suffix(".parquet"))
    assert len(rows) == written["measured"] == 5
    assert not set(corpora.FILLERS) & set(map(str, rows.to_numpy().ravel()))


RUNNER = """
import sys, time
from pathlib import Path

from course_kit.research.crossover_study import cell, design, runner
from course_lib.files import atomic_path


def run(one, folder, plan):
    with open(folder / "begun.txt", "a") as log:
        log.write(one.name + chr(10))
    with atomic_path(cell.record_path(one, folder)) as temporary:
        temporary.write_text("{")
        time.sleep(0.3)
        temporary.write_text("{}")
    return {"processor_seconds": {}}


runner.run = run  # each worker imports this file, too
if __name__ == "__main__":
    cells = [design.Cell("planted", "projected", "additive", "usual", seed) for seed in range(8)]
    sys.exit(runner.run_all(cells, Path(sys.argv[1]), None, jobs=2))
"""


def waited(until, seconds=300.0):
    """Whether a condition came true in time."""
    end = time.monotonic() + seconds
    while not until() and time.monotonic() < end:
        time.sleep(0.02)
    return until()


def none_in_progress(folder):
    """Whether no worker holds the lock of a cell."""
    try:
        for path in folder.glob("*.lock"):
            with runner.FileLock(path, timeout=0):
                pass
    except runner.Timeout:
        return False
    return True


@pytest.mark.parametrize("group", [True, False], ids=["all", "the runner alone"])
def test_a_killed_runner_goes_on_where_it_was(group, tmp_path):
    """SIGKILL to all processes, or to the runner alone, whose workers then end by themselves."""
    script, runs = tmp_path / "study.py", tmp_path / "runs"
    script.write_text(RUNNER)
    command = [sys.executable, str(script), str(runs)]
    first = subprocess.Popen(command, cwd=REPOSITORY, start_new_session=True)
    try:
        assert waited(lambda: len(list(runs.glob("*.json"))) >= 2)
        (os.killpg if group else os.kill)(first.pid, signal.SIGKILL)
        first.wait(timeout=20)
        begun = (runs / "begun.txt").read_text()
        assert waited(lambda: none_in_progress(runs))
        time.sleep(0.5)
        assert (runs / "begun.txt").read_text() == begun
    finally:
        with suppress(ProcessLookupError):
            os.killpg(first.pid, signal.SIGKILL)
    whole = {path.stem for path in runs.glob("*.json")}
    assert 2 <= len(whole) < 8
    assert all(json.loads(path.read_text()) == {} for path in runs.glob("*.json"))
    before = begun.split()
    assert group or whole == set(before)
    assert subprocess.run(command, cwd=REPOSITORY, timeout=600).returncode == 0
    after = (runs / "begun.txt").read_text().split()[len(before) :]
    assert len(list(runs.glob("*.json"))) == 8
    assert not whole & set(after) and len(after) == len(set(after)) == 8 - len(whole)


def records_of(cells, folder, value):
    """Records and tables of made-up networks, as a runner leaves them."""
    for one in cells:
        table = pd.DataFrame({**asdict(one), "text": ["t0", "t1"], "value": value})
        table.to_parquet(cell.record_path(one, folder).with_suffix(".parquet"))
        cell.record_path(one, folder).write_text(json.dumps({"plan": str(value)}))


def test_publishing_adds_cells_and_replaces_those_run_again(tmp_path):
    runs, results = tmp_path / "runs", tmp_path / "results"
    runs.mkdir()
    chosen = [design.Cell("films", "bilstm", "additive", "usual", seed) for seed in range(3)]
    records_of(chosen[:2], runs, 0.0)
    assert publishing.publish(chosen, runs, results) == [one.name for one in chosen[:2]]
    cell.record_path(chosen[0], runs).unlink()  # only its table is left: it is not done
    records_of(chosen[1:], runs, 1.0)
    assert publishing.publish(chosen, runs, results) == [one.name for one in chosen[1:]]
    table = pd.read_parquet(results / "films.parquet")
    found = table.groupby("seed")["value"].agg(["mean", "size"])
    assert found["mean"].tolist() == [0, 1, 1] and (found["size"] == 2).all()
    plans = [json.loads(path.read_text())["plan"] for path in sorted((results / "runs").iterdir())]
    assert plans == ["0.0", "1.0", "1.0"]


def test_the_decision_says_which_networks_are_missing(tmp_path, monkeypatch):
    monkeypatch.setattr(planted, "DRAWN", 5)
    monkeypatch.setattr(planted, "TABLE", tmp_path / "ruler.parquet")
    monkeypatch.setattr(planted, "DECISION", tmp_path / "ruler.json")
    with pytest.raises(DataError, match="no network of the planted corpora"):
        publishing.decide(tmp_path)
    done = design.cells("ruler")[:2]
    rows, kinds = planted_rows(0.0), ("additive", "entmax15")
    assert [one.attention for one in done] == list(kinds)
    for n, one in enumerate(done):
        path = cell.record_path(one, tmp_path)
        rows[rows["attention"] == ("additive", "sparsemax")[n]].assign(
            attention=one.attention
        ).to_parquet(path.with_suffix(".parquet"))
        environment = {"device": "cpu"}
        record = {"code": f"code {n}", "cell": asdict(one), "texts": {}, "accuracy": 1 - n / 10}
        path.write_text(json.dumps(record | {"environment": environment}))
    found = publishing.decide(tmp_path)
    assert found == json.loads((tmp_path / "ruler.json").read_text())
    assert found["networks"] == 2 and found["accuracy"] == 0.9
    assert len(found["missing"]) == len(design.cells("ruler", "ruler_minilm")) - 2
    assert found["code"] == ["code 0", "code 1"] and found["equal"] == planted.COLUMNS
    assert len(pd.read_parquet(tmp_path / "ruler.parquet")) == len(rows)


def test_a_run_takes_the_code_of_the_plans_commit(tmp_path, monkeypatch):
    names = {"PLAN": "plan.md", "DESIGN": "design.yaml", "CODE": "code"}
    for name, file in names.items():
        monkeypatch.setattr(cell, name, tmp_path / file)
    monkeypatch.setattr(cell, "REPOSITORY", tmp_path)
    monkeypatch.setattr(corpora, "HELD_OUT", tmp_path / "held_out.json")

    def commit(*changed):
        for file in changed:
            (tmp_path / file).parent.mkdir(exist_ok=True)
            with (tmp_path / file).open("a") as text:
                text.write("more\n")
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        for words in (["add", "-A"], [*who, "commit", "-qm", "m"]):
            subprocess.run(["git", *words], cwd=tmp_path, check=True)

    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    commit("design.yaml", "code/a.py", "held_out.json")
    with pytest.raises(DataError, match="plan comes before"):
        cell.plan_commit()
    commit("plan.md")
    first = cell.plan_commit()
    commit("elsewhere.md")
    assert cell.plan_commit() == first and len(first) == 12
    for file in ("code/a.py", "design.yaml", "held_out.json"):
        (tmp_path / file).write_text("other")
        with pytest.raises(DataError, match=file):
            cell.plan_commit()
        commit()
        with pytest.raises(DataError, match=file):
            cell.plan_commit()
        commit("plan.md")
        assert cell.plan_commit() != first
