"""What every table needs: the records that belong together, and their spread in words."""

import json
import re
import statistics
from collections import defaultdict
from collections.abc import Callable
from itertools import product
from typing import Any

from course_lib.metrics.classification import sampling_error
from course_lib.runs.records import KEPT_EPOCH
from course_lib.runs.settings import in_words

# Overrides with which a run still counts as its preset: the cut and the length of training.
HOW_LONG = {"text.max_tokens", "training.epochs", "training.patience"}
# Overrides that say how vectors are read, which the name of the vectors stands for in a table.
HOW_READ = {"text.vectors", "text.vocabulary_from", "text.without_vector"}

FILM = "imdb-cbow"  # the beginning of the names of film vectors
WIDTH = re.compile(r"\d+d")  # at the end of a catalog's name

SIMPLE = {
    "TF-IDF of words": ("tfidf", "words"),
    "TF-IDF of words and word pairs": ("tfidf", "default"),
}


def spread(values: list[float], scale: float = 1.0, digits: int = 1) -> str:
    """Mean ± standard deviation over seeds; the mean alone for one seed."""
    mean = f"{scale * statistics.mean(values):.{digits}f}"
    if len(values) < 2:
        return mean
    return f"{mean} ± {scale * statistics.stdev(values):.{digits}f}"


def seeds_of(
    records: list[dict[str, Any]], system: str, preset: str, dataset: str
) -> list[dict[str, Any]]:
    """The records of a preset on a dataset, one per seed; empty if none has been run.

    Runs on a part of the rows at hand, without the test half, or with overrides beyond the cut and
    the length of training do not count. The whole dataset is preferred to a subset, then
    the settings with the most seeds.
    """
    tested = _tested(records, system, preset, dataset)
    return largest_group(
        [record for record in tested if set(record["spec"]["overrides"]) <= HOW_LONG]
    )


def with_other_vectors(
    records: list[dict[str, Any]], system: str, preset: str, dataset: str
) -> dict[str, list[dict[str, Any]]]:
    """The records of a preset with vectors of another name, one per seed, by what they changed.

    Whatever else was changed is named too, ``"300-d vectors (mine.txt), hidden500"``, but for how
    the vectors are read (``HOW_READ``): of runs that differ in that alone, those with the most
    seeds count.
    """
    groups = defaultdict(list)
    for record in _tested(records, system, preset, dataset):
        changes = record["spec"]["overrides"]
        if "text.vectors" in changes:
            others = {name: changes[name] for name in changes if name not in HOW_LONG | HOW_READ}
            named = vector_size(record) or "no vectors", *(in_words(*it) for it in others.items())
            groups[", ".join(named)].append(record)
    return {changes: largest_group(group) for changes, group in groups.items()}


def with_film_vectors(
    records: list[dict[str, Any]], system: str, preset: str, dataset: str
) -> list[dict[str, Any]]:
    """The records of a preset with vectors of our own trained on film reviews, one per seed."""
    groups = with_other_vectors(records, system, preset, dataset).items()
    return max((group for changes, group in groups if FILM in changes), key=len, default=[])


def without_film_vectors(
    records: list[dict[str, Any]], system: str, preset: str, dataset: str
) -> list[dict[str, Any]]:
    """The records that differ from ``with_film_vectors`` in their vectors alone, one per seed: they
    read those that the preset names."""
    film = with_film_vectors(records, system, preset, dataset)
    if not film:
        return []
    wanted = {name: value for name, value in film[0]["spec"]["overrides"].items()
              if name != "text.vectors"}  # fmt: skip
    tested = _tested(records, system, preset, dataset)
    return largest_group([run for run in tested if run["spec"]["overrides"] == wanted])


def holds(claim: bool, words: str) -> None:
    """Raise ``ValueError`` where the records no longer say what a text claims."""
    if not claim:
        raise ValueError(f"the records no longer say that {words}: write that text anew")


def _tested(
    records: list[dict[str, Any]], system: str, preset: str, dataset: str
) -> list[dict[str, Any]]:
    """The records of a preset on all rows at hand of a dataset, with the test half read.

    Freeze controls do not count: no table is about them but their own.
    """
    return [
        record
        for record in records
        for spec in [record["spec"]]
        if (spec["system"], spec["preset"], spec["dataset"]) == (system, preset, dataset)
        and spec["limit"] is None
        and "test" in record
        and attention_weights(record) == "learned"
    ]


