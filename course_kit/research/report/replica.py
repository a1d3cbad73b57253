"""Jain and Wallace's networks trained again: whether attention agrees with gradients and with
leaving words out, beside their figures."""

from collections import defaultdict
from collections.abc import Hashable
from itertools import pairwise
from statistics import mean
from typing import Any, NamedTuple, TypeVar

from course_kit.research.faithfulness.erasure_record import AGREEMENT
from course_kit.research.faithfulness.faithfulness_run import study_path
from course_kit.research.grid.groups import read_grid
from course_kit.research.report.differences import NAMES
from course_kit.research.report.faithfulness import Records, faithfulness_records
from course_kit.research.report.records import accuracy_of, made_from, spread
from course_lib.runs.records import load_records
from course_lib.runs.spec import RunSpec

GRADIENT, RANDOM = "attention–gradient", "attention–random"
ENTROPY = "entropy of attention ÷ log n"
PAIRS = {  # by their titles; Jain and Wallace have figures of these three
    GRADIENT: GRADIENT,
    "attention–leave-one-out": "attention–leave-one-out, deletion",
    "gradient–leave-one-out": "gradient–leave-one-out, deletion",
}
AVERAGE, TANH, DOT = "averaging encoder, tanh", "BiLSTM, tanh", "BiLSTM, dot product"
# From the outputs in their repository (successar/AttentionExplanation, graph_outputs/): accuracy,
# then τ's mean and deviation over documents for each of PAIRS. Their CorrStats tables have the rows
# of the first two exchanged.
PUBLISHED = {
    ("sst2", AVERAGE): (0.807, ((0.61, 0.20), (0.62, 0.15), (0.56, 0.25))),
    ("sst2", TANH): (0.808, ((0.35, 0.21), (0.29, 0.19), (0.66, 0.16))),
    ("sst2", DOT): (0.823, ((0.07, 0.20), (0.06, 0.20), (0.71, 0.14))),
    ("imdb", AVERAGE): (0.883, ((0.67, 0.05), (0.58, 0.10), (0.64, 0.19))),
    ("imdb", TANH): (0.898, ((0.44, 0.06), (0.34, 0.07), (0.52, 0.10))),
    ("imdb", DOT): (0.885, ((0.12, 0.06), (0.09, 0.07), (0.60, 0.14))),
    ("ag_news", AVERAGE): (0.954, ((0.77, 0.07), (0.51, 0.13), (0.49, 0.17))),
    ("ag_news", TANH): (0.958, ((0.39, 0.13), (0.37, 0.15), (0.61, 0.12))),
    ("ag_news", DOT): (0.962, ((0.30, 0.15), (0.18, 0.13), (0.46, 0.14))),
}
IN_PRINT = {("imdb", TANH, GRADIENT): 0.37}  # of an earlier run, in the paper's own table
ORDER = (AVERAGE, TANH, DOT)  # of attention–gradient, by their figures
CHANGED = {  # what the group ``replica_changes`` changes, in words
    "text.vectors": "350-d vectors",
    "training.embedding_rate": "vectors that learn",
    "training.epochs": "{} epochs",
    "model.hidden": "states {} wide",
}
Key = TypeVar("Key", bound=Hashable)
Tau = tuple[float, float, float, float]  # mean, deviation over documents, low, high


class Replica(NamedTuple):
    """The recorded ``runs`` of one variant on one dataset, one per seed, and the ``agreements`` of
    those of them whose rankings were compared."""

    runs: list[dict[str, Any]]
    agreements: list[dict[str, Any]]

    def tau(self, pair: str) -> Tau | None:
        """The mean of the seeds' means and of their deviations over documents, and the widest ends
        of their 95 % intervals; None without any."""
        found = [record["kendall"][pair] for record in self.agreements]
        if not found:
            return None
        means, deviations = ([each[part] for each in found] for part in ("mean", "deviation"))
        low, high = min(each["low"] for each in found), max(each["high"] for each in found)
        return mean(means), mean(deviations), low, high


def replicas(
    records: list[dict[str, Any]] | None = None, agreements: Records | None = None
) -> dict[tuple[str, str], Replica]:
    """What is recorded of the grid's group ``replica``, by dataset and variant."""
    planned = defaultdict(list)
    for spec in read_grid()["replica"]:
        planned[spec.dataset, variant(spec)].append(spec.id)
    return _recorded(planned, records, agreements)


def _recorded(
    planned: dict[Key, list[str]], records: list[dict[str, Any]] | None, agreements: Records | None
) -> dict[Key, Replica]:
    """What is recorded of planned runs, by the same keys."""
    records = load_records() if records is None else records
    recorded = {record["id"]: record for record in records}
    folder = study_path("", AGREEMENT).parent
    agreements = faithfulness_records(folder) if agreements is None else agreements
    return {
        key: Replica(*([kept[name] for name in names if name in kept]
                       for kept in (recorded, agreements)))
        for key, names in planned.items()
    }  # fmt: skip


def variant(spec: RunSpec) -> str:
    """Which of Jain and Wallace's networks a run is."""
    model = spec.settings().model
    if model.encoder == "average":
        return AVERAGE
    return TANH if model.attention == "tanh" else DOT


