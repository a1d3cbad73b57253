"""Records as one data frame, the runs that belong together, and their figures in words.

A group is a list of records that differ only in their seed. Example:
``mean_std([run["test"]["accuracy"] for run in seeds_of(None, "han", "long", "imdb")], 100)``.
"""

import json
import re
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from course_lib.data.catalog import CARDS
from course_lib.metrics.statistics import holm
from course_lib.runs import folders
from course_lib.runs.records import KEPT_EPOCH, kept_accuracy, load_records
from course_lib.runs.settings import flat_settings, in_words
from course_lib.runs.spec import Plan, identity_of
from course_lib.views import plots

Record = dict[str, Any]
Group = list[Record]
Records = list[Record] | pd.DataFrame | None  # None: all that are committed
ByName = dict[str, Record]  # the records of a study
Mean = dict[str, Any]  # "mean", and the ends of its 95 % interval, "low" and "high"

# Overrides with which a run still counts as its preset: the cut and the length of training.
HOW_LONG = frozenset(
    {"text.max_tokens", "training.epochs", "training.patience", "training.embedding_rate"}
)
# Overrides that say how vectors are read, which the name of the vectors stands for in a table.
HOW_READ = {"text.vectors", "text.vocabulary_from", "text.without_vector"}
WEIGHTS = "control.attention_weights"  # "learned", or those of an attention ablation
COLUMNS = (
    "record",
    "system",
    "preset",
    "dataset",
    "limit",
    "seed",
    "changes",
    "subset",
    "group",
    "accuracy",
    "validation",
    WEIGHTS,
)
FILM = "imdb-cbow"  # the beginning of the names of film vectors
WIDTH = re.compile(r"\d+d")  # at the end of a catalog's name

PAPERS, COMPARISONS = (
    yaml.safe_load(Path(__file__).with_name(f"{name}.yaml").read_text(encoding="utf-8"))
    for name in ("papers", "comparisons")
)
MODELS: dict[str, Sequence[str]] = {
    name: model for models in COMPARISONS["models"].values() for name, model in models.items()
}  # a system and its presets, by the name of a row
SIMPLE = COMPARISONS["models"]["simple"]
SYSTEM_NAMES = {n.lower(): n for n in ("HAN", "SANet", "IRAM", "AGT", "BiLSTM", "MiniLM")}
PAIRS = "TF-IDF of words and word pairs"
ZHANG = PAPERS["sanet_errors"]["datasets"]
TREEBANK = {"sst2": "SST-2", "sst5": "SST-5", "imdb": "IMDb"}
NAMES = ZHANG | TREEBANK | {f"sst{n}_sentences": f"SST-{n}'s sentences" for n in (2, 5)}


def tidy(records: Records = None) -> pd.DataFrame:
    """One row a record: its spec, ``accuracy`` on the test texts and ``validation`` accuracy of the
    kept epoch in [0, 1] (NaN where there is none), every setting under its address, every
    number of its attention as ``"trained gini"``, and ``group``, a digest of all but the seed that
    a result depends on. A frame is returned as it is."""
    if isinstance(records, pd.DataFrame):
        return records
    rows = [_row(record) for record in (load_records() if records is None else records)]
    frame = pd.DataFrame(rows, dtype=object)  # so that whole numbers stay whole
    frame = frame.reindex(columns=[*COLUMNS, *frame.columns.difference(COLUMNS, sort=False)])
    return frame.astype({"accuracy": float, "validation": float})


def _row(record: Record) -> dict[str, Any]:
    spec = record["spec"]
    attention = record.get("attention", {})
    return {
        "record": record,
        **{name: spec[name] for name in ("system", "preset", "dataset", "limit", "seed")},
        "changes": spec["overrides"],
        "subset": record["data"]["subset"],
        "group": _group(spec, record["settings"]),
        "accuracy": record["test"]["accuracy"] if "test" in record else np.nan,
        "validation": kept_accuracy(record) if "epochs" in record else np.nan,
        **flat_settings(record["settings"]),
        **{
            f"{state} {name}": value
            for state in ("trained", "untrained")
            for name, value in (attention.get(state) or {}).items()
        },
    }


