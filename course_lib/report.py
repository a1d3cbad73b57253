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
TABLE = re.compile(r"(<!-- results:begin -->\n).*?(<!-- results:end -->)", re.DOTALL)


def grouped(records: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Records that differ in their seed alone, together; only full runs that read the test half."""
    groups = defaultdict(list)
    for record in records:
        if "test" in record and not record["data"]["subset"]:
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
