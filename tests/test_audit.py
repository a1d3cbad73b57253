"""An audit is right where the answer is known, and says in one line what cannot be audited."""

import json
import re
from dataclasses import replace
from inspect import Signature
from unittest import mock

import audited
import numpy as np
import pytest
import torch
from audited import COMMA, Known, texts
from faithful import PLANTED

from course_kit.audit import AuditError, audit
from course_kit.audit.auditing import in_words, remaining_seconds
from course_kit.audit.grades import (
    BY_QUESTION,
    CARRIER,
    LEAST_TEXTS,
    NOT_APPLICABLE,
    NOT_SHOWN,
    PARTLY,
    SHOWN,
    weakest,
)
from course_kit.audit.group import REPLACED, REWEIGHTED
from course_kit.audit.intervals import Mean
from course_kit.audit.judging import MISLEADING, Judged, of_views, overall
from course_kit.audit.questions.heat import SOME
from course_kit.audit.ways import Way
from course_kit.publishing.site import AUDITS, write_audits

pytestmark = pytest.mark.full  # whole audits of networks

seeds = pytest.mark.parametrize(  # the verdicts were fixed before any of them was tried
    "seed", [11, *(pytest.param(seed, marks=pytest.mark.full) for seed in (12, 13))]
)


NOTHING = dict.fromkeys(("removal", "alone", "words", "order"), NOT_SHOWN)
STOPPED = [audited.STOP]
KNOWN = {  # the classifier, words that stand in each text, its verdict, and some of its questions'
    "bag of words": (Known, [], SHOWN, {"removal": SHOWN, "words": SHOWN, "signs": SHOWN}),
    "uniform": (audited.Constant, [], NOT_SHOWN, NOTHING),
    "at commas": (audited.AtCommas, [COMMA], NOT_SHOWN, NOTHING),
    "inverted": (audited.Against, [], NOT_SHOWN, {"signs": NOT_SHOWN}),
    "ignored": (audited.Ignoring, [], NOT_SHOWN, {"removal": SHOWN, "weights": NOT_SHOWN}),
    "saturated": (audited.Saturated, [], NOT_APPLICABLE, {}),
    "shuffled between layers": (audited.Shuffled, [], NOT_SHOWN, NOTHING),
    "carrier at the stop": (audited.CarrierAtStop, STOPPED, CARRIER, {"words": NOT_SHOWN}),
    "carrier at the first place": (audited.CarrierAtFirst, [], NOT_SHOWN, NOTHING),
    "for one class": (audited.ForOneClass, [], NOT_SHOWN, {}),
    "half inverted": (audited.HalfInverted, [], NOT_SHOWN, {}),
    "planted": (audited.Planted, [PLANTED], PARTLY, {"order": SHOWN}),
    "planted three times": (audited.Planted, 3 * [PLANTED], PARTLY, {}),
    "planted four times": (audited.Planted, 4 * [PLANTED], PARTLY, {}),
    "two words needed": (audited.NeedsTwo, audited.NeedsTwo.pair, PARTLY, {}),
    "constant": (audited.NearlyConstant, [], NOT_APPLICABLE, {}),
}
KNOWN |= {
    name: (kind, [], NOT_SHOWN, {"words": NOT_SHOWN}) for name, kind in audited.TRAINED.items()
}
fresh = pytest.mark.parametrize("seed", [44, 45, 46])  # not those that the grades were made with


@fresh
@pytest.mark.parametrize("kind, words, usable, verdicts", KNOWN.values(), ids=KNOWN)
def test_what_is_known_of_a_classifier_is_found(kind, words, usable, verdicts, seed):
    documents = audited.inserted(texts(seed, 60), words, seed)
    absent = words and kind in (audited.Planted, audited.NeedsTwo)
    if absent:  # texts with another decision, in which no word matters
        documents += texts(seed + 50, 60)
    report = audit(kind(seed), documents)
    if absent:
        assert report.classes == {"0": NOT_APPLICABLE, "1": SHOWN}
    found = report.verdicts()
    assert report.verdict == usable and verdicts.items() <= found.items()
    assert report.missing.keys() == {*BY_QUESTION} - found.keys()


@fresh
def test_one_odd_text_does_not_undo_what_the_others_show(seed):
    documents = audited.keyed(seed, 100, ["wonderful"], ["terrible"], low=19, high=20)
    documents[0].insert(3, "maybe")
    assert audit(audited.KeyedButOnce(), documents).verdict == SHOWN


@fresh
def test_a_slightly_other_output_does_not_hide_that_weights_are_ignored(seed):
    report = audit(audited.IgnoringRounded(seed), texts(seed, 60))
    assert report.verdicts()["weights"] == report.verdict == NOT_SHOWN


