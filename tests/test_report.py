"""Which records belong together, what is said of them, and what of their differences."""

import json

import numpy as np
import pytest
from made_up import cells, made_up

from course_kit.research import report
from course_kit.research.grid.groups import read_grid
from course_kit.research.report import differences
from course_kit.research.report.frames import COMPARISONS, PAPERS, made_from
from course_lib.files import REPOSITORY, DataError
from course_lib.metrics import crossed, mcnemar
from course_lib.runs import records
from course_lib.runs.records import KEPT_EPOCH, load_records
from course_lib.runs.spec import RunSpec

BASE = "sanet", "ag_news", "base"


def test_committed_records_say_where_they_come_from():
    for made in load_records():
        assert made["environment"]["commit"] not in ("", "unknown"), made["id"]
        assert "dirty" not in made["environment"]["commit"], made["id"]
        assert len(made["data"]["content"]) == 64
        assert {"seed", "threads", "device"} <= set(made["spec"])
        json.dumps(made, allow_nan=False)


# Groups


def test_records_are_grouped_by_their_settings_and_not_by_their_names():
    by_change = {"text.max_sentences": 7, "text.max_words": 30}
    same = made_up("han", "imdb", "long", changes=by_change), made_up("han", "imdb", "report")
    one, seed, other, part, data = report.tidy(
        [made_up(*BASE), made_up(*BASE, seed=1, test=False, subset=True),
         made_up(*BASE, changes={"model.hidden": 9}), made_up(*BASE, limit=100),
         made_up("sanet", "imdb", "base")]
    ).group  # fmt: skip
    assert one == seed and len({one, other, part, data}) == 4
    assert report.tidy(same).group.nunique() == 1


def test_the_whole_dataset_goes_before_a_subset_and_other_settings_stay_out():
    whole = made_up(*BASE, subset=False)
    subset = [made_up(*BASE, seed=seed, subset=True) for seed in range(3)]
    others = [made_up(*BASE, seed=seed, changes={"model.scaled": True}) for seed in range(3)]
    others += [made_up(*BASE, seed=4, test=False), made_up(*BASE, seed=5, limit=100)]
    others += [made_up(*BASE, seed=6, changes={"control.attention_weights": "uniform"})]
    asked = "sanet", "base", "ag_news"
    assert report.seeds_of([*subset, *others, whole], *asked) == [whole]
    assert report.seeds_of([*subset, *others], *asked) == subset
    longer = [made_up(*BASE, seed=seed, changes={"training.epochs": 50}) for seed in (0, 1)]
    assert report.seeds_of([whole, *longer], *asked) == longer  # more seeds of one setting
    assert report.seeds_of(others, *asked) == report.seeds_of([], *asked) == []


@pytest.mark.parametrize(
    ("vectors", "says"),
    [
        ("none", "no vectors"),
        ("glove.6B.300d", "300-d vectors"),
        ("glove.840B.300d", "300-d vectors (glove.840B)"),
        ("mine.50d.txt@0123456789ab", "7-d vectors (mine.50d.txt)"),
        ("glove.6B.100d+my.txt@0123456789ab", "100-d vectors + 7-d vectors (my.txt)"),
    ],
)
def test_runs_with_other_vectors_have_rows_that_name_them_and_their_width(vectors, says):
    change = {"text.vectors": vectors}
    found = [made_up(*BASE, 0.88), *(made_up(*BASE, 0.88, seed=s, changes=change) for s in (0, 1))]
    found.append(made_up(*BASE, 0.88, subset=True, changes=change | {"model.hidden": 9}))
    table = report.sanet_error_table(found)
    rows = {f"{says}": "12.0 ± 0.0 (2 seeds)", f"{says}, hidden9": "12.0 (1 seed, subset)"}
    for kind, shown in rows.items():
        assert cells(table, f"| **SANet base, {kind}, ours**")[0] == shown


