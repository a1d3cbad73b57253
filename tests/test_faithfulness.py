"""Rankers and erasure: known answers, areas by hand, and what must not change them."""

import numpy as np
import pytest
from faithful import PLANTED, WORDS, Linear, detector, documents, softmax
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib import faithfulness
from course_lib.faithfulness import documents as asking
from course_lib.faithfulness.erasure import orders

TEXTS = [list("abcab"), list("hgfedcba"), list("kkl")]
everywhere = pytest.mark.parametrize("filler", [None, "⟨unknown⟩"])


def predicted(model, texts):
    return model([list(text) for text in texts]).argmax(1)


# Documents and questions


def test_words_are_deleted_or_masked_and_an_empty_sentence_goes():
    text, gone = [["a", "b"], ["c"]], np.array([False, True, True])
    assert faithfulness.words_of(text) == ["a", "b", "c"]
    assert faithfulness.without(text, gone) == [["a"]]
    assert faithfulness.without(text, gone, "?") == [["a", "?"], ["?"]]
    assert faithfulness.without(["a", "b", "c"], gone) == ["a"]
    assert faithfulness.without([], np.zeros(0)) == []


def test_what_is_no_document_and_what_does_not_fit_it_are_refused():
    with pytest.raises(ValueError, match="not a string"):
        faithfulness.words_of("a b")
    with pytest.raises(ValueError, match="not both"):
        faithfulness.words_of(["a", ["b"]])
    with pytest.raises(ValueError, match="document of 2 words"):
        faithfulness.without(["a", "b"], np.array([True]))


def test_texts_are_asked_longest_first_in_batches_that_are_not_too_large(monkeypatch):
    sizes = [list(map(int, b)) for b in asking.length_batches(np.array([2, 5, 0, 5]), 10)]
    assert sizes == [[1, 3], [0], [2]]
    assert [len(b) for b in asking.length_batches(np.array([50, 50]), 10)] == [1, 1]
    model = Linear()
    faithfulness.leave_one_out(model, [WORDS] * 30)  # 30 texts and 600 with a hole
    assert model.calls == 2 and len(model.asked) == 630


@settings(max_examples=25)
@given(documents, st.integers(1, 40))
def test_answers_come_in_the_order_of_the_questions(texts, at_once):
    model = Linear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asking.length_batches, "__defaults__", (at_once,))
        found = faithfulness.ask(model, [asking.whole(text) for text in texts])
    np.testing.assert_allclose(found, np.concatenate([model([text]) for text in texts]))


# Rankers


@everywhere
@settings(max_examples=25)
@given(texts=documents, seed=st.integers(0, 50))
def test_leave_one_out_is_the_loss_without_each_word(filler, texts, seed):
    model = Linear(seed)
    for text, scores in zip(texts, faithfulness.leave_one_out(model, texts, filler), strict=True):
        (full,) = model([text])
        rest = [text[:i] + [filler] * bool(filler) + text[i + 1 :] for i in range(len(text))]
        np.testing.assert_allclose(scores, full.max() - model(rest)[:, full.argmax()])


@settings(max_examples=25)
@given(documents, st.integers(0, 50))
def test_on_summed_vectors_gradients_and_leave_one_out_rank_alike(texts, seed):
    """Signed scores of two classes: each is a rising function of what the word contributes."""
    model = Linear(seed)
    loo = faithfulness.leave_one_out(model, texts)
    gradient = faithfulness.gradient_times_input(model.gradients, model, texts)
    integrated = faithfulness.integrated_gradients(model.gradients, model, texts, steps=1)
    for j, text, *found in zip(predicted(model, texts), texts, loo, gradient, integrated):
        expected = model.contributions(text, j)
        order = np.argsort(-expected, kind="stable")
        for scores in found:
            assert (np.diff(scores[order]) <= 1e-9).all()
        np.testing.assert_allclose(found[1], expected)
        np.testing.assert_allclose(found[2], expected)


@settings(max_examples=20)
@given(documents, documents, st.integers(0, 3))
def test_a_document_is_ranked_the_same_with_other_neighbours(texts, others, seed):
    model = Linear(seed)
    constant = [np.zeros(len(text)) for text in texts + others]
    for rank in (
        lambda t: faithfulness.leave_one_out(model, t),
        lambda t: faithfulness.random_importance(t, seed),
        lambda t: list(faithfulness.comprehensiveness(model, t, constant[: len(t)], seed=seed)),
    ):
        for alone, beside in zip(rank(texts), rank(texts + others)):
            np.testing.assert_allclose(alone, beside, atol=1e-12)


def test_random_importances_differ_between_documents_and_seeds():
    first, second = faithfulness.random_importance([list("abcd"), list("abce")])
    (other,) = faithfulness.random_importance([list("abcd")], seed=1)
    assert not np.array_equal(first, second) and not np.array_equal(first, other)


