"""The statistics of the seed claims, on inputs whose answer is known and a second way in NumPy."""

import json
from collections import Counter

import numpy as np
import pytest
import scipy.stats
from made_up import made_up

from course_kit.research.seed_claims import (
    agt_selected,
    claims_record,
    gate_bias,
    han_contexts,
    han_erased,
    han_order,
    han_words,
    lexicon,
    sanet_columns,
    sanet_lengths,
    sanet_repeats,
    studied,
)
from course_lib import cli
from course_lib.data.corpus import load_corpus
from course_lib.data.readers import read_tree
from course_lib.files import REPOSITORY, DataError
from course_lib.runs import folders, records
from course_lib.runs.run import split_rows, system_of, train
from course_lib.runs.spec import RunSpec
from course_lib.runs.weights import DIGEST
from course_lib.views.reading import Attention, Reading

pytestmark = pytest.mark.full  # finished measurements, and their records

RANDOM = np.random.default_rng(5)
RECORDS = sorted((REPOSITORY / "results" / "seed_claims").glob("*.json"))


def toy_system(name, seed=0, **changes):
    """A small untrained network over the words of the toy corpus."""
    spec, corpus = RunSpec(name, "toy", "small", changes), load_corpus("toy")
    system = system_of(spec, corpus)
    system.build(split_rows(corpus), seed)
    system.model.eval()
    return system


def reading_of(sentences, weights):
    words = tuple(word for sentence in sentences for word in sentence)
    view = {"words": Attention(np.concatenate(weights)[None], ("",))}
    return Reading(words, tuple(map(len, sentences)), ("no", "yes"), np.array([0.5, 0.5]), view)


# What the claims share


def test_a_figure_holds_the_t_interval_of_its_networks_and_each_networks_own():
    values = {"a": np.array([0.0, 1, 1, np.nan]), "b": np.array([1.0, 1, 1, 1])}
    found = studied.figure(values)
    means = [2 / 3, 1]
    low, high = scipy.stats.t.interval(0.95, 1, np.mean(means), scipy.stats.sem(means))
    assert (found["mean"], found["low"], found["high"]) == pytest.approx(
        (np.mean(means), low, high), abs=1e-4
    )
    assert found["by_network"]["a"]["counted"] == 3 and found["by_network"]["a"]["left_out"] == 1
    assert found["by_network"]["b"]["low"] == found["by_network"]["b"]["high"] == 1
    alone = studied.figure({"a": values["a"]})
    assert alone["networks"] == 1 and alone["low"] is None and alone["high"] is None


def test_a_jackknife_of_the_mean_is_the_t_interval():
    values = RANDOM.normal(size=studied.BLOCKS)
    found = studied.of_all(lambda d: d @ values / d.sum(-1), len(values))
    low, high = scipy.stats.t.interval(
        0.95, len(values) - 1, values.mean(), scipy.stats.sem(values)
    )
    assert [found[each] for each in ("mean", "low", "high")] == pytest.approx(
        [values.mean(), low, high], abs=2e-5
    )


def test_a_jackknife_leaves_out_every_text_once():
    seen = []
    studied.of_all(lambda d: (seen.append(d), d.sum(-1))[1], 3 * studied.BLOCKS + 1)
    assert (seen[0] == 1).all() and ((1 - seen[1]).sum(0) == 1).all()


def test_a_network_without_committed_weights_is_found_in_its_run_and_can_be_trained_again(places):
    changes = {"training.epochs": 1}
    spec = RunSpec("sanet", "toy", "small", changes, seed=1, threads=1, test=False, device="cpu")
    train(spec, folders.RUNS / spec.resolve().id)
    prefix = spec.resolve().id.removesuffix("-s1")
    found = studied.groups(["sanet-toy-nowhere", prefix])
    assert found.keys() == {prefix} and found[prefix].keys() == {spec.resolve().id}
    network = found[prefix][spec.resolve().id]
    about = network.about()
    assert not about["committed"] and set(found[prefix]) == {f"{prefix}-s1"}
    before, after = (each.model.projection.weight for each in (network.untrained, network.system))
    assert not before.equal(after) and not network.system.model.training
    with pytest.raises(DataError, match="sanet-toy-nowhere"):
        studied.group("sanet-toy-nowhere")


def test_a_wrong_claim_lists_those_there_are(capsys):
    assert cli.main(["author", "seed-claims", "han_word"]) == cli.REFUSED
    assert "no claim 'han_word'; " in capsys.readouterr().err


