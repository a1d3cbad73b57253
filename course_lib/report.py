"""Tables from committed records, beside the papers' numbers. Nothing here is typed in by hand."""

import argparse
import re
import statistics
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from course_lib import plots
from course_lib.data.sources import atomic_path
from course_lib.experiments import REPOSITORY, load_records, load_run
from course_lib.explore import read_text
from course_lib.metrics.classification import sampling_error

# The seed report's own figures (Bredy-Maux and Robach 2022), rounded as it gives them.
REPORTED = {
    "han-imdb": {"model": "HAN, as reported", "accuracy": 0.85, "f1": 0.82, "cut": "7 × 30"}
}
REVIEW = (
    "I had hoped for more. The first half hour is charming, with a lovely scene at the harbour. "
    "Then the plot falls apart, and nobody seems to notice. The dialogue is awful and the ending "
    "is awful. My neighbour fell asleep. Still, the music is good."
)
ZHANG = {
    "ag_news": "AG", "dbpedia": "DBP", "yahoo_answers": "Yahoo", "yelp_polarity": "Yelp P.",
    "yelp_full": "Yelp F.", "amazon_full": "Amz F.", "amazon_polarity": "Amz P.",
}  # fmt: skip
# Letarte et al. 2018, Table 1: test error in %, in the order of ZHANG; None where they give none.
PAPER_ERRORS: dict[str, tuple[float | None, ...]] = {
    "fastText": (7.5, 1.4, 27.7, 4.3, 36.1, 39.8, 5.4),
    "DPCNN": (6.87, 0.88, 23.90, 2.64, 30.58, 34.81, 3.32),
    "ULMFiT": (5.01, 0.80, None, 2.16, 29.98, None, None),
    "n-grams or CNN (Zhang et al.)": (7.64, 1.31, 28.26, 4.36, 37.95, 40.43, 4.98),
    "word CNN": (6.57, 0.84, 24.85, 2.90, 32.39, 36.24, 3.79),
    "HAN (HN-ATT)": (None, None, 24.2, None, None, 36.4, None),
    "VDCNN": (8.67, 1.29, 26.57, 4.28, 35.28, 37.00, 4.28),
    "SA-Embedding": (8.5, 1.7, None, 5.1, 36.6, 40.2, None),
    "DCCNN-ATT": (6.4, 0.8, None, 3.5, 34.0, 37.0, None),
    "baseline base": (7.34, 1.30, 26.87, 6.39, 39.98, 41.80, 6.38),
    "SANet base": (7.86, 1.27, 26.99, 6.26, 38.16, 40.08, 5.55),
    "baseline big": (7.20, 1.25, 25.90, 6.42, 38.92, 40.58, 5.82),
    "SANet big": (7.42, 1.28, 25.88, 4.77, 36.03, 38.67, 4.52),
}
# Letarte et al. 2018, Table 2, base model, in %: Gini, then diagonality for b = 1 … 5.
PAPER_ATTENTION = {
    "ag_news": (55.31, 7.44, 11.86, 16.21, 20.42, 24.48),
    "dbpedia": (67.94, 8.49, 13.80, 18.88, 23.74, 28.25),
    "yahoo_answers": (67.45, 6.34, 9.83, 13.28, 16.59, 19.65),
    "yelp_polarity": (65.16, 5.02, 7.89, 10.62, 13.19, 15.62),
    "yelp_full": (84.18, 23.54, 36.89, 45.49, 50.90, 54.54),
    "amazon_full": (89.50, 41.77, 62.35, 73.53, 79.49, 83.09),
    "amazon_polarity": (87.76, 40.01, 60.34, 71.43, 77.21, 80.56),
}
OUR_MODELS = {
    ("sanet", "baseline-base"): "baseline base",
    ("sanet", "base"): "SANet base",
    ("sanet", "baseline-big"): "baseline big",
    ("sanet", "big"): "SANet big",
    ("tfidf", "words"): "TF-IDF of words",
    ("tfidf", "default"): "TF-IDF of words and word pairs",
}
HOW_LONG = {"max_tokens", "epochs", "patience"}  # overrides under which a run is still the preset's
TABLE = re.compile(r"(<!-- results:begin -->\n).*?(<!-- results:end -->)", re.DOTALL)


