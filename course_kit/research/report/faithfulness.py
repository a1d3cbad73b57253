"""Tables of what shows whether networks use the words that their attention weighs: erased words,
Jain and Wallace's networks trained again, trained tests; and sanity checks of the instruments."""

import statistics
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import pandas as pd

from course_kit.research.faithfulness.erasure_record import AGREEMENT
from course_kit.research.grid.groups import read_grid
from course_kit.research.report import frames
from course_kit.research.report.frames import (
    ByName,
    Group,
    Mean,
    Record,
    Records,
    interval,
    study_records,
    to_markdown,
)
from course_lib.runs.spec import RunSpec

HALVES = ("certain", "hesitant")
PUBLISHED = frames.PAPERS["rank_correlations"]
GRADIENT = "attention–gradient"
RANDOM_PAIR = "attention–random"
PAIRS = {  # by their titles; Jain and Wallace have figures of these three
    GRADIENT: GRADIENT,
    "attention–leave-one-out": "attention–leave-one-out, deletion",
    "gradient–leave-one-out": "gradient–leave-one-out, deletion",
}
AVERAGE, TANH, DOT = PUBLISHED["sst2"]  # in the order of their attention–gradient
CHANGED = {  # what the group ``replica_changes`` changes, in words
    "text.vectors": "350-d vectors",
    "training.embedding_rate": "vectors that learn",
    "training.epochs": "{} epochs",
    "model.hidden": "states {} wide",
}
COLUMNS = ("trained", "untrained", "uniform")


def interventions_table() -> str:
    """Shuffled and adversarial attention of every network with 95 % intervals over texts, apart for
    the half of the texts of which it is more certain and the other half, and beside another seed
    of the same network, as a markdown table."""

    def cells(name: str, record: Record) -> list[str | None]:
        parts = record["permutation"]["change"], record["adversary"]["divergence"]
        seed = next(iter(record["other_seeds"].values()), {})
        means = [part[half] for part in parts for half in ("all", *HALVES)]
        means += [seed.get("divergence"), seed.get("kendall"), record["conicity"]]
        title = f"{frames.network_title(name)}, {record['texts']} texts"
        return [title, *map(interval, means)]

    heads = ["network", "a shuffle changes", *HALVES, "the adversary's divergence", *HALVES,
             "another seed's divergence", "another seed's τ", "conicity"]  # fmt: skip
    records = study_records("interventions").items()
    rows = [cells(*one) for one in records if not one[0].startswith("bilstm")]  # see debate
    return to_markdown(heads, rows, "lr")


def trained_table(test: str, records: ByName | None = None) -> str:
    """All figures of a test as a markdown table, a row for each line of each record: the mean over
    seeds and texts with its 95 % interval over texts, and ± the standard deviation over seeds."""
    records = study_records("faithfulness/trained") if records is None else records
    found = [record for record in records.values() if record["test"] == test]
    lines = [(record, *line) for record in found for line in record["lines"].items()]
    names = list(dict.fromkeys(name for *_, figures in lines for name in figures))
    rows = []
    for record, line, figures in lines:
        count = len(record["seeds"])
        on = f"{frames.texts_title(record['on'])}, {count} seed{'s' * (count != 1)}"
        rows.append([on, line, *(_with_seeds(figures.get(name)) for name in names)])
    heads = ["on", "network", *names]
    return to_markdown(heads, rows, "llr")


def _with_seeds(mean: Mean | None) -> str | None:
    told = interval(mean, 3)
    seeds = [value for value in mean["by_seed"] if value is not None] if told else []
    return f"{told} ± {statistics.stdev(seeds):.3f}" if len(seeds) > 1 else told


# Jain and Wallace's networks trained again


class Replica(NamedTuple):
    """The recorded ``runs`` of one variant on one dataset, one per seed, and the ``agreements`` of
    those of them whose rankings were compared."""

    runs: Group
    agreements: Group

    def tau(self, pair: str) -> dict[str, float] | None:
        """The mean of the seeds' means and of their deviations over documents, and the widest ends
        of their 95 % intervals; None without any."""
        if not self.agreements:
            return None
        found = pd.DataFrame([record["kendall"][pair] for record in self.agreements])
        over = {"mean": "mean", "deviation": "mean", "low": "min", "high": "max"}
        return found.agg(over).to_dict()

    def cell(self, pair: str) -> str | None:
        """``tau`` in words."""
        tau = self.tau(pair)
        return tau and "{mean:.2f} ± {deviation:.2f} [{low:.2f}, {high:.2f}]".format(**tau)


def _replicas(group: str, records: Records, agreements: ByName | None = None) -> dict[Any, Replica]:
    """What is recorded of a group of the grid, by dataset and variant, or by what it changes."""
    agreements = study_records(AGREEMENT) if agreements is None else agreements
    specs, found = read_grid()[group], {}
    for spec, run in zip(specs, frames.planned(frames.tidy(records), specs), strict=True):
        key = (spec.dataset, _variant(spec)) if group == "replica" else _changes(spec)
        replica = found.setdefault(key, Replica([], []))
        replica.runs.extend([run] if run else [])
        name = run["id"] if run else spec.id
        replica.agreements.extend([agreements[name]] if name in agreements else [])
    return found


def variants(dataset: str, name: str) -> list[str]:
    """The runs of one variant on one dataset in the grid's group ``replica``, one per seed."""
    specs = read_grid()["replica"]
    return [spec.id for spec in specs if (spec.dataset, _variant(spec)) == (dataset, name)]


