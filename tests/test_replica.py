"""The report on Jain and Wallace's networks: its table, and what it says of their order."""

import pytest

from course_kit.research import report
from course_kit.research.grid.groups import read_grid

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


def agreement(centre, width=0.02, deviation=0.2):
    mean = {"mean": centre, "low": centre - width, "high": centre + width, "deviation": deviation}
    return {"kendall": dict.fromkeys(PAIRS, mean)}


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
