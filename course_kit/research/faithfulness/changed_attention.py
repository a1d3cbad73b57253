"""A recorded network whose texts stay as they are while its attention changes: what a shuffle
changes, how far an adversary gets, and how far another seed's attention is."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from tqdm.auto import tqdm

from course_kit.research.faithfulness.faithfulness_run import ATTENTION, FaithfulnessRun
from course_kit.research.recording import Stopwatch, mean_of, with_deviation
from course_lib import faithfulness
from course_lib.faithfulness.document_model import DocumentModel
from course_lib.faithfulness.documents import predicted
from course_lib.faithfulness.interventions import EPSILON, SHUFFLES
from course_lib.runs.run import Run
from course_lib.runs.settings import SpecError
from course_lib.runs.weights import any_run


def record_interventions(
    tested: FaithfulnessRun, say: Callable[[str], None] = lambda _: None, beside: Sequence[str] = ()
) -> dict[str, Any]:
    """Shuffled and adversarial attention (Jain and Wallace 2019) text by text, the conicity of the
    states, and how far the attention and the output of networks ``beside`` it are: those of other
    seeds, by their ids or the folders of their runs.

    Shuffles and adversaries are averaged apart, too, for the half of the texts of whose class the
    network is more certain and for the other half. ``SpecError`` for a network without attention,
    and for one beside it that differs in more than its seed.
    """
    watch, model, documents, seed = Stopwatch(), tested.model, tested.documents, tested.seed
    tested.attention()
    others = [_other_seed(tested, name) for name in beside]
    say("shuffles and adversaries")
    shuffled, divergence, change = (np.zeros(len(documents)) for _ in range(3))
    for place, document in enumerate(tqdm(documents, desc="texts", leave=False)):
        attention, real, answer = model.attended(document)
        options = {"attention": attention, "real": real, "seed": seed}
        shuffled[place] = faithfulness.permutation_change(answer, **options)
        found = faithfulness.adversarial_attention(answer, **options)
        divergence[place], change[place] = found.divergence, found.change
    states = [torch.from_numpy(one)[None] for one in model.states(documents)]
    conicity = [
        float(faithfulness.conicity(one, torch.ones(one.shape[:2], dtype=torch.bool)))
        for one in states
    ]
    say("other seeds")
    _, certainty = predicted(model, documents)
    certain = certainty > np.median(certainty)

    def halves(values: np.ndarray) -> dict[str, Any]:
        parts = {"all": values, "certain": values[certain], "hesitant": values[~certain]}
        return {name: mean_of(part, seed) for name, part in parts.items()}

    return tested.about(watch) | {
        "certainty": mean_of(certainty, seed) | {"median": float(np.median(certainty))},
        "permutation": {"shuffles": SHUFFLES, "change": halves(shuffled)},
        "adversary": {
            "epsilon": EPSILON,
            "divergence": halves(divergence),
            "change": mean_of(change, seed),
        },
        "conicity": mean_of(np.array(conicity), seed),
        "other_seeds": {run.record["id"]: _distance(tested, run) for run in others},
    }


def _other_seed(tested: FaithfulnessRun, name: str) -> Run:
    """A network that differs from the tested one in its seed alone."""
    run, own = any_run(name), tested.run.record
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
