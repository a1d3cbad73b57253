"""How much of a signed ranking is the sign that it borrows.

Attention has no sign, so lessons give it that of another ranking. Here it gets the sign of each of
``LENDERS``, and so do random numbers: a ranking that knows nothing but the sign.
"""

from typing import Any

import numpy as np

from course_kit.research.rankings_study.ranked_network import (
    AREAS,
    ATTENTION,
    DETACHED,
    INTEGRATED,
    LEFT_OUT,
    RANDOM,
    TIMES_SLOPE,
    FaithfulnessRun,
    say,
)
from course_kit.research.recording import Stopwatch, mean_of
from course_lib import faithfulness

LENDERS = {"the gradient": DETACHED, INTEGRATED: INTEGRATED, LEFT_OUT: LEFT_OUT}
ALL_FOR = "every word for the decision"  # the sign that knows nothing
SAME_SIGN = "same_sign_as_leave_one_out"
TOP_SLOPE = f"{TIMES_SLOPE}, top layer"


def borrowed(ranking: str, lender: str) -> str:
    """The name of a ranking with the sign of one of ``LENDERS``."""
    return f"{ranking} × sign of {lender}"


def record_signs(tested: FaithfulnessRun) -> dict[str, Any]:
    """The comprehensiveness by deletion of attention and of random numbers with each borrowed sign,
    and in what share of a text's words that sign is leave-one-out's.

    A network of heads has α · ∇α of its top layer alone beside them. ``AREAS`` holds the AOPC of
    every text, ``(rankings, texts)``, as ``record_faithfulness`` does.
    """
    watch, model, documents, seed = Stopwatch(), tested.model, tested.documents, tested.seed
    plain = {
        ATTENTION: tested.attention()[ATTENTION],
        RANDOM: faithfulness.random_importance(documents, seed),
    }
    say("  signs")
    gradients = model.gradients, model, documents
    lent = {
        DETACHED: faithfulness.gradient_times_input(*gradients, detached=True),
        INTEGRATED: faithfulness.integrated_gradients(*gradients),
        LEFT_OUT: faithfulness.leave_one_out(model, documents),
    }
    rankings = {
        borrowed(name, lender): faithfulness.with_sign(scores, lent[source])
        for lender, source in LENDERS.items()
        for name, scores in plain.items()
    }
    if model.attended(documents[0]).attention.ndim == 4:  # layers, heads, rows, columns
        rankings[TOP_SLOPE] = top_layer_slopes(tested)
    say("  comprehensiveness")
    areas = {
        name: faithfulness.aopc(faithfulness.comprehensiveness(model, documents, scores, seed=seed))
        for name, scores in rankings.items()
    }
    signs = lent | {ALL_FOR: [np.ones(len(scores)) for scores in lent[LEFT_OUT]]}
    return tested.about(watch) | {
        "shares": list(faithfulness.SHARES),
        SAME_SIGN: {
            name: mean_of(_same_sign(scores, lent[LEFT_OUT]), seed)
            for name, scores in signs.items()
            if name != LEFT_OUT
        },
        "removals": {
            "deletion": {
                "comprehensiveness": {
                    "rankings": {name: {"aopc": mean_of(of, seed)} for name, of in areas.items()}
                }
            }
        },
        AREAS: {"comprehensiveness": np.array(list(areas.values()))},
    }


def _same_sign(first: list[np.ndarray], second: list[np.ndarray]) -> np.ndarray:
    """In what share of its words both rankings of a text have the same sign, ``(texts,)``."""
    return np.array([(np.sign(a) == np.sign(b)).mean() for a, b in zip(first, second)])


def top_layer_slopes(tested: FaithfulnessRun) -> list[np.ndarray]:
    """α · ∇α, added up over the rows and heads of the top layer alone."""
    model, documents = tested.model, tested.documents
    layers = len(model.attended(documents[0]).attention)
    classes = model(documents).argmax(1)
    return [
        np.split(alpha * slope, layers)[-1].sum(0)
        for alpha, slope in model.attention_gradients(documents, classes)
    ]