def test_the_command_writes_a_record(monkeypatch, tmp_path):
    monkeypatch.setattr(folders, "RESULTS", tmp_path)
    monkeypatch.setitem(claims_record.CLAIMS, "han_words", lambda seed: {"figures": {"g": seed}})
    assert cli.main(["author", "seed-claims", "han_words", "--seed", "3"]) == 0
    record = json.loads((tmp_path / "seed_claims" / "han_words.json").read_text(encoding="utf-8"))
    assert record["command"] == "attention-course author seed-claims han_words --seed 3"
    assert record["figures"] == {"g": 3} and record["seed"] == 3
    assert {"commit", "device", "threads"} <= record["environment"].keys()


# Words


def test_a_sentiment_word_is_one_whose_mean_grade_is_far_from_neutral():
    trees = ["(3 (2 a) (4 Fine))", "(2 (2 fine) (1 dull))", "(2 (2 film) (3 .))"]
    graded = lexicon.strengths(node for tree in trees for node in read_tree(tree))
    assert graded == {"a": 0, "fine": 1, "dull": 1, "film": 0}  # fine: the mean of 4 and 2
    assert lexicon.sentiment_words(graded) == {"fine", "dull"}
    assert lexicon.is_function_word("The") and not lexicon.is_function_word("dull")
    assert "n't" in lexicon.FUNCTION_WORDS and "" not in lexicon.FUNCTION_WORDS


SENTENCES = [["a", "dull", "film", "."], ["the", "end", "."], ["dull", "."]]
WEIGHTS = [np.array([0.1, 0.6, 0.2, 0.1]), np.array([0.2, 0.5, 0.3]), np.array([0.9, 0.1])]


def test_the_share_of_sentences_whose_top_word_is_a_sentiment_word():
    other = [WEIGHTS[0][::-1], *WEIGHTS[1:]]
    seen = Counter({"a": 90, "the": 90, "dull": 9, "film": 5, "end": 40})
    trained, untrained = reading_of(SENTENCES, WEIGHTS), reading_of(SENTENCES, other)
    found = han_words.shares(trained, untrained, {"dull"}, seen, 99)
    # only the first sentence has a sentiment word and another word: punctuation is none
    assert found["attention"] == 1 and found["untrained attention"] == 0
    assert found["random word"] == pytest.approx(1 / 3)
    assert found["rarest word"] == 0  # film
    assert found["word of most TF-IDF"] == 1  # dull, twice in the review
    assert found["attention, all sentences"] == pytest.approx(2 / 3)
    assert found["sentences with a choice"] == pytest.approx(1 / 3)
    assert found["weight on sentiment words"] == pytest.approx(0.6)
    assert found["uniform weight on sentiment words"] == pytest.approx(1 / 4)
    none = han_words.shares(trained, untrained, set(), seen, 99)
    assert np.isnan(none["attention"]) and np.isnan(none["random word"])
    assert none["attention, all sentences"] == 0


def test_documents_hold_a_word_once_in_any_case():
    assert han_words.document_frequency([["A", "a", "b"], ["b"]]) == {"a": 1, "b": 2}


# Contexts


def test_only_frequent_words_are_measured_and_no_punctuation():
    of = han_contexts.occurrences([["A", ".", "b"], [".", "a", "."]], often=2)
    assert (of.texts, of.types) == (2, 1)
    assert of.text.tolist() == [0, 1] and of.place.tolist() == [0, 4]
    assert of.type.tolist() == [0, 0]


def some_scores(texts=30, words=6, own=0.0):
    """Scores of made-up texts: one for each word, and noise ``own`` for each occurrence."""
    random = np.random.default_rng(1)
    names, worth = [f"w{k}" for k in range(words)], random.normal(size=words)
    tokens, scores = [], []
    for _ in range(texts):
        ids = [random.integers(0, words, size=random.integers(2, 9)) for _ in range(3)]
        tokens.append([names[k] for sentence in ids for k in sentence])
        scores.append([worth[each] + own * random.normal(size=len(each)) for each in ids])
    return tokens, scores