def test_film_vectors_are_taken_away_and_nothing_else():
    def of(seed=0, **changes):
        return made_up(
            *BASE, seed=seed, changes={n.replace("__", "."): v for n, v in changes.items()}
        )

    film = of(model__scaled=True, text__vectors="film")
    plain = [of(seed, model__scaled=True) for seed in (0, 1)]
    others = [of(), of(model__scaled=True, model__hidden=9)]
    others.append(of(model__scaled=True, text__vectors="none"))
    asked = "sanet", "base", "ag_news"
    assert report.with_film_vectors([film, *plain, *others], *asked) == [film]
    assert report.without_film_vectors([film, *plain, *others], *asked) == plain
    assert report.without_film_vectors([*plain, *others], *asked) == []  # nothing to compare with


def test_a_sweep_holds_what_is_fixed_and_lets_nothing_else_differ():
    def of(seed=0, preset="vanilla", test=False, limit=None, **changes):
        changes = {f"model.{name}": value for name, value in changes.items()}
        return made_up("iram", "sst2", preset, seed=seed, test=test, limit=limit, validation=0.8,
                       changes=changes)  # fmt: skip

    wanted = [of(seed, penalty=p) for p in (0.1, 0.0) for seed in (0, 1)]
    others = [of(penalty=0.1, steps=5), of(penalty=0.1, hidden=8), of(penalty=0.1, test=True),
              of(penalty=0.1, preset="full"), of(penalty=0.1, limit=100)]  # fmt: skip
    model = "iram", "vanilla"
    found = report.sweep("model.penalty", {"model.steps": 3}, model, "sst2", wanted + others)
    assert found == {0.0: wanted[2:], 0.1: wanted[:2]}
    tested = report.sweep("model.penalty", {}, model, "sst2", wanted + others, tested=True)
    assert tested == {0.1: [others[2]]}
    assert report.sweep_table("γ", found, [0.0, 0.1, 1.0]).split("\n")[2:] == [
        "| 0 | 2 | 80.0 ± 0.0 | – |", "| 0.1 | 2 | 80.0 ± 0.0 | – |", "| 1 | – | – | – |", "",
        KEPT_EPOCH,
    ]  # fmt: skip
    single = of(penalty=0.0, steps=1)
    assert report.steps_sweep(0.1, model, "sst2", [*wanted, single]) == {1: [single], 3: wanted[:2]}
    own = of(penalty=0.1, steps=1)
    assert report.steps_sweep(0.1, model, "sst2", [single, own]) == {1: [own]}


# In words


def test_seeds_subset_and_bfloat16_are_named():
    group = [made_up(*BASE), made_up(*BASE, seed=1)]
    assert made_from(group) == "(2 seeds)"
    group[0]["data"]["subset"], group[1]["precision"] = True, "bf16"
    assert made_from(group) == "(2 seeds, subset, 1 of 2 in bfloat16)"
    group[0]["precision"] = "bf16"
    assert made_from(group) == "(2 seeds, subset, bfloat16)"
    assert made_from([group[0] | {"precision": "no"}]) == "(1 seed, subset)"


@pytest.mark.parametrize(
    ("table", "missing"),
    [
        (report.sanet_error_table, 6 * 8),
        (report.sanet_attention_table, 8 * 7),
        (report.imdb_table, 0),
        (report.compact_table, 5 * 4),
        (report.ablation_table, 4 * 5),
        (report.extensions_table, 14 * 3),
        (report.gaps_table, 4 * 5),
        (report.optimiser_table, 0),
        (report.contrasts_table, 3 * 10),
        (lambda records: report.changes_table(["agt_changes"], records), 0),
    ],
)
def test_without_records_a_table_says_that_nothing_was_run(table, missing):
    ours = [line for line in table([]).splitlines()[2:] if ", paper |" not in line]
    count = sum(cell.strip() == "–" for line in ours for cell in line.split("|"))
    assert count >= missing and not any(" ± " in line for line in ours)


def test_what_is_compared_is_planned_in_the_grid():
    planned = {spec.identity for specs in read_grid().values() for spec in specs}
    groups = {(s.system, s.dataset, s.limit, str(s.settings()))
              for specs in read_grid().values() for s in specs}  # fmt: skip
    steps = [RunSpec(**step) for chain in COMPARISONS["chains"].values() for step in chain.values()]
    assert {spec.identity for spec in steps} <= planned
    of = [
        extension[side] for extension in COMPARISONS["extensions"] for side in ("changed", "before")
    ]
    for spec in (RunSpec(**one) for one in (*of, *COMPARISONS["bands"].values())):
        assert (spec.system, spec.dataset, spec.limit, str(spec.settings())) in groups