@fresh
def test_weights_that_one_class_ignores_are_no_ranking(seed):
    documents = audited.keyed(seed, 80, ["wonderful"], ["terrible"])
    report = audit(audited.UsedForOne(), documents)
    assert report.verdicts()["weights"] == report.verdict == PARTLY


@fresh
def test_a_network_that_weighs_what_it_adds_is_believed(seed):
    report = audit(audited.Pooling(seed), texts(seed, 60))
    assert report.verdict in (SHOWN, PARTLY) and report.verdicts()["weights"] == SHOWN


@fresh
def test_half_of_the_weight_on_a_carrier_is_a_carrier(seed):
    documents = audited.inserted(texts(seed, 60), [audited.STOP], seed)
    report = audit(audited.CarrierAndWords(seed), documents)
    assert report.verdict == CARRIER
    (words,) = [one for one in report.answers if one.question == "words"]
    assert "the same in 100% of the texts" in words.sentence


def test_the_top_grade_needs_an_answer_on_words_and_places_and_holds_for_each_class():
    said = dict.fromkeys(("removal", "alone", "words", "heat", "texts"), SHOWN)

    def whole(classes=(), along=0.2, **others):
        means = {"words": Mean(along, along, along, 0.0, 60)}
        costs = Mean(0.3, 0.3, 0.3, 0.0, 60)
        judged = {
            name: {Way(): Judged(one, means.get(name, costs), 0.0)}
            for name, one in (said | others).items()
        }
        return overall(judged, dict(enumerate(classes)))

    assert whole() == whole(alone=NOT_APPLICABLE) == whole([SHOWN, "too few to say"]) == SHOWN
    assert whole(words=NOT_APPLICABLE) == whole([SHOWN, MISLEADING]) == PARTLY
    assert whole(decisions=SHOWN) == SHOWN and whole(decisions=NOT_SHOWN) == PARTLY
    assert whole(removal=NOT_APPLICABLE) == whole([SHOWN, NOT_APPLICABLE]) == PARTLY
    assert whole([CARRIER]) == whole(weights=PARTLY) == PARTLY
    assert whole([PARTLY, SHOWN]) == SHOWN and whole([PARTLY, PARTLY, "too few to say"]) == PARTLY
    assert whole(along=0.14) == PARTLY and whole(along=0.15) == SHOWN
    assert whole(texts=NOT_SHOWN) == whole(heat=NOT_SHOWN) == NOT_SHOWN


@fresh
def test_words_behind_a_carrier_or_a_comma_do_not_rescue_it(seed):
    documents = audited.inserted(texts(seed, 60), [audited.STOP], seed)
    assert audit(audited.CarrierAndTail(seed), documents).verdict == CARRIER
    long = audited.inserted(long_texts(seed, 40), [PLANTED, COMMA], seed)
    assert audit(audited.AtCommasFirst(), long + long_texts(seed + 50, 40)).verdict == NOT_SHOWN


def long_texts(seed, count):
    """Texts of more than 200 words, of which 1 % are three."""
    return [
        [word for text in texts(each, 20) for word in text][:220]
        for each in range(1000 * seed, 1000 * seed + count)
    ]


def of_question(report, name):
    (found,) = [one for one in report.answers if one.question == name]
    return found


@fresh
def test_half_of_the_colour_on_a_comma_that_does_nothing_is_no_ranking(seed):
    documents = audited.inserted(texts(seed, 60), [PLANTED, COMMA], seed)
    report = audit(audited.AtCommasBeside(), documents + texts(seed + 50, 60))
    assert report.verdict == report.verdicts()["heat"] == PARTLY
    assert report.verdicts()["removal"] == SHOWN
    assert of_question(report, "heat").rows[0].mean == pytest.approx(0.52, abs=0.02)


@fresh
def test_nearly_even_weights_in_the_right_order_show_nothing(seed):
    report = audit(audited.NearlyEven(seed), texts(seed, 60))
    assert report.verdict == report.verdicts()["heat"] == NOT_SHOWN
    assert report.verdicts()["removal"] == SHOWN


@fresh
def test_where_no_word_matters_by_itself_colours_cannot_be_judged(seed):
    documents = audited.inserted(texts(seed, 60), audited.EitherOfTwo.pair, seed)
    report = audit(audited.EitherOfTwo(), documents + texts(seed + 50, 60))
    assert "heat" in report.missing and report.verdict in (PARTLY, NOT_SHOWN)
    assert report.verdict != PARTLY or "words that matter could not be asked" in report.headline


