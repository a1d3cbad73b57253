"""A recorded network whose texts stay as they are while its attention changes: what a shuffle
changes, how far an adversary gets, and how far another seed's attention is."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from course_kit.research.rankings_study.ranked_network import (
    ATTENTION,
    FaithfulnessRun,
    only_classes,
    say,
)
from course_kit.research.recording import DIGITS, Stopwatch, mean_of, with_deviation
from course_lib import faithfulness
from course_lib.faithfulness.document_model import DocumentModel
from course_lib.faithfulness.documents import predicted
from course_lib.faithfulness.interventions import EPSILON, SHUFFLES
from course_lib.front_end import progress
from course_lib.runs.run import Run
from course_lib.runs.settings import SpecError
from course_lib.runs.weights import any_run

# Jain and Wallace's search penalises a change of the output above 0.01; their figures then keep
# what changes it by up to 0.05, which is our usual tolerance, too.
TOLERANCES = {"adversary": EPSILON, "strict_adversary": 0.01}
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
SHARPNESS = (0.0, 0.25, 0.5, 0.75)  # of a text's largest weight, the bins of their figures


def record_interventions(tested: FaithfulnessRun, beside: Sequence[str] = ()) -> dict[str, Any]:
    """Shuffled and adversarial attention (Jain and Wallace 2019) text by text, the conicity of the
    states, and how far the attention and the output of networks ``beside`` it are: those of other
    seeds, by their ids or the folders of their runs.

    Shuffles and adversaries are averaged apart, too, for the half of the texts of whose class the
    network is more certain and for the other half; their quantiles over texts say what a mean
    hides, and shuffles have a median for each bin of the largest weight. ``SpecError`` for a
    network without attention, and for one beside it that differs in more than its seed.
    """
    watch, model, documents, seed = Stopwatch(), tested.model, tested.documents, tested.seed
    tested.attention()
    others = [_other_seed(tested, name) for name in beside]
    say("  shuffles and adversaries")
    shuffled, largest = np.zeros(len(documents)), np.zeros(len(documents))
    divergence, change = ({name: np.zeros(len(documents)) for name in TOLERANCES} for _ in range(2))
    for place, document in enumerate(progress(documents, desc="texts", leave=False)):
        attention, real, answer = model.attended(document)
        options = {"attention": attention, "real": real, "seed": seed}
        largest[place] = attention.max()
        shuffled[place] = faithfulness.permutation_change(answer, **options)
        for name, epsilon in TOLERANCES.items():
            found = faithfulness.adversarial_attention(answer, epsilon=epsilon, **options)
            divergence[name][place], change[name][place] = found.divergence, found.change
    states = (torch.from_numpy(one)[None] for one in model.states(documents))
    conicity = [float(faithfulness.conicity(x, torch.ones(x.shape[:2]).bool())) for x in states]
    say("  other seeds")
    _, certainty = predicted(model, documents)
    certain = certainty > np.median(certainty)

    def halves(values: np.ndarray) -> dict[str, Any]:
        parts = {"all": values, "certain": values[certain], "hesitant": values[~certain]}
        return {name: mean_of(part, seed) for name, part in parts.items()}

    return tested.about(watch) | {
        "certainty": mean_of(certainty, seed) | {"median": float(np.median(certainty))},
        "permutation": {
            "shuffles": SHUFFLES,
            "change": halves(shuffled),
            "quantiles": {"change": quantiles(shuffled)},
            "by_largest_weight": by_largest_weight(shuffled, largest),
        },
        **{
            name: {
                "epsilon": epsilon,
                "divergence": halves(divergence[name]),
                "change": mean_of(change[name], seed),
                "quantiles": {
                    "divergence": quantiles(divergence[name]),
                    "change": quantiles(change[name]),
                },
            }
            for name, epsilon in TOLERANCES.items()
        },
        "conicity": mean_of(np.array(conicity), seed),
        "other_seeds": {run.record["id"]: _distance(tested, run) for run in others},
    }


def quantiles(values: np.ndarray) -> dict[str, float]:
    """The ``QUANTILES`` of one number a text, by their levels."""
    levels = map(str, QUANTILES)
    return dict(zip(levels, np.quantile(values, QUANTILES).round(DIGITS).tolist(), strict=True))


def by_largest_weight(values: np.ndarray, largest: np.ndarray) -> dict[str, dict[str, float]]:
    """The median of one number a text, and of how many texts, by the lower end of the bin that the
    text's largest weight is in; a bin without texts is left out."""
    bins = np.digitize(largest, SHARPNESS) - 1
    return {
        str(low): {"median": round(float(np.median(some)), DIGITS), "counted": len(some)}
        for place, low in enumerate(SHARPNESS)
        if len(some := values[bins == place])
    }


def _other_seed(tested: FaithfulnessRun, name: str) -> Run:
    """A network that differs from the tested one in its seed alone."""
    run, own = only_classes(any_run(name), tested.classes), tested.run.record
    alike = [record["spec"] | {"seed": None, "threads": None} for record in (run.record, own)]
    if alike[0] != alike[1] or run.record["id"] == own["id"]:
        raise SpecError(f"{name} differs from {own['id']} in more than its seed, so take another")
    return run


def _distance(tested: FaithfulnessRun, other: Run) -> dict[str, Any]:
    """How far another network's attention and output are from the tested one's, on the same texts:
    the Jensen-Shannon divergence (mean over the rows that have a word), Kendall's τ over words, and
    total variation."""
    mine, theirs, documents = tested.model, DocumentModel(other.system), tested.documents
    outputs, words = zip(*(model.answers(documents) for model in (mine, theirs)), strict=True)
    divergence = []
    for document in documents:
        attention, real, _ = mine.attended(document)
        rows = faithfulness.jensen_shannon(attention, theirs.attended(document).attention)
        divergence.append(float(rows[real.any(-1)].mean()))
    tau = faithfulness.kendall(*(weights[ATTENTION] for weights in words))
    return {
        "kendall": with_deviation(tau, tested.seed),
        "divergence": mean_of(np.array(divergence), tested.seed),
        "change": mean_of(faithfulness.total_variation(*outputs), tested.seed),
    }