def grouped(records: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """IMDb's records of HAN and TF-IDF that differ in their seed alone, together; only full runs
    that read the test half."""
    groups = defaultdict(list)
    for record in records:
        spec = record["spec"]
        ours = spec["dataset"] == "imdb" and spec["system"] in ("han", "tfidf")
        if ours and "test" in record and not record["data"]["subset"]:
            settings = tuple(sorted(record["settings"].items()))
            groups[record["spec"]["system"], settings].append(record)
    return sorted(groups.values(), key=_row_order)


def _row_order(group: list[dict[str, Any]]) -> tuple:
    settings = group[0]["settings"]
    size = settings.get("max_sentences", settings.get("longest"))
    return group[0]["spec"]["system"], size, settings.get("hops", 1), settings.get("penalty", 0)


def describe(system: str, settings: dict[str, Any]) -> str:
    """A row's name: what differs between the runs of a table, in words."""
    if system == "tfidf":
        words = "words" if settings["longest"] == 1 else "words and word pairs"
        return f"TF-IDF of {words}, logistic regression"
    name = "HAN"
    if settings["hops"] > 1:
        name += f", {settings['hops']} hops"
        name += f", penalty {settings['penalty']}" if settings["penalty"] else ""
    return name


def spread(values: list[float], scale: float = 1.0, digits: int = 1) -> str:
    """Mean ± standard deviation over seeds; the mean alone for one seed."""
    mean = f"{scale * statistics.mean(values):.{digits}f}"
    if len(values) < 2:
        return mean
    return f"{mean} ± {scale * statistics.stdev(values):.{digits}f}"


def imdb_table(records: list[dict[str, Any]] | None = None) -> str:
    """The results on the complete IMDb test half as a markdown table, the report's row first."""
    records = load_records() if records is None else records
    paper = REPORTED["han-imdb"]
    rows = [
        "| model | cut | words read | seeds | accuracy % | F1 | AUC | training |",
        "|---|---|---|---|---|---|---|---|",
        f"| {paper['model']} | {paper['cut']} | – | 1 | ≈ {paper['accuracy']:.0%} "
        f"| ≈ {paper['f1']} | – | – |".replace("%", ""),
    ]
    for group in grouped(records):
        tests = [record["test"] for record in group]
        system, settings = group[0]["spec"]["system"], group[0]["settings"]
        if system == "han":
            cut = f"{settings['max_sentences']} × {settings['max_words']}"
            read = f"{group[0]['share_of_words_kept']:.0%}"
            per_run = [sum(e["seconds"] for e in record["epochs"]) for record in group]
        else:
            cut, read = "none", "100%"
            per_run = [record["fit_seconds"] for record in group]
        rows.append(
            f"| {describe(system, settings)} | {cut} | {read} | {len(group)} "
            f"| {spread([t['accuracy'] for t in tests], 100)} "
            f"| {spread([t['f1'] for t in tests], digits=3)} "
            f"| {spread([t['auc'] for t in tests], digits=3)} "
            f"| {statistics.mean(per_run):.0f} s |"
        )
    return "\n".join(rows)


def imdb_sampling_error(records: list[dict[str, Any]] | None = None) -> float:
    """Standard error of an accuracy on the IMDb test half, at the best recorded accuracy."""
    records = load_records() if records is None else records
    best = max(record["test"]["accuracy"] for record in records if "test" in record)
    return sampling_error(best, 25_000)


def seeds_of(
    records: list[dict[str, Any]], system: str, preset: str, dataset: str
) -> list[dict[str, Any]]:
    """The records of a preset on a dataset, one per seed; empty where none has been run.

    Runs on a part of the rows at hand, without the test half, or with overrides beyond the cut and
    the length of training do not count. The whole dataset goes before a subset of it; of several
    settings, the one with the most seeds.
    """
    groups = defaultdict(list)
    for record in records:
        spec = record["spec"]
        fits = (spec["system"], spec["preset"], spec["dataset"]) == (system, preset, dataset)
        usual = spec["limit"] is None and set(spec["overrides"]) <= HOW_LONG
        if fits and usual and "test" in record:
            settings = tuple(sorted(record["settings"].items()))
            groups[record["data"]["subset"], settings].append(record)
    if not groups:
        return []
    best = min(groups, key=lambda key: (key[0], -len(groups[key])))
    return groups[best]


def sanet_error_table(records: list[dict[str, Any]] | None = None) -> str:
    """Test errors in % as a markdown table: the paper's Table 1, then ours with IMDb beside it.

    Ours are means ± standard deviation over the seeds there are, "–" where a run is missing.
    """
    records = load_records() if records is None else records
    columns = [*ZHANG, "imdb"]
    rows = [
        f"| test error % | {' | '.join(ZHANG.values())} | IMDb |",
        "|---" + "|---:" * len(columns) + "|",
    ]
    for name, errors in PAPER_ERRORS.items():
        shown = ["–" if error is None else f"{error:g}" for error in (*errors, None)]
        rows.append(f"| {name}, paper | {' | '.join(shown)} |")
    for (system, preset), name in OUR_MODELS.items():
        groups = [seeds_of(records, system, preset, dataset) for dataset in columns]
        vectors = sorted({vector_size(group[0]) for group in groups if group} - {""})
        shown = " | ".join(_error_cell(group) for group in groups)
        rows.append(f"| **{', '.join([name, *vectors])}, ours** | {shown} |")
    return "\n".join(rows)


def _error_cell(group: list[dict[str, Any]]) -> str:
    if not group:
        return "–"
    errors = spread([1 - record["test"]["accuracy"] for record in group], 100)
    return f"{errors} {_made_from(group)}"


def _made_from(group: list[dict[str, Any]]) -> str:
    """``(3 seeds, subset)``."""
    seeds = f"{len(group)} seed{'s' * (len(group) > 1)}"
    return f"({seeds}, subset)" if group[0]["data"]["subset"] else f"({seeds})"


def vector_size(record: dict[str, Any]) -> str:
    """``"50-d vectors"`` for a run that had pre-trained ones, else nothing."""
    size = re.search(r"\.(\d+)d$", record["settings"].get("vectors", ""))
    return f"{size[1]}-d vectors" if size else ""


def sanet_attention_table(records: list[dict[str, Any]] | None = None) -> str:
    """Gini and diagonality of the base model in % as a markdown table (the paper's Table 2).

    Below each dataset's row from the paper ours: trained, untrained, and what uniform attention
    would give over the same documents; "–" where no run of ours is recorded.
    """
    records = load_records() if records is None else records
    bands = range(1, 6)
    heads = ["Gini", "Gini × n/(n−1)", *(f"b = {b}" for b in bands)]
    rows = [f"| % | {' | '.join(heads)} |", "|---" + "|---:" * len(heads) + "|"]
    for dataset, name in (ZHANG | {"imdb": "IMDb"}).items():
        if dataset in PAPER_ATTENTION:
            sparse, *near = (f"{value:.2f}" for value in PAPER_ATTENTION[dataset])
            rows.append(f"| {name}, paper | {' | '.join([sparse, '–', *near])} |")
        group = [r for r in seeds_of(records, "sanet", "base", dataset) if "attention" in r]
        if not group:
            rows.append(f"| **{name}, ours** |{' – |' * len(heads)}")
            continue
        lines = {
            f"trained {_made_from(group)}": ("trained", ""),
            "untrained": ("untrained", ""),
            "uniform attention": ("trained", "uniform "),
        }
        for what, (state, prefix) in lines.items():
            figures = [f"{prefix}diagonality {b}" for b in bands]
            sparse = ["0", "0"]
            if not prefix:
                sparse = [_attention_cell(group, state, f) for f in ("gini", "gini normalised")]
            shown = [*sparse, *(_attention_cell(group, state, figure) for figure in figures)]
            rows.append(f"| **{name}, ours**, {what} | {' | '.join(shown)} |")
    return "\n".join(rows)


def _attention_cell(group: list[dict[str, Any]], state: str, figure: str) -> str:
    values = [record["attention"][state][figure] for record in group]
    if figure.startswith("uniform"):
        return f"{100 * values[0]:.1f}"  # the same documents under every seed
    return spread(values, 100)


def write_readme(path: Path = REPOSITORY / "README.md") -> None:
    """Put the current table between the markers of the README."""
    text = path.read_text(encoding="utf-8")
    filled = TABLE.sub(lambda match: f"{match[1]}{imdb_table()}\n{match[2]}", text)
    with atomic_path(path) as temporary:
        temporary.write_text(filled, encoding="utf-8")


def write_picture(folder: Path, path: Path = REPOSITORY / "results" / "reading.png") -> None:
    """Draw a review of ours as the model of a finished run reads it (the README's picture)."""
    plots.use_course_style()
    reading = read_text(load_run(folder), REVIEW)
    figure = plots.attention_text(
        reading.sentences,
        reading.word_attention,
        reading.sentence_attention,
        f"P(positive) = {reading.probability:.2f}",
    )
    with atomic_path(path) as temporary:
        figure.savefig(temporary, format="png", dpi=100)


def main(arguments: list[str] | None = None) -> int:
    """Refresh the README's table and, given a finished HAN run's folder, its picture."""
    parser = argparse.ArgumentParser(prog="python -m course_lib.report", description=main.__doc__)
    parser.add_argument("run", nargs="?", type=Path, help="runs/… to draw the picture from")
    chosen = parser.parse_args(arguments)
    if chosen.run:
        write_picture(chosen.run)
    write_readme()
    print(imdb_table())
    return 0


if __name__ == "__main__":
    sys.exit(main())