def _variant(spec: RunSpec) -> str:
    model = spec.settings().model
    if model.encoder == "average":
        return AVERAGE
    return TANH if model.attention == "tanh" else DOT


def _changes(spec: RunSpec) -> str:
    others = [CHANGED[name].format(to) for name, to in spec.overrides.items() if name in CHANGED]
    return ", ".join(["sentences alone"] * (spec.dataset == "sst2_sentences") + others)


def replica_table(records: Records = None) -> str:
    """Kendall's τ of attention, gradient × input and leave-one-out as a markdown table, a row for
    each dataset and variant of the grid's group ``replica``, beside Jain and Wallace's figures.

    Ours are the mean over seeds ± the deviation over documents, which theirs have too, and in
    brackets the widest ends of the seeds' 95 % intervals of the mean; "–" where a run is missing.
    An entropy of 1 is that of uniform attention, whose order of words means little.
    """
    found, rows = _replicas("replica", records), []
    for dataset, name in ((data, name) for data in PUBLISHED for name in PUBLISHED[data]):
        ours, paper = found[dataset, name], PUBLISHED[dataset][name]
        theirs = _theirs(paper)
        theirs[0] += f" (paper: {paper['in_print']})" if "in_print" in paper else ""
        cells = [cell for both in zip(map(ours.cell, PAIRS.values()), theirs) for cell in both]
        entropies = [record["attention"]["trained"]["entropy"] for record in ours.runs]
        cells += [ours.cell(RANDOM_PAIR), frames.mean_std(entropies, digits=3)]
        cells.append(frames.shown(ours.runs))
        rows.append([frames.NAMES[dataset], name, *cells, f"{100 * paper['accuracy']:.1f}"])
    heads = ["dataset", "network", *(title for pair in PAIRS for title in (pair, "theirs"))]
    heads += [RANDOM_PAIR, "entropy of attention ÷ log n", "accuracy in %", "theirs"]
    return to_markdown(heads, rows, "llr")


def _theirs(paper: dict[str, Any]) -> list[str]:
    return [f"{tau:.2f} ± {deviation:.2f}" for tau, deviation in paper["taus"]]


def replica_changes_table(records: Records = None) -> str:
    """The rank correlations of the BiLSTM with tanh attention on SST-2 with what was changed in the
    grid's group ``replica_changes``, between those of our base and of Jain and Wallace's, as a
    markdown table; "–" where a run is missing."""
    base = _replicas("replica", records)["sst2", TANH]
    changed = {"nothing": base, **_replicas("replica_changes", records)}
    rows: list[list[Any]] = [
        [name, *map(ours.cell, PAIRS.values()), frames.shown(ours.runs)]
        for name, ours in changed.items()
    ]
    paper = PUBLISHED["sst2"][TANH]
    rows.append(["Jain and Wallace's", *_theirs(paper), f"{100 * paper['accuracy']:.1f}"])
    return to_markdown(["changed", *PAIRS, "accuracy in %"], rows, "lr")


def replica_order(records: Records = None, agreements: ByName | None = None) -> str:
    """Whether attention agrees with gradients in the order that Jain and Wallace's figures have, a
    line a dataset: averaging encoder above BiLSTM with tanh attention above that with dot product.

    One variant counts as above another only if every seed's interval lies above every interval of
    the other's.
    """
    found, lines = _replicas("replica", records, agreements), []
    for data, networks in PUBLISHED.items():
        taus, words = {name: found[data, name].tau(GRADIENT) for name in networks}, []
        if None in taus.values():
            lines.append(f"- **{frames.NAMES[data]}**: not all three were run.")
            continue
        for (first, one), (second, other) in pairwise(taus.items()):
            above, below = one["low"] > other["high"], one["high"] < other["low"]
            relation = (
                "is above" if above else "is below" if below else "cannot be distinguished from"
            )
            words.append(f"{first} ({one['mean']:.2f}) {relation} {second} ({other['mean']:.2f})")
        as_theirs = all("is above" in each for each in words)
        end = "As theirs." if as_theirs else "Theirs: all above."
        lines.append(f"- **{frames.NAMES[data]}**: {'; '.join(words)}. {end}")
    return "\n".join(lines)


# Sanity checks


def sanity_figures() -> dict[tuple[str, str, str], dict[str, list[float]]]:
    """The figures of all seeds by (check, network, figure), then by column; a column that a
    figure lacks is an empty list."""
    records = study_records("sanity_checks").values()
    lines = pd.DataFrame([line for record in records for line in record["lines"]])
    return {
        key: {column: of[column].dropna().tolist() for column in COLUMNS}
        for key, of in lines.groupby(["control", "network", "figure"], sort=False)
    }


def sanity_table(check: str | None = None, chosen: Sequence[str] = ()) -> str:
    """Every figure of all sanity checks, or of one, as mean ± standard deviation over seeds: of the
    trained network, of its untrained twin, and with uniform attention in the trained network.

    With ``chosen`` only these figures are shown.
    """
    rows = [
        [*key, *(_sanity_cell(columns[column]) for column in COLUMNS)]
        for key, columns in sanity_figures().items()
        if check in (None, key[0]) and (not chosen or key[2] in chosen)
    ]
    heads = ["control", "network", "figure", "trained", "untrained twin", "uniform attention"]
    return to_markdown(heads, rows, "lllr")


def _sanity_cell(values: list[float]) -> str | None:
    tiny = 0 < max(values, default=0) < 1e-4  # rounding, which three digits would hide
    return f"up to {max(values):.0e}" if tiny else frames.mean_std(values, digits=3)