@fresh
def test_two_words_that_do_nothing_before_the_one_that_decides_are_seen_in_long_texts(seed):
    documents = long_texts(seed, 60)
    documents = audited.inserted(documents[::2], ["wonderful"], seed) + audited.inserted(
        documents[1::2], ["terrible"], seed
    )
    report = audit(audited.DecoysFirst(), documents)
    assert report.verdict == report.verdicts()["heat"] == PARTLY


@fresh
@pytest.mark.parametrize("share", [0.3, 0.5])
def test_carriers_in_some_of_the_texts_are_told(share, seed):
    report = audit(audited.AtMarks(seed), audited.AtMarks.texts(seed, 100, share))
    told = "could not be told" in report.headline
    assert report.verdict in (PARTLY, CARRIER) or (report.verdict == NOT_SHOWN and told)
    assert report.verdicts()["words"] != SHOWN
    assert "its first words decide no more than random words" in report.headline
    assert audit(audited.AtMarks(seed), audited.AtMarks.texts(seed, 100, 0)).verdict == SHOWN


@fresh
def test_texts_of_one_decision_cannot_tell_words_from_places(seed):
    model, documents = audited.AtStopOrElse(seed), audited.inserted(texts(seed, 200), ["."], seed)
    good = [d for d, j in zip(documents, model(documents).argmax(1)) if j == 1][:60]
    report = audit(model, good)
    assert report.verdict in (PARTLY, CARRIER, NOT_SHOWN)
    assert report.verdict != PARTLY or "All texts have one decision" in report.headline
    sentence = of_question(report, "words").sentence
    assert "no value" not in sentence and "nine tenths" in sentence
    assert audit(Known(seed), texts(seed, 200)[:60]).verdict == SHOWN


@fresh
def test_a_word_that_both_classes_share_may_decide(seed):
    assert audit(audited.Negated(), audited.Negated.texts(seed, 120)).verdict == SHOWN


@fresh
def test_each_view_is_asked_for_its_own_weights(seed):
    report = audit(audited.OfTwoViews(seed), texts(seed, 60))
    assert report.views["not used"] != SHOWN and report.verdict != SHOWN
    assert report.verdict == NOT_SHOWN or "could be asked of used alone" in report.headline
    assert of_question(report, "weights").ways == {}
    copied = audited.OfTwoViews(seed)
    copied.attention = lambda d: dict.fromkeys(
        ("a", "b"), audited.Pooling(seed).attention(d)["words"]
    )
    assert of_question(audit(copied, texts(seed, 60)), "weights").ways.keys() == {
        "the first view",
        "b",
    }


def test_a_view_whose_weights_could_not_be_moved_is_no_ranking():
    ways = {Way(view): Judged(SHOWN, Mean(0.3, 0.2, 0.4, 0.0, 60), 0.0) for view in ("", "b")}
    judged = dict.fromkeys(("removal", "alone", "words", "heat", "texts"), ways)
    assert overall(judged, {}) == SHOWN
    judged["weights"] = {Way(): ways[Way()]}
    assert overall(judged, {}) == PARTLY
    assert of_views(judged, "a") == {"a": SHOWN, "b": PARTLY}


@fresh
def test_numbers_of_a_view_do_not_depend_on_the_other_views(seed):
    model, own = Known(seed), Known(seed).attention
    model.attention = lambda d: {"a": own(d)["words"], "b": [np.eye(len(each))[0] for each in d]}
    documents = texts(seed, 40)
    alone, beside = (audit(model, documents, view=view) for view in ("a", None))
    for one, other in zip(alone.answers, beside.answers, strict=True):
        assert {*one.rows} <= {*other.rows}


@fresh
def test_a_carrier_in_one_class_keeps_attention_from_the_top_grade(seed):
    documents = audited.inserted(texts(seed, 120), [audited.STOP], seed)
    report = audit(audited.CarrierForBad(seed), documents)
    assert report.verdict not in (SHOWN, NOT_APPLICABLE)
    assert report.classes["bad"] in (CARRIER, NOT_SHOWN)


def test_texts_in_which_nothing_matters_and_texts_that_are_repeated_are_told():
    documents = audited.inserted(texts(5, 120), [COMMA], 5)
    documents = audited.inserted(documents[:40], [PLANTED], 5) + documents[40:]
    report = audit(audited.Planted(), [*documents, *documents[:7]])
    assert "said of 40 of 120 texts" in report.headline
    assert report.classes == {"0": NOT_APPLICABLE, "1": SHOWN}
    assert report.counts["left_out"] == {"repeated": 7}


