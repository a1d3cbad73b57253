"""The tables of what the papers left open: which runs are compared, and what is said of them."""

import pytest

from course_kit.research import report
from course_kit.research.grid.groups import read_grid
from course_kit.research.report import left_open
from course_kit.research.report.left_open import AGT, BANDS, CONTEXT, HAN, QUESTIONS, SHORT

EPOCHS = [{"validation_accuracy": 0.5}, {"validation_accuracy": 0.8}]


def run(kind, seed=0, **further):
    """A record of one of a kind, as far as these tables read it."""
    spec = kind._asdict() | {"seed": seed}
    sizes = {"validation": 400, "test": 400}
    return {
        "id": "made-up",
        "spec": spec,
        "sizes": sizes,
        "epochs": EPOCHS,
        "best_epoch": 2,
    } | further


def with_test(accuracy):
    return {"test": {"accuracy": accuracy}, "data": {"subset": False, "content": ""}}


def row(table, *starts):
    """The cells of the only row that begins so, without the beginning."""
    (found,) = (line for line in table.splitlines() if line.startswith("| " + " | ".join(starts)))
    return found.strip("| ").split(" | ")[len(starts) :]


def test_every_question_and_every_band_is_a_run_of_the_grid():
    planned = [spec for group in read_grid().values() for spec in group]
    kinds = [kind for question in QUESTIONS for kind in (question.changed, question.before)]
    assert len(QUESTIONS) == len(set(map(str, QUESTIONS))) == 14
    for kind in (*kinds, *BANDS.values()):
        assert any(
            kind == left_open.Kind(s.system, s.dataset, s.preset, s.overrides, s.limit)
            for s in planned
        ), kind


def test_a_change_is_compared_over_the_seeds_that_both_have():
    before = [run(HAN, seed, **with_test(0.80)) for seed in (0, 1, 2)]
    after = [
        run(CONTEXT, seed, **with_test(share)) for seed, share in ((1, 0.9), (2, 0.92), (7, 0.1))
    ]
    table = report.left_open_table([*before, *after])
    cells = row(table, "HAN", "context in both directions", "IMDb")
    assert cells[:2] == ["80.0 ± 0.0", "91.0 ± 1.4"]
    assert cells[2].startswith("+11.0 ± ") and cells[2].endswith("(unpaired)")
    assert cells[3] == "better"
    assert row(table, "AGT", "B from a GRU", "SST-5") == ["–", "–", "–", "not run"]


def test_runs_that_left_the_test_texts_unread_are_compared_on_validation_texts():
    variant = next(q.changed for q in QUESTIONS if "left to right" in q.change)
    table = report.left_open_table([run(CONTEXT, **with_test(0.9)), run(variant)])
    cells = row(table, "HAN", "context from left to right alone", "IMDb")
    # 2 √2 √(0.8 · 0.2 / 400) = 5.7 points
    assert cells == ["80.0", "80.0", "+0.0 ± 5.7 (validation)", "not told apart"]


def test_halting_stands_beside_the_fixed_numbers_of_steps():
    halting = SHORT._replace(
        system="adaptive_iram",
        overrides=SHORT.overrides | {"model.steps": 5, "model.ponder": 0.001},
    )
    records = [
        run(SHORT),
        run(SHORT._replace(overrides=SHORT.overrides | {"model.steps": 5})),
        run(halting, attention={"trained": {"steps taken": 2.25}}),
    ]
    table = report.halting_table(records)
    assert row(table, "3, fixed") == ["80.0", "3"]
    assert row(table, "it halts itself: at most 5, one costs 0.001") == ["80.0", "2.25"]
    assert "1, fixed" not in table


def test_each_head_has_its_own_band():
    plain = BANDS["IMDb, 1,000 reviews"]
    two = plain._replace(system="near_sanet", overrides=plain.overrides | {"model.heads": 2})
    heads = {"head 1 diagonality 3": 0.3, "head 2 diagonality 3": 0.1}
    found = {"diagonality 3": 0.05, "uniform diagonality 3": 0.04}
    records = [
        run(plain, attention={"trained": found, "untrained": found}),
        run(two, attention={"trained": heads, "untrained": dict.fromkeys(heads, 0.06)}),
    ]
    cells = row(report.band_table(records), "IMDb, 1,000 reviews")
    assert cells == ["4.0", "5.0 (5.0)", "–", "30.0 (6.0), 10.0 (6.0)"]


def test_the_band_is_drawn_over_the_training_texts_a_head_each_counting_once():
    plain, two = BANDS["IMDb, 1,000 reviews"], {"head 1 diagonality 3": 0.3}
    heads = two | {"head 2 diagonality 3": 0.1}
    near = plain._replace(system="near_sanet", overrides=plain.overrides | {"model.heads": 2})
    figures = {"diagonality 3": 0.05, "uniform diagonality 3": 0.04}
    size = {"sizes": {"train": 1000}}
    base = {"test": {}, "data": {"subset": True}, "settings": {}}
    records = [
        run(plain, attention={"trained": figures, "untrained": figures}, **base, **size),
        run(near, attention={"trained": heads, "untrained": heads}, **size),
    ]
    (axis,) = report.band_figure(records).axes
    lines = {line.get_label(): line.get_xydata().tolist() for line in axis.lines}
    assert lines["trained"] == lines["untrained"] == [[1000, 5]]
    assert lines["two heads, mean"] == [[1000, 20]] and not lines["distances up to 5"]


def test_what_agts_select_is_a_mean_over_their_layers():
    figures = {
        "relaxed selected": [8.0, 10.0],
        "relaxed phrases": [5.0, 6.0],
        "relaxed phrases by chance": [5.0, 5.5],
    }
    before = {"relaxed phrases": [4.0, 4.5]}
    table = report.order_table([run(AGT, attention={"trained": figures, "untrained": before})])
    assert row(table, "AGT") == ["9.00", "5.50", "4.25", "5.25"]


def mean(value, half=0.01):
    return {"mean": value, "low": value - half, "high": value + half, "counted": 9, "left_out": 0}


def test_repeats_are_shares_of_all_attention_with_their_intervals():
    shares = {"important": 0.6, "repeated": 0.04, "by_chance": 0.066, "much": 0.125}
    record = {"repeats": {name: mean(share) for name, share in shares.items()}}
    cells = row(report.repeats_table({"han-a": record, "iram-b": {"steps": {}}}), "han-a")
    assert cells == [
        "60.0 [59.0, 61.0]", "4.0 [3.0, 5.0]", "6.6 [5.6, 7.6]", "12.5 [11.5, 13.5]"
    ]  # fmt: skip


def test_the_figure_has_a_line_for_texts_with_and_without_a_negator():
    quarters = [
        {"longest": longest, "without": mean(1.5), "with": mean(taken)}
        for longest, taken in ((10, 1.6), (20, 1.8), (40, 2.5))
    ]
    (axes,) = report.halting_figure({"steps": {"by_length": quarters}}).axes
    lines = {text.get_text() for text in axes.get_legend().get_texts()}
    assert lines == {"with a negator", "without a negator"}
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["1–10", "11–20", "21–40"]
    heights = [list(container.lines[0].get_ydata()) for container in axes.containers]
    assert heights == [[1.5] * 3, [1.6, 1.8, 2.5]]


@pytest.mark.parametrize("name", ["left_open_table", "halting_table", "band_table", "order_table"])
def test_without_records_a_table_has_its_head_alone_or_says_so(name):
    lines = getattr(report, name)([]).splitlines()
    assert all("not run" in line for line in lines[2:])
