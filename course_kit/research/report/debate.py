"""Tables of both sides of the debate: the rankings and the changed attention of Jain and Wallace,
on their networks trained again, and the four tests of Wiegreffe and Pinter."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from course_kit.research.grid.groups import read_grid
from course_kit.research.report import frames
from course_kit.research.report.frames import ByName, Group, Records, mean_std, shown, to_markdown
from course_kit.research.report.studies import ACCURACY, DIVERGENCE, VARIATION
from course_lib.runs.spec import Plan, RunSpec

PUBLISHED, THEIRS = frames.PAPERS["rank_correlations"], frames.PAPERS["interventions"]
RANDOM_PAIR = "attention–random"
PAIRS = {  # by their titles; Jain and Wallace have figures of these three
    "attention–gradient": "attention–gradient",
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
ENDS = ("0.05", "0.95")  # of the quantiles over texts
SEARCHES = ("strict_adversary", "adversary")  # whose output stays within 0.01, and within 0.05
SHARPNESS = (0.0, 0.25, 0.5, 0.75)  # of a text's largest weight, the bins of their figures
GUIDED = "3 · words alone, "
SHOWN = [  # the lines of the four tests, in the order of the paper, and what they are called
    ("guided", "BiLSTM", "the base network"),
    ("guided", "BiLSTM, uniform attention", "1 · uniform attention"),
    ("adversary", "the base, another seed", "2 · another seed"),
    ("guided", "MLP, uniform attention", f"{GUIDED}uniform guide"),
    ("guided", "MLP, its own attention", f"{GUIDED}attention of its own"),
    ("guided", "MLP, the BiLSTM's attention", f"{GUIDED}guide: the base network"),
    ("guided", "MLP, an untrained BiLSTM's attention", f"{GUIDED}guide: untrained"),
    (
        "guided",
        "MLP, the attention of its adversary, λ = 0.1",
        f"{GUIDED}guide: the adversary, λ = 0.1",
    ),
    *(
        ("adversary", f"adversary, λ = {weight}", f"4 · adversary, λ = {weight}")
        for weight in ("0.001", "0.002", "0.005", "0.01")
    ),
]


class Replica(NamedTuple):
    """The recorded ``runs`` of one variant on one dataset, one per seed, and a study's records of
    those of them that it ``measured``."""

    runs: Group
    measured: Group

    def cell(self, pair: str) -> str | None:
        """Kendall's τ of a pair: the mean of the seeds' means ± that of their deviations over
        documents, and the widest ends of their 95 % intervals; None without any."""
        if not self.measured:
            return None
        found = pd.DataFrame([record["kendall"][pair] for record in self.measured])
        tau = found.agg({"mean": "mean", "deviation": "mean", "low": "min", "high": "max"})
        return "{mean:.2f} ± {deviation:.2f} [{low:.2f}, {high:.2f}]".format(**tau)


def _replicas(group: str, records: Records, agreements: ByName | None = None) -> dict[Any, Replica]:
    """What is recorded of a group of the grid, by dataset and variant, or by what it changes."""
    agreements = frames.study_records("agreement") if agreements is None else agreements
    plans, found = read_grid()[group], {}
    for plan, run in zip(plans, frames.planned(frames.tidy(records), plans), strict=True):
        of = plan.spec
        key = (of.dataset, _variant(plan)) if group == "replica" else _changes(of)
        replica = found.setdefault(key, Replica([], []))
        replica.runs.extend([run] if run else [])
        name = run["id"] if run else plan.id
        replica.measured.extend([agreements[name]] if name in agreements else [])
    return found


def _variant(plan: Plan) -> str:
    model = plan.settings.model
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
        cells += [ours.cell(RANDOM_PAIR), mean_std(entropies, digits=3)]
        cells.append(shown(ours.runs))
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
        [name, *map(ours.cell, PAIRS.values()), shown(ours.runs)] for name, ours in changed.items()
    ]
    paper = PUBLISHED["sst2"][TANH]
    rows.append(["Jain and Wallace's", *_theirs(paper), f"{100 * paper['accuracy']:.1f}"])
    return to_markdown(["changed", *PAIRS, "accuracy in %"], rows, "lr")


def _over_seeds(records: Group, key: str, name: str) -> str:
    """The mean ± the deviation over seeds, and the seeds' mean 5 and 95 % quantile over texts."""
    parts = [record[key] for record in records]
    means = [(part[name].get("all") or part[name])["mean"] for part in parts]
    ends = np.mean([[part["quantiles"][name][end] for end in ENDS] for part in parts], axis=0)
    return f"{mean_std(means, digits=2)} [{ends[0]:.2f}, {ends[1]:.2f}]"