def test_a_text_of_one_word_again_and_again_is_never_asked_about_as_an_empty_one():
    model = Known(1)

    def never_empty(documents):
        assert all(documents)
        return model(documents)

    model.probabilities = never_empty
    assert audit(model, [["a"] * n for n in range(2, 40)]).counts["measured"] == 38


def test_weights_that_do_not_sum_to_1_are_not_shuffled():
    report = audit(audited.Gated(1), texts(1, 40))
    assert {"weights", "adversary"} <= report.missing.keys()
    assert "could not be asked" in report.headline


def test_names_of_views_are_text_and_the_same_for_all_texts(tmp_path):
    model, answer = Known(1), Known(1).attention
    model.attention = lambda d: {(2, 0): answer(d)["words"]}
    audit(model, texts(1, 30)).save(tmp_path / "audit.json")
    assert json.loads((tmp_path / "audit.json").read_text("utf-8"))["view"] == "(2, 0)"
    model.attention = lambda d: {d[0][0]: answer(d)["words"]}
    with pytest.raises(AuditError, match=r"attention has the views .*, of other texts"):
        audit(model, texts(1, 30))


@fresh
def test_a_carrier_in_half_of_the_texts_is_no_ranking(seed):
    documents = texts(seed, 100)
    documents = [*audited.inserted(documents[::2], [COMMA], seed), *documents[1::2]]
    assert audit(audited.CarrierInHalf(seed), documents).verdict == NOT_SHOWN


@fresh
def test_attention_for_one_class_is_told_by_class(seed):
    report = audit(audited.ForOneClass(seed), texts(seed, 120))
    # into texts of the other class the words go at misleading places, so their effect may be small
    assert report.classes["bad"] == MISLEADING and report.classes["good"] in (SHOWN, PARTLY)
    assert "By predicted class: bad: misleading; good: a " in report.headline


@fresh
def test_short_texts_are_asked_as_long_ones(seed):
    random = np.random.default_rng(seed)
    documents = [text[: random.integers(2, 5)] for text in texts(seed, 80)]
    assert audit(Known(seed), documents).verdict in (SHOWN, PARTLY)
    assert audit(audited.Constant(seed), documents).verdict == NOT_SHOWN


@fresh
def test_a_class_whose_words_matter_together_alone_is_not_believed(seed):
    documents = audited.keyed(seed, 80, [f"good{n}" for n in range(7)], ["bad0"])
    report = audit(audited.SaidOften(), documents)
    assert report.verdict == PARTLY and report.classes["good"] in (NOT_APPLICABLE, NOT_SHOWN)
    right = audit(audited.SaidOftenRight(), documents)  # of as many texts
    removal = (of_question(each, "removal").decides.texts for each in (report, right))
    assert [*removal] == [40, 40]
    assert "good: " in report.headline


@fresh
def test_of_copies_the_first_may_have_the_weight(seed):
    documents = audited.keyed(seed, 80, 2 * ["wonderful"], 2 * ["terrible"])
    report = audit(audited.FirstCopy(), documents)
    assert report.verdict in (SHOWN, PARTLY) and report.verdicts()["texts"] == SHOWN
    assert "Its order (words with copies)" in of_question(report, "texts").sentence
    documents = audited.keyed(seed, 80, 3 * ["wonderful"], 3 * ["terrible"])
    assert audit(audited.FirstCopy(), documents).verdict in (SHOWN, PARTLY)


@fresh
def test_few_texts_of_another_decision_are_hosts_for_all(seed):
    documents = audited.keyed(seed, 100, *19 * [["wonderful"]], ["terrible"])
    report = audit(audited.Keyed(), documents)
    assert report.verdict == SHOWN and "one decision" not in report.headline


@fresh
def test_words_whose_order_decides_are_no_carrier(seed):
    nots = audited.keyed(seed, 100, ["nice"], [["not", "nice"]], ["awful"], [["not", "awful"]])
    assert audit(audited.NotBefore(), nots).verdict in (SHOWN, PARTLY)
    phrases = audited.keyed(seed, 80, [["very", "good"]], [["weak", "plot"]], [["well", "made"]])
    assert audit(audited.Phrases(), phrases).verdict in (SHOWN, PARTLY)


@fresh
def test_many_words_that_decide_a_little_are_no_carrier(seed):
    report = audit(audited.Dense(), audited.Dense.texts(seed, 80))
    assert report.verdict in (PARTLY, NOT_SHOWN) and CARRIER not in report.classes.values()
    assert report.verdict == PARTLY or "could not be told" in report.headline