def test_weights_of_words_that_score_alike_everywhere_vary_by_competition_alone():
    tokens, scores = some_scores()
    of = han_contexts.occurrences(tokens)
    found = han_contexts.statistics(of, scores, 0)
    assert found["scores within types"]["mean"] == pytest.approx(0, abs=1e-9)
    assert found["within types"]["mean"] > 0.05  # the other words of a sentence move it
    assert found["within types − competition alone"]["mean"] == pytest.approx(0, abs=1e-9)
    assert found["within types, explained by competition alone"]["mean"] == pytest.approx(1)
    assert found["within types, shuffled"]["mean"] > 0.9


def test_scores_that_depend_on_the_context_are_found():
    tokens, scores = some_scores(own=1.0)
    found = han_contexts.statistics(han_contexts.occurrences(tokens), scores, 0)
    assert found["scores within types"]["mean"] > 0.3
    assert found["within types − competition alone"]["low"] > 0.1
    assert found["within types, explained by competition alone"]["high"] < 0.7


def test_shares_of_variance_are_those_of_an_analysis_of_variance():
    tokens, scores = some_scores(own=0.7)
    of = han_contexts.occurrences(tokens, often=1)
    log, words = [], []
    for text, names in zip(scores, tokens, strict=True):
        weights = [np.exp(s) / np.exp(s).sum() for s in text]
        log += [np.log(w * len(w)) for w in weights]
        words += names
    log = np.concatenate(log)
    np.testing.assert_allclose(han_contexts.log_relative(scores), log, atol=1e-12)
    groups = [log[[word == name for word in words]] for name in sorted(set(words))]
    within = sum(((each - each.mean()) ** 2).sum() for each in groups)
    whole = han_contexts.variance(of, log[of.place])
    ones = np.ones((1, of.texts))
    assert whole.share_within(ones)[0] == pytest.approx(within / ((log - log.mean()) ** 2).sum())
    twice = np.ones((1, of.texts))
    twice[0, 3] = 2  # a text that is drawn twice
    again = np.concatenate([log, log[of.place[of.text == 3]]])
    names = [*words, *np.array(words)[of.place[of.text == 3]]]
    groups = [again[[word == name for word in names]] for name in sorted(set(words))]
    within = sum(((each - each.mean()) ** 2).sum() for each in groups)
    share = within / ((again - again.mean()) ** 2).sum()
    assert whole.share_within(twice)[0] == pytest.approx(share)


def test_a_mixed_word_is_important_here_and_not_there():
    of = han_contexts.occurrences([["a"] * 10 + ["b"] * 10, ["c"] * 10], often=10)
    relative = np.array([3.0] + [0.5] * 9 + [3.0] * 10 + [1.5] * 9 + [0.5])
    assert han_contexts.mixed(of, relative, np.ones((1, 2)))[0] == pytest.approx(1 / 3)  # a alone


def test_length_explains_what_follows_it():
    of = han_contexts.occurrences([["a"] * 6, ["b"] * 6], often=6)
    lengths = np.log([2.0, 3, 4, 5, 6, 7] * 2)
    ones, other = np.ones((1, 2)), RANDOM.normal(size=12)
    values = lengths + np.repeat([0, 5], 6)
    assert han_contexts.explained(of, values, lengths, ones)[0] == pytest.approx(1)
    x, y = (each - np.repeat([each[:6].mean(), each[6:].mean()], 6) for each in (other, lengths))
    share = np.corrcoef(x, y)[0, 1] ** 2
    assert han_contexts.explained(of, other, lengths, ones)[0] == pytest.approx(share)


def test_scores_read_from_a_network_give_its_weights():
    system = toy_system("han")
    rows = load_corpus("toy").splits["test"].select(range(4))
    for row, text in zip(rows, han_contexts.read_scores(system, rows), strict=True):
        weights = np.concatenate([np.exp(s) / np.exp(s).sum() for s in text])
        np.testing.assert_allclose(weights, system.read(row).word_weights(), atol=1e-6)


# Erasing


def test_as_many_random_tokens_are_erased():
    document = [["a", "dull", "film", "."], ["the", "end", "!"]]
    variant = han_erased.erased(document, han_erased.KINDS["stop words and punctuation"])
    assert variant.keep.tolist() == [False, True, True, False, False, True, False]
    chance = han_erased.randomly_erased(variant, 0)
    assert chance.keep.sum() == 3 and chance.document == document
    assert any(
        (han_erased.randomly_erased(variant, seed).keep != chance.keep).any() for seed in range(9)
    )


