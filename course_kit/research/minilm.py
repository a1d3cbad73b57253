"""What the pre-trained Transformer's records say."""

from collections.abc import Sequence

import numpy as np

from course_kit.research import report
from course_kit.research.report.erasure import ATTENTION, DETACHED, INTEGRATED, LEFT_OUT, RANDOM
from course_kit.research.report.frames import WEIGHTS, Group
from course_lib import metrics, runs
from course_lib.metrics import Estimate

PHRASES = "all, on phrases and sentences"
TITLES = {  # what learns from whole sentences, by preset and attention
    ("untrained", "learned"): "all, from random weights",
    ("frozen", "learned"): "the classifier alone",
    ("adapters", "learned"): "classifier and adapters",
    ("whole", "uniform"): "all but the pieces' vectors, attention kept uniform",
    ("whole", "learned"): "all but the pieces' vectors",
}
NETWORKS = {
    "MiniLM": "minilm-sst2_sentences-adapters-",
    "IRAM": "iram-sst2-compact-",
    "BiLSTM": "bilstm-sst2-sst2-",
}
STUDIES = "faithfulness", "deletion", "signs"  # all rankings; those that take little time; signs
RANKINGS = (
    "leave-one-out",
    "α · ∇α",
    "integrated gradients",
    "(α · ∇α)⁺, rolled out",
    "|leave-one-out|",
    "gradient × input, attention detached",
    "|integrated gradients|",
    "attention",
    "attention × sign of the gradient",
    "norms",
    "|α · ∇α|",
    "|gradient × input|",
    "value zeroing",
    "attention, rollout",
    "attention flow",
    "random",
    "gradient × input",
)
SAME_SIGN = "same_sign_as_leave_one_out"
LENDERS = {"the gradient": DETACHED, INTEGRATED: INTEGRATED, LEFT_OUT: LEFT_OUT}  # of signs
PUZZLE = "leave-one-out", "attention × sign of the gradient", "attention", "random"  # lesson 11


def accuracies(dataset: str = "sst2") -> dict[str, tuple[int, list[float]]]:
    """Of each of ``TITLES`` and of ``PHRASES``, on one version of the treebank, the number of
    training texts and the test accuracy of each seed."""
    frame = report.tidy().query("system == 'minilm'")
    sentences = frame[frame.dataset == f"{dataset}_sentences"].groupby(["preset", WEIGHTS])
    phrases = frame[(frame.dataset == dataset) & (frame["training.embedding_rate"] > 0)]
    groups = {title: sentences.get_group(kind) for kind, title in TITLES.items()}
    return {
        title: (of.record.iloc[0]["sizes"]["train"], of.accuracy.tolist())
        for title, of in (groups | {PHRASES: phrases}).items()
    }


def fine_tuning() -> str:
    """``accuracies`` on both versions of the treebank as a markdown table."""
    columns, rows = [accuracies(dataset) for dataset in ("sst2", "sst5")], []
    for title in columns[0]:
        seeds = (of[title][1] for of in columns)
        rows.append([title, *(f"{np.mean(s):.1%} ± {np.std(s, ddof=1):.1%}" for s in seeds)])
    return report.to_markdown(["what learns", "SST-2", "SST-5"], rows, "lrr")


def seeds_of(name: str) -> Group:
    """The published runs of this name, one per seed."""
    return [record for record in runs.load_records() if record["id"].rpartition("-s")[0] == name]


def battery() -> dict[str, dict[str, tuple[float, float, float]]]:
    """By network and ranking, the mean comprehensiveness and the ends of its 95 % interval over
    trainings and texts."""
    found = {}
    for network in NETWORKS:
        tested = {name: _of_texts(network, name) for name in RANKINGS}
        estimates = {name: metrics.crossed(each) for name, each in tested.items() if len(each)}
        found[network] = {name: (one.value, *one.interval) for name, one in estimates.items()}
    return found


def battery_table(rankings: Sequence[str] = RANKINGS) -> str:
    """``battery`` as a markdown table, a row a ranking."""
    cell, found = "{:.2f} [{:.2f}, {:.2f}]", battery().values()
    rows = [
        [ranking, *(cell.format(*of[ranking]) if ranking in of else None for of in found)]
        for ranking in rankings
    ]
    return report.to_markdown(["ranking", *NETWORKS], rows, "lr")


def paired(first: str, second: str, network: str = "MiniLM") -> Estimate:
    """The difference of two rankings' comprehensiveness in a network, training by training and text
    by text, over those for which both were measured: the smaller sample of texts is the beginning
    of the larger one."""
    sides = [_of_trainings(network, ranking) for ranking in (first, second)]
    common = [training for training in sides[0] if training in sides[1]]
    texts = min(len(of[training]) for of in sides for training in common)
    one, other = (np.stack([of[training][:texts] for training in common]) for of in sides)
    return metrics.crossed(one - other)


def borrowed(ranking: str, lender: str) -> str:
    """The name of a ranking with the sign of one of ``LENDERS``."""
    return f"{ranking} × sign of {lender}"


def signs() -> dict[str, tuple[float, ...]]:
    """By whose sign is borrowed, means over MiniLM's trainings: the share of a text's words in
    which that sign is leave-one-out's; and the comprehensiveness of random numbers and of attention
    with that sign, and of the ranking itself."""
    of = _of_trainings("MiniLM", borrowed(RANDOM, LEFT_OUT))
    records = [report.study_records("signs")[training] for training in of]
    found = {}
    for lender, ranking in LENDERS.items():
        same = [record[SAME_SIGN].get(ranking, {"mean": 1.0})["mean"] for record in records]
        rankings = borrowed(RANDOM, lender), borrowed(ATTENTION, lender), ranking
        means = [np.mean(list(_of_trainings("MiniLM", each).values())) for each in rankings]
        found[ranking] = float(np.mean(same)), *map(float, means)
    return found


def signs_table() -> str:
    """``signs`` as a markdown table, below a row without a sign."""
    plain = [np.mean(list(_of_trainings("MiniLM", each).values())) for each in (RANDOM, ATTENTION)]
    rows = [["none", None, *(f"{mean:.2f}" for mean in plain), None]]
    for ranking, (same, *means) in signs().items():
        rows.append([ranking, f"{same:.0%}", *(f"{mean:.2f}" for mean in means)])
    heads = [
        "whose sign",
        "same sign as leave-one-out",
        "random × sign",
        "attention × sign",
        "on its own",
    ]
    return report.to_markdown(heads, rows, "lrrrr")


def _of_texts(network: str, ranking: str) -> np.ndarray:
    """``_of_trainings`` as ``(trainings, texts)``; ``(0, 0)`` without any."""
    found = list(_of_trainings(network, ranking).values())
    return np.stack(found) if found else np.zeros((0, 0))


def _of_trainings(network: str, ranking: str) -> dict[str, np.ndarray]:
    """By training, the comprehensiveness (AOPC by deletion) of each text, from the first of
    ``STUDIES`` that has the ranking; empty without any."""
    for study in STUDIES:
        some = {
            stem: record
            for stem, record in report.study_records(study).items()
            if stem.startswith(NETWORKS[network])
            and ranking in record["removals"]["deletion"]["comprehensiveness"]["rankings"]
        }
        if some:
            areas = report.areas(some, "comprehensiveness", study)[ranking].astype(float)
            return dict(zip(some, areas, strict=True))
    return {}