def _networks() -> list[tuple[str, str, Group, dict[str, Any]]]:
    """Dataset, variant, our records of all seeds and their figures, in the paper's order."""
    found = _replicas("replica", [], frames.study_records("interventions"))
    return [
        (data, name, found[data, name].measured, theirs)
        for data, networks in THEIRS.items()
        for name, theirs in networks.items()
    ]


def adversaries_table() -> str:
    """How far adversarial attention gets in Jain and Wallace's networks trained again (JSD), and
    what it changes (TVD), beside theirs: mean ± deviation over seeds [5 %, 95 % of the texts]."""
    heads = [
        "dataset",
        "network",
        "JSD, output within 0.01",
        "JSD, output within 0.05",
        "theirs, within 0.05",
        "TVD within 0.01",
        "TVD within 0.05",
        "seeds",
    ]
    rows = []
    for data, name, ours, theirs in _networks():
        mean, low, high = theirs["adversary"]
        cells = [_over_seeds(ours, key, "divergence") for key in SEARCHES]
        cells += [f"{mean:.2f} [{low:.2f}, {high:.2f}]"]
        cells += [_over_seeds(ours, key, "change") for key in SEARCHES]
        rows.append([frames.NAMES[data], name, *cells, len(ours)])
    return to_markdown(heads, rows, "llr")


def shuffles_table() -> str:
    """The median change of the output after a shuffle, by a text's largest weight, beside theirs:
    of ours the mean of the seeds' medians and the texts of all seeds; of theirs both classes."""
    heads = ["dataset", "network", "all texts"]
    heads += [what for low in SHARPNESS for what in (f"weight from {low:g}", "theirs")]
    rows = []
    for data, name, ours, theirs in _networks():
        medians = [one["permutation"]["quantiles"]["change"]["0.5"] for one in ours]
        cells = [mean_std(medians, digits=3)]
        for low in map(str, SHARPNESS):
            bins = (one["permutation"]["by_largest_weight"] for one in ours)
            found = [each[low] for each in bins if low in each]
            medians, texts = [each["median"] for each in found], sum(of["counted"] for of in found)
            cells += [f"{np.mean(medians):.3f} ({texts})" if found else None]
            cells += [", ".join(f"{m:.3f}" for m in theirs["shuffles"].get(low, [])) or None]
        rows.append([frames.NAMES[data], name, *cells])
    return to_markdown(heads, rows, "llr")


def four_tests_table() -> str:
    """Wiegreffe and Pinter's four tests on SST-2's sentences: F1, and how far attention (JSD) and
    predictions (TVD) are from the base network's, mean ± deviation over seeds, beside their F1."""
    records, rows = frames.study_records("faithfulness/trained"), []
    for test, line, title in SHOWN:
        record = records[f"{test}-sst2_sentences"]
        scores = [record["f1_by_seed"][line]]
        for name in (ACCURACY, DIVERGENCE, VARIATION):
            scores.append(record["lines"][line].get(name, {}).get("by_seed", []))
        f1, *others = (mean_std(of, digits=3) for of in scores)
        theirs = frames.PAPERS["guided_f1"].get(line)
        rows.append([title, f1, theirs and f"{theirs:.3f}", *others])
    heads = ["test", "F1", "their F1", "accuracy", "JSD to the base", "TVD to the base"]
    return to_markdown(heads, rows, "lr")
