"""An audit is right where the answer is known, and says in one line what cannot be audited."""

import json
from dataclasses import replace

import numpy as np
import pytest
from audited import (
    COMMA,
    Against,
    AtCommas,
    Constant,
    Ignoring,
    Known,
    Planted,
    Pooling,
    Saturated,
    texts,
)
from faithful import PLANTED

from course_kit.publishing.site import AUDITS, write_audits
from course_lib.faithfulness import AuditError, audit
from course_lib.faithfulness.grades import LEAST_TEXTS, NOT_SHOWN, PARTLY, SHOWN, grade, headline
from course_lib.metrics.statistics import Estimate, crossed, holm

SEEDS = (11, 12, 13)  # the grades were fixed before any of them was tried
seeds = pytest.mark.parametrize("seed", SEEDS)


@seeds
def test_attention_by_contribution_is_a_ranking_of_a_linear_bag_of_words(seed):
    report = audit(Known(seed), texts(seed, 60))
    assert report.grade == SHOWN == report.grades()["removal"] == report.grades()["alone"]
    assert report.grades()["signs"] == SHOWN
    assert "usable as a ranking" in report.answers[0].sentence
    assert report.missing.keys() >= {"weights", "adversary", "seed", "training", "labels"}


@seeds
def test_where_no_tenth_of_the_words_matters_nothing_is_shown(seed):
    assert audit(Saturated(seed), texts(seed)).grade == NOT_SHOWN


@seeds
def test_attention_at_a_planted_word_is_a_ranking(seed):
    documents = [text + [PLANTED] for text in texts(seed)]
    report = audit(Planted(), documents, marked=[[w == PLANTED for w in d] for d in documents])
    assert report.grade == SHOWN == report.grades()["people"] == report.grades()["order"]


@seeds
@pytest.mark.parametrize("kind", [Constant, AtCommas])
def test_attention_that_knows_nothing_is_not_shown_to_be_usable(kind, seed):
    report = audit(kind(seed), texts(seed, extra=[COMMA]))
    assert report.grade == NOT_SHOWN
    assert {report.grades()[name] for name in ("removal", "alone", "order")} == {NOT_SHOWN}


@seeds
def test_attention_against_the_decision_is_found_out(seed):
    report = audit(Against(seed), texts(seed))
    assert report.grade == NOT_SHOWN == report.grades()["signs"]
    by_name = {one.question: one for one in report.answers}
    assert by_name["signs"].rows[0].low > 0.5


@seeds
def test_a_network_that_ignores_its_attention_is_found_out_though_erasure_is_not(seed):
    report = audit(Ignoring(seed), texts(seed))
    assert report.grades()["removal"] == SHOWN
    assert report.grades()["weights"] == report.grades()["adversary"] == NOT_SHOWN == report.grade
    assert audit(Pooling(seed), texts(seed)).grades()["weights"] == SHOWN


@seeds
def test_shuffled_labels_are_not_worth_an_explanation(seed):
    model, documents = Known(seed), texts(seed)
    labels = model(documents).argmax(1)
    assert audit(model, documents, labels).grades()["labels"] == SHOWN
    shuffled = np.random.default_rng(seed).permutation(labels)
    assert audit(model, documents, shuffled).grades()["labels"] == NOT_SHOWN


@seeds
def test_training_and_another_seed_are_compared_where_they_can_be_had(seed):
    model = Known(seed)
    model.untrained = lambda: Constant(seed)
    model.twin = lambda other: Known(seed)
    grades = audit(model, texts(seed)).grades()
    assert grades["training"] == SHOWN and grades["seed"] == SHOWN
    model.untrained, model.twin = lambda: Known(seed), lambda other: Constant(seed)
    grades = audit(model, texts(seed)).grades()
    assert grades["training"] == NOT_SHOWN and grades["seed"] == NOT_SHOWN


def test_grades_are_what_their_numbers_say():
    def about(value, half, texts=100):
        return Estimate(value, (half / 1.984) ** 2, texts)

    near, far = about(-0.01, 0.01), about(-0.1, 0.01)
    assert grade("removal", about(0.2, 0.1), 0.001, near) == SHOWN
    assert grade("removal", about(0.2, 0.1), 0.001, far) == PARTLY
    assert grade("removal", about(0.2, 0.1), 0.001, None) == PARTLY
    assert grade("removal", about(0.2, 0.1), 0.2, far) == NOT_SHOWN
    assert grade("removal", about(0.2, 0.19), 0.04, near) == NOT_SHOWN
    assert grade("removal", about(0.9, 0.0, LEAST_TEXTS - 1), 0.0, near) == NOT_SHOWN
    assert grade("weights", about(0.03, 0.01), 1.0) == PARTLY
    assert headline({"removal": PARTLY, "weights": SHOWN, "signs": NOT_SHOWN}) == PARTLY
    assert headline({"removal": SHOWN}) == SHOWN