@fresh
def test_words_that_change_how_sure_a_network_is_are_no_ranking(seed):
    bad, good = ["reuters", "london", "vote"], ["espn", "inning", "team"]
    report = audit(audited.TwiceSaid(), audited.keyed(seed, 80, bad, good, low=12, high=22))
    assert report.verdicts()["removal"] == report.verdicts()["weights"] == SHOWN
    assert report.verdicts()["decisions"] == NOT_SHOWN and report.verdict == PARTLY
    assert "they change how sure the network is" in report.headline
    lengths = [*audited.keyed(seed, 40, ["team"], low=25, high=30)]
    lengths += audited.keyed(seed + 1, 40, ["vote"], low=5, high=8)
    assert audit(audited.ByLength(), lengths).verdict == PARTLY


@fresh
def test_a_summary_that_leans_towards_its_class_is_no_ranking(seed):
    report = audit(audited.LeaningMarks(), audited.LeaningMarks.texts(seed, 60))
    assert report.verdict in (PARTLY, CARRIER, NOT_SHOWN)
    assert report.verdict != PARTLY or "take along less than half" in report.headline


@fresh
def test_classes_that_are_looked_at_wrongly_in_half_of_their_texts_are_not_believed(seed):
    many = [[f"{name}{n}" for n in range(8)] for name in ("bad", "good")]
    documents = audited.keyed(seed, 120, *many, ["bad0"], ["good0"])
    report = audit(audited.SaidOftenInHalf(), documents)
    assert report.verdict == PARTLY and {*report.classes.values()} == {NOT_APPLICABLE}
    assert "in the others no word matters by itself" in report.headline


def test_too_few_texts_in_which_words_matter_are_no_finding():
    model = audited.Keyed()
    model.score = lambda document: 8.0 * ("wonderful" in document) - 4
    documents = audited.keyed(1, 50, ["wonderful"], [])  # 25 texts with a word that matters
    report = audit(model, documents)
    few = "25 texts in which a word matters are too few for intervals: give 30 or more."
    assert report.headline.startswith(few) and report.verdict == NOT_SHOWN
    assert "takes no attention" in report.missing["weights"]  # and not: too few answers
    enough = audit(model, audited.keyed(1, 70, ["wonderful"], []))
    assert "too few" not in enough.headline and enough.verdict == PARTLY


@fresh
def test_a_class_is_misleading_where_every_view_is(seed):
    model, documents = Known(seed), texts(seed, 100)
    sides = {"for good": 1, "for bad": 0}
    model.attention = lambda ds: {n: [model.weights(d, j) for d in ds] for n, j in sides.items()}
    report = audit(model, documents)
    assert report.verdict == NOT_SHOWN and MISLEADING not in report.classes.values()
    assert audit(model, documents, view="for good").classes["bad"] == MISLEADING


@fresh
def test_each_view_of_the_attention_is_judged(seed):
    model, good = Known(seed), Known(seed).attention
    bad = audited.Constant(seed).attention
    model.attention = lambda d: {"good": good(d)["words"], "layer 1, head 0": bad(d)["words"]}
    documents = texts(seed, 60)
    report = audit(model, documents)
    assert report.verdict == NOT_SHOWN
    assert "By view: good: a ranking of the words; layer 1 head 0: nothing is shown." in (
        report.headline
    )
    assert audit(model, documents, view="good").verdict == SHOWN


def test_many_views_of_which_the_same_is_said_are_counted():
    model, good = Known(1), Known(1).attention
    bad = audited.Constant(1).attention
    model.attention = lambda d: {
        "good": good(d)["words"],
        **{f"layer {n}": bad(d)["words"] for n in range(4)},
    }
    report = audit(model, texts(1, 60))
    assert "By view: good: a ranking of the words; the 4 others: nothing is shown." in (
        report.headline
    )
    assert "15 ways, of which the weakest decides: the first view: shown; the 4 others: not " in (
        of_question(report, "removal").sentence
    )


def test_a_share_of_the_texts_has_no_interval_beyond_all_of_them():
    either = audited.EitherOfTwo()
    both = audited.inserted(texts(1, 3), either.pair, 1)  # no word matters by itself
    one = audited.inserted(texts(2, 57), either.pair[:1], 1)
    rows = {each.name: each for each in of_question(audit(either, both + one), "heat").rows}
    assert 0.8 < rows[SOME].low < rows[SOME].mean < rows[SOME].high <= 1


@seeds
def test_attention_at_marked_words_is_like_people(seed):
    documents = [text + [PLANTED] for text in texts(seed)]
    marked = [[word == PLANTED for word in text] for text in documents]
    assert audit(audited.Planted(), documents, marked=marked).verdicts()["people"] == SHOWN


