"""A recorded network put through every test of faithfulness, and its attention changed while its
texts stay: the records, the command, and that the report can read them."""

import json
import re
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from recorded import spec_of, tiny_vectors

from course_kit.publishing.recorded_weights import publish_weights
from course_kit.research import minilm, report
from course_kit.research.rankings_study import SIGNS, changed_attention, erasure_record
from course_kit.research.rankings_study.borrowed_signs import ALL_FOR, SAME_SIGN, record_signs
from course_kit.research.rankings_study.changed_attention import QUANTILES, TOLERANCES
from course_kit.research.rankings_study.erasure_record import AGREEMENT, ALL, INTERVENTIONS
from course_kit.research.rankings_study.ranked_network import MASK, choose_run, study_path
from course_kit.research.recording import Stopwatch
from course_lib import cli, faithfulness
from course_lib.faithfulness import agreement, interventions
from course_lib.faithfulness.document_model import DocumentModel
from course_lib.faithfulness.documents import predicted
from course_lib.files import REPOSITORY
from course_lib.runs import folders, records
from course_lib.runs.records import StaleRun, load_records
from course_lib.runs.run import train
from course_lib.runs.settings import SpecError
from course_lib.runs.spec import RunSpec
from course_lib.runs.weights import DIGEST, load_recorded

pytestmark = pytest.mark.full  # a finished study: networks are trained, and records read

TEXTS, SLOW = 5, 2
near = partial(pytest.approx, abs=1e-4)
ALWAYS = {
    "attention",
    "α · ∇α",
    "gradient × input",
    "gradient × input, attention detached",
    "integrated gradients",
    "leave-one-out",
    "random",
    "attention × sign of the gradient",
    *(
        f"|{name}|"
        for name in ("α · ∇α", "gradient × input", "integrated gradients", "leave-one-out")
    ),
}
OF_STEPS = {"attention, step 1", "attention, step 2"}


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """A recorded IRAM, and the folder of a run of it with another seed; ``test_predict`` takes a
    HAN through the same command."""
    place, spec = tmp_path_factory.mktemp("recorded"), spec_of("iram")
    other = replace(spec, seed=7)
    with pytest.MonkeyPatch.context() as patch, tiny_vectors(place):
        patch.setattr(folders, "RUNS", place / "runs")
        patch.setattr(folders, "RESULTS", place / "results")
        patch.setattr(erasure_record, "SLOW_TEXTS", SLOW)
        patch.setattr(agreement, "DRAWS", 100)
        patch.setattr(interventions, "ROUNDS", 3)
        train(spec, folders.RUNS / spec.resolve().id)
        publish_weights(folders.RUNS / spec.resolve().id)
        train(other, folders.RUNS / other.resolve().id)
        yield spec.resolve().id, str(folders.RUNS / other.resolve().id)


@pytest.fixture(scope="module")
def name(names):
    return names[0]