def test_a_network_that_reads_the_punctuation_alone_loses_by_its_erasure():
    def model(documents):
        found = [any("!" in sentence for sentence in document) for document in documents]
        return np.array([[1.0 - one, one] for one in map(float, found)])

    documents = [[["a", f"film{k}", "!" if k % 2 else "."]] for k in range(40)]
    found = han_erased.statistics(model, documents, np.arange(40) % 2, 0)
    assert found["whole"].mean() == 1 and found["without punctuation"].mean() == 0.5
    assert found["punctuation: whole − without"].mean() == 0.5
    assert found["stop words: whole − without"].mean() == 0
    assert 0 < found["punctuation: random − without"].mean() < 0.5


def test_blocks_change_places_and_stay_whole():
    document = [["a", "b", "c", "d", "e"], ["f"]]
    found = [han_order.shuffled(document, 2, seed) for seed in range(40)]
    for first, second in found:
        assert sorted(first) == document[0] and second == ["f"]
        text = " ".join(first)
        assert "a b" in text and "c d" in text
    assert len({tuple(first) for first, _ in found}) == 6
    assert han_order.shuffled(document, 5, 0) == document
    assert han_order.shuffled(document, 2, 3) == han_order.shuffled(document, 2, 3)


def test_a_network_that_reads_pairs_loses_by_shuffled_words_and_not_by_shuffled_pairs():
    def model(documents):
        found = [float("not good" in " ".join(document[0])) for document in documents]
        return np.array([[one, 1 - one] for one in found])

    documents = [
        [[f"w{k}", "x", *(["not", "good"] if k % 2 else ["good", "not"]), "y", "z"]]
        for k in range(60)
    ]
    found = han_order.statistics(model, documents, 1 - np.arange(60) % 2, 0)
    assert found["whole"].mean() == 1
    assert found["whole − blocks of 1 shuffled"].mean() > 0.2
    assert found["whole − blocks of 2 shuffled"].mean() == 0


# Columns


def test_equal_rows_are_columns_and_a_band_depends_on_the_distance():
    row = RANDOM.dirichlet(np.ones(7))
    columns = np.tile(row, (7, 1))
    assert sanet_columns.column_share(columns) == pytest.approx(1)
    assert sanet_columns.distance_share(columns) < 0.9
    assert sanet_columns.distance_share(np.eye(7)) == pytest.approx(1)
    assert sanet_columns.column_share(np.eye(7)) == pytest.approx(0, abs=1e-12)
    assert np.isnan(sanet_columns.column_share(np.full((7, 7), 1 / 7)))
    assert np.isnan(sanet_columns.column_share(np.ones((1, 1))))


def test_shares_are_those_of_an_analysis_of_variance():
    attention = RANDOM.dirichlet(np.full(9, 0.3), size=9)
    whole = ((attention - attention.mean()) ** 2).sum()
    columns = sum(9 * (attention[:, j].mean() - attention.mean()) ** 2 for j in range(9))
    distance = 0.0
    for k in range(-8, 9):
        diagonal = np.diagonal(attention, k)
        distance += len(diagonal) * (diagonal.mean() - attention.mean()) ** 2
    assert sanet_columns.column_share(attention) == pytest.approx(columns / whole)
    assert sanet_columns.distance_share(attention) == pytest.approx(distance / whole)


def test_shuffled_rows_have_about_as_much_in_columns_as_chance():
    many = [np.tile(RANDOM.dirichlet(np.ones(20)), (20, 1)) for _ in range(50)]
    found = sanet_columns.shares(many, 0)
    assert found["columns"].mean() == pytest.approx(1)
    assert found["columns, rows shuffled"].mean() == pytest.approx(1 / 20, rel=0.15)


def test_two_groups_differ_by_welchs_interval():
    first, second = (
        studied.over_networks({str(k): {"mean": v} for k, v in enumerate(values)})
        for values in ([0.5, 0.6, 0.8], [0.1, 0.3])
    )
    found = sanet_columns.between(first, second)
    test = scipy.stats.ttest_ind([0.5, 0.6, 0.8], [0.1, 0.3], equal_var=False)
    expected = test.confidence_interval(0.95)
    assert [found["low"], found["high"]] == pytest.approx([expected.low, expected.high], abs=1e-4)
    single = studied.over_networks({"0": {"mean": 0.2}})
    assert sanet_columns.between(first, single)["low"] is None


# Repeats


