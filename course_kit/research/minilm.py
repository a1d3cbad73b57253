"""Tables of the pre-trained Transformer's records."""

import numpy as np

from course_kit.research import report
from course_lib import metrics, runs
from course_lib.metrics import Estimate
from course_lib.runs.records import RESULTS

TITLES = {  # what learns, by dataset and preset
    ("sst2_sentences", "frozen"): "the classifier alone",
    ("sst2_sentences", "adapters"): "classifier and adapters",
    ("sst2_sentences", "whole"): "all but the vectors of pieces and positions",
    ("sst2", "whole"): "the same, on phrases and sentences",
}
NETWORKS = {"MiniLM": "minilm-", "IRAM": "iram-sst2-compact-", "BiLSTM": "bilstm-sst2-sst2-"}
RANKINGS = (
    "attention",
    "attention, rollout",
    "|gradient × input|",
    "gradient × input",
    "integrated gradients",
    "α · ∇α",
    "leave-one-out",
    "random",
)


def accuracies() -> dict[str, tuple[int, list[float]]]:
    """Of each of ``TITLES`` that has records, the number of training texts and the test accuracy of
    each seed."""
    found: dict[str, tuple[int, list[float]]] = {}
    for record in runs.load_records():
        spec = record["spec"]
        learned = record["settings"]["control"]["attention_weights"] == "learned"
        title = TITLES.get((spec["dataset"], spec["preset"]))
        if spec["system"] == "minilm" and title and learned:
            _, seeds = found.setdefault(title, (record["sizes"]["train"], []))
            seeds.append(record["test"]["accuracy"])
    return {title: found[title] for title in TITLES.values() if title in found}


def fine_tuning() -> str:
    """``accuracies`` as a markdown table."""
    rows = [
        [title, f"{texts:,}", ", ".join(f"{each:.1%}" for each in seeds)]
        for title, (texts, seeds) in accuracies().items()
    ]
    return report.to_markdown(
        ["what learns", "training texts", "test accuracy, each seed"], rows, "lr"
    )


def areas(network: str, ranking: str) -> list[dict[str, float]]:
    """Comprehensiveness (AOPC by deletion) of a ranking in one of ``NETWORKS``, one mean with its
    interval a seed."""
    tested = report.study_records("faithfulness")
    rankings = [
        record["removals"]["deletion"]["comprehensiveness"]["rankings"]
        for stem, record in sorted(tested.items())
        if stem.startswith(NETWORKS[network]) and "removals" in record
    ]
    return [found[ranking]["aopc"] for found in rankings if ranking in found]


def battery() -> str:
    """``areas`` of all rankings and networks as a markdown table."""
    rows = [
        [
            ranking,
            *(", ".join(f"{area['mean']:.2f}" for area in areas(n, ranking)) for n in NETWORKS),
        ]
        for ranking in RANKINGS
    ]
    return report.to_markdown(["ranking", *NETWORKS], rows, "lr")


def paired(first: str, second: str) -> Estimate:
    """The difference of two rankings' comprehensiveness in MiniLM over the same texts."""
    name, study = "minilm-sst2_sentences-adapters-s0", RESULTS / "faithfulness"
    record = report.study_records("faithfulness")[name]
    order = list(record["removals"]["deletion"]["comprehensiveness"]["rankings"])
    with np.load(study / f"{name}.npz") as file:
        values = file["comprehensiveness"].astype(float)
    of_texts = (values[[order.index(ranking)]] for ranking in (first, second))
    return metrics.crossed(*of_texts)