# Erasure


def test_the_area_by_hand():
    """Four words, of which ``a`` adds 2 to the log-odds and the others 0; the top half and all."""

    def model(texts):
        return softmax(np.array([[0.0, 2.0 * text.count("a") + 1] for text in texts]))

    def p(logit):
        return 1 / (1 + np.exp(-logit))

    text, shares = ["b", "a", "c", "d"], (0.25, 0.5, 1.0)
    found, missed = [np.array([0, 3, 1, 2.0])], [np.array([2, 0, 3, 1.0])]  # a first, a last
    losses = faithfulness.comprehensiveness(model, [text], found, shares)
    np.testing.assert_allclose(losses, [[p(3) - p(1)] * 3])
    losses = faithfulness.comprehensiveness(model, [text], missed, shares)
    np.testing.assert_allclose(losses, [[0, 0, p(3) - p(1)]])
    assert faithfulness.aopc(losses)[0] == pytest.approx((p(3) - p(1)) / 3)
    np.testing.assert_allclose(faithfulness.sufficiency(model, [text], found, shares), [[0] * 3])
    losses = faithfulness.sufficiency(model, [text], missed, shares)
    np.testing.assert_allclose(losses, [[p(3) - p(1)] * 2 + [0]])


@pytest.mark.parametrize(("words", "share", "count"), [(100, 0.07, 7), (31, 0.1, 4), (3, 0.01, 1)])
def test_a_share_is_rounded_up(words, share, count):
    texts = [[*map(str, range(words))]]
    seen = Linear()
    faithfulness.comprehensiveness(seen, texts, [np.arange(words)], (share,))
    assert min(map(len, seen.asked)) == words - count
    assert [str(n) for n in range(words - count)] in seen.asked  # the highest importances go first


@everywhere
@settings(max_examples=20)
@given(texts=documents, seed=st.integers(0, 50))
def test_on_summed_vectors_leave_one_out_reaches_both_limits(filler, texts, seed):
    """Normalised, its comprehensiveness is 1 and its sufficiency 0, and nothing lies outside."""
    model = Linear(seed)
    loo = faithfulness.leave_one_out(model, texts, filler)
    noise = faithfulness.random_importance(texts, seed)
    for measure, expected in (("comprehensiveness", 1), ("sufficiency", 0)):
        measured = getattr(faithfulness, measure)
        found = faithfulness.limits(model, texts, measure, filler=filler)
        assert set(found.how) == {"exact"}
        area = faithfulness.aopc(measured(model, texts, loo, filler=filler))
        share = faithfulness.normalised_aopc(area, found)
        constant = found.upper - found.lower <= 1e-9
        assert (np.isnan(share) == constant).all()
        np.testing.assert_allclose(share[~constant], expected, atol=1e-6)
        area = faithfulness.aopc(measured(model, texts, noise, filler=filler))
        assert (area <= found.upper + 1e-9).all() and (area >= found.lower - 1e-9).all()


def test_limits_are_those_of_all_orderings():
    """Against every ordering of four words, for a model in which words act together."""
    from itertools import permutations

    def model(texts):
        pairs = [2 * ("a" in t and "b" in t) - ("c" in t) + ("d" in t or "a" in t) for t in texts]
        return softmax(np.array([[0.3, pair] for pair in pairs], dtype=float))

    text, shares = list("abcd"), (0.25, 0.5, 0.75)
    for measure in ("comprehensiveness", "sufficiency"):
        ranks = [np.array(order, dtype=float) for order in permutations(range(4))]
        losses = getattr(faithfulness, measure)(model, [text] * len(ranks), ranks, shares)
        areas = faithfulness.aopc(losses)
        found = faithfulness.limits(model, [text], measure, shares)
        assert found.lower[0] == pytest.approx(areas.min())
        assert found.upper[0] == pytest.approx(areas.max())
        assert areas.max() - areas.min() > 0.05


def test_longer_texts_get_a_beam_or_a_sample_and_the_result_says_so():
    model, texts = Linear(3), [WORDS[:8], WORDS[:9], WORDS, [*WORDS, "a"]]
    for measure, best in (("comprehensiveness", 1), ("sufficiency", 0)):
        found = faithfulness.limits(model, texts, measure)
        assert found.how == ("exact", "beam", "beam", "sampled")
        loo = faithfulness.leave_one_out(model, texts)
        area = faithfulness.aopc(getattr(faithfulness, measure)(model, texts, loo))
        np.testing.assert_allclose(faithfulness.normalised_aopc(area, found), best, atol=1e-6)
    with pytest.raises(ValueError, match="measure"):
        faithfulness.limits(model, texts, "area")


