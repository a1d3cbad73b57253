"""A recorded network whose texts stay as they are while its attention changes: what a shuffle
changes, how far an adversary gets, and how far another seed's attention is."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from tqdm.auto import tqdm

from course_kit.research.faithfulness.trial import (
    ATTENTION,
    Trial,
    about,
    begin,
    deviation_of,
    mean_of,
)
from course_lib import faithfulness
from course_lib.faithfulness.document_model import DocumentModel
from course_lib.faithfulness.documents import Document, predicted
from course_lib.faithfulness.interventions import EPSILON, SHUFFLES
from course_lib.runs.run import Run
from course_lib.runs.settings import SpecError
from course_lib.runs.weights import any_run


def record_interventions(
    trial: Trial, say: Callable[[str], None] = lambda _: None, beside: Sequence[str] = ()
) -> dict[str, Any]:
    """Shuffled and adversarial attention (Jain and Wallace 2019) text by text, the conicity of the
    states, and how far the attention and the output of networks ``beside`` it are: those of other
    seeds, by their ids or the folders of their runs.

    Shuffles and adversaries stand apart, too, for the half of the texts of whose class the network
    is more certain and for the other half. ``SpecError`` for a network without attention, and for
    one beside it that differs in more than its seed.
    """
    begun, model, documents = begin(), trial.model, trial.documents
    if ATTENTION not in model.attention(documents[:1]):
        raise SpecError(f"{trial.run.record['id']} has no attention to test; take another network")
    others = [_other_seed(trial, name) for name in beside]
    say("shuffles and adversaries")
    shuffled, divergence, change = (np.zeros(len(documents)) for _ in range(3))
    for place, document in enumerate(tqdm(documents, desc="texts", leave=False)):
        attention, real, answer = model.attended(document)
        options = {"attention": attention, "real": real, "seed": trial.seed}
        shuffled[place] = faithfulness.permutation_change(answer, **options)
        found = faithfulness.adversarial_attention(answer, **options)
        divergence[place], change[place] = found.divergence, found.change
    say("states")
    states = [torch.from_numpy(one)[None] for one in model.states(documents)]
    conicity = [
        float(faithfulness.conicity(one, torch.ones(one.shape[:2], dtype=torch.bool)))
        for one in states
    ]
    say("other seeds")
    seeds = {run.record["id"]: _beside(trial, run.system) for run in others}
    _, certainty = predicted(model, documents)
    return about(trial, begun) | {
        "certainty": mean_of(certainty, trial.seed) | {"median": float(np.median(certainty))},
        "permutation": {"shuffles": SHUFFLES, "change": _halves(shuffled, certainty, trial.seed)},
        "adversary": {
            "epsilon": EPSILON,
            "divergence": _halves(divergence, certainty, trial.seed),
            "change": mean_of(change, trial.seed),
        },
        "conicity": mean_of(np.array(conicity), trial.seed),
        "other_seeds": seeds,
    }


def _other_seed(trial: Trial, name: str) -> Run:
    """A network that differs from the trial's in its seed alone."""
    run, own = any_run(name), trial.run.record
    alike = [record["spec"] | {"seed": None, "threads": None} for record in (run.record, own)]
    if alike[0] != alike[1] or run.record["id"] == own["id"]:
        raise SpecError(f"{name} differs from {own['id']} in more than its seed, so take another")
    return run


def _halves(values: np.ndarray, certainty: np.ndarray, seed: int) -> dict[str, Any]:
    """The mean over all texts, over the more certain half of them and over the other half."""
    certain = certainty > np.median(certainty)
    parts = {"all": values, "certain": values[certain], "hesitant": values[~certain]}
    return {name: mean_of(part, seed) for name, part in parts.items()}


def _beside(trial: Trial, system: Any) -> dict[str, Any]:
    """How far another network's attention and output are from a trial's, on the same texts: the
    Jensen-Shannon divergence (mean over the rows), Kendall's τ over words, and total variation."""
    mine, theirs, documents = trial.model, DocumentModel(system), trial.documents
    outputs, words = zip(*(model.answers(documents) for model in (mine, theirs)), strict=True)
    tau = faithfulness.kendall(*(weights[ATTENTION] for weights in words))
    rows = np.array([_row_divergence(mine, theirs, document) for document in documents])
    return {
        "kendall": mean_of(tau, trial.seed) | {"deviation": deviation_of(tau)},
        "divergence": mean_of(rows, trial.seed),
        "change": mean_of(faithfulness.total_variation(*outputs), trial.seed),
    }


def _row_divergence(mine: DocumentModel, theirs: DocumentModel, document: Document) -> float:
    """The mean divergence of two networks' attention over the rows that have a word."""
    attention, real, _ = mine.attended(document)
    rows = faithfulness.jensen_shannon(attention, theirs.attended(document).attention)
    return float(rows[real.any(-1)].mean())
