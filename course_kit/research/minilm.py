"""Tables of the pre-trained Transformer's records."""

from typing import Any

import numpy as np

from course_kit.research import report
from course_lib import metrics, runs
from course_lib.metrics import Estimate
from course_lib.runs.records import RESULTS

PHRASES = "all, on phrases and sentences"
TITLES = {  # what learns from whole sentences, by preset and attention
    ("untrained", "learned"): "all, from random weights",
    ("frozen", "learned"): "the classifier alone",
    ("adapters", "learned"): "classifier and adapters",
    ("whole", "uniform"): "all but the pieces' vectors, attention kept uniform",
    ("whole", "learned"): "all but the pieces' vectors",
}
NETWORKS = {"MiniLM": "minilm-", "IRAM": "iram-sst2-compact-", "BiLSTM": "bilstm-sst2-sst2-"}
STUDIES = "faithfulness", "deletion"  # records of all rankings; of those that take little time
RANKINGS = (
    "attention",
    "attention, rollout",
    "|gradient × input|",
    "gradient × input",
    "integrated gradients",
    "α · ∇α",
    "norms",
    "value zeroing",
    "attention flow",
    "(α · ∇α)⁺, rolled out",
    "leave-one-out",
    "random",
)


def accuracies(dataset: str = "sst2") -> dict[str, tuple[int, list[float]]]:
    """Of each of ``TITLES`` and of ``PHRASES``, on one version of the treebank, the number of
    training texts and the test accuracy of each seed."""
    found: dict[str, tuple[int, list[float]]] = {}
    for record in runs.load_records():
        spec, settings = record["spec"], record["settings"]
        if spec["system"] != "minilm":
            continue
        title = TITLES[spec["preset"], settings["control"]["attention_weights"]]
        if spec["dataset"] == dataset and settings["training"]["embedding_rate"]:
            title = PHRASES
        elif spec["dataset"] != f"{dataset}_sentences":
            continue
        _, seeds = found.setdefault(title, (record["sizes"]["train"], []))
        seeds.append(record["test"]["accuracy"])
    return {title: found[title] for title in (*TITLES.values(), PHRASES)}


def fine_tuning() -> str:
    """``accuracies`` on both versions of the treebank as a markdown table."""
    columns = [accuracies(dataset) for dataset in ("sst2", "sst5")]
    rows = [
        [
            title,
            *(
                f"{np.mean(of[title][1]):.1%} ± {np.std(of[title][1], ddof=1):.1%}"
                for of in columns
            ),
        ]
        for title in columns[0]
    ]
    return report.to_markdown(["what learns", "SST-2", "SST-5"], rows, "lrr")


def areas(network: str, ranking: str) -> list[dict[str, float]]:
    """Comprehensiveness (AOPC by deletion) of a ranking in one of ``NETWORKS``, one mean with its
    interval a seed."""
    tested: dict[str, dict[str, Any]] = {}
    for study in reversed(STUDIES):
        for stem, record in sorted(report.study_records(study).items()):
            if stem.startswith(NETWORKS[network]) and "removals" in record:
                rankings = record["removals"]["deletion"]["comprehensiveness"]["rankings"]
                tested[stem] = tested.get(stem, {}) | rankings
    return [found[ranking]["aopc"] for found in tested.values() if ranking in found]


def battery() -> str:
    """``areas`` of all rankings and networks as a markdown table."""
    rows = [
        [
            ranking,
            *(
                ", ".join(f"{area['mean']:.2f}" for area in areas(n, ranking)) or "–"
                for n in NETWORKS
            ),
        ]
        for ranking in RANKINGS
        if areas("MiniLM", ranking)
    ]
    return report.to_markdown(["ranking", *NETWORKS], rows, "lr")


def paired(first: str, second: str) -> Estimate:
    """The difference of two rankings' comprehensiveness in MiniLM over the texts of both studies:
    the smaller sample is the beginning of the larger one."""
    values = _of_texts(first), _of_texts(second)
    texts = min(each.shape[1] for each in values)
    return metrics.crossed(*(each[:, :texts] for each in values))


def _of_texts(ranking: str, name: str = "minilm-sst2_sentences-adapters-s0") -> np.ndarray:
    """The comprehensiveness of each text, ``(1, texts)``."""
    for study in STUDIES:
        record = report.study_records(study)[name]
        order = list(record["removals"]["deletion"]["comprehensiveness"]["rankings"])
        if ranking in order:
            with np.load(RESULTS / study / f"{name}.npz") as file:
                return file["comprehensiveness"][[order.index(ranking)]].astype(float)
    raise ValueError(f"no study of {name} has the ranking {ranking!r}")
