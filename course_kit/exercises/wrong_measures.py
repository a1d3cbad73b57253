"""The second wing of the bug museum: wrong measurements of faithfulness, beside the right ones.

The specimens of ``bugs`` are networks; here the network is healthy and the number about it wrong.
Every wrong function is ours, with one mistake that was found in public code or is easily made. It
runs, and its number looks like any other. A check of ``measure_probes`` tells the two apart.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from course_kit.exercises.bugs import verdict
from course_kit.exercises.measure_probes import (
    SENTENCES,
    WEIGHTS,
    Area,
    Measure,
    Table,
    Zeroing,
    check_columns,
    check_direction,
    check_models,
    check_repeats,
    check_sums,
    check_thresholds,
    check_top_word,
    dropping_network,
    score_at,
    summing,
    true_importances,
)
from course_lib.faithfulness.agreement import kendall, mean_over_documents
from course_lib.faithfulness.bounds import limits, normalised_aopc
from course_lib.faithfulness.documents import Document, Model, Variant, ask, predicted, words_of
from course_lib.faithfulness.erasure import SHARES, aopc, comprehensiveness, counts, orders
from course_lib.faithfulness.interventions import zeroed
from course_lib.faithfulness.rankers import Importances, leave_one_out
from course_lib.metrics.invariants import evaluating


def _asking(network: nn.Module) -> Model:
    """The network in whatever mode it is, as a function of documents."""

    def bag(document: Document) -> list[int]:
        return [words_of(document).count(word) for word in WEIGHTS]

    @torch.no_grad()
    def model(documents: list[Document]) -> np.ndarray:
        bags: Tensor = torch.tensor([bag(document) for document in documents]).float()
        return network(bags).softmax(1).double().numpy()

    return model


def _tau(first: Importances, second: Importances) -> float:
    return mean_over_documents(kendall(first, second)).mean


def tau_table(
    attention: Importances, gradients: Importances, losses: Importances
) -> dict[str, float]:
    """Right: the mean τ of attention with each of two rankings, by the ranking's name."""
    return {"gradients": _tau(attention, gradients), "leave one out": _tau(attention, losses)}


def swapped_columns(
    attention: Importances, gradients: Importances, losses: Importances
) -> dict[str, float]:
    """Wrong: the values are computed in one order and named in another."""
    values = [_tau(attention, losses), _tau(attention, gradients)]
    return dict(zip(("gradients", "leave one out"), values, strict=True))


def without_dropout(network: nn.Module, documents: Sequence[Document]) -> Importances:
    """Right: the network is asked in evaluation mode and gets its own mode back."""
    with evaluating(network):
        return leave_one_out(_asking(network), documents)


def with_dropout(network: nn.Module, documents: Sequence[Document]) -> Importances:
    """Wrong: nobody calls ``eval()``, so each text is read by other units."""
    return leave_one_out(_asking(network), documents)


def area_over_the_curve(
    model: Model,
    documents: Sequence[Document],
    importances: Importances,
    shares: Sequence[float] = SHARES,
) -> np.ndarray:
    """Right: the mean loss over all thresholds, ``(documents,)``."""
    return aopc(comprehensiveness(model, documents, importances, shares))


def never_the_top_word(
    model: Model,
    documents: Sequence[Document],
    importances: Importances,
    shares: Sequence[float] = SHARES,
) -> np.ndarray:
    """Wrong: ranks from 1 to k are taken out of an order that counts from 0."""
    ranked = orders(documents, importances)
    removed = [[order[1 : n + 1] for n in counts(len(order), shares)] for order in ranked]
    return _mean_losses(model, documents, removed)


def distinct_thresholds(
    model: Model,
    documents: Sequence[Document],
    importances: Importances,
    shares: Sequence[float] = SHARES,
) -> np.ndarray:
    """Wrong: thresholds that remove the same words count once."""
    ranked = orders(documents, importances)
    removed = [[order[:n] for n in np.unique(counts(len(order), shares))] for order in ranked]
    return _mean_losses(model, documents, removed)


def area_under_the_curve(
    model: Model,
    documents: Sequence[Document],
    importances: Importances,
    shares: Sequence[float] = SHARES,
) -> np.ndarray:
    """Wrong: the mean of the probability that is left, reported as what was lost."""
    _, full = predicted(model, documents)
    left = full[:, None] - comprehensiveness(model, documents, importances, shares)
    return left.mean(1)


def _mean_losses(
    model: Model, documents: Sequence[Document], removed: Sequence[Sequence[np.ndarray]]
) -> np.ndarray:
    """For each document, the mean over sets of places of what the predicted class loses without the
    words there."""
    answers, losses = zip(*predicted(model, documents)), []
    for document, sets, (j, full) in zip(documents, removed, answers, strict=True):
        kept = [~np.isin(np.arange(len(words_of(document))), places) for places in sets]
        losses.append(np.mean(full - ask(model, [Variant(document, row) for row in kept])[:, j]))
    return np.array(losses)