@seeds
def test_shuffled_labels_are_not_worth_an_explanation(seed):
    model, documents = Known(seed), texts(seed)
    labels = model(documents).argmax(1)
    assert audit(model, documents, labels).verdicts()["labels"] == SHOWN
    shuffled = np.random.default_rng(seed).permutation(labels)
    assert audit(model, documents, shuffled).verdicts()["labels"] == NOT_SHOWN


@seeds
def test_training_and_another_seed_are_compared_where_they_can_be_had(seed):
    model = Known(seed)
    model.untrained = lambda: audited.Constant(seed)
    model.twin = lambda other: Known(seed)
    verdicts = audit(model, texts(seed)).verdicts()
    assert verdicts["training"] == SHOWN and verdicts["seed"] == SHOWN
    model.untrained, model.twin = lambda: Known(seed), lambda other: audited.Constant(seed)
    verdicts = audit(model, texts(seed)).verdicts()
    assert verdicts["training"] == NOT_SHOWN and verdicts["seed"] == NOT_SHOWN


def test_verdicts_are_what_their_numbers_say():
    def about(value, half, p=0.001, texts=100):
        return Mean(value, value - half, value + half, p, texts)

    removal, near, far = BY_QUESTION["removal"], about(-0.01, 0.01), about(-0.1, 0.01)
    assert removal.verdict(about(0.2, 0.1), 0.001, near) == SHOWN
    assert removal.verdict(about(0.2, 0.1), 0.001, far) == PARTLY
    assert removal.verdict(about(0.2, 0.1), 0.001, None) == PARTLY
    assert removal.verdict(about(0.2, 0.1), 0.2, far) == NOT_SHOWN
    assert removal.verdict(about(0.2, 0.19), 0.04, near) == NOT_SHOWN
    assert removal.verdict(about(0.9, 0.0, 0.0, LEAST_TEXTS - 1), 0.0, near) == NOT_SHOWN
    assert BY_QUESTION["weights"].verdict(about(0.03, 0.01), 1.0) == PARTLY
    order, gap = BY_QUESTION["order"], about(0.0, 0.01)
    assert order.verdict(about(0.3, 0.1), 0.001, gap, about(0.4, 0.05)) == PARTLY
    assert order.verdict(about(0.3, 0.1), 0.001, gap, about(0.6, 0.05)) == SHOWN
    assert weakest([PARTLY, SHOWN, NOT_APPLICABLE]) == PARTLY
    assert weakest([NOT_APPLICABLE]) == NOT_APPLICABLE


def test_what_decides_is_the_difference_to_random_words():
    (removal, *_) = audit(Known(1), texts(1)).answers
    by_name, decides = {row.name: row.mean for row in removal.rows}, removal.decides
    assert decides.mean == pytest.approx(by_name["attention"] - by_name["random words"], abs=2e-4)
    assert decides.low < decides.mean < decides.high and decides.texts == 40


