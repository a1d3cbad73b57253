"""The tables of recorded runs, each beside its paper's figures, as markdown."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from course_kit.research.grid.groups import choose
from course_kit.research.report import frames
from course_kit.research.report.differences import difference
from course_kit.research.report.frames import Group, Records, shown, tidy, to_markdown
from course_lib.data.catalog import CARDS
from course_lib.data.naming import CUSTOM
from course_lib.runs.records import (
    kept_accuracy,
    largest_class,
    load_records,
    unpublished_records,
)
from course_lib.runs.settings import flat_settings, in_words

STATES = ("trained", "untrained", "uniform attention")
IMDB_ORDER = [
    "system",
    "text.max_sentences",
    "model.longest",
    "model.hops",
    "model.penalty",
    "text.vectors",
]
Groups = dict[float, Group]  # records by the value of a setting, from low to high


# Accuracies beside the papers'


def imdb_table(records: Records = None) -> str:
    """The results on the complete IMDb test half of HAN and TF-IDF as a markdown table, a row for
    all seeds of equal settings, the IMDb report's row first."""
    frame, paper = tidy(records), frames.PAPERS["imdb_report"]
    ours = (frame.dataset == "imdb") & frame.system.isin(["han", "tfidf"])
    whole = frame.accuracy.notna() & ~frame.subset.astype(bool)
    full = whole & (frame[frames.WEIGHTS] == "learned")
    accuracy, f1 = f"≈ {100 * paper['accuracy']:.0f}", f"≈ {paper['f1']}"
    rows = [[paper["model"], paper["cut"], None, None, accuracy, f1, None]]
    found = frame[ours & full].sort_values(IMDB_ORDER, kind="stable")
    rows += [_imdb_row(list(group.record)) for _, group in found.groupby("group", sort=False)]
    heads = ["model", "cut", "words read", "seeds", "accuracy %", "F1", "AUC"]
    return to_markdown(heads, rows, "l")


def _imdb_row(group: Group) -> list[Any]:
    text, model = (group[0]["settings"][part] for part in ("text", "model"))
    if group[0]["spec"]["system"] == "han":
        hops = [f"{model['hops']} hops"] * (model["hops"] > 1)
        hops += [f"penalty {model['penalty']}"] * bool(hops and model["penalty"])
        film = ["vectors trained on film reviews"] * text["vectors"].startswith("reviews")
        name = ", ".join(["HAN", *hops, *film])
        cut = f"{text['max_sentences']} × {text['max_words']}"
        read = group[0]["share_of_words_kept"]
    else:
        words = "words" if model["longest"] == 1 else "words and word pairs"
        name, cut, read = f"TF-IDF of {words}, logistic regression", "none", 1
    tests = [record["test"] for record in group]
    kinds = ("accuracy", 100, 1), ("f1", 1, 3), ("auc", 1, 3)
    scores = [frames.mean_std([test[name] for test in tests], *form) for name, *form in kinds]
    return [name, cut, f"{read:.0%}", len(group), *scores]


def own_table(records: Records = None) -> str:
    """All tested runs on texts of one's own as a markdown table, those with the same texts next to
    each other: accuracy in % on the test texts beside the share of their largest class, which a
    constant answer reaches. By default they are the published runs and those in ``runs/``."""
    frame = tidy([*load_records(), *unpublished_records()] if records is None else records)
    own = frame.dataset.map(CUSTOM.fullmatch).astype(bool)
    tested = frame[own & frame.accuracy.notna()].sort_values(["dataset", "system"], kind="stable")
    rows = []
    for _, of in tested.groupby("group", sort=False):
        group = list(of.record)
        spec, sizes = group[0]["spec"], group[0]["sizes"]
        changes = [in_words(*change) for change in spec["overrides"].items()]
        network = ", ".join([f"{spec['system']} {spec['preset']}", *changes])
        largest = f"{100 * largest_class(group[0]):.1f}"
        counts = (f"{sizes[part]:,}" for part in ("train", "test"))
        rows.append([spec["dataset"].partition("@")[0], network, *counts, shown(group), largest])
    heads = ["texts", "network", "training texts", "test texts", "test accuracy", "largest class"]
    return to_markdown(heads, rows, "llr")


# Attention figures of SANet


