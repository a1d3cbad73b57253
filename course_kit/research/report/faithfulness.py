"""Whether recorded networks use the words that their attention weighs: tables and pictures."""

import json
import statistics
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from course_kit.research.faithfulness.erasure_record import (
    AGREEMENT,
    INTERVENTIONS,
    MEASURES,
    RANDOM,
    REMOVALS,
)
from course_kit.research.faithfulness.faithfulness_run import ATTENTION, study_path
from course_kit.research.grid.groups import read_grid
from course_kit.research.report.frames import (
    NAMES,
    PAPERS,
    Group,
    Record,
    Records,
    mean_std,
    planned,
    shown,
    tidy,
    to_markdown,
)
from course_kit.research.trained_tests import protocols
from course_kit.research.trained_tests.trained_record import TESTS
from course_kit.research.trained_tests.trained_record import record_path as trained_path
from course_lib.runs.spec import RunSpec
from course_lib.views import plots

ByName = dict[str, Record]
NONE_YET = "Nothing is recorded yet: `attention-course {}` does it."
BETTER = {"comprehensiveness": "higher is better", "sufficiency": "lower is better"}
HALVES = ("certain", "hesitant")
PUBLISHED = PAPERS["rank_correlations"]
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


def _read(folder: Path) -> ByName:
    paths = sorted(folder.glob("*.json"))
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in paths}


def faithfulness_records(folder: Path | None = None) -> ByName:
    """The committed records by the id of their network; empty if there are none."""
    return _read(folder or study_path("", "faithfulness").parent)


def interventions_records() -> ByName:
    """The committed records of changed attention by the id of their network."""
    return _read(study_path("", INTERVENTIONS).parent)


def trained_records(folder: Path | None = None) -> ByName:
    """The committed records of trained tests by ``TEST-ON``; empty if there are none."""
    return _read(folder or trained_path("", "").parent)


def interval(mean: dict[str, Any] | None, digits: int = 2) -> str | None:
    """A recorded mean with its 95 % interval; None where there is none."""
    if mean is None or mean["mean"] is None:
        return None
    return "{:.{d}f} [{:.{d}f}, {:.{d}f}]".format(*_bounds(mean), d=digits)


def _bounds(mean: dict[str, Any]) -> tuple[float, float, float]:
    return mean["mean"], mean["low"], mean["high"]


def _network(name: str, record: Record) -> str:
    return f"`{name}`, {record['texts']} texts"


def faithfulness_table(removal: str = "deletion", records: ByName | None = None) -> str:
    """Every ranking of every network as a markdown table: the AOPC of comprehensiveness and
    sufficiency with their 95 % intervals, by how much they exceed the random ranking's, normalised,
    and the share of words removed until the decision flips; the most comprehensive ranking first.

    Words are removed by ``"deletion"`` or ``"masking"``, else ``ValueError``. Instead of a table, a
    sentence where nothing is recorded.
    """
    if removal not in REMOVALS:
        raise ValueError(f"removal takes one of {', '.join(REMOVALS)}, got {removal!r}")
    records, rows = faithfulness_records() if records is None else records, []
    for name, record in records.items():
        found = record["removals"][removal]
        for ranking in _ranked(found):
            cells = []
            for figures in (found[measure]["rankings"][ranking] for measure in MEASURES):
                beyond = None if ranking == RANDOM else interval(figures["minus_random"])
                cells += [interval(figures["aopc"]), beyond, _normalised(figures["normalised"])]
            flips = interval(found["words_to_flip"][ranking])
            rows.append([_network(name, record), ranking, *cells, flips])
    columns = [head for name in MEASURES for head in (name, "− random", "normalised (texts)")]
    table = to_markdown(["network", "ranking", *columns, "words to flip"], rows, "llr")
    return table if records else NONE_YET.format("faithfulness NAME")


