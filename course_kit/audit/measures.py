"""Measure a group of texts for each question of an audit.

``measure`` asks the model; the report makes means, intervals and verdicts of its numbers.
"""

import math
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from course_kit.audit.asking import Asked, guarded, numbers
from course_kit.audit.questions import (
    ATTENTION,
    GRADIENT,
    ITSELF,
    LEFT_OUT,
    RANDOM,
    TOP,
    UNTRAINED,
)
from course_lib.faithfulness.agreement import kendall, total_variation
from course_lib.faithfulness.bounds import limits, normalised_aopc
from course_lib.faithfulness.documents import Document, predicted, words_of
from course_lib.faithfulness.erasure import (
    SHARES,
    aopc,
    comprehensiveness,
    counts,
    orders,
    sufficiency,
)
from course_lib.faithfulness.interventions import (
    adversarial_attention,
    adversarial_attention_together,
    permutation_change,
)
from course_lib.faithfulness.rankers import (
    Importances,
    gradient_times_input,
    leave_one_out,
    magnitude,
    random_importance,
)

Rows = dict[str, dict[str, np.ndarray]]  # by question and name, one number a text, NaN for none

SLOW_TEXTS = 25  # for what asks a text very often, in these stages
SLOW_STAGES = (REPLACED, REWEIGHTED) = ("a replaced word", "other weights")
ON_PAGE = (ATTENTION, GRADIENT, LEFT_OUT)  # side by side
# random rankings, whose losses are averaged, and which the limits know: of the way between them
# IRAM's attention goes 0.568 with 5 of them, 0.566 with 10 and 0.555 with 50
DRAWS = 5
SHUFFLES, EPSILON = 50, 0.01
MOST_ROWS = 64  # of an attention that an adversary moves in turn: more take hours
NOISE = 1e-3  # a loss below it is none
UNKNOWN = "⟨unknown⟩"
TENTH = 0.1  # of the words, rounded up


def measure(
    asked: Asked, given: list[tuple], start: int, twins: dict[str, Asked], seed: int
) -> tuple[Rows, list[dict[str, Any]]]:
    """Measure a group of texts, and describe each text for the page.

    Parameters
    ----------
    given: document, label, whether the most frequent label is right, and marked words of each text
    start: place of the first text; the slow measures read the first ``SLOW_TEXTS`` alone
    twins: the model with another seed and before training, by the question that needs it

    Returns
    -------
    one number a text by question and name; what the page shows of each text
    """
    documents, labels, guesses, marks = map(list, zip(*given))
    asked.stage, asked.known = ATTENTION, {}
    rankings, (classes, sure) = asked.attention(documents), predicted(asked, documents)
    others = {question: twin.attention(documents)[ATTENTION] for question, twin in twins.items()}
    if "training" in others:
        rankings[UNTRAINED] = others["training"]
    if hasattr(asked.model, "gradients"):
        asked.stage = GRADIENT
        found = guarded("gradients", gradient_times_input, asked.gradients, asked, documents)
        rankings[GRADIENT] = numbers(GRADIENT, found, documents, least=-math.inf)
        rankings[f"|{GRADIENT}|"] = magnitude(rankings[GRADIENT])
    asked.stage = LEFT_OUT
    attention, left_out = rankings[ATTENTION], leave_one_out(asked, documents)
    size = magnitude(left_out)
    rankings |= {LEFT_OUT: left_out, f"|{LEFT_OUT}|": size}
    random = [random_importance(documents, seed + draw) for draw in range(DRAWS)]
    ranked = {name: [each] for name, each in rankings.items()} | {RANDOM: random}
    compared = [*chain.from_iterable(ranked.values())]
    ends = np.cumsum([len(each) for each in ranked.values()])[:-1]

    def lost(
        losses_of: Callable[..., np.ndarray], shares: Sequence[float]
    ) -> dict[str, np.ndarray]:
        """Return the losses of each ranking; one call asks for all, since many remove the same
        words."""
        asks = documents * len(compared), [*chain.from_iterable(compared)], shares
        losses = losses_of(asked, *asks, seed=seed)
        losses = losses.reshape(len(compared), len(documents), -1)
        return dict(zip(ranked, (each.mean(0) for each in np.split(losses, ends))))

    asked.stage = "removal"
    losses = lost(comprehensiveness, SHARES)
    cost = {name: each[:, SHARES.index(TENTH)] for name, each in losses.items()}
    asked.stage = "alone"
    alone = {name: each[:, 0] for name, each in lost(sufficiency, (TENTH,)).items()}
    asked.stage = "limits"
    room = limits(asked, documents, rankings=compared, beam_up_to=0, samples=0, seed=seed)
    slow = documents[: max(0, SLOW_TEXTS - start)]
    itself, *changes = np.full((4, len(documents)), math.nan)
    if slow:
        asked.stage = REPLACED
        unknown = getattr(asked.model, "unknown", UNKNOWN)
        replaced = magnitude(leave_one_out(asked, slow, filler=unknown))
        itself[: len(slow)] = _tau(size[: len(slow)], replaced)
    asked.stage = REWEIGHTED
    for n, document in enumerate(slow if asked.takes_weights else ()):
        for change, value in zip(changes, _reweighted(asked, document, attention[n], seed)):
            change[n] = value
    shown = {n: orders(documents, rankings[n], seed) for n in ON_PAGE if n in rankings}
    against = [loss < -NOISE for loss in left_out]
    order = _tau(attention, size)
    rows = {
        "removal": cost,
        "limits": {name: normalised_aopc(aopc(each), room) for name, each in losses.items()},
        "alone": alone,
        "order": {
            ATTENTION: order,
            RANDOM: np.mean([_tau(one, size) for one in random], axis=0),
            ITSELF: itself,
            "attention with the gradient": _tau(attention, rankings.get(f"|{GRADIENT}|")),
        },
        "signs": {
            TOP: np.array([each[top[0]] for each, top in zip(against, shown[ATTENTION])], float),
            RANDOM: np.array([each.mean() for each in against]),
        },
        "weights": {"shuffled": changes[0], "uniform": changes[1]},
        "adversary": {"the furthest weights": changes[2]},
        "seed": {"another seed": _tau(others.get("seed"), attention)},
        "training": {name: cost.get(name, itself + math.nan) for name in (ATTENTION, UNTRAINED)},
        "people": {"marked": np.array([_area(*both) for both in zip(attention, marks)])},
        "labels": {
            "network": np.where(np.isnan(labels), math.nan, classes == labels),
            "most frequent label": np.array(guesses, float),
        },
    }
    pages = [
        {
            "words": words_of(document),
            "label": str(asked.classes[classes[n]] if asked.classes else classes[n]),
            "agreement": float(np.nan_to_num(order[n])),
            "counts": [0, *counts(len(words_of(document)), SHARES).tolist()],
            "views": [
                _view(name, rankings[name][n], places[n], [sure[n], *(sure[n] - losses[name][n])])
                for name, places in shown.items()
            ],
        }
        for n, document in enumerate(documents)
    ]
    return rows, pages