def recorded(name, kind, *arguments):
    """What the command writes."""
    assert cli.main(["faithfulness", name, "--texts", str(TEXTS), *arguments]) == 0
    return json.loads(study_path(name, kind).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def made(name):
    return recorded(name, ALL)


@pytest.fixture(scope="module")
def changed(names):
    return recorded(names[0], INTERVENTIONS, "--only", "interventions", "--beside", names[1])


def test_the_record_says_what_was_tested_how_and_on_which_texts(made, name):
    tested = choose_run(name, TEXTS)
    command = f"attention-course author faithfulness {name} --texts {TEXTS} --seed 0"
    assert made["command"] == command
    assert (made["id"], made["texts"], made["slow_texts"], made["test_texts"]) == (
        name,
        TEXTS,
        SLOW,
        200,
    )
    assert made["data"] == tested.run.record["data"]["content"]
    assert made["weights"] == tested.run.record[DIGEST]
    assert made["sample"] == tested.digest != choose_run(name, TEXTS, seed=1).digest
    assert made["environment"]["device"].startswith("cpu") and made["seconds"] > 0
    assert made["shares"] == list(faithfulness.SHARES)
    assert made["removals"].keys() == {"deletion", "masking"}
    for found in made["removals"].values():
        assert found["words_to_flip"].keys() >= ALWAYS | OF_STEPS
        for measure in ("comprehensiveness", "sufficiency"):
            assert sum(found[measure]["limits"].values()) == SLOW
            assert found[measure]["rankings"].keys() == found["words_to_flip"].keys()
            for figures in found[measure]["rankings"].values():
                assert len(figures["by_share"]) == 5 and figures["aopc"]["counted"] == TEXTS
    assert load_records()[0]["id"] == name  # the folder of faithfulness holds no run


def test_its_figures_are_the_librarys_with_words_removed_as_it_says(made, name):
    tested = choose_run(name, TEXTS)
    model, documents = tested.model, tested.documents
    for removal, filler in (("deletion", None), ("masking", MASK)):
        scores = faithfulness.leave_one_out(model, documents, filler)
        found = made["removals"][removal]
        for measure in ("comprehensiveness", "sufficiency"):
            losses = getattr(faithfulness, measure)(model, documents, scores, filler=filler)
            figures = found[measure]["rankings"]["leave-one-out"]
            assert figures["aopc"]["mean"] == near(losses.mean())
            assert [mean["mean"] for mean in figures["by_share"]] == near(losses.mean(0))
            other = found[measure]["rankings"]["random"]["aopc"]["mean"]
            gap = figures["aopc"]["mean"] - other
            assert figures["minus_random"]["mean"] == near(gap)
        flips = faithfulness.words_to_flip(model, documents[:SLOW], scores[:SLOW], filler)
        assert found["words_to_flip"]["leave-one-out"]["mean"] == near(flips.mean())
        tau = faithfulness.kendall(tested.attention()["attention"], [np.abs(s) for s in scores])
        pair = made["kendall"][f"attention–leave-one-out, {removal}"]
        assert pair["mean"] == pytest.approx(np.nanmean(tau), abs=0.03)  # near ties in float32


def test_the_areas_of_every_text_stand_beside_the_record_in_the_order_of_its_rankings(made, name):
    tested = choose_run(name, TEXTS)
    areas = np.load(study_path(name, ALL).with_suffix(".npz"))
    model, documents = tested.model, tested.documents
    gradient = faithfulness.gradient_times_input(model.gradients, model, documents, detached=True)
    attention = tested.attention()["attention"]
    signed = [alpha * np.sign(slope) for alpha, slope in zip(attention, gradient, strict=True)]
    for measure, found in made["removals"]["deletion"].items():
        if measure == "words_to_flip":
            continue
        rankings = found["rankings"]
        assert areas[measure].shape == (len(rankings), TEXTS)
        means = [figures["aopc"]["mean"] for figures in rankings.values()]
        np.testing.assert_allclose(areas[measure].mean(1), means, atol=1e-4)
        own = faithfulness.aopc(getattr(faithfulness, measure)(model, documents, signed))
        place = list(rankings).index("attention × sign of the gradient")
        np.testing.assert_allclose(areas[measure][place], own, atol=1e-5)


def test_exact_and_searched_limits_are_kept_apart_from_sampled_ones():
    how = ("exact", "sampled", "beam", "exact")
    found = erasure_record.by_limit(np.array([0.0, 0.25, 0.5, np.nan]), how, seed=0)
    assert found["exact or beam"] == {
        "mean": 0.25,
        "low": 0.0,
        "high": 0.5,
        "counted": 2,
        "left_out": 1,
    }
    assert found["sampled"]["mean"] == 0.25
    assert erasure_record.by_limit(np.array([0.5]), ("beam",), 0).keys() == {"exact or beam"}


def test_no_word_of_a_text_is_in_the_record(made, name):
    found = set(re.findall(r"\w+", json.dumps(made, ensure_ascii=False)))
    ours = {word for key in (*made, "attention gradient") for word in re.findall(r"\w+", key)}
    documents = choose_run(name, 50).documents
    long = {w for document in documents for w in faithfulness.words_of(document) if len(w) > 4}
    assert long and not (long & found) - ours


def test_a_record_repeats_and_a_smaller_sample_is_the_beginning_of_a_larger_one(made, name):
    again = erasure_record.record_faithfulness(choose_run(name, TEXTS))
    for key in made.keys() - {"command", "seconds"}:
        assert again[key] == made[key], key
    assert choose_run(name, 2).documents == choose_run(name, TEXTS).documents[:2]


def test_what_cannot_be_tested_is_refused_before_anything_is_written(
    made, names, capsys, monkeypatch
):
    name, other = names
    before = study_path(name, ALL).read_bytes()
    for arguments, says in (
        (["nobody"], f"no recorded network 'nobody'; there are: {name}"),
        ([name, "nobody"], "no recorded network 'nobody'"),
        ([name, "--texts", "201"], "texts takes a whole number from 1 to 200"),
        ([name, "--texts", "0"], "got 0"),
        ([name, "--beside", other], "--beside goes with --only interventions"),
    ):
        assert cli.main(["faithfulness", *arguments]) == 2
        assert says in capsys.readouterr().err
    assert study_path(name, ALL).read_bytes() == before
    monkeypatch.setattr(records, "prepared_content", lambda dataset: "other rows")
    with pytest.raises(StaleRun, match="other data"):
        choose_run(name, 2)


def test_a_run_without_a_network_or_without_attention_is_refused(name, tmp_path, monkeypatch):
    spec = RunSpec("tfidf", "toy", "words", device="cpu", threads=1)
    train(spec, tmp_path / spec.resolve().id)
    with pytest.raises(SpecError, match="is no network, so it has no attention to test"):
        choose_run(str(tmp_path / spec.resolve().id))
    monkeypatch.setattr(DocumentModel, "attention", lambda self, documents: {})
    makers = erasure_record.record_faithfulness, erasure_record.record_agreement
    for make in (*makers, changed_attention.record_interventions, record_signs):
        with pytest.raises(SpecError, match="has no attention"):
            make(choose_run(name, 2))


def test_agreement_alone_is_that_of_the_whole_record_and_takes_the_folder_of_a_run(made, name):
    """A recorded network differs from its run by float16 alone. Gradients are absolute."""
    folder = str(folders.RUNS / name)
    found, tested = recorded(folder, AGREEMENT, "--only", "agreement"), choose_run(folder, TEXTS)
    assert study_path(folder, AGREEMENT) == study_path(name, AGREEMENT)
    assert found["command"] == (
        f"attention-course author faithfulness runs/{name} --texts {TEXTS} --seed 0 "
        "--only agreement"
    )
    assert found["weights"] == tested.run.record["weights"] != made["weights"]
    assert found.keys() == made.keys() - {"slow_texts", "shares", "removals"}
    for key in ("id", "seed", "texts", "test_texts", "words", "sample", "data"):
        assert found[key] == made[key]
    assert found["kendall"].keys() == {
        "attention–gradient",
        "attention–gradient, attached",
        "attention–random",
        "attention–leave-one-out, deletion",
        "gradient–leave-one-out, deletion",
    }
    for pair, mean in found["kendall"].items():
        assert mean["mean"] == pytest.approx(made["kendall"][pair]["mean"], abs=0.1), pair
    model, documents = tested.model, tested.documents
    gradient = faithfulness.gradient_times_input(model.gradients, model, documents, detached=True)
    attention, sizes = tested.attention()["attention"], [np.abs(scores) for scores in gradient]
    taus, mean = faithfulness.kendall(attention, sizes), found["kendall"]["attention–gradient"]
    assert mean["mean"] == near(np.nanmean(taus))
    assert mean["deviation"] == near(np.nanstd(taus))
    assert report.study_records("faithfulness") == {name: made}  # no other record was written


def test_borrowed_signs_are_those_of_their_lenders_and_random_numbers_borrow_them_too(made, name):
    found, tested = recorded(name, SIGNS, "--only", "signs"), choose_run(name, TEXTS)
    assert found["command"].endswith("--only signs") and found["sample"] == made["sample"]
    rankings = found["removals"]["deletion"]["comprehensiveness"]["rankings"]
    whole = made["removals"]["deletion"]["comprehensiveness"]["rankings"]
    shared = "attention × sign of the gradient"
    assert rankings[shared]["aopc"] == whole[shared]["aopc"]
    assert not [ranking for ranking in rankings if "top layer" in ranking]  # IRAM has no heads
    model, documents = tested.model, tested.documents
    left_out = faithfulness.leave_one_out(model, documents)
    integrated = faithfulness.integrated_gradients(model.gradients, model, documents)
    dice = faithfulness.random_importance(documents, 0)
    for lender, scores in (("leave-one-out", left_out), ("integrated gradients", integrated)):
        signed = [numbers * np.sign(each) for numbers, each in zip(dice, scores, strict=True)]
        own = faithfulness.aopc(faithfulness.comprehensiveness(model, documents, signed))
        mean = rankings[f"random × sign of {lender}"]["aopc"]["mean"]
        assert mean == near(own.mean()) and len(set(own)) > 1
    same = [(a * b > 0).mean() for a, b in zip(integrated, left_out, strict=True)]
    assert found[SAME_SIGN]["integrated gradients"]["mean"] == near(np.mean(same))
    positive = [(scores > 0).mean() for scores in left_out]
    assert found[SAME_SIGN][ALL_FOR]["mean"] == near(np.mean(positive))
    assert np.mean(same) != np.mean(positive)
    areas = np.load(study_path(name, SIGNS).with_suffix(".npz"))["comprehensiveness"]
    means = [figures["aopc"]["mean"] for figures in rankings.values()]
    np.testing.assert_allclose(areas.mean(1), means, atol=1e-4)


def test_rankings_are_paired_by_training_not_by_place(monkeypatch):
    """What all trainings share does not widen the interval, and trainings that one ranking lacks
    do not count."""
    texts, source = 40, np.random.default_rng(0)
    shared = {f"s{n}": n + source.normal(size=texts) for n in range(3)}
    kinds = {
        "first": {n: of + 0.5 for n, of in shared.items()},
        "second": {n: shared[n][:30] for n in ("s2", "s1")},
    }
    monkeypatch.setattr(minilm, "_of_trainings", lambda network, ranking: kinds[ranking])
    gap = minilm.paired("first", "second")
    assert gap.value == pytest.approx(0.5) and gap.interval == pytest.approx((0.5, 0.5))


# Attention that changes while the texts stay


def test_shuffles_and_adversaries_are_those_of_the_texts_one_by_one(changed, name):
    tested = choose_run(name, TEXTS)
    shuffled, largest, cosines, adversaries = [], [], [], {name: [] for name in TOLERANCES}
    for document, states in zip(tested.documents, tested.model.states(tested.documents)):
        attention, real, answer = tested.model.attended(document)
        for strict, epsilon in TOLERANCES.items():
            search = faithfulness.adversarial_attention
            adversaries[strict].append(search(answer, attention, real, epsilon))
        shuffled.append(faithfulness.permutation_change(answer, attention, real))
        largest.append(attention.max())
        norms = np.linalg.norm(states, axis=1) * np.linalg.norm(states.mean(0))
        cosines.append((states @ states.mean(0) / norms).mean())
    divergence = {n: [one.divergence for one in found] for n, found in adversaries.items()}
    assert np.ptp(divergence["adversary"]) > 0  # so that the halves below can differ
    _, certainty = predicted(tested.model, tested.documents)
    more = certainty > np.median(certainty)
    assert changed["certainty"]["mean"] == near(certainty.mean())
    assert changed["certainty"]["median"] == near(np.median(certainty))
    for part, by_text in (
        (changed["permutation"]["change"], shuffled),
        *((changed[name]["divergence"], values) for name, values in divergence.items()),
    ):
        values = np.array(by_text)
        assert part["all"]["mean"] == near(values.mean())
        assert part["certain"]["mean"] == near(values[more].mean())
        assert part["hesitant"]["mean"] == near(values[~more].mean())
        assert part["certain"]["counted"] + part["hesitant"]["counted"] == TEXTS
    assert [changed[name]["epsilon"] for name in TOLERANCES] == [0.05, 0.01]
    for name, found in adversaries.items():
        changes = [one.change for one in found]
        assert changed[name]["change"]["mean"] == near(np.mean(changes))
        assert changed[name]["quantiles"].keys() == {"divergence", "change"}
        levels = np.quantile(changes, QUANTILES)
        assert [*changed[name]["quantiles"]["change"].values()] == near(levels)
        assert max(changes) <= changed[name]["epsilon"]
    median = changed["permutation"]["quantiles"]["change"]["0.5"]
    assert median == near(np.median(shuffled))
    assert changed["conicity"]["mean"] == near(np.mean(cosines))
    counted = 0
    for low, found in changed["permutation"]["by_largest_weight"].items():
        inside = [float(low) <= weight < float(low) + 0.25 + (low == "0.75") for weight in largest]
        median = np.median(np.array(shuffled)[inside])
        assert found == {"median": near(median), "counted": sum(inside)}
        counted += found["counted"]
    assert counted == TEXTS


def test_another_seed_is_compared_on_the_same_texts(changed, names):
    mine, theirs = (choose_run(one, TEXTS) for one in names)
    ((beside, found),) = changed["other_seeds"].items()
    assert beside == theirs.run.record["id"] and found["kendall"]["counted"] <= TEXTS
    assert changed["command"].endswith(f"--only interventions --beside runs/{beside}")
    words = [tested.model.attention(mine.documents)["attention"] for tested in (mine, theirs)]
    tau = np.nanmean(faithfulness.kendall(*words))
    assert found["kendall"]["mean"] == near(tau)
    rows = []
    for document in mine.documents:
        attention, real, _ = mine.model.attended(document)
        other = theirs.model.attended(document).attention
        rows.append(faithfulness.jensen_shannon(attention, other)[real.any(-1)].mean())
    assert found["divergence"]["mean"] == near(np.mean(rows)) and max(rows) > 0
    outputs = [tested.model(mine.documents) for tested in (mine, theirs)]
    change = faithfulness.total_variation(*outputs).mean()
    assert found["change"]["mean"] == near(change)


def test_only_another_seed_of_the_same_network_may_stand_beside_it(names):
    tested = choose_run(names[0], 2)
    spec = spec_of(names[0].split("-")[0])
    other = replace(spec, seed=7, overrides={"training.epochs": 1})
    train(other, folders.RUNS / other.resolve().id)
    for beside in (names[0], str(folders.RUNS / other.resolve().id)):
        with pytest.raises(SpecError, match=r"differs from .* in more than its seed"):
            changed_attention.record_interventions(tested, beside=[beside])


def test_texts_of_some_classes_are_decided_between_these(name):
    """As Jain and Wallace take two of AG News's four."""
    whole = choose_run(name, TEXTS)
    labels = whole.run.corpus.splits["test"]["label"]
    first, second = whole.run.system.classes
    tested = choose_run(name, TEXTS, classes=[second])
    assert tested.about(Stopwatch())["classes"] == [second]
    kept = [place for place, label in enumerate(labels) if label == 1]
    texts = whole.model.documents(whole.run.corpus.splits["test"].select(kept))
    assert all(document in texts for document in tested.documents)
    swapped = choose_run(name, TEXTS, classes=[second, first]).model(whole.documents)
    np.testing.assert_allclose(swapped[:, ::-1], whole.model(whole.documents), atol=1e-6)
    with pytest.raises(SpecError, match=f"classes takes some of {first}, {second}; got cats"):
        choose_run(name, TEXTS, classes=["cats"])


def test_two_trainings_of_han_attend_apart_as_lesson_08_says(real_data, monkeypatch):
    if not list((real_data / "prepared").glob("imdb-v*")):
        pytest.skip("all of IMDb is not prepared")
    monkeypatch.setenv("COURSE_DATA_DIR", str(real_data))
    monkeypatch.setattr(folders, "RESULTS", REPOSITORY / "results")  # whatever the fixture did
    sample = choose_run("han-imdb-compact-s0", 100)
    again = DocumentModel(load_recorded("han-imdb-compact-s1").system)
    record = report.study_records("interventions")["han-imdb-compact-s0"]
    assert sample.digest == record["sample"]
    moves, first_words = [], []
    for text in sample.documents:
        mine, real, _ = sample.model.attended(text)
        theirs, some, long = again.attended(text)[0], real.any(-1), real.sum(-1) > 1
        moves.append(faithfulness.total_variation(mine, theirs)[some].mean())
        first_words.append((mine.argmax(-1) != theirs.argmax(-1))[long].mean())
    assert np.round([np.mean(moves), np.mean(first_words)], 2).tolist() == [0.17, 0.28]