def test_the_papers_numbers_are_whole_and_have_the_papers_means():
    errors, attention = PAPERS["sanet_errors"]["rows"], PAPERS["sanet_attention"]
    assert {len(row) for row in errors.values()} == {len(report.ZHANG)} == {len(attention)}
    for chosen, expected in (
        (("ag_news", "dbpedia", "yahoo_answers"), [63.57, 16.12]),
        (("yelp_full", "amazon_full", "amazon_polarity"), [87.15, 63.48]),
    ):
        means = [sum(attention[data][k] for data in chosen) / 3 for k in (0, 3)]
        assert means == pytest.approx(expected, abs=0.01)  # as the paper gives them


def test_costs_follow_from_measured_throughput_device_by_device(tmp_path):
    hours = {"hours_extrapolated": dict.fromkeys(report.ZHANG, 0.25)}
    (tmp_path / "prepare.json").write_text(json.dumps({"figures": hours}))
    for device, factor in (("cpu (x)", 1), ("cuda (y)", 100)):
        figures = {
            f"SANet base, {words} words": {"tokens_per_second": {"median": factor * rate}}
            for words, rate in ((48, 2e5), (256, 1e5))
        }
        environment = {"processes": 1, "threads": 2, "device": device}
        made = {"environment": environment, "figures": figures}
        (tmp_path / f"throughput_{device[:3]}.json").write_text(json.dumps(made))
    table = report.zhang_costs_table(tmp_path)
    # DBPedia: 201 MB are 40.2 million words in 630,000 texts; 80 % of 560,000 train, 40 epochs
    words = 201e6 / 5 / 630_000 * 560_000 * 0.8
    found = cells(table, "| DBP ")
    assert found[:5] == ["630,000", "64", f"{words / 1e6:.0f}", "0.2", "161"]
    assert float(found[5]) == pytest.approx(40 * words / 1e5 / 3600, abs=0.05)  # not 48 words
    assert float(found[6]) == pytest.approx(40 * words / 1e7 / 3600, abs=0.05)


def test_the_readme_is_a_front_door_and_no_corridor():
    assert len((REPOSITORY / "README.md").read_text(encoding="utf-8").split("\n")) <= 90


# Differences


@pytest.fixture
def published(monkeypatch, tmp_path):
    """Where made-up records publish their predictions."""
    monkeypatch.setattr(records, "RESULTS", tmp_path)
    return tmp_path


def answers(only_first, only_second, both=0, neither=0):
    """Right answers of two models of which each alone gets that many texts right."""
    counts = [only_first, only_second, both, neither]
    return np.repeat([True, False, True, False], counts), np.repeat(
        [False, True, True, False], counts
    )


def iram(accuracy=0.8, preset="vanilla", **how):
    return made_up("iram", "sst2", preset, accuracy, **how)


def tfidf(right, **how):
    return made_up("tfidf", "sst2", "default", right=right, **how)


FEW, MANY = answers(30, 16, 954)  # fourteen texts of a thousand apart


def test_a_difference_holds_the_test_sets_error_and_that_of_the_seeds():
    ours = [iram(a, seed=seed) for seed, a in enumerate((0.78, 0.80, 0.82))]
    found = report.difference(ours, (0.90, 1821))
    # 1.96 standard errors of the texts and 4.30 of three seeds
    half = (1.96**2 * (0.8 * 0.2 + 0.9 * 0.1) / 1821 + 4.303**2 * 0.02**2 / 3) ** 0.5
    assert found[:3] == pytest.approx((-0.10, -0.10 - half, -0.10 + half), abs=1e-4)
    assert found.reading == "worse" and str(found) == f"-10.0 ± {100 * half:.1f}"
    assert found.test == "unpaired"