def faithfulness_overview(records: ByName | None = None) -> str:
    """One row for each network: what attention finds by deletion, beside random words and the best
    of the other rankings, its normalised area, and which rankings agree; as a markdown table, or a
    sentence where nothing is recorded.

    Normalised areas are of those short texts alone whose limits are exact or by a beam search, with
    their number in parentheses.
    """
    records, rows = faithfulness_records() if records is None else records, []
    for name, record in records.items():
        found, cells = record["removals"]["deletion"], []
        for measure, best in (("comprehensiveness", max), ("sufficiency", min)):
            areas = {r: f["aopc"] for r, f in found[measure]["rankings"].items()}
            others = [r for r in areas if not r.startswith((ATTENTION, RANDOM))]
            other = best(others, key=lambda ranking: areas[ranking]["mean"])
            cells += [interval(areas[ATTENTION]), interval(areas[RANDOM])]
            cells.append(f"{interval(areas[other])} ({other})")
        for ranking in (ATTENTION, RANDOM):
            figures = found["comprehensiveness"]["rankings"][ranking]["normalised"]
            exact = figures.get("exact or beam")
            cells.append(exact and f"{interval(exact) or '–'} ({exact['counted']})")
        pairs = ("attention–gradient", "gradient–leave-one-out, deletion")
        cells += [interval(record["kendall"].get(pair)) for pair in pairs]
        cells += [interval(found["words_to_flip"][ranking]) for ranking in (ATTENTION, RANDOM)]
        rows.append([_network(name, record), *cells])
    heads = [f"{m}: {what}" for m in MEASURES for what in ("attention", "random", "best other")]
    heads += ["normalised: attention", "random", "τ attention–gradient", "τ gradient–leave-one-out",
              "words to flip: attention", "random"]  # fmt: skip
    table = to_markdown(["network", *heads], rows, "lr")
    return table if records else NONE_YET.format("faithfulness NAME")


def agreement_table(records: ByName | None = None) -> str:
    """Kendall's τ of pairs of rankings with its 95 % interval, a row a network, as a markdown
    table; a sentence where nothing is recorded."""
    records = faithfulness_records() if records is None else records
    pairs = list(dict.fromkeys(pair for record in records.values() for pair in record["kendall"]))
    rows = [
        [_network(name, record), *(interval(record["kendall"].get(pair)) for pair in pairs)]
        for name, record in records.items()
    ]
    table = to_markdown(["network", *pairs], rows, "lr")
    return table if records else NONE_YET.format("faithfulness NAME")


def interventions_table(records: ByName | None = None) -> str:
    """Shuffled and adversarial attention of every network with 95 % intervals over texts, apart for
    the half of the texts of which it is more certain and the other half, and beside another seed
    of the same network, as a markdown table; a sentence where nothing is recorded."""
    records, rows = interventions_records() if records is None else records, []
    for name, record in records.items():
        changed = record["permutation"]["change"], record["adversary"]["divergence"]
        seed = next(iter(record["other_seeds"].values()), {})
        cells = [part[half] for part in changed for half in ("all", *HALVES)]
        cells += [seed.get("divergence"), seed.get("kendall"), record["conicity"]]
        rows.append([_network(name, record), *map(interval, cells)])
    heads = ["network", "a shuffle changes", *HALVES, "the adversary's divergence", *HALVES,
             "another seed's divergence", "another seed's τ", "conicity"]  # fmt: skip
    table = to_markdown(heads, rows, "lr")
    return table if records else NONE_YET.format("faithfulness NAME --only interventions")


def faithfulness_figure(name: str, records: ByName | None = None) -> Figure:
    """Comprehensiveness and sufficiency (AOPC) of every ranking of a network, with 95 % intervals,
    by deletion and by masking; the most comprehensive first.

    ``ValueError`` lists what is recorded if that network is not.
    """
    records = faithfulness_records() if records is None else records
    if name not in records:
        raise ValueError(
            f"{name!r} has no record of faithfulness; there are: {', '.join(records) or 'none yet'}"
        )
    removals, texts = records[name]["removals"], records[name]["texts"]
    panels = {
        f"{measure}, {BETTER[measure]}": {
            f"by {removal}": {
                ranking: _bounds(figures["aopc"])
                for ranking, figures in removals[removal][measure]["rankings"].items()
            }
            for removal in REMOVALS
        }
        for measure in MEASURES
    }
    costs = removals["deletion"]["comprehensiveness"]["rankings"]
    attention, random = (costs[ranking]["aopc"]["mean"] for ranking in (ATTENTION, RANDOM))
    title = (
        f"{name}, {texts} texts: deleting the words that attention ranks first\n"
        f"costs {attention:.2f} of the probability, random words {random:.2f}"
    )
    rows = _ranked(removals["deletion"])
    return plots.means_with_intervals(panels, rows, "AOPC: mean, 95 % interval", title)


def _ranked(found: dict[str, Any]) -> list[str]:
    """The rankings of a record's part of one removal, the most comprehensive first."""
    rankings = found["comprehensiveness"]["rankings"]
    return sorted(rankings, key=lambda ranking: -rankings[ranking]["aopc"]["mean"])


