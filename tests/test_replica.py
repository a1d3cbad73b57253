"""The report on Jain and Wallace's networks: its table, and what it says of their order."""

import pytest
from made_up import made_up

from course_kit.research import report
from course_kit.research.grid.groups import read_grid

DATASETS = {"sst2": "SST-2", "imdb": "IMDb", "ag_news": "AG"}
PAIRS = (
    "attention–gradient", "attention–leave-one-out, deletion", "gradient–leave-one-out, deletion",
    "attention–random",
)  # fmt: skip


def ids(dataset, encoder="lstm", attention="tanh"):
    """The planned runs of a variant, one per seed."""
    return [
        spec.id
        for spec in read_grid()["replica"]
        for model in [spec.settings().model]
        if (spec.dataset, model.encoder, model.attention) == (dataset, encoder, attention)
    ]


def run(name, accuracy=0.8):
    (spec,) = {s.id: s for specs in read_grid().values() for s in specs if s.id == name}.values()
    return made_up(spec.system, spec.dataset, spec.preset, accuracy, seed=spec.seed,
                   changes=spec.overrides, limit=spec.limit, test=spec.test,
                   attention={"trained": {"entropy": 1 - accuracy}})  # fmt: skip


def agreement(centre, width=0.02, deviation=0.2):
    mean = {"mean": centre, "low": centre - width, "high": centre + width, "deviation": deviation}
    return {"kendall": dict.fromkeys(PAIRS, mean)}


def row(table, dataset, network):
    (found,) = (line for line in table.split("\n") if line.startswith(f"| {dataset} | {network} |"))
    return found.strip("| ").split(" | ")[2:]


def test_the_grid_plans_three_seeds_of_three_variants_on_each_dataset():
    variants = ((), ("lstm", "dot"), ("average", "tanh"))
    planned = [name for dataset in DATASETS for v in variants for name in ids(dataset, *v)]
    assert sorted(planned) == sorted(spec.id for spec in read_grid()["replica"])
    assert len(planned) == len(set(planned)) == 27


def test_a_row_has_the_mean_of_the_seeds_and_their_widest_interval_beside_theirs():
    one, two, three = ids("sst2")
    agreements = {
        one: agreement(0.25, width=0.02, deviation=0.25),
        two: agreement(0.35, width=0.05, deviation=0.15),
    }
    runs = [run(one, 0.8), run(two, 0.82), run(three, 0.84), made_up("han", "imdb", "report", 0.1)]
    table = report.replica_table(runs, agreements)
    ours = "0.30 ± 0.20 [0.23, 0.40]"
    assert row(table, "SST-2", "BiLSTM, tanh") == [
        ours, "0.35 ± 0.21", ours, "0.29 ± 0.19", ours, "0.66 ± 0.16", ours, "0.180 ± 0.020",
        "82.0 ± 2.0 (3 seeds)", "80.8",
    ]  # fmt: skip
    assert row(table, "SST-2", "BiLSTM, dot product")[0] == "–"
    assert row(table, "IMDb", "BiLSTM, tanh")[1] == "0.44 ± 0.06 (paper: 0.37)"
    assert table.count("\n") == 1 + 9


@pytest.mark.parametrize(
    ("average", "tanh", "dot", "says"),
    [
        ((0.6, 0.62), (0.3, 0.35), (0.1, 0.05), ("is above", "is above", "As theirs.")),
        # one seed of tanh reaches into the interval of one seed of dot
        (
            (0.6, 0.62),
            (0.3, 0.12),
            (0.1, 0.05),
            ("is above", "cannot be distinguished from", "Theirs"),
        ),
        ((0.1, 0.12), (0.3, 0.35), (0.1, 0.05), ("is below", "is above", "Theirs")),
    ],
)
def test_the_order_is_stated_only_where_no_two_intervals_meet(average, tanh, dot, says):
    variants = {("average",): average, (): tanh, ("lstm", "dot"): dot}
    agreements = {
        name: agreement(value)
        for variant, values in variants.items()
        for name, value in zip(ids("imdb", *variant), values)
    }
    first, *others = report.replica_order([], agreements).split("\n")[1::-1]
    upper, lower, end = says
    assert first == (
        f"- **IMDb**: averaging encoder, tanh ({sum(average) / 2:.2f}) {upper} BiLSTM, tanh "
        f"({sum(tanh) / 2:.2f}); BiLSTM, tanh ({sum(tanh) / 2:.2f}) {lower} BiLSTM, dot product "
        f"({sum(dot) / 2:.2f}). {end if end[0] == 'A' else 'Theirs: all above.'}"
    )
    assert others == ["- **SST-2**: not all three were run."]


def test_changes_stand_between_our_base_and_theirs():
    (plain,) = (spec.id for spec in read_grid()["replica_changes"]
                if spec.dataset == "sst2_sentences" and not spec.overrides)  # fmt: skip
    base = ids("sst2")
    agreements = {plain: agreement(0.5)} | {name: agreement(0.3) for name in base}
    table = report.replica_changes_table([run(plain, 0.75)], agreements)
    _, _, nothing, *changed, theirs = table.split("\n")
    assert nothing.startswith("| nothing | 0.30 ± 0.20 [0.28, 0.32] |")
    (row_of_it,) = (line for line in changed if line.startswith("| sentences alone |"))
    assert row_of_it.count("0.50 ± 0.20 [0.48, 0.52]") == 3
    assert row_of_it.endswith("| 75.0 (1 seed) |")
    assert "| 8 epochs | – | – | – | – |" in changed  # not run
    assert theirs == "| Jain and Wallace's | 0.35 ± 0.21 | 0.29 ± 0.19 | 0.66 ± 0.16 | 80.8 |"
    asked = {spec.id for spec in read_grid()["replica_changes"]}
    assert len(asked) - 2 == len(changed)  # three seeds share a row