def test_nothing_is_ranked_inside_its_interval_and_one_seed_is_said():
    assert (
        report.difference([iram(0.80)], [iram(0.82)]).reading == "no difference detected"
    )  # ± 2.6
    large = [iram(a, texts=100_000) for a in (0.80, 0.82)]
    assert report.difference(large[1:], large[:1]).reading == "better, of one seed"
    simple = [made_up("tfidf", "sst2", "default", 0.80, texts=100_000)]
    seeds = [iram(0.82, seed=seed, texts=100_000) for seed in range(3)]
    assert report.difference(seeds, simple).reading == "better"
    assert report.difference(simple, seeds).value == pytest.approx(-0.02)


def test_runs_on_the_same_texts_are_compared_text_by_text(published):
    """One run on each side has McNemar's test, which has the last word; several seeds have t's."""
    found, p = report.difference([iram(right=FEW)], [tfidf(MANY)]), mcnemar(FEW, MANY)
    low, high = crossed(FEW[None], MANY[None]).interval
    assert (found.low, found.high, found.p) == (low, high, p) and low > 0 and 0.05 < p < 0.1
    assert str(found) == f"+1.4 [{100 * low:+.1f}, {100 * high:+.1f}]"
    assert (found.test, found.reading) == (f"paired, McNemar p = {p:.3f}", "no difference detected")
    rights = np.random.default_rng(0).random((3, 1000)) < 0.8
    seeds = [iram(right=right, seed=seed) for seed, right in enumerate(rights)]
    found = report.difference(seeds, [tfidf(MANY)])
    expected = crossed(rights, MANY[None])
    assert (found.low, found.high, found.p) == (*expected.interval, expected.p)
    assert found.test == f"paired, t over seeds and texts, {differences.p_value(found.p)}"
    assert found.reading == "worse"


def test_a_paired_comparison_tells_apart_what_an_unpaired_one_cannot(published):
    first, second = answers(40, 10, 800, 150)
    kept = [tfidf(first)], [made_up("tfidf", "sst2", "words", right=second)]
    paired = report.difference(*kept)
    alone = [[{k: v for k, v in one.items() if k != "predictions"}] for (one,) in kept]
    unpaired = report.difference(*alone)
    assert paired.value == unpaired.value and unpaired.test == "unpaired"
    assert (paired.reading, unpaired.reading) == ("better", "no difference detected")
    assert paired.high - paired.low < (unpaired.high - unpaired.low) / 2
    assert report.difference(*reversed(kept)).reading == "worse"
    assert paired.test == "paired, McNemar p < 0.001"


def test_runs_on_other_texts_or_without_predictions_are_compared_unpaired(published):
    ours = [iram(right=FEW, seed=1), iram(right=FEW)]
    assert report.difference(ours, [tfidf(MANY, content="other")]).test == "unpaired"
    assert report.difference([ours[0], iram()], [tfidf(MANY)]).test == "unpaired"
    records.published_predictions(ours[0]["id"]).unlink()  # gone is not silently unpaired
    with pytest.raises(DataError, match=r"iram-sst2-vanilla-s1\.npz cannot be read"):
        report.difference(ours, [tfidf(MANY)])


# The attention ablation and the extensions

WEIGHTS = "control.attention_weights"
TRIO = (  # the same training: learned under another preset's name, then its ablations
    ("long", {"text.max_sentences": 7, "text.max_words": 30}),
    ("report", {WEIGHTS: "uniform"}),
    ("report", {WEIGHTS: "untrained"}),
)


@pytest.fixture
def planned(monkeypatch, published):
    """``planned(*seeds)`` makes both ablations of HAN the grid's, with these seeds."""

    def plan(*seeds):
        specs = [RunSpec("han", "imdb", preset, changes, seed=seed)
                 for seed in seeds for preset, changes in TRIO[1:]]  # fmt: skip
        monkeypatch.setattr(
            "course_kit.research.report.differences.read_grid",
            lambda: {"attention_ablation": specs},
        )

    plan(0)
    return plan


def han(which, count=None, **how):
    """A run of ``TRIO`` that is right for the first ``count`` of 400 texts."""
    preset, changes = TRIO[which]
    right = None if count is None else np.arange(400) < count
    return made_up("han", "imdb", preset, **{"changes": changes, "right": right} | how)