def replica_table(
    records: list[dict[str, Any]] | None = None, agreements: Records | None = None
) -> str:
    """Kendall's τ of attention, gradient × input and leave-one-out as a markdown table, a row for
    each dataset and variant of the grid's group ``replica``, beside Jain and Wallace's figures.

    Ours are the mean over seeds ± the deviation over documents, which theirs have too, and in
    brackets the widest ends of the seeds' 95 % intervals of the mean; "–" where a run is missing.
    An entropy of 1 is that of uniform attention, whose order of words means little.
    """
    found = replicas(records, agreements)
    titles = [*(title for pair in PAIRS for title in (pair, "theirs")), RANDOM, ENTROPY]
    rows = [
        f"| dataset | network | {' | '.join(titles)} | accuracy in % | theirs |",
        "|---|---" + "|---:" * (len(titles) + 2) + "|",
    ]
    return "\n".join(rows + [_row(*key, found[key]) for key in PUBLISHED])


def _row(dataset: str, name: str, ours: Replica) -> str:
    accuracy, taus = PUBLISHED[dataset, name]
    cells = []
    for (title, pair), (tau, deviation) in zip(PAIRS.items(), taus, strict=True):
        printed = IN_PRINT.get((dataset, name, title))
        theirs = f"{tau:.2f} ± {deviation:.2f}"
        cells += [_cell(ours.tau(pair)), theirs + (f" (paper: {printed})" if printed else "")]
    cells.append(_cell(ours.tau(RANDOM)))
    cells += ["–", "–"]
    if runs := ours.runs:
        entropies = [record["attention"]["trained"]["entropy"] for record in runs]
        accuracies = spread([accuracy_of(record) for record in runs], 100)
        cells[-2:] = [spread(entropies, digits=3), f"{accuracies} {made_from(runs)}"]
    cells.append(f"{100 * accuracy:.1f}")
    return f"| {NAMES[dataset]} | {name} | {' | '.join(cells)} |"


def replica_changes_table(
    records: list[dict[str, Any]] | None = None, agreements: Records | None = None
) -> str:
    """The rank correlations of the BiLSTM with tanh attention on SST-2 with what was changed in the
    grid's group ``replica_changes``, between those of our base and of Jain and Wallace's, as a
    markdown table; "–" where a run is missing."""
    planned = defaultdict(list)
    for spec in read_grid()["replica_changes"]:
        others = [
            CHANGED[name].format(value) for name, value in spec.overrides.items() if name in CHANGED
        ]
        texts = ["sentences alone"] * (spec.dataset == "sst2_sentences")
        planned[", ".join(texts + others)].append(spec.id)
    base = replicas(records, agreements)["sst2", TANH]
    rows = [
        f"| changed | {' | '.join(PAIRS)} | accuracy in % |",
        "|---" + "|---:" * (len(PAIRS) + 1) + "|",
    ]
    for name, ours in {"nothing": base, **_recorded(planned, records, agreements)}.items():
        accuracy = "–"
        if runs := ours.runs:
            accuracy = f"{spread(list(map(accuracy_of, runs)), 100)} {made_from(runs)}"
        taus = " | ".join(_cell(ours.tau(pair)) for pair in PAIRS.values())
        rows.append(f"| {name} | {taus} | {accuracy} |")
    accuracy, taus = PUBLISHED["sst2", TANH]
    theirs = " | ".join(f"{tau:.2f} ± {deviation:.2f}" for tau, deviation in taus)
    return "\n".join([*rows, f"| Jain and Wallace's | {theirs} | {100 * accuracy:.1f} |"])


def _cell(tau: Tau | None) -> str:
    if tau is None:
        return "–"
    centre, deviation, low, high = tau
    return f"{centre:.2f} ± {deviation:.2f} [{low:.2f}, {high:.2f}]"


def replica_order(
    records: list[dict[str, Any]] | None = None, agreements: Records | None = None
) -> str:
    """Whether attention agrees with gradients in the order that Jain and Wallace's figures have, a
    line a dataset: averaging encoder above BiLSTM with tanh attention above that with dot product.

    One variant counts as above another only if every seed's interval lies above every interval of
    the other's.
    """
    found = replicas(records, agreements)
    datasets = dict.fromkeys(dataset for dataset, _ in PUBLISHED)
    return "\n".join(f"- {_ordered(dataset, found)}" for dataset in datasets)


def _ordered(dataset: str, found: dict[tuple[str, str], Replica]) -> str:
    taus = {name: found[dataset, name].tau(GRADIENT) for name in ORDER}
    title = f"**{NAMES[dataset]}**"
    if None in taus.values():
        return f"{title}: not all three were run."
    above = [_compared(taus, *pair) for pair in pairwise(ORDER)]
    as_theirs = all("is above" in words for words in above)
    return f"{title}: {'; '.join(above)}. {'As theirs.' if as_theirs else 'Theirs: all above.'}"


def _compared(taus: dict[str, Tau], first: str, second: str) -> str:
    (one, _, low, high), (other, _, other_low, other_high) = taus[first], taus[second]
    if low > other_high:
        relation = "is above"
    elif high < other_low:
        relation = "is below"
    else:
        relation = "is not told apart from"
    return f"{first} ({one:.2f}) {relation} {second} ({other:.2f})"