def test_weights_in_order_rise_or_fall_all_along():
    assert sanet_repeats.in_order([0.1, 0.2, 0.3]) == sanet_repeats.in_order([0.3, 0.2, 0.1]) == 1
    assert sanet_repeats.in_order([0.1, 0.3, 0.2]) == sanet_repeats.in_order([0.2, 0.2, 0.2]) == 0
    assert sanet_repeats.spread([0.1, 0.3, 0.2]) == pytest.approx(1)
    random = RANDOM.normal(1, 0.1, size=(4000, 3))
    assert np.mean([*map(sanet_repeats.in_order, random)]) == pytest.approx(1 / 3, abs=0.03)


def test_made_up_sentences_repeat_where_they_say():
    for times in sanet_repeats.TIMES:
        for words, places in sanet_repeats.made_up(times):
            assert len({words[place] for place in places}) == 1 and len(places) == times
            assert words.count(words[places[0]]) == times


def test_equal_words_get_equal_weights_without_positions_and_others_with_them():
    system = toy_system("sanet")
    before = system.model.config
    sentence = sanet_repeats.made_up(3)[0]
    with sanet_repeats.without_positions(system):
        assert sanet_repeats.spread(sanet_repeats.received(system, sentence)) < 1e-5
        weights = system.read(studied_text(sentence)).attention["block 1"].weights
        np.testing.assert_allclose(weights[:, 0], weights[:, 2], rtol=1e-5)
    assert system.model.config is before
    weights = system.read(studied_text(sentence)).attention["block 1"].weights
    np.testing.assert_allclose(
        sanet_repeats.received(system, sentence), weights.mean(0)[:3], rtol=1e-6
    )
    assert sanet_repeats.spread(sanet_repeats.received(system, sentence)) > 1e-3


def studied_text(sentence):
    return {"tokens": list(sentence.words), "sentence_lengths": [len(sentence.words)]}


# Lengths


def test_thirds_are_equally_many_and_equal_lengths_stay_together():
    third = sanet_lengths.thirds(np.array([3, 1, 2, 9, 8, 7, 5, 4, 6]))
    assert Counter(third.tolist()) == {0: 3, 1: 3, 2: 3}
    assert third.tolist() == [0, 0, 0, 2, 2, 2, 1, 1, 1]
    assert len(set(sanet_lengths.thirds(np.array([5, 5, 5, 5])).tolist())) == 1


def test_accuracies_by_third_are_those_of_its_texts():
    right, third = RANDOM.random(90) < 0.7, np.arange(90) % 3
    found = sanet_lengths.statistics(right, ~right, third, 0)
    for k, name in enumerate(sanet_lengths.THIRDS):
        assert found[f"accuracy, {name}"]["mean"] == pytest.approx(
            right[third == k].mean(), abs=1e-5
        )
    gap = right[third == 2].mean() - right[third == 0].mean()
    assert found["long − short"]["mean"] == pytest.approx(gap, abs=1e-5)
    assert found["long − short: network − bag of words"]["mean"] == pytest.approx(2 * gap, abs=1e-5)
    drawn = RANDOM.multinomial(90, np.full(90, 1 / 90)).astype(float)
    kept = np.repeat(np.arange(90), drawn.astype(int))
    assert sanet_lengths.accuracies(right, third, drawn)[1] == pytest.approx(
        right[kept][third[kept] == 1].mean()
    )


# AGT


def test_stop_words_among_selected_words_by_hand():
    strict, relaxed = np.zeros((9, 4), bool), np.zeros((9, 4), bool)
    strict[8] = [False, True, False, False]
    relaxed[8] = [True, True, False, False]
    relaxed[0] = [False, False, True, False]
    found = agt_selected.shares(("a", "dull", "film", "the"), strict, relaxed)
    assert found["stop words among all words"] == 0.5
    assert found["stop words, above 0.95"] == 0
    assert found["stop words, above the median"] == pytest.approx(1 / 3)
    assert found["stop words, added by the relaxed rule"] == pytest.approx(1 / 2)
    assert found["layer 8: words selected, above 0.95"] == 0.25
    assert found["layer 8: whole sentences, above 0.95"] == 0
    strict[1:], strict[0] = True, False
    relaxed = strict.copy()
    everything = agt_selected.shares(("a", "dull", "film", "the"), strict, relaxed)
    assert everything["layer 8: whole sentences, above 0.95"] == 1  # whatever layer 0 selects
    assert np.isnan(everything["stop words, added by the relaxed rule"])