def _group(spec: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    return identity_of({**spec, "seed": 0, "test": True}, settings)


def planned(frame: pd.DataFrame, plans: Iterable[Plan]) -> list[Record | None]:
    """The record of each planned run, found by its id; None where there is none."""
    found = {record["id"]: record for record in frame.record}
    return [found.get(plan.id) for plan in plans]


def by_name(frame: pd.DataFrame, name: str) -> dict[int, Record]:
    """By seed, the records whose id is this name with their seed: ``"han-imdb-report"`` finds
    ``han-imdb-report-s0``. It finds those of finished studies, too."""
    rows = frame[[record["id"].rpartition("-s")[0] == name for record in frame.record]]
    return dict(zip(rows.seed, rows.record, strict=True))


def group_of(plan: Plan) -> str:
    """The ``group`` of the records of a planned run and of its other seeds."""
    return _group(asdict(plan.spec), asdict(plan.settings))


def by_seed(frame: pd.DataFrame, plan: Plan) -> dict[int, Record]:
    """The records of a planned run and of its other seeds."""
    rows = frame[frame.group == group_of(plan)]
    return dict(zip(rows.seed, rows.record, strict=True))


def seeds_of(records: Records, system: str, preset: str, dataset: str) -> Group:
    """The records of a preset on a dataset, one per seed; empty if none has been run.

    Runs on a part of the rows at hand, without the test half, or with overrides beyond the cut, the
    length of training and the rate of the vectors do not count. The whole dataset is preferred to a
    subset, then the settings with the most seeds.
    """
    return largest_group(_tested(records, system, preset, dataset, HOW_LONG.issuperset))


def with_other_vectors(
    records: Records, system: str, preset: str, dataset: str
) -> dict[str, Group]:
    """The records of a preset with vectors of another name, one per seed, by what they changed.

    Whatever else was changed is named too, ``"300-d vectors (mine.txt), hidden500"``, but for how
    the vectors are read (``HOW_READ``): of runs that differ in that alone, those with the most
    seeds count.
    """
    tested = _tested(records, system, preset, dataset, lambda changes: "text.vectors" in changes)
    groups = tested.groupby(tested.record.map(_changed), sort=False)
    return {changes: largest_group(group) for changes, group in groups}


def _changed(record: Record) -> str:
    changes = record["spec"]["overrides"].items()
    others = [in_words(*it) for it in changes if it[0] not in HOW_LONG | HOW_READ]
    return ", ".join([vector_size(record) or "no vectors", *others])


def with_film_vectors(records: Records, system: str, preset: str, dataset: str) -> Group:
    """The records of a preset with vectors of our own trained on film reviews, one per seed."""
    groups = with_other_vectors(records, system, preset, dataset).items()
    return max((group for changes, group in groups if FILM in changes), key=len, default=[])


def without_film_vectors(records: Records, system: str, preset: str, dataset: str) -> Group:
    """The records that differ from ``with_film_vectors`` in their vectors alone, one per seed: they
    read those that the preset names."""
    film = with_film_vectors(records, system, preset, dataset)
    wanted = {k: v for run in film[:1] for k, v in run["spec"]["overrides"].items()}
    if not wanted.pop("text.vectors", None):
        return []
    return largest_group(_tested(records, system, preset, dataset, wanted.__eq__))


def runs_of(records: Records, model: str, dataset: str, film: str | None = None) -> Group:
    """``seeds_of`` one of ``MODELS``: the first of its presets that has a run; or its runs with
    film vectors of the preset ``film``, of which ``compact`` reads them by itself."""
    system, *presets = MODELS[model]
    find = seeds_of if film in (None, "compact") else with_film_vectors
    groups = (find(records, system, each, dataset) for each in ([film] if film else presets))
    return next(filter(None, groups), [])


def _tested(
    records: Records, system: str, preset: str, dataset: str, holds: Callable[[dict], bool]
) -> pd.DataFrame:
    """The rows of a preset on all rows at hand of a dataset, with the test half read and learned
    attention, whose changes are such that ``holds`` is true."""
    frame = tidy(records)
    asked = (frame.system == system) & (frame.preset == preset) & (frame.dataset == dataset)
    whole = frame.limit.isna() & frame.accuracy.notna() & (frame[WEIGHTS] == "learned")
    return frame[asked & whole & frame.changes.map(holds).astype(bool)]


def largest_group(frame: pd.DataFrame) -> Group:
    """Those of equal settings: of the whole dataset rather than of a subset, then the most."""
    groups = [group for _, group in frame.groupby(["subset", "group"], sort=False)]
    best = min(groups, key=lambda group: (group.subset.iloc[0], -len(group)), default=frame)
    return list(best.record)


def accuracy_of(record: Record) -> float:
    """The share of test documents that a run gets right."""
    return record["test"]["accuracy"]


def holm_within(p: Mapping[Any, float], families: Iterable[str]) -> dict[Any, float]:
    """The p-values of tests, each corrected by Holm's method for the number in its family."""
    frame = pd.DataFrame({"p": [*p.values()], "family": [*families]})
    corrected = frame.groupby("family").p.transform(lambda of: holm(of.to_numpy()))
    return dict(zip(p, corrected, strict=True))


def study_records(study: str) -> ByName:
    """The committed records of a study by name, from its folder in ``results/``: ``"faithfulness"``
    and ``"interventions"`` by network, ``"faithfulness/trained"``, ``"sanity_checks"``,
    ``"extensions"``, ``"vectors"``; empty if there are none."""
    paths = sorted((folders.RESULTS / study).glob("*.json"))
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in paths}


