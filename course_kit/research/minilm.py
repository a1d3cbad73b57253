"""What the pre-trained Transformer's records say."""

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
NETWORKS = {
    "MiniLM": "minilm-sst2_sentences-adapters-s0",
    "IRAM": "iram-sst2-compact-",
    "BiLSTM": "bilstm-sst2-sst2-",
}
STUDIES = "faithfulness", "deletion"  # records of all rankings; of those that take little time
RANKINGS = (
    "leave-one-out",
    "α · ∇α",
    "integrated gradients",
    "(α · ∇α)⁺, rolled out",
    "gradient × input, attention detached",
    "attention × sign of the gradient",
    "norms",
    "attention",
    "|α · ∇α|",
    "value zeroing",
    "|gradient × input|",
    "attention, rollout",
    "random",
    "attention flow",
    "gradient × input",
)


def accuracies(dataset: str = "sst2") -> dict[str, tuple[int, list[float]]]:
    """Of each of ``TITLES`` and of ``PHRASES``, on one version of the treebank, the number of
    training texts and the test accuracy of each seed."""
    found: dict[str, tuple[int, list[float]]] = {}
    for record in runs.load_records():
        spec, settings = record["spec"], record["settings"]
        if spec["system"] != "minilm":
            continue
        if spec["dataset"] == f"{dataset}_sentences":
            title = TITLES[spec["preset"], settings["control"]["attention_weights"]]
        elif spec["dataset"] == dataset and settings["training"]["embedding_rate"]:
            title = PHRASES
        else:
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


def battery() -> dict[str, dict[str, tuple[float, float, float]]]:
    """By network and ranking, the mean comprehensiveness and the ends of its 95 % interval over
    trainings and texts."""
    found: dict[str, dict[str, tuple[float, float, float]]] = {}
    for network in NETWORKS:
        tested = {ranking: _of_texts(network, ranking) for ranking in RANKINGS}
        estimates = {
            ranking: metrics.crossed(each) for ranking, each in tested.items() if len(each)
        }
        found[network] = {r: (each.value, *each.interval) for r, each in estimates.items()}
    return found


def paired(first: str, second: str, network: str = "MiniLM") -> Estimate:
    """The difference of two rankings' comprehensiveness in a network over the texts that both were
    measured on: the smaller sample is the beginning of the larger one."""
    values = _of_texts(network, first), _of_texts(network, second)
    texts = min(each.shape[1] for each in values)
    return metrics.crossed(*(each[:, :texts] for each in values))


def _of_texts(network: str, ranking: str) -> np.ndarray:
    """The comprehensiveness (AOPC by deletion) of each text in each training, ``(trainings,
    texts)``, from the first of ``STUDIES`` that has the ranking; without any, ``(0, 0)``."""
    for study in STUDIES:
        trainings = []
        for stem, record in sorted(report.study_records(study).items()):
            if stem.startswith(NETWORKS[network]) and "removals" in record:
                order = list(record["removals"]["deletion"]["comprehensiveness"]["rankings"])
                if ranking in order:
                    with np.load(RESULTS / study / f"{stem}.npz") as file:
                        trainings.append(file["comprehensiveness"][order.index(ranking)])
        if trainings:
            return np.stack(trainings).astype(float)
    return np.zeros((0, 0))