def sanet_attention_table(
    records: Records = None, datasets: Sequence[str] = ("ag_news", "amazon_full", "imdb")
) -> str:
    """Gini and diagonality of the base model in % as a markdown table (the paper's Table 2).

    Below the paper's row for each dataset come ours: trained, untrained, and uniform attention
    over the same documents; "–" where no run of ours is recorded.
    """
    frame, rows, bands = tidy(records), [], [f"diagonality {b}" for b in range(1, 6)]
    for dataset in datasets:
        if dataset in frames.PAPERS["sanet_attention"]:
            sparse, *near = (f"{value:.2f}" for value in frames.PAPERS["sanet_attention"][dataset])
            rows.append([f"{frames.NAMES[dataset]}, paper", sparse, None, *near])
        name = f"**{frames.NAMES[dataset]}, ours**"
        runs = frames.seeds_of(frame, "sanet", "base", dataset)
        group = [record for record in runs if "attention" in record]
        rows += [] if group else [[name, *[None] * 7]]
        for state in STATES if group else ():
            seeds = f" {frames.made_from(group)}" * (state == "trained")
            cells = _attention(group, state, ["gini", "gini normalised", *bands])
            rows.append([f"{name}, {state}{seeds}", *cells])
    heads = ["attention of, in %", "Gini", "Gini × n/(n−1)", *(f"b = {b}" for b in range(1, 6))]
    return to_markdown(heads, rows, "lr")


def sanet_paper_table() -> str:
    """The paper's Table 2 as it stands, in %: Gini and diagonality on Zhang's seven datasets."""
    rows = [
        [
            frames.ZHANG[dataset],
            "opinions" if dataset.startswith(("yelp", "amazon")) else "topics",
            *(f"{value:.1f}" for value in figures),
        ]
        for dataset, figures in frames.PAPERS["sanet_attention"].items()
    ]
    heads = ["trained on", "about", "Gini", *(f"b = {b}" for b in range(1, 6))]
    return to_markdown(heads, rows, "llr")


def sanet_worth_table(datasets: Sequence[str]) -> str:
    """What attention is worth to the base model, a column for each dataset: accuracies with and
    without it and the difference with its 95 % interval, all in %, then the share of its weight
    within 3 words beside those of untrained and of uniform attention and the paper's."""
    frame, columns = tidy(None), []
    for dataset in datasets:
        attending, without, counted = (
            frames.seeds_of(frame, system, preset, dataset)
            for system, preset in (
                ("sanet", "base"),
                ("sanet", "baseline-base"),
                ("tfidf", "default"),
            )
        )
        near = [_attention(attending, state, ["diagonality 3"])[0] for state in STATES]
        paper = frames.PAPERS["sanet_attention"].get(dataset)
        columns.append(
            [
                f"{attending[0]['sizes']['train']:,}",
                frames.percent(attending),
                frames.percent(without),
                str(difference(attending, without)),
                frames.percent(counted),
                *near,
                paper and f"{paper[3]:.1f}",
            ]
        )
    names = [
        "training texts",
        "accuracy with attention",
        "accuracy without",
        "with − without (± half of the 95 % interval)",
        "accuracy of counted words and pairs",
        "weight within 3 words, trained",
        "the same, untrained",
        "the same, uniform attention",
        "the same, in the paper",
    ]
    heads = [
        "three trainings each, % (± standard deviation)",
        *(frames.NAMES[dataset] for dataset in datasets),
    ]
    return to_markdown(heads, [list(row) for row in zip(names, *columns, strict=True)], "lr")


def _attention(group: Group, state: str, figures: Sequence[str]) -> list[str]:
    """Figures of these runs' attention in % in one of ``STATES``. Uniform attention has a Gini of
    0, and the same figures in every seed, since all read the same documents."""
    if state == "uniform attention":
        of = group[0]["attention"]["trained"]
        return ["0" if "gini" in name else f"{100 * of[f'uniform {name}']:.1f}" for name in figures]
    attention = [record["attention"][state] for record in group]
    return [frames.mean_std([one[figure] for one in attention], 100) for figure in figures]


# AGT beyond accuracy