@pytest.mark.parametrize(("effect", "share"), [(-3.0, 1), (3.0, 0)])
def test_limits_of_a_long_text_know_the_rankings_that_are_compared(effect, share):
    """Three words of sixty count only if all are gone, which no sample finds."""

    def trio(texts):
        gone = [{"7", "23", "41"}.isdisjoint(text) for text in texts]
        return softmax(np.array([[0.0, 1 + effect * all_gone] for all_gone in gone]))

    text, shares = [[*map(str, range(60))]], (0.05,)
    found = [np.isin(np.arange(60), (7, 23, 41)).astype(float)]
    area = faithfulness.aopc(faithfulness.comprehensiveness(trio, text, found, shares))
    sampled = faithfulness.limits(trio, text, shares=shares)
    assert sampled.lower == sampled.upper == 0 != area
    wider = faithfulness.limits(trio, text, shares=shares, rankings=[found, [-found[0]]])
    assert faithfulness.normalised_aopc(area, wider) == share and wider.how == ("sampled",)


def test_no_more_words_are_erased_than_have_weight():
    """With a support of two words, half of twelve is still two; the limits know that."""
    texts, asked = [["the", "film", "good"] * 4], []

    def model(documents):
        asked.extend(map(len, documents))
        share = np.array([("good" in d) * 0.4 + 0.3 for d in documents])
        return np.stack([share, 1 - share], 1)

    options = {"shares": (0.1, 0.5), "most": [2]}
    alpha = [np.array([0, 0, 0.9, 0.1] + [0.0] * 8)]
    faithfulness.comprehensiveness(model, texts, alpha, **options)
    assert min(asked) == 10
    faithfulness.limits(model, texts, rankings=[alpha], beam_up_to=0, samples=3, **options)
    assert min(asked) == 10
    faithfulness.comprehensiveness(model, texts, alpha, shares=(0.5,))
    assert min(asked) == 6


def test_uniform_attention_is_the_reverse_of_its_random_ranking():
    """A limit that a study states: ties and the random ranking draw the same numbers."""
    uniform = [np.full(len(text), 1 / len(text)) for text in TEXTS]
    for seed in range(3):
        random = faithfulness.random_importance(TEXTS, seed)
        sides = (orders(TEXTS, ranking, seed) for ranking in (uniform, random))
        for first, second in zip(*sides):
            assert first.tolist() == second.tolist()[::-1]


def test_equal_importances_are_a_random_ranking_and_not_one_from_left_to_right():
    texts = [[f"w{n}", PLANTED, "b", "c", "d"] for n in range(200)]
    removed = faithfulness.words_to_flip(detector, texts, [np.ones(5)] * 200)
    assert abs(removed.mean() - 0.6) < 0.06  # the mean place of the planted word is the third


@pytest.mark.parametrize("filler", [None, "gap"])
def test_words_to_flip_are_found_however_late_the_decision_changes(filler):
    """Of forty words one decides; the removals are asked in several rounds (8, 16, 32, 40)."""
    places = [1, 8, 9, 16, 17, 32, 33, 40]  # in the ranking, of the word that decides
    texts = [[f"w{n}" for n in range(40)] for _ in places]
    for text, place in zip(texts, places):
        text[place - 1] = "good"
    undecided = [f"w{n}" for n in range(40)]

    def model(documents):
        positive = np.array([0.9 if "good" in document else 0.2 for document in documents])
        return np.stack([1 - positive, positive], 1)

    falling = [-np.arange(40.0)] * (len(texts) + 1)
    shares = faithfulness.words_to_flip(model, [*texts, undecided], falling, filler)
    assert shares.tolist() == [place / 40 for place in places] + [1.0]


@pytest.mark.parametrize(
    ("texts", "importances", "shares", "message"),
    [
        (["abc"], [np.ones(2)], (1,), "document 0 takes 3"),
        (["abc"], [np.array([1, np.nan, 2])], (1,), "document 0 takes 3 finite"),
        (["abc"], [np.ones(3)] * 2, (1,), "one array per document"),
        *((["a"], [np.ones(1)], shares, "shares") for shares in ((), (0.0,), (1.5,))),
        (["a", ""], [np.ones(1), np.ones(0)], (1,), "document 1 takes 0 finite"),
    ],
)
def test_what_cannot_be_erased_by_a_ranking_is_refused(texts, importances, shares, message):
    with pytest.raises(ValueError, match=message):
        faithfulness.comprehensiveness(detector, [*map(list, texts)], importances, shares)
    with pytest.raises(ValueError, match="at least one"):
        faithfulness.leave_one_out(detector, [])
    with pytest.raises(ValueError, match="steps"):
        faithfulness.integrated_gradients(None, detector, [["a"]], steps=0)