def largest_group(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those of equal settings: of the whole dataset rather than of a subset, then the most."""
    groups = defaultdict(list)
    for record in records:
        groups[record["data"]["subset"], same_settings(record)].append(record)
    if not groups:
        return []
    return groups[min(groups, key=lambda key: (key[0], -len(groups[key])))]


def same_settings(record: dict[str, Any]) -> str:
    """A key that is equal for runs that differ only in their seed."""
    return json.dumps(record["settings"], sort_keys=True)


def attention_weights(record: dict[str, Any]) -> str:
    """Which attention weights a run has: ``"learned"``, or those of a freeze control."""
    return setting(record, "control.attention_weights")


def setting(record: dict[str, Any], address: str) -> Any:
    """A setting of a recorded run by its address, such as ``"model.penalty"``."""
    part, _, name = address.partition(".")
    return record["settings"][part][name]


def runs_of(
    records: list[dict[str, Any]], model: tuple[str, ...], dataset: str
) -> list[dict[str, Any]]:
    """``seeds_of`` a model: a system and its presets, of which the first one with a run
    counts."""
    system, *presets = model
    groups = (seeds_of(records, system, preset, dataset) for preset in presets)
    return next(filter(None, groups), [])


def standard_error(records: list[dict[str, Any]], dataset: str) -> float:
    """Standard error of an accuracy on the complete test set, due to the sampling of its texts, for
    the best recorded accuracy. ``ValueError`` if no run has read it."""
    tested = [
        record
        for record in records
        if record["spec"]["dataset"] == dataset
        and "test" in record
        and not record["data"]["subset"]
    ]
    if not tested:
        raise ValueError(f"no recorded run has read the complete test half of {dataset}")
    best = max(tested, key=lambda record: record["test"]["accuracy"])
    return sampling_error(best["test"]["accuracy"], best["sizes"]["test"])


def accuracy_of(record: dict[str, Any]) -> float:
    """The share of test documents that a run gets right."""
    return record["test"]["accuracy"]


def made_from(group: list[dict[str, Any]]) -> str:
    """The number of seeds, whether of a subset, and whether trained in bfloat16, such as
    ``(3 seeds, subset, bfloat16)``."""
    parts = [f"{len(group)} seed{'s' * (len(group) > 1)}"]
    parts += ["subset"] * group[0]["data"]["subset"]
    parts += [in_bfloat16(group)] if in_bfloat16(group) else []
    return f"({', '.join(parts)})"


def in_bfloat16(group: list[dict[str, Any]]) -> str:
    """``"bfloat16"`` if these runs were trained in it, whose numbers have three digits; ``"2 of 3
    in bfloat16"`` if some were; else an empty string."""
    count = sum(record.get("precision") == "bf16" for record in group)
    if count == len(group):
        return "bfloat16" if group else ""
    return f"{count} of {len(group)} in bfloat16" if count else ""


def caveats(group: list[dict[str, Any]]) -> str:
    """What to say below a table of these runs' validation accuracies."""
    trained = in_bfloat16(group)
    where = "in bfloat16" if trained == "bfloat16" else trained
    return f"{KEPT_EPOCH} Trained: {where}." if trained else KEPT_EPOCH


def vector_size(record: dict[str, Any]) -> str:
    """``"50-d vectors"`` for a run with pre-trained vectors, else an empty string.

    Vectors other than GloVe 6B are named: ``"300-d vectors (glove.840B)"``, and a file of one's own
    by its name, ``"300-d vectors (mine.txt)"``; several side by side have a ``+`` between them.
    """
    chosen = setting(record, "text.vectors")
    widths = {part["name"]: part["width"] for part in record.get("vectors", [])}
    return " + ".join(_vectors_of(name, widths) for name in chosen.split("+") if name != "none")


def _vectors_of(name: str, widths: dict[str, int]) -> str:
    family, _, size = name.rpartition(".")
    if WIDTH.fullmatch(size):
        kind = "" if family == "glove.6B" else f" ({family})"
        return f"{size.removesuffix('d')}-d vectors{kind}"
    return f"{widths[name]}-d vectors ({name.partition('@')[0]})"


def results_table(
    head: str,
    datasets: dict[str, str],
    paper: dict[str, dict[str, float | None]],
    ours: dict[str, tuple[str, ...]],
    records: list[dict[str, Any]],
    figure: Callable[[dict[str, Any]], float],
) -> str:
    """Papers' figures in %, then ours as mean ± standard deviation, as a markdown table.

    ``datasets`` gives the columns and their titles, ``paper`` its figures by row and dataset,
    ``ours`` its rows: a system and its presets, of which the first with a run counts; ``figure``
    takes a share in [0, 1] out of a record. Runs with other vectors have rows of their own. "–"
    where a figure or a run is missing.
    """
    rows = [f"| {head} | {' | '.join(datasets.values())} |", "|---" + "|---:" * len(datasets) + "|"]
    for name, figures in paper.items():
        values = [figures.get(dataset) for dataset in datasets]
        cells = ["–" if value is None else f"{value:g}" for value in values]
        rows.append(f"| {name}, paper | {' | '.join(cells)} |")
    for name, (system, *presets) in ours.items():
        usual = {dataset: runs_of(records, (system, *presets), dataset) for dataset in datasets}
        vectors = sorted({vector_size(group[0]) for group in usual.values() if group} - {""})
        found = {", ".join([name, *vectors]): usual}
        for preset, dataset in product(presets, datasets):
            other = with_other_vectors(records, system, preset, dataset)
            for changes, group in other.items():
                found.setdefault(f"{name}, {changes}", {}).setdefault(dataset, group)
        rows += [
            _row(title, [by.get(d, []) for d in datasets], figure) for title, by in found.items()
        ]
    return "\n".join(rows)


def _row(
    title: str, groups: list[list[dict[str, Any]]], figure: Callable[[dict[str, Any]], float]
) -> str:
    cells = [
        f"{spread([figure(record) for record in group], 100)} {made_from(group)}" if group else "–"
        for group in groups
    ]
    return f"| **{title}, ours** | {' | '.join(cells)} |"