def areas(records: ByName, measure: str, study: str = "faithfulness") -> dict[str, np.ndarray]:
    """The AOPC by deletion, ``(trainings, texts)``, by ranking, of a network's trainings on the
    texts that all were tested on: a smaller sample is the beginning of a larger one."""
    texts, trainings = min(record["texts"] for record in records.values()), []
    for name, record in records.items():
        rankings = record["removals"]["deletion"][measure]["rankings"]
        with np.load((folders.RESULTS / study / name).with_suffix(".npz")) as stored:
            trainings.append(dict(zip(rankings, stored[measure][:, :texts], strict=True)))
    return {name: np.stack([one[name] for one in trainings]) for name in trainings[0]}


# In words


def mean_std(values: Sequence[float], scale: float = 1.0, digits: int = 1) -> str | None:
    """Mean ± standard deviation over seeds; the mean alone for one seed, None for none."""
    if not values:
        return None
    mean = f"{scale * statistics.mean(values):.{digits}f}"
    if len(values) < 2:
        return mean
    return f"{mean} ± {scale * statistics.stdev(values):.{digits}f}"


def bounds(mean: Mean) -> tuple[float, float, float]:
    """A recorded mean and the ends of its interval."""
    return mean["mean"], mean["low"], mean["high"]


def interval(mean: Mean | None, digits: int = 2) -> str | None:
    """A recorded mean with its 95 % interval; None where there is none."""
    if mean is None or mean["mean"] is None:
        return None
    return "{:.{d}f} [{:.{d}f}, {:.{d}f}]".format(*bounds(mean), d=digits)


def percent(group: Group, figure: Callable[[Record], float] = accuracy_of) -> str | None:
    """A share of each run in %, such as ``"90.7 ± 0.1"``; None without runs."""
    return mean_std(list(map(figure, group)), 100)


def shown(group: Group, figure: Callable[[Record], float] = accuracy_of) -> str | None:
    """``percent`` and what it is made from: ``"90.7 ± 0.1 (3 seeds)"``."""
    return f"{percent(group, figure)} {made_from(group)}" if group else None