def _normalised(by_limit: dict[str, dict[str, Any]]) -> str | None:
    """The means apart by how the limits were found, each with its number of texts."""
    parts = [
        f"{mean['mean']:.2f} ({mean['counted']}, {how})"
        for how, mean in by_limit.items()
        if mean["mean"] is not None
    ]
    return "; ".join(parts) or None


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


def _replicas(group: str, records: Records, agreements: ByName | None) -> dict[Any, Replica]:
    """What is recorded of a group of the grid, by dataset and variant, or by what it changes."""
    folder = study_path("", AGREEMENT).parent
    agreements, specs = _read(folder) if agreements is None else agreements, read_grid()[group]
    found: dict[Any, Replica] = {}
    for spec, run in zip(specs, planned(tidy(records), specs), strict=True):
        key = (spec.dataset, _variant(spec)) if group == "replica" else _changes(spec)
        replica = found.setdefault(key, Replica([], []))
        replica.runs.extend([run] if run else [])
        name = run["id"] if run else spec.id
        replica.agreements.extend([agreements[name]] if name in agreements else [])
    return found


def _variant(spec: RunSpec) -> str:
    model = spec.settings().model
    if model.encoder == "average":
        return AVERAGE
    return TANH if model.attention == "tanh" else DOT


def _changes(spec: RunSpec) -> str:
    others = [CHANGED[name].format(to) for name, to in spec.overrides.items() if name in CHANGED]
    return ", ".join(["sentences alone"] * (spec.dataset == "sst2_sentences") + others)


def replica_table(records: Records = None, agreements: ByName | None = None) -> str:
    """Kendall's τ of attention, gradient × input and leave-one-out as a markdown table, a row for
    each dataset and variant of the grid's group ``replica``, beside Jain and Wallace's figures.

    Ours are the mean over seeds ± the deviation over documents, which theirs have too, and in
    brackets the widest ends of the seeds' 95 % intervals of the mean; "–" where a run is missing.
    An entropy of 1 is that of uniform attention, whose order of words means little.
    """
    found, rows = _replicas("replica", records, agreements), []
    for dataset, name in ((data, name) for data in PUBLISHED for name in PUBLISHED[data]):
        ours, paper = found[dataset, name], PUBLISHED[dataset][name]
        theirs = _theirs(paper)
        theirs[0] += f" (paper: {paper['in_print']})" if "in_print" in paper else ""
        cells = [cell for both in zip(map(ours.cell, PAIRS.values()), theirs) for cell in both]
        entropies = [record["attention"]["trained"]["entropy"] for record in ours.runs]
        entropy = mean_std(entropies, digits=3) if entropies else None
        cells += [ours.cell(RANDOM_PAIR), entropy, shown(ours.runs)]
        rows.append([NAMES[dataset], name, *cells, f"{100 * paper['accuracy']:.1f}"])
    heads = ["dataset", "network", *(title for pair in PAIRS for title in (pair, "theirs"))]
    heads += [RANDOM_PAIR, "entropy of attention ÷ log n", "accuracy in %", "theirs"]
    return to_markdown(heads, rows, "llr")


def _theirs(paper: dict[str, Any]) -> list[str]:
    return [f"{tau:.2f} ± {deviation:.2f}" for tau, deviation in paper["taus"]]


