"""The complete IMDb test half: HAN beside the IMDb report and TF-IDF."""

import statistics
from collections import defaultdict
from typing import Any

from course_kit.research.report.records import attention_weights, same_settings, setting, spread
from course_lib.runs.records import load_records

# The IMDb report's own figures (Bredy-Maux and Robach 2022), rounded as it gives them. It names no
# split for its accuracy; its F1 is that of the test half.
REPORTED = {
    "han-imdb": {
        "model": "HAN, as reported (accuracy of a split that it does not name)",
        "accuracy": 0.85,
        "f1": 0.82,
        "cut": "7 × 30",
    }
}


def grouped(records: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """IMDb's records of HAN and TF-IDF, in groups that differ only in their seed; only full runs
    with the test half read, and no freeze controls."""
    groups = defaultdict(list)
    for record in records:
        spec = record["spec"]
        ours = spec["dataset"] == "imdb" and spec["system"] in ("han", "tfidf")
        full = "test" in record and not record["data"]["subset"]
        if ours and full and attention_weights(record) == "learned":
            groups[spec["system"], same_settings(record)].append(record)
    return sorted(groups.values(), key=_row_order)


def _row_order(group: list[dict[str, Any]]) -> tuple:
    settings, system = group[0]["settings"], group[0]["spec"]["system"]
    model = settings["model"]
    size = settings["text"]["max_sentences"] if system == "han" else model["longest"]
    return system, size, model.get("hops", 1), model.get("penalty", 0)


def describe(record: dict[str, Any]) -> str:
    """A row's name, which describes what differs between the rows of the table."""
    system, model = record["spec"]["system"], record["settings"]["model"]
    if system == "tfidf":
        words = "words" if model["longest"] == 1 else "words and word pairs"
        return f"TF-IDF of {words}, logistic regression"
    name = "HAN"
    if model["hops"] > 1:
        name += f", {model['hops']} hops"
        name += f", penalty {model['penalty']}" if model["penalty"] else ""
    if setting(record, "text.vectors").startswith("reviews"):
        name += ", film vectors"
    return name


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
            cut = f"{settings['text']['max_sentences']} × {settings['text']['max_words']}"
            words_read = f"{group[0]['share_of_words_kept']:.0%}"
            per_run = [sum(e["seconds"] for e in record["epochs"]) for record in group]
        else:
            cut, words_read = "none", "100%"
            per_run = [record["fit_seconds"] for record in group]
        rows.append(
            f"| {describe(group[0])} | {cut} | {words_read} | {len(group)} "
            f"| {spread([t['accuracy'] for t in tests], 100)} "
            f"| {spread([t['f1'] for t in tests], digits=3)} "
            f"| {spread([t['auc'] for t in tests], digits=3)} "
            f"| {statistics.mean(per_run):.0f} s |"
        )
    return "\n".join(rows)