def test_an_agts_selections_are_read_from_its_weights():
    weights = np.array([[0.7, 0.1, 0.2], [0.2, 0.3, 0.5]])
    layers = {"layers": Attention(weights, ("layer 0", "layer 1"))}
    reading = Reading(("a", "b", "c"), (3,), ("no", "yes"), np.array([0.5, 0.5]), layers)
    found = agt_selected.selections(reading)
    assert found["above 0.95"].tolist() == [[True, False, False], [False, False, True]]
    assert found["above the median"].tolist() == [[True, False, False], [False, False, True]]


def gate_record(bias, seed, words, phrases, relaxed=True, gate=0.5):
    spec = gate_bias.spec_of(bias, seed)
    figures = {"selected": [2.0, 3.0], "phrases": [2.0, 2.0], "phrases by chance": [2.0, 3.0]}
    if relaxed:
        figures |= {
            "relaxed selected": words,
            "relaxed phrases": phrases,
            "relaxed phrases by chance": [4.0, 4.0],
        }
    record = made_up("agt", "sst5", "paper", 0.4, seed=seed, changes=spec.overrides)
    return record | {"attention": {"trained": figures | {"gate": [gate, gate + 0.2]}}}


def test_composition_by_gate_bias_comes_from_the_records_of_its_runs():
    found = gate_bias.by_bias(
        [
            gate_record(0.0, 0, [8.0, 8.0], [5.0, 3.0]),
            gate_record(0.0, 1, [8.0, 8.0], [4.0, 3.0], gate=0.3),
            gate_record(1.0, 0, [8.0, 8.0], [2.0, 2.0], gate=0.7),
            gate_record(1.0, 1, [8.0, 8.0], [3.0, 2.0], gate=0.7),
            gate_record(2.0, 0, [], [], relaxed=False),
        ]
    )
    assert found[0.0][0].relaxed == pytest.approx(16 / 8 - 16 / 8)
    assert found[1.0][0].relaxed == pytest.approx(16 / 4 - 16 / 8)
    assert found[0.0][0].strict == pytest.approx(5 / 4 - 5 / 5)
    assert found[2.0][0].relaxed is None and found[0.0][1].gate == pytest.approx(0.4)
    table = gate_bias.figures(found)
    assert table["relaxed"]["by bias"].keys() == {0.0, 1.0}
    longer = [16 / 4 - 2, 16 / 5 - 2], [0.0, 16 / 7 - 2]
    shown = table["relaxed"]["minus bias 0"][1.0]
    expected = scipy.stats.ttest_ind(*longer, equal_var=False).confidence_interval(0.95)
    assert shown["mean"] == pytest.approx(np.mean(longer[0]) - np.mean(longer[1]), abs=1e-4)
    assert [shown["low"], shown["high"]] == pytest.approx([expected.low, expected.high], abs=1e-4)
    assert table["gate"]["minus bias 0"][2.0]["low"] is None  # a single seed


def test_the_committed_gate_runs_are_found():
    found = gate_bias.by_bias()
    assert set(found) == {0.0, 1.0, 2.0}
    assert found[1.0][0].relaxed is not None


# What is committed


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_a_committed_record_is_complete_and_of_the_committed_networks(path):
    record = json.loads(path.read_text(encoding="utf-8"))
    name, seed = path.stem, record["seed"]
    assert record["command"] == f"attention-course author seed-claims {name} --seed {seed}"
    assert name in claims_record.CLAIMS
    assert "dirty" not in record["environment"]["commit"]
    assert all(record[key] for key in ("paper", "says", "measured", "unit", "positive", "texts"))
    known = {each["id"]: each for each in records.load_records()}
    for group, networks in record["networks"].items():
        for network, about in networks.items():
            assert network.endswith(f"-s{about['seed']}")
            if about.get("committed"):
                assert known[network][DIGEST] == about["weights"]
            elif "spec" in about:
                assert RunSpec(**about["spec"], seed=about["seed"]).resolve().id == network
            else:  # no weights, but predictions
                assert known[network]["predictions"] == about["predictions"]
        for figure in record["figures"][group].values():
            assert figure["by_network"].keys() == networks.keys()
            values = [one["mean"] for one in figure["by_network"].values()]
            values = [value for value in values if value is not None]
            assert figure["networks"] == len(values)
            if values:
                assert figure["mean"] == pytest.approx(np.mean(values), abs=2e-5)
            assert (figure["low"] is None) == (len(values) < 2)
