"""The trained tests: from a seed to one number a test text for each figure of each line.

Wiegreffe and Pinter (2019): a word-wise network guided by trained attention (§3.3), and a network
that predicts the same while it attends to something else (§4). ROAR (Hooker et al. 2019): words
that a ranking puts first are removed, and the network is trained again, so that it has learned to
read texts with holes.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from course_kit.research.rankings_study.ranked_network import ATTACHED, ATTENTION, RANDOM
from course_kit.research.sanity_checks.synthetic import Splits, Text
from course_kit.research.trained_tests.training_setup import (
    Guide,
    TrainingSetup,
    attention_of,
    masked,
    uniform,
)
from course_lib import faithfulness
from course_lib.data.batches import Batch
from course_lib.faithfulness import Document
from course_lib.faithfulness.erasure import counts, orders

Lines = dict[str, dict[str, np.ndarray]]  # by line and figure: one number a test text
ACCURACY = "accuracy"
GAIN = "minus the MLP's with uniform attention"
VARIATION, DIVERGENCE = "TVD to the base", "JSD to the base"
LOSS = "accuracy minus that of random"
ADVERSARIES = (0.0, 0.001, 0.002, 0.005, 0.01, 0.1)  # λ
SHARES = (0.1, 0.2, 0.3, 0.5, 0.7)  # of each text's words
RANKERS = (ATTENTION, f"|{ATTACHED}|", RANDOM)
LEAST = 1e-8  # a weight below counts as this much, so that no logarithm is infinite


def guided(setup: TrainingSetup, seed: int) -> Lines:
    """The accuracy of a BiLSTM, with its own and with uniform attention, and of the word-wise MLP
    with the attention that it learns, with uniform attention, and guided by that of the trained
    BiLSTM, of the untrained one, and of an adversary who predicts as the trained one does."""
    base = setup.fit(setup.untrained(seed), seed)
    weight = ADVERSARIES[-1]
    other = taught_adversary(setup, base, setup.untrained(seed + 1), weight, seed)
    even = setup.fit(setup.untrained(seed, "uniform"), seed)
    right = {"BiLSTM": setup.right(base), "BiLSTM, uniform attention": setup.right(even)}
    guides: dict[str, Guide | None] = {
        "its own attention": None,
        "uniform attention": uniform,
        "the BiLSTM's attention": attention_of(base),
        "an untrained BiLSTM's attention": attention_of(setup.untrained(seed).eval()),
        f"the attention of its adversary, λ = {weight:g}": attention_of(other),
    }
    for name, guide in guides.items():
        right[f"MLP, {name}"] = setup.right(setup.fit(setup.word_mlp(seed, guide), seed))
    reference = right["MLP, uniform attention"]
    return {
        name: {ACCURACY: values} | ({GAIN: values - reference} if name.startswith("MLP") else {})
        for name, values in right.items()
    }


def adversary(setup: TrainingSetup, seed: int) -> Lines:
    """For the base network, an adversary for each λ, another seed of the base and one with uniform
    attention: accuracy, and how far predictions and attention are from the base's."""
    base = setup.fit(setup.untrained(seed), seed)
    models = {
        "the base network": base,
        "the base, another seed": setup.fit(setup.untrained(seed + 1), seed + 1),
        "uniform attention": setup.fit(setup.untrained(seed, "uniform"), seed),
    }
    for weight in ADVERSARIES:
        taught = taught_adversary(setup, base, setup.untrained(seed + 1), weight, seed)
        models[f"adversary, λ = {weight:g}"] = taught
    return {name: distance(setup, model, base) for name, model in models.items()}


def taught_adversary(
    setup: TrainingSetup, base: nn.Module, model: nn.Module, weight: float, seed: int
) -> nn.Module:
    """The untrained ``model``, taught TVD(ŷ, ŷ_base) − λ KL(α ‖ α_base) on the training texts."""

    def loss(output: tuple[Tensor, Tensor], batch: Batch) -> Tensor:
        with torch.no_grad():
            wanted = base(batch.tokens, batch.mask)
        mine, theirs = (each.logits.softmax(1) for each in (output, wanted))
        return adversary_loss(mine, theirs, output.attention, wanted.attention, weight)

    return setup.teach(model, loss, seed, f"adversary, λ = {weight:g}")