def optimiser_table(records: Records = None) -> str:
    """The grid's ``agt_optimizer`` as a markdown table: training loss after each epoch of the short
    runs and after the last one of a longer run, by optimiser and what "0.0005" was taken for; the
    lowest loss after the epochs that all have comes first."""
    frame = tidy(records)
    chosen = frame.changes.map(lambda changes: "training.optimizer" in changes).astype(bool)
    found = list(frame[chosen & (frame.system == "agt")].record)
    lengths = {len(record["epochs"]) for record in found}
    short, rows = min(lengths, default=0), []
    epochs = sorted({*range(1, 1 + short), *lengths})
    for record in sorted(found, key=lambda record: record["epochs"][short - 1]["train_loss"]):
        losses = [epoch["train_loss"] for epoch in record["epochs"]]
        longer = f", {len(losses)} epochs" * (len(losses) > short)
        cells = [f"{losses[n - 1]:.3f}" if n <= len(losses) else None for n in epochs]
        rows.append([_optimiser(record["settings"]["training"]) + longer, *cells])
    return to_markdown(["optimiser", *(f"epoch {epoch}" for epoch in epochs)], rows, "lr")


def _optimiser(chosen: dict[str, Any]) -> str:
    words = [chosen["optimizer"].title(), f"rate {chosen['learning_rate']:g}"]
    words += [f"epsilon {chosen['epsilon']:g}"] * bool(chosen["epsilon"])
    words += [f"weight decay {chosen['weight_decay']:g}"] * bool(chosen["weight_decay"])
    return ", ".join(words)


# The grid: how results change with one setting


def sweep(
    address: str,
    fixed: Mapping[str, Any],
    model: tuple[str, str],
    dataset: str,
    records: Records = None,
    tested: bool = False,
) -> Groups:
    """The records of a model, (system, preset), by the value of a setting such as
    ``"model.penalty"``.

    ``fixed`` gives the required values of other settings; beyond these, only the cut and the length
    of training may be overridden. ``tested`` selects records with the test half read, else those
    without. Runs on a part of the rows never count.
    """
    frame = tidy(records)
    free = frames.HOW_LONG | {address, *fixed}
    asked = {"system": model[0], "preset": model[1], "dataset": dataset, **fixed}
    for name, value in asked.items():
        frame = frame[frame[name] == value]
    whole = frame.limit.isna() & (frame.accuracy.notna() == tested)
    frame = frame[whole & frame.changes.map(free.issuperset).astype(bool)]
    return {value: list(group.record) for value, group in frame.groupby(address)}


def steps_sweep(
    penalty: float, model: tuple[str, str], dataset: str, records: Records = None
) -> Groups:
    """IRAM's records by the number of steps at one penalty, the test half unread.

    The penalty acts on pairs of steps, so it does not affect a single step. Records of a single
    step without penalty are therefore included, unless there are some with this penalty.
    """
    frame, address = tidy(records), "model.steps"
    single = sweep(address, {"model.penalty": 0.0, "model.steps": 1}, model, dataset, frame)
    return single | sweep(address, {"model.penalty": penalty}, model, dataset, frame)


def planned_values(group: str, address: str) -> list[float]:
    """The values of a setting that a group of the grid plans, in increasing order."""
    return sorted({flat_settings(plan.settings)[address] for plan in choose([group])})


def mean_figures(group: Group) -> dict[str, float]:
    """Means over the seeds: validation accuracy, and the figures of the trained attention."""
    means = {"accuracy": statistics.mean(map(kept_accuracy, group))}
    for name in group[0].get("attention", {}).get("trained", ()):
        means[name] = statistics.mean(record["attention"]["trained"][name] for record in group)
    return means


def sweep_table(name: str, groups: Groups, values: Iterable[float]) -> str:
    """Accuracies in % by the value of a setting as a markdown table, "–" for those of the planned
    ``values`` that were not run; below it the caveat of its validation accuracies."""
    rows = []
    for value in sorted({*values, *groups}):
        group = groups.get(value, [])
        test = frames.percent(group) if group and "test" in group[0] else None
        rows.append([f"{value:g}", len(group) or None, frames.percent(group, kept_accuracy), test])
    heads = [name, "seeds", "validation, kept epoch", "test"]
    every = [record for group in groups.values() for record in group]
    return f"{to_markdown(heads, rows, 'r')}\n\n{frames.caveats(every)}"


def words_per_text(dataset: str) -> float:
    """The mean number of words in the texts of one of Zhang's sets, about."""
    texts = sum(map(sum, CARDS[dataset].sizes.values()))
    return 1e6 * frames.PAPERS["text_megabytes"][dataset] / frames.PAPERS["bytes_per_token"] / texts