def test_the_report_is_json_without_a_word_of_the_texts(tmp_path):
    report = audit(Known(2), [*texts(2, 30), ["wort"] * 3 + ["a"] * 5])
    report.save(tmp_path / "audit.json")
    kept = json.loads((tmp_path / "audit.json").read_text("utf-8"))
    recorded = json.loads(next(AUDITS.glob("*.json")).read_text("utf-8"))
    assert [*kept] == [*recorded] and [*kept["answers"][0]] == [*recorded["answers"][0]]
    assert kept["grade"] == report.verdict
    assert {one["question"]: one["grade"] for one in kept["answers"] if one["grade"]} == (
        report.verdicts()
    )
    assert kept["counts"]["measured"] == 31 and "wort" not in json.dumps(kept)
    assert [one["question"] for one in kept["answers"]][:2] == ["removal", "alone"]
    with pytest.raises(ValueError, match="html"):
        report.save(tmp_path / "audit.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["audit.json"]


def test_the_page_of_a_hundred_reviews_takes_at_most_three_megabytes(tmp_path):
    report = audit(Known(2), [["</script><u>"] * 3 + texts(2, 1)[0], *texts(2, 3)])
    words, steps = 240, [0.123] * 6
    view = {"name": "gradient × input", "shares": [-0.33] * words, "first": [*range(words)]}
    long = report.texts[0] | {
        "words": ["wonderful"] * words,
        "views": [view | {"steps": steps}] * 3,
    }
    replace(report, texts=(report.texts[0], *[long] * 100)).save(tmp_path / "audit.html")
    page = (tmp_path / "audit.html").read_text("utf-8")
    assert len(page) < 3_000_000 and page.count("</script>") == 2 and "<u>" not in page


def test_what_is_left_of_an_audit_is_told_after_its_first_texts(capsys):
    cost = {"removal": {"seconds": 30.0}, REPLACED: {"seconds": 20.0}, REWEIGHTED: {"seconds": 40}}
    # 4 seconds a text, and 6 more for each of the first 30
    assert remaining_seconds(100.0, cost, 10, 100) == 4 * 90 + 6 * 20
    assert remaining_seconds(100.0, cost, 10, 20) == 4 * 10 + 6 * 10
    assert remaining_seconds(40.0, {"removal": {"seconds": 30.0}}, 10, 100) == 4 * 90
    said = [in_words(seconds) for seconds in (0.3, 42, 89, 95, 630)]
    assert said == ["5 seconds", "40 seconds", "90 seconds", "2 minutes", "10 minutes"]
    for count in (10, 12):
        audit(Known(), texts(1)[:count])
        told = capsys.readouterr().err
        assert ("The first 10 of 12 texts will tell" in told) == (count == 12)
        assert bool(re.search(r"The others take about \d+ (seconds|minutes)\.", told)) == (
            count == 12
        )


def test_a_page_says_on_how_many_texts_it_measured(tmp_path):
    model = Known(2)
    model.probabilities = lambda documents: [HALF] * len(documents)
    audit(model, texts(2, 30)).save(tmp_path / "audit.html")
    page = (tmp_path / "audit.html").read_text("utf-8")
    found = re.findall(r"intervals over ([0-9to ]+) texts</figcaption>", page)
    assert found == []  # no word matters, so nothing is asked
    audit(Known(2), texts(2, 40)).save(tmp_path / "audit.html")
    assert "intervals over 30 to 40 texts" in (tmp_path / "audit.html").read_text("utf-8")


def test_texts_that_cannot_be_read_are_counted():
    assert audit(Known(3), texts(3, 29)).headline.startswith("29 texts are too few for")
    report = audit(Known(3), [*texts(3, 25), None, 7, ["a"], "", ["a"] * 10_000])
    assert report.counts["measured"] == 25 and report.counts["given"] == 30
    assert sorted(report.counts["left_out"].values()) == [1, 2, 2]


def fails(documents):
    raise RuntimeError("no memory\nleft")


def slopes(of):
    return lambda documents, *_, **__: [(of(words),) * 2 for words in documents]


HALF = [0.5, 0.5]
BAD = {
    "NaN": ("probabilities", lambda d: np.full((len(d), 2), np.nan), "finite.*a row is .nan"),
    "ragged": ("probabilities", lambda d: [[0.5, 0.5], *[[1.0]] * (len(d) - 1)], "."),
    "sums": ("probabilities", lambda d: np.full((len(d), 2), 0.7), "sum to 1.*softmax"),
    "flat": ("probabilities", lambda d: np.full(len(d), 0.5), "shape"),
    "below 0": ("probabilities", lambda d: np.tile([1.5, -0.5], (len(d), 1)), "softmax"),
    "one class": ("probabilities", lambda d: np.ones((len(d), 1)), "shape"),
    "fewer": ("probabilities", lambda d: [HALF], "documents"),
    "raises": ("probabilities", fails, "probabilities raised RuntimeError: no memory left$"),
    "length": ("attention", lambda d: {"a": [np.ones(3) for _ in d]}, "array .words,. for each"),
    "negative": ("attention", lambda d: {"a": [-np.ones(len(x)) for x in d]}, "below 0"),
    "NaN weight": ("attention", lambda d: {"a": [np.full(len(x), np.nan) for x in d]}, "finite"),
    "too few": ("attention", lambda d: {"a": []}, "words, and their"),
    "none": ("attention", lambda d: {}, "no attention"),
    "NaN slopes": ("gradients", slopes(lambda x: np.full((len(x), 1), np.nan)), "finite"),
    "short slopes": ("gradients", slopes(lambda x: np.ones((2, 1))), "gradient.*for each text"),
    "no slopes": ("gradients", lambda d, *_, **__: [None for _ in d], "gradients raised TypeError"),
    "no numbers": ("attention", lambda d: {"a": [["x"] * len(x) for x in d]}, "attention 'a' rais"),
    "more classes": ("classes", ("bad", "fair", "good"), "3 classes have 2 probabilities"),
}


@pytest.mark.parametrize("method, answer, says", BAD.values(), ids=BAD)
def test_a_wrong_answer_of_a_model_is_one_line(method, answer, says):
    model = Known(0)
    setattr(model, method, answer)
    with pytest.raises(AuditError, match=says) as raised:
        audit(model, texts(0, 20))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("given", [[], [["a", "b"]], [["a"]] * 30, [["a"] * 10_000] * 2], ids=len)
def test_too_few_texts_are_refused(given):
    with pytest.raises(AuditError, match="at least two texts"):
        audit(Known(0), given)


@pytest.mark.parametrize("error", [ValueError("no words\nhere"), SystemExit("bye")])
def test_why_no_text_can_be_read_is_told(error):
    model = Known(0)
    model.document = mock.Mock(side_effect=error)
    says = f"20 cannot be read; the first .* raised {type(error).__name__}: (no words here|bye)"
    with pytest.raises(AuditError, match=says):
        audit(model, texts(0, 20))


@pytest.mark.parametrize("method", ["probabilities", "attention", "untrained", "twin", "gradients"])
def test_a_model_that_ends_the_process_is_one_line(method):
    model = Known(0)
    setattr(model, method, mock.Mock(side_effect=SystemExit(3), __signature__=Signature()))
    with pytest.raises(AuditError, match=f"the model's {method} raised SystemExit: 3$"):
        audit(model, texts(0, 20))


class OfTensors(audited.Pooling):
    """Answers in tensors that require gradients, one by one where it gives several."""

    def probabilities(self, documents, attention=None):
        given = None if attention is None else [np.asarray(each) for each in attention]
        return tensor(super().probabilities(documents, given))

    def attention(self, documents):
        (found,) = super().attention(documents).values()
        return {"words": [*map(tensor, found)]}

    def gradients(self, documents, classes, **options):
        return [(tensor(self.inputs(each)), tensor(self.inputs(each))) for each in documents]


class OfArrays(audited.Pooling):
    def gradients(self, documents, classes, **options):
        return [(self.inputs(each), self.inputs(each)) for each in documents]


def tensor(values):
    return torch.tensor(values, requires_grad=True)


def test_tensors_with_gradients_are_numbers_like_others():
    found, expected = (audit(kind(1), texts(1, 22)) for kind in (OfTensors, OfArrays))
    assert found.answers == expected.answers and found.missing == expected.missing
    model = Known(1)
    model.probabilities = lambda documents: [tensor(row) for row in model(documents)]
    assert audit(model, texts(1, 22)).answers == audit(Known(1), texts(1, 22)).answers


def test_labels_and_marks_must_fit():
    documents = texts(0, 20)
    for options, says in [
        ({"labels": [0]}, "20 entries"),
        ({"labels": ["ugly"] * 20}, "ugly.*bad, good"),
        ({"labels": [2] * 20}, "no class"),
        ({"marked": [[True]] * 20}, "one entry for every word"),
        ({"view": "other"}, "other.*words"),
    ]:
        with pytest.raises(AuditError, match=says):
            audit(Known(0), documents, **options)
    named = audit(Known(0), documents, labels=["bad", "good"] * 10)
    classes = Known(0)(documents).argmax(1)
    placed = dict(zip(range(5, 25), classes))  # as a column of a table whose first rows are gone
    column = type("Column", (dict,), {"__iter__": lambda self: iter(self.values())})(placed)
    (right,) = [
        one for one in audit(Known(0), documents, column).answers if one.question == "labels"
    ]
    assert right.rows[0].mean == 1
    assert "labels" in named.verdicts()


def test_the_site_shows_every_recorded_audit_and_no_text(tmp_path):
    made = ["00_start_here", "03_han_imdb", "11_pretrained", "report"]
    write_audits(tmp_path / "audits", tmp_path / "audits.md", made)
    listed = (tmp_path / "audits.md").read_text("utf-8")
    recorded = [json.loads(path.read_text("utf-8")) for path in AUDITS.glob("*.json")]
    assert "than random words do" in listed
    assert len(recorded) >= 2 and ">HAN, IMDb</a><br>`han-imdb-compact-s0`" in listed
    for one in recorded:
        name = one["name"]
        assert f'<a href="audits/{name}.html">' in listed and "texts" not in one
        page = (tmp_path / "audits" / f"{name}.html").read_text("utf-8")
        assert one["headline"] in page and page.count("<figure>") == len(one["answers"])
        assert 'id="data"' not in page
        assert ("than random words do" in page) == name.startswith("sanet")
        lesson = {"han": ["03_han_imdb"], "minilm": ["11_pretrained"]}.get(name.split("-")[0], [])
        assert re.findall(r'href="../(\w+).html">', page) == ["audits", *lesson, "report"]
