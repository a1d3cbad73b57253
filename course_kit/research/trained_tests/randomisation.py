"""How much of an importance is what a network has learned?

Adebayo et al. (2018): an importance that stays the same when a network's layers are made anew,
from the top, was never about what they have learned.
"""

from copy import copy

import numpy as np

from course_kit.research.faithfulness.faithfulness_record import ATTACHED, LEFT_OUT, TIMES_SLOPE
from course_kit.research.faithfulness.trial import ATTENTION, Trial
from course_kit.research.trained_tests.ground import Lines
from course_lib.faithfulness.agreement import kendall
from course_lib.faithfulness.document_model import DocumentModel
from course_lib.faithfulness.documents import Document
from course_lib.faithfulness.rankers import (
    attention_times_gradient,
    gradient_times_input,
    leave_one_out,
)
from course_lib.faithfulness.retraining import randomised_from_top
from course_lib.runs.systems import Network


def lines(trial: Trial, seed: int) -> Lines:
    """Kendall's τ of each ranking of the trained network with that of the same network whose parts
    were made anew by ``seed`` from the top to the one named; gradients and leave-one-out without
    their sign, since another network may predict another class."""
    system = trial.run.system
    trained = rankings(system, trial.documents)
    # the weights that it began with are related to those it has now, so they come from another seed
    fresh = system.before_training(trial.run.record["spec"]["seed"] + 1 + seed).model
    found: Lines = {}
    for name, model in randomised_from_top(system.model, fresh):
        mixed = copy(system)
        mixed.model = model
        others = rankings(mixed, trial.documents)
        found[f"down to {name}"] = {
            f"τ of {ranker}": kendall(trained[ranker], others[ranker]) for ranker in trained
        }
    return found


def rankings(system: Network, documents: list[Document]) -> dict[str, list[np.ndarray]]:
    """A network's attention, and its gradients, α · ∇α and leave-one-out without their sign."""
    model = DocumentModel(system)
    signed = {
        ATTACHED: gradient_times_input(model.gradients, model, documents),
        TIMES_SLOPE: attention_times_gradient(model.attention_gradients, model, documents),
        LEFT_OUT: leave_one_out(model, documents),
    }
    return {ATTENTION: model.attention(documents)[ATTENTION]} | {
        f"|{name}|": [np.abs(values) for values in found] for name, found in signed.items()
    }