def test_holm_multiplies_the_smallest_by_their_number():
    assert holm([0.03, 0.01, 0.04]) == pytest.approx([0.06, 0.03, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0] and holm([]) == []


def test_intervals_are_those_of_the_statistics_of_the_course():
    model, documents = Known(1), texts(1)
    (removal, *_) = audit(model, documents).answers
    decides = removal.decides
    by_name = {row.name: row.mean for row in removal.rows}
    assert decides.mean == pytest.approx(by_name["attention"] - by_name["random words"], abs=2e-4)
    assert decides.low < decides.mean < decides.high and decides.texts == len(documents)
    assert crossed(np.array([[0.0, 1.0, 1.0]])).value == pytest.approx(2 / 3)


def test_the_report_is_json_without_a_word_of_the_texts(tmp_path):
    report = audit(Known(2), [*texts(2, 30), ["wort"] * 3 + ["a"] * 5])
    report.save(tmp_path / "audit.json")
    kept = json.loads((tmp_path / "audit.json").read_text("utf-8"))
    assert kept["counts"]["measured"] == 31 and "wort" not in json.dumps(kept)
    assert [one["question"] for one in kept["answers"]][:2] == ["removal", "limits"]
    with pytest.raises(ValueError, match="html"):
        report.save(tmp_path / "audit.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["audit.json"]


def test_the_page_of_a_hundred_reviews_takes_at_most_three_megabytes(tmp_path):
    report = audit(Known(2), [["</script><u>"] * 3 + texts(2, 1)[0], *texts(2, 3)])
    words = 240
    long = report.texts[0] | {
        "words": ["wonderful"] * words,
        "importances": {name: [-1 / 3] * words for name in report.texts[0]["importances"]},
        "first": {name: [*range(100, 220)] for name in report.texts[0]["first"]},
    }
    replace(report, texts=(report.texts[0], *[long] * 100)).save(tmp_path / "audit.html")
    page = (tmp_path / "audit.html").read_text("utf-8")
    assert len(page) < 3_000_000 and page.count("</script>") == 2 and "<u>" not in page


def test_texts_that_cannot_be_read_are_counted():
    report = audit(Known(3), [*texts(3, 25), None, 7, ["a"], "", ["a"] * 10_000])
    assert report.counts["measured"] == 25 and report.counts["given"] == 30
    assert sorted(report.counts["left_out"].values()) == [1, 2, 2]


def test_an_interrupt_keeps_whole_groups_and_says_so():
    model, asked = Known(4), 0
    attention = model.attention

    def interrupted(documents):
        nonlocal asked
        asked += 1
        if asked == 3:
            raise KeyboardInterrupt
        return attention(documents)

    model.attention = interrupted
    report = audit(model, texts(4))
    assert report.counts["stopped"] and report.counts["measured"] == 20
    asked = 2
    with pytest.raises(KeyboardInterrupt):
        audit(model, texts(4))


class Wrong(Known):
    """A classifier with one method replaced."""

    def __init__(self, **methods):
        super().__init__(0)
        for name, method in methods.items():
            setattr(self, name, method)


def fails(documents):
    raise RuntimeError("no memory\nleft")


HALF = [0.5, 0.5]
BAD = {
    "NaN": ("probabilities", lambda d: np.full((len(d), 2), np.nan), "not finite"),
    "sums": ("probabilities", lambda d: np.full((len(d), 2), 0.7), "sum to 1.*softmax"),
    "one class": ("probabilities", lambda d: np.ones((len(d), 1)), "shape"),
    "fewer": ("probabilities", lambda d: [HALF], "documents"),
    "raises": ("probabilities", fails, "probabilities raised RuntimeError: no memory left$"),
    "length": ("attention", lambda d: {"a": [np.ones(3) for _ in d]}, "array .words,. for each"),
    "negative": ("attention", lambda d: {"a": [-np.ones(len(x)) for x in d]}, "below 0"),
    "NaN weight": ("attention", lambda d: {"a": [np.full(len(x), np.nan) for x in d]}, "finite"),
    "too few": ("attention", lambda d: {"a": []}, "words, and their"),
    "none": ("attention", lambda d: {}, "no attention"),
}


@pytest.mark.parametrize("method, answer, says", BAD.values(), ids=BAD)
def test_a_wrong_answer_of_a_model_is_one_line(method, answer, says):
    with pytest.raises(AuditError, match=says) as raised:
        audit(Wrong(**{method: answer}), texts(0, 20))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("given", [[], [["a", "b"]], [["a"]] * 30, [["a"] * 10_000] * 2], ids=len)
def test_too_few_texts_are_refused(given):
    with pytest.raises(AuditError, match="at least two texts"):
        audit(Known(0), given)


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
    assert "labels" in named.grades()


def test_the_site_shows_every_recorded_audit_and_no_text(tmp_path):
    write_audits(tmp_path / "audits", tmp_path / "audits.md")
    listed = (tmp_path / "audits.md").read_text("utf-8")
    recorded = [json.loads(path.read_text("utf-8")) for path in AUDITS.glob("*.json")]
    assert len(recorded) >= 2
    for one in recorded:
        name = one["name"]
        assert f'<a href="audits/{name}.html">' in listed and "texts" not in one
        page = (tmp_path / "audits" / f"{name}.html").read_text("utf-8")
        assert one["headline"] in page and page.count("<figure>") == len(one["answers"])
        assert 'id="data"' not in page