def made_from(group: Group) -> str:
    """The number of seeds, whether of a subset, and whether trained in bfloat16, such as
    ``(3 seeds, subset, bfloat16)``."""
    parts = [f"{len(group)} seed{'s' * (len(group) > 1)}"]
    parts += ["subset"] * group[0]["data"]["subset"]
    parts += [trained] if (trained := in_bfloat16(group)) else []
    return f"({', '.join(parts)})"


def in_bfloat16(group: Group) -> str:
    """``"bfloat16"`` if these runs were trained in it, whose numbers have three digits; ``"2 of 3
    in bfloat16"`` if some were; else an empty string."""
    count = sum(record.get("precision") == "bf16" for record in group)
    if count == len(group):
        return "bfloat16" if group else ""
    return f"{count} of {len(group)} in bfloat16" if count else ""


def caveats(group: Group) -> str:
    """What to say below a table of these runs' validation accuracies."""
    trained = in_bfloat16(group)
    where = "in bfloat16" if trained == "bfloat16" else trained
    return f"{KEPT_EPOCH} Trained: {where}." if trained else KEPT_EPOCH


def title_of(dataset: str) -> str:
    """The name of a dataset in a table."""
    return NAMES.get(dataset) or CARDS[dataset].title


def network_title(name: str) -> str:
    """A network for people, of the name of one of its runs: ``"HAN on IMDb"``."""
    system, dataset, *_ = name.split("-")
    return f"{SYSTEM_NAMES[system]} on {title_of(dataset)}"


def texts_title(on: str) -> str:
    """What a trained test is on, for people: ``"SST-2's sentences"``, or a run's network."""
    known = NAMES | {"planted": "texts with a planted word"}
    return known.get(on) or network_title(on)


def vector_size(record: Record) -> str:
    """``"50-d vectors"`` for a run with pre-trained vectors, else an empty string.

    Vectors other than GloVe 6B are named: ``"300-d vectors (glove.840B)"``, and a file of one's own
    by its name, ``"300-d vectors (mine.txt)"``; several side by side have a ``+`` between them.
    """
    chosen = record["settings"]["text"]["vectors"]
    widths = {part["name"]: part["width"] for part in record.get("vectors", [])}
    return " + ".join(_vectors_of(name, widths) for name in chosen.split("+") if name != "none")


def _vectors_of(name: str, widths: dict[str, int]) -> str:
    family, _, size = name.rpartition(".")
    if WIDTH.fullmatch(size):
        kind = "" if family == "glove.6B" else f" ({family})"
        return f"{size.removesuffix('d')}-d vectors{kind}"
    return f"{widths[name]}-d vectors ({name.partition('@')[0]})"


def to_markdown(heads: Sequence[str], rows: Iterable[Sequence[Any]], align: str) -> str:
    """A markdown table; "–" for None. ``align`` has l or r for each column, the last of which
    holds for all further ones. Cells are not padded, so a changed one changes its own line alone.
    A ``|`` in a cell is escaped."""
    rules = [{"l": "---", "r": "---:"}[side] for side in align.ljust(len(heads), align[-1])]
    lines = [
        ["–" if cell is None else str(cell).replace("|", r"\|") for cell in row]
        for row in (heads, *rows)
    ]
    head, *body = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([head, f"|{'|'.join(rules[: len(heads)])}|", *body])


def show_table(text: str, most: int = 12, fold: str = "") -> None:
    """Display markdown in a notebook; of a table with more than ``most`` rows the rest is folded,
    under the same head, or all of it with what stands around it, under the title ``fold``."""
    lines = text.splitlines()
    table = [line for line in lines if line.startswith("|")]
    head, rows = table[:2], table[2:]
    if fold:
        text = f"<details><summary>{fold} ({len(rows)} rows)</summary>\n\n{text}\n\n</details>"
    elif len(rows) > most:
        start = lines.index(head[0])
        folded = "\n".join([*head, *rows[most:]])
        more = f"<details><summary>{len(rows) - most} more rows</summary>\n\n{folded}\n\n</details>"
        above, below = lines[:start], lines[start + len(table) :]
        text = "\n".join([*above, *head, *rows[:most], "", more, *below])
    plots.show_markdown(text)