def ablation(made):
    (line,) = report.ablation_table(made).split("\n")[2:]
    return line.strip("| ").split(" | ")


@pytest.mark.parametrize(
    ("uniform", "untrained", "reading"),
    [
        (300, 320, "used, of one seed"),
        (300, 338, "no difference detected from untrained"),
        (342, 338, "no difference detected from uniform and untrained"),
        (300, 380, "worse than untrained, of one seed"),
        (380, 338, "worse than uniform, no difference detected from untrained, of one seed"),
    ],
)
def test_attention_is_used_if_both_ablations_are_worse(planned, uniform, untrained, reading):
    rights = 340, uniform, untrained
    *found, last = ablation([han(which, right) for which, right in enumerate(rights)])
    assert found[:2] == ["HAN, report", "IMDb"] and last == reading
    assert found[2:5] == [f"{right / 4:.1f} (1 seed)" for right in rights]
    for cell, right in zip(found[5:], (uniform, untrained), strict=True):
        assert cell.startswith(f"{(340 - right) / 4:+.1f} [") and "paired, McNemar p" in cell


@pytest.mark.parametrize(
    "change", [{"seed": 1}, {"limit": 5000}, {"changes": {"model.hidden": 60}}, {"test": False}]
)
def test_a_run_that_differs_in_anything_else_is_no_twin(planned, change):
    found = ablation([han(0, **change), han(1, 300), han(2, 300)])
    assert found[2] == "–" and found[-1] == "not run"


def test_an_ablation_is_compared_on_its_data_and_over_the_seeds_that_both_have(planned):
    assert ablation([han(0, 340), han(1, 300, content="other rows")])[3] == "–"
    planned(0, 1)
    made = [han(0, 340 + 4 * seed, seed=seed) for seed in (0, 1, 2)]
    made += [han(1, 300, seed=seed) for seed in (0, 1)] + [han(2, 300)]
    found = ablation(made)
    assert found[2:5] == ["85.5 ± 0.7 (2 seeds)", "75.0 ± 0.0 (2 seeds)", "75.0 (1 seed)"]
    assert found[5].startswith("+10.5 [") and "t over seeds and texts" in found[5]
    assert found[6].startswith("+10.0 [") and found[7] == "used, of one seed"


def test_an_extension_is_compared_over_the_seeds_that_both_have_else_on_validation_texts():
    before = [made_up("han", "imdb", "report", 0.8, seed=seed) for seed in (0, 1, 2)]
    after = [made_up("context_han", "imdb", "report", a, seed=seed)
             for seed, a in ((1, 0.9), (2, 0.904), (7, 0.1))]  # fmt: skip
    found = cells(report.extensions_table([*before, *after]), "| HAN | context in both")[2:]
    assert found[:2] == ["80.0 ± 0.0", "90.2 ± 0.3"] and found[-1] == "better"
    assert found[2].startswith("+10.2 ± ") and found[2].endswith("(unpaired)")
    variant = made_up("context_han", "imdb", "report", test=False, validation=0.8,
                      changes={"model.both": False})  # fmt: skip
    table = report.extensions_table([after[0] | {"spec": after[0]["spec"] | {"seed": 0}}, variant])
    # 1.96 √(0.8 · 0.2 / 872 + 0.5 · 0.5 / 872) = 4.2 points
    told = cells(table, "| HAN | context from left")[2:]
    assert told[:3] == ["50.0", "80.0", "+30.0 ± 4.2 (validation)"]
    assert told[3:] == ["0.000", "0.000", "better, of one seed"]


def test_a_reading_uses_the_p_value_that_is_corrected_within_its_family():
    gap = differences.Difference(0.1, 0.01, 0.19, "unpaired", False, 0.03)
    gaps = {name: gap for name in "abc"}
    found = differences.corrected(gaps, ["one", "one", "other"])
    assert {name: each.holm for name, each in found.items()} == pytest.approx(
        {"a": 0.06, "b": 0.06, "c": 0.03}
    )
    assert [each.reading for each in found.values()] == [*["no difference detected"] * 2, "better"]