def within_its_limits(
    model: Model, documents: Sequence[Document], importances: Importances
) -> np.ndarray:
    """Right: where an area lies between the worst and the best that any ranking reaches."""
    areas = area_over_the_curve(model, documents, importances)
    return normalised_aopc(areas, limits(model, documents))


def left_unscaled(attention: np.ndarray, gone: np.ndarray) -> np.ndarray:
    """Wrong: what is left of the attention no longer sums to 1."""
    return np.where(gone, 0.0, attention)


def _tau_of_the_gradients(table: Table) -> float:
    attention = true_importances(SENTENCES)
    backwards = [np.arange(len(text), dtype=float) for text in SENTENCES]
    return table(attention, [a**3 for a in attention], backwards)["gradients"]


def _tau_of_two_measurements(measure: Measure) -> float:
    network = dropping_network()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return _tau(measure(network, SENTENCES), measure(network, SENTENCES))


def _area_of_the_truth(area: Area) -> float:
    return float(area(summing(WEIGHTS), SENTENCES, true_importances(SENTENCES)).mean())


def _probability_of_equals(zeroing: Zeroing) -> float:
    """Of a positive text whose words all have the same state, when the heaviest is zeroed."""
    left = zeroing(np.array([0.6, 0.3, 0.1]), np.array([True, False, False]))
    return float(1 / (1 + np.exp(-3.0 * left.sum())))


@dataclass(frozen=True)
class WrongMeasure:
    """One mistake in measuring: the ``sick`` function and the ``healthy`` one, called alike.

    ``wrong`` says what is wrong, ``symptom`` what one sees of it. ``example`` gives the ``number``
    of either on a made-up example; ``check`` takes any such function and raises
    ``InvariantError`` for the sick one. ``reported`` says where such code was found.
    """

    name: str
    wrong: str
    sick: Callable
    healthy: Callable
    symptom: str
    number: str
    example: Callable[[Callable], float]
    check: Callable[[Callable], None]
    reported: str


class Comparison(NamedTuple):
    """The number of the ``sick`` and of the ``healthy`` function, and the check's ``message``
    about the sick one."""

    sick: float
    healthy: float
    message: str | None


WRONG_MEASURES = (
    WrongMeasure(
        "measure 1",
        "two columns of a table of τ are swapped",
        swapped_columns,
        tau_table,
        "attention seems to agree with the one ranking it does not agree with",
        "τ of attention with gradients",
        _tau_of_the_gradients,
        check_columns,
        "successar/AttentionExplanation, Trainers/PlottingBC.py: the columns ag and al",
    ),
    WrongMeasure(
        "measure 2",
        "importance is measured in training mode, with dropout",
        with_dropout,
        without_dropout,
        "a second measurement of the same network ranks the words otherwise",
        "τ of two measurements of one network",
        _tau_of_two_measurements,
        check_repeats,
        "training mode in successar/AttentionExplanation, model/Binary_Classification.py, whose "
        "networks have no dropout, so it does no harm there",
    ),
    WrongMeasure(
        "measure 3",
        "the word that is ranked first is never removed",
        never_the_top_word,
        area_over_the_curve,
        "a ranking that finds the decisive word seems to have found nothing",
        "area over the curve, true ranking",
        _area_of_the_truth,
        check_top_word,
        "no report found",
    ),
    WrongMeasure(
        "measure 4",
        "thresholds that remove the same words are counted once",
        distinct_thresholds,
        area_over_the_curve,
        "the small thresholds weigh less in a short text than in a long one",
        "area over the curve, true ranking",
        _area_of_the_truth,
        check_thresholds,
        "g8a9/ferret, ferret/evaluators/faithfulness_measures.py, there on purpose",
    ),
    WrongMeasure(
        "measure 5",
        "the area under the curve is called the area over it",
        area_under_the_curve,
        area_over_the_curve,
        "the best ranking comes out last",
        "area over the curve, true ranking",
        _area_of_the_truth,
        check_direction,
        "understandable-machine-intelligence-lab/Quantus issue 113",
    ),
    WrongMeasure(
        "measure 6",
        "attention that was zeroed is not scaled to sum to 1 again",
        left_unscaled,
        zeroed,
        "the output changes although all words say the same, since their mean has shrunk",
        "P(positive) of equal words, 0.95 before one is zeroed",
        _probability_of_equals,
        check_sums,
        "no report found",
    ),
    WrongMeasure(
        "measure 7",
        "areas of different models are compared as they are",
        area_over_the_curve,
        within_its_limits,
        "the attention of a certain model seems more faithful than that of a hesitant one",
        "best area of a certain less that of a hesitant model",
        lambda score: score_at(score, 4.0) - score_at(score, 1.0),
        check_models,
        "described by Edin et al. (2025), Normalized AOPC",
    ),
)


def compare(exhibit: WrongMeasure) -> Comparison:
    """What an exhibit shows: two numbers, and what its check says about the sick function."""
    numbers = (exhibit.example(function) for function in (exhibit.sick, exhibit.healthy))
    return Comparison(*numbers, verdict(exhibit.check, exhibit.sick))
