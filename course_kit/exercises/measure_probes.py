"""Probes of a measurement of faithfulness: made-up models of which we know what they use.

As ``probes`` for poolings and encoders: each check takes an implementation, of ours or not, and
raises ``InvariantError`` with the numbers if it measures something else.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import nn

from course_lib.faithfulness.documents import Document, Model, without, words_of
from course_lib.faithfulness.erasure import SHARES
from course_lib.faithfulness.rankers import Importances
from course_lib.metrics.invariants import InvariantError

# attention, gradients, leave-one-out → Kendall's τ by the name of the ranking it is with
Table = Callable[[Importances, Importances, Importances], dict[str, float]]
# a network of bags of words, documents → importances
Measure = Callable[[nn.Module, Sequence[Document]], Importances]
# model, documents, importances, shares of the words → a number per document
Area = Callable[..., np.ndarray]
# attention, the places that are zeroed → attention
Zeroing = Callable[[np.ndarray, np.ndarray], np.ndarray]

WEIGHTS = {"wonderful": 2.0, "moving": 1.0, "quiet": 0.5, "a": 0.1, "film": 0.0, "slow": -0.4}
SENTENCES = (
    ["a", "wonderful", "quiet", "film"],
    ["a", "slow", "film", "quiet", "moving"],
    ["moving", "slow", "quiet", "wonderful", "a", "film"],
)


def true_importances(documents: Sequence[Document]) -> Importances:
    """The weights of the words, which is what ``summing`` uses of them."""
    return [np.array([WEIGHTS[word] for word in words_of(document)]) for document in documents]


def summing(weights: dict[str, float]) -> Model:
    """A model whose log-odds are the sum of its words' weights."""

    def model(documents: list[Document]) -> np.ndarray:
        sums = [sum(weights.get(word, 0.0) for word in words_of(text)) for text in documents]
        positive = 1 / (1 + np.exp(-np.array(sums)))
        return np.stack([1 - positive, positive], 1)

    return model


def dropping_network(seed: int = 0) -> nn.Module:
    """An untrained network with dropout over bags of words ``(documents, len(WEIGHTS))`` → logits,
    in training mode, as training leaves it."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layers = nn.Linear(len(WEIGHTS), 16), nn.Tanh(), nn.Dropout(0.5), nn.Linear(16, 2)
    return nn.Sequential(*layers).train()


def check_columns(table: Table) -> None:
    """The ranking that equals attention has τ = 1 in its own column.

    Raises ``InvariantError`` with the value found there.
    """
    attention = true_importances(SENTENCES)
    reverse = [-importance for importance in attention]
    for name, rankings in {
        "gradients": (attention, reverse),
        "leave one out": (reverse, attention),
    }.items():
        found = table(attention, *rankings)[name]
        if not np.isclose(found, 1):
            raise InvariantError(
                f"{name}: the ranking is attention's, so τ is 1; it is {found:.3g}"
            )


def check_repeats(measure: Measure) -> None:
    """A network has the same importances when it is measured again.

    Raises ``InvariantError`` with the first word that has others.
    """
    network = dropping_network()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        once, again = (np.concatenate(measure(network, SENTENCES)) for _ in range(2))
    if not np.allclose(once, again):
        place = int((~np.isclose(once, again)).argmax())
        raise InvariantError(
            f"word {place} has an importance of {once[place]:.3g}, and measured again of "
            f"{again[place]:.3g}"
        )


def check_top_word(area: Area) -> None:
    """Where one word decides alone and is ranked first, every threshold loses what it gives.

    Raises ``InvariantError`` with the area and this loss.
    """
    model, text = summing({"wonderful": 4.0}), list(SENTENCES[0])
    one = np.array([word == "wonderful" for word in text])
    answers = model([text, without(text, one)])[:, 1]
    found, lost = float(area(model, [text], [one.astype(float)])[0]), answers[0] - answers[1]
    if not np.isclose(found, lost):
        raise InvariantError(
            f"one word decides, and {lost:.3g} is lost without it; the area is {found:.3g}"
        )


def check_thresholds(area: Area) -> None:
    """The area over all thresholds is the mean of the areas over each one alone.

    Raises ``InvariantError`` with both and the number of words of the first text that differs.
    """
    model, importances = summing(WEIGHTS), true_importances(SENTENCES)
    together = area(model, SENTENCES, importances, SHARES)
    alone = np.mean([area(model, SENTENCES, importances, (share,)) for share in SHARES], axis=0)
    for text, found, mean in zip(SENTENCES, together, alone):
        if not np.isclose(found, mean):
            raise InvariantError(
                f"{len(SHARES)} thresholds have a mean of {mean:.3g} one by one and of {found:.3g} "
                f"together, in a text of {len(text)} words"
            )


def check_direction(area: Area) -> None:
    """The true ranking has a larger area than the same ranking upside down.

    Raises ``InvariantError`` with both.
    """
    model, importances = summing(WEIGHTS), true_importances(SENTENCES)
    best = area(model, SENTENCES, importances).mean()
    worst = area(model, SENTENCES, [-importance for importance in importances]).mean()
    if not best > worst:
        raise InvariantError(
            f"the true ranking has an area of {best:.3g}, upside down it has {worst:.3g}"
        )


def check_sums(zeroing: Zeroing) -> None:
    """Attention sums to 1 when some places are zeroed, which stay zero.

    Raises ``InvariantError`` with the first sum that is another, or the weight of a zeroed place.
    """
    attention = np.array([[0.6, 0.3, 0.1], [0.2, 0.2, 0.6]])
    gone = np.array([[True, False, False], [False, True, False]])
    found = zeroing(attention, gone)
    if found[gone].any():
        raise InvariantError(f"a place that was zeroed has a weight of {found[gone].max():.3g}")
    for total in found.sum(-1):
        if not np.isclose(total, 1):
            raise InvariantError(f"what is left of the attention sums to {total:.3g}, not to 1")


def check_models(score: Area) -> None:
    """The best ranking of a hesitant model scores as well as the best of a certain one.

    Raises ``InvariantError`` with both scores.
    """
    hesitant, certain = (score_at(score, log_odds) for log_odds in (1.0, 4.0))
    if not np.isclose(hesitant, certain):
        raise InvariantError(
            f"the best ranking scores {hesitant:.3g} for a hesitant model and {certain:.3g} for a "
            "certain one, though both use the same word alone"
        )


def score_at(score: Area, log_odds: float) -> float:
    """The score of the best ranking for a model that one word gives these log-odds."""
    text = SENTENCES[0]
    one = np.array([word == "wonderful" for word in text])
    return float(score(summing({"wonderful": log_odds}), [text], [one.astype(float)])[0])