def replica_changes_table(records: Records = None, agreements: ByName | None = None) -> str:
    """The rank correlations of the BiLSTM with tanh attention on SST-2 with what was changed in the
    grid's group ``replica_changes``, between those of our base and of Jain and Wallace's, as a
    markdown table; "–" where a run is missing."""
    base = _replicas("replica", records, agreements)["sst2", TANH]
    changed = {"nothing": base, **_replicas("replica_changes", records, agreements)}
    rows: list[list[Any]] = [
        [name, *map(ours.cell, PAIRS.values()), shown(ours.runs)] for name, ours in changed.items()
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
    found = _replicas("replica", records, agreements)
    lines = []
    for data, networks in PUBLISHED.items():
        taus = {name: found[data, name].tau(GRADIENT) for name in networks}
        lines.append(f"- **{NAMES[data]}**: {_ordered(taus)}")
    return "\n".join(lines)


def _ordered(taus: dict[str, dict[str, float] | None]) -> str:
    if None in taus.values():
        return "not all three were run."
    words = []
    for (first, one), (second, other) in pairwise(taus.items()):
        above, below = one["low"] > other["high"], one["high"] < other["low"]
        relation = "is above" if above else "is below" if below else "is not told apart from"
        words.append(f"{first} ({one['mean']:.2f}) {relation} {second} ({other['mean']:.2f})")
    as_theirs = all("is above" in each for each in words)
    return f"{'; '.join(words)}. {'As theirs.' if as_theirs else 'Theirs: all above.'}"


# Trained tests


def trained_table(test: str, records: ByName | None = None) -> str:
    """All figures of a test as a markdown table, a row for each line of each record: the mean over
    seeds and texts with its 95 % interval over texts, and ± the standard deviation over seeds.

    ``ValueError`` for a test that there is not. Instead of a table, a sentence where nothing is
    recorded.
    """
    records, rows = trained_records() if records is None else records, []
    known = {*TESTS, *(record["test"] for record in records.values())}
    if test not in known:
        raise ValueError(f"no trained test {test!r}; there are: {', '.join(sorted(known))}")
    found = [record for record in records.values() if record["test"] == test]
    lines = [(record, *line) for record in found for line in record["lines"].items()]
    names = list(dict.fromkeys(name for *_, figures in lines for name in figures))
    for record, line, figures in lines:
        count = len(record["seeds"])
        on = f"`{record['on']}`, {count} seed{'s' * (count != 1)}"
        rows.append([on, _escaped(line), *(_with_seeds(figures.get(name)) for name in names)])
    table = to_markdown(["on", "network", *map(_escaped, names)], rows, "llr")
    return table if found else NONE_YET.format("trained-tests NAME")


def _with_seeds(mean: dict[str, Any] | None) -> str | None:
    told = interval(mean, 3)
    seeds = [value for value in mean["by_seed"] if value is not None] if told else []
    return f"{told} ± {statistics.stdev(seeds):.3f}" if len(seeds) > 1 else told


def _escaped(text: str) -> str:
    """A vertical bar would end the cell."""
    return text.replace("|", r"\|")


def roar_figure(on: str, records: ByName | None = None) -> Figure:
    """Test accuracy over the share of words that were removed before each training, a curve for
    each ranking, with 95 % intervals over texts.

    ``ValueError`` lists what is recorded if that is not.
    """
    lines = _lines("roar", on, records)
    curves = {
        ranker: {
            100 * share: _bounds(lines[protocols.roar_line(ranker, share)][protocols.ACCURACY])
            for share in (0.0, *protocols.SHARES)
        }
        for ranker in protocols.RANKERS
    }
    last = 100 * protocols.SHARES[-1]
    title = (
        f"{on}: trained without {last:.0f} % of the words, those that attention\nranks first, "
        f"networks are right in {curves[protocols.ATTENTION][last][0]:.0%}; without random ones in "
        f"{curves[protocols.RANDOM][last][0]:.0%}"
    )
    return plots.curves_with_intervals(
        curves, "words masked before training, % of each text", "test accuracy", title
    )


def adversary_figure(on: str, records: ByName | None = None) -> Figure:
    """How far predictions (TVD) and attention (JSD) of each adversary and each other network are
    from the base's, with 95 % intervals over texts.

    ``ValueError`` lists what is recorded if that is not.
    """
    points = {
        name: (_bounds(figures[protocols.DIVERGENCE]), _bounds(figures[protocols.VARIATION]))
        for name, figures in _lines("adversary", on, records).items()
    }
    near = points["the base, another seed"]
    taught = [name for name in points if name.startswith("adversary")]
    # the gentlest of those that attend further away than another seed
    name = next((name for name in taught if points[name][0][1] > near[0][2]), taught[-1])
    far = points[name]
    title = (
        f"{on}: an {name}, attends elsewhere (JSD {far[0][0]:.2f}, another seed "
        f"{near[0][0]:.2f})\nand its predictions differ by {far[1][0]:.2f} (another seed "
        f"{near[1][0]:.2f})"
    )
    points.pop("the base network", None)
    axes = "Jensen-Shannon divergence of the attention from the base's", "TVD of the predictions"
    return plots.trade_off(points, *axes, title)


def _lines(test: str, on: str, records: ByName | None) -> dict[str, Any]:
    records = trained_records() if records is None else records
    found = {record["on"]: record for record in records.values() if record["test"] == test}
    if on not in found:
        raise ValueError(
            f"{test} is not recorded on {on!r}; there are: {', '.join(found) or 'none yet'}"
        )
    return found[on]["lines"]