def adversary_loss(
    probabilities: Tensor, base: Tensor, attention: Tensor, base_attention: Tensor, weight: float
) -> Tensor:
    """TVD(ŷ, ŷ_base) − λ KL(α ‖ α_base) with λ = ``weight`` (Wiegreffe and Pinter 2019, §4).

    ``probabilities`` and ``base`` are ``(batch, classes)``, attention ``(batch, length)`` is 0 on
    padding; the loss is ``(batch,)``. Low where a network predicts what the base predicts, and
    attends to something else.
    """
    variation = (probabilities - base).abs().sum(1) / 2
    ours, theirs = (each.clamp(min=LEAST).log() for each in (attention, base_attention))
    return variation - weight * (attention * (ours - theirs)).sum(1)


def distance(setup: TrainingSetup, model: nn.Module, base: nn.Module) -> dict[str, np.ndarray]:
    """Of each test text: whether ``model`` is right, and how far it is from ``base``."""
    ours, theirs = (setup.predictions(each).probabilities.numpy() for each in (model, base))
    pairs = zip(setup.attention(model), setup.attention(base), strict=True)
    return {
        ACCURACY: setup.right(model),
        VARIATION: faithfulness.total_variation(ours, theirs),
        DIVERGENCE: np.array([faithfulness.jensen_shannon(*pair) for pair in pairs]),
    }


def roar(setup: TrainingSetup, seed: int, shares: Sequence[float] = SHARES) -> Lines:
    """The test accuracy of a BiLSTM trained anew on texts of which a share of the words is masked:
    those that come first by the attention or the gradients of the network before, or at random."""
    first, found = setup.fit(setup.untrained(seed), seed), {}
    for ranker in RANKERS:
        model, gone = first, [[np.zeros(len(t.words), bool) for t in part] for part in setup.texts]
        found[roar_line(ranker, 0.0)] = {ACCURACY: setup.right(first)}
        for share in shares:
            pairs = zip(setup.texts, gone, strict=True)
            gone = [further(setup, model, ranker, *pair, share, seed) for pair in pairs]
            texts = Splits(*map(masked, setup.texts, gone))
            model = setup.fit(setup.untrained(seed), seed, texts)
            found[roar_line(ranker, share)] = {ACCURACY: setup.right(model, texts.test)}
    for ranker in RANKERS:
        for share in (0.0, *shares):
            figures = found[roar_line(ranker, share)]
            figures[LOSS] = figures[ACCURACY] - found[roar_line(RANDOM, share)][ACCURACY]
    return found


def roar_line(ranker: str, share: float) -> str:
    """What a ranker's line at a share of the words is called."""
    return f"{ranker}, {share:.0%} of the words"


def further(
    setup: TrainingSetup,
    model: nn.Module,
    ranker: str,
    texts: Sequence[Text],
    gone: list[np.ndarray],
    share: float,
    seed: int,
) -> list[np.ndarray]:
    """Which words are gone next: those that the model, trained on texts without the words that are
    ``gone`` now, ranks first in such texts."""
    documents: list[Document] = [list(text.words) for text in masked(texts, gone)]
    function = setup.seen(model)
    if ranker == ATTENTION:
        importances = function.attention(documents)[ATTENTION]
    elif ranker == RANDOM:
        importances = faithfulness.random_importance([text.words for text in texts], seed)
    else:
        signed = faithfulness.gradient_times_input(function.gradients, function, documents)
        importances = faithfulness.magnitude(signed)
    return remove_further(documents, importances, gone, share, seed)


def remove_further(
    documents: Sequence[Document],
    importances: Sequence[np.ndarray],
    gone: Sequence[np.ndarray],
    share: float,
    seed: int = 0,
) -> list[np.ndarray]:
    """Which words are gone, ``(words,)`` a document, once ``share`` of each document's words are.

    Those that are ``gone`` stay so, whatever their importance is now; the most important of the
    others follow. If a network is trained after each removal and decides the next one, this is
    recursive ROAR (Madsen et al. 2022, after Hooker et al. 2019): a word that was not needed beside
    another one is ranked again once that one is gone. ``ValueError`` as ``erasure.orders``, or for
    a share outside (0, 1].
    """
    found = []
    for order, before in zip(orders(documents, importances, seed), gone, strict=True):
        further = order[~before[order]][: max(0, counts(len(order), [share])[0] - before.sum())]
        after = before.copy()
        after[further] = True
        found.append(after)
    return found