def _view(name: str, values: np.ndarray, order: np.ndarray, steps: list[float]) -> dict[str, Any]:
    """Describe one ranking of a text for the page: each word's share of the largest importance, the
    words in order, and the probability at each step of erasing them."""
    shares = values / (np.abs(values).max() or 1)
    rounded = {"shares": np.round(shares, 2).tolist(), "steps": np.round(steps, 3).tolist()}
    return {"name": name, "first": order.tolist()} | rounded


def _reweighted(
    asked: Asked, document: Document, attention: np.ndarray, seed: int
) -> tuple[float, float, float]:
    """Return how far shuffled and even weights change the output, and how far weights can change
    while the output stays within ``EPSILON``."""
    given, real, answer = asked.attended(document, attention)
    options = {"attention": given, "real": real, "seed": seed}
    shuffled = permutation_change(answer, shuffles=SHUFFLES, **options)
    even = real / np.maximum(real.sum(-1, keepdims=True), 1)
    (uniform,) = total_variation(answer(even[None]), answer(given[None]))
    many = math.prod(given.shape[:-1]) > MOST_ROWS
    search = adversarial_attention_together if many else adversarial_attention
    found = search(answer, epsilon=EPSILON, **options)
    return shuffled, uniform, found.divergence


def _tau(first: Importances | None, second: Importances | None) -> np.ndarray:
    """Return Kendall's τ of each text: 0 for constant attention, which is in no order, and NaN
    without a second ranking."""
    if first is None or second is None:
        return np.full(len(first or second), math.nan)
    constant = np.array([np.ptp(one) == 0 and np.ptp(two) > 0 for one, two in zip(first, second)])
    return np.where(constant, 0.0, kendall(first, second))


def _area(weights: np.ndarray, marks: np.ndarray) -> float:
    """Return how often a marked word has more weight than another, ties as half; NaN without a
    pair."""
    gaps = weights[marks][:, None] - weights[~marks]
    return float(((gaps > 0) + 0.5 * (gaps == 0)).mean()) if gaps.size else math.nan
