"""Remove the words that a ranking puts first, train again, and repeat (ROAR).

A network that is trained on the texts with holes has learned to read them, so unlike erasure alone
this says whether the words carried what nothing else in the text carries.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from torch import nn

from course_kit.research.faithfulness.faithfulness_record import ATTACHED, MASK, RANDOM
from course_kit.research.faithfulness.trial import ATTENTION
from course_kit.research.trained_tests.ground import ACCURACY, Ground, Lines, Texts
from course_lib.faithfulness.document_model import DocumentModel
from course_lib.faithfulness.documents import without, words_of
from course_lib.faithfulness.rankers import gradient_times_input, random_importance
from course_lib.faithfulness.retraining import remove_further

SHARES = (0.1, 0.2, 0.3, 0.5, 0.7)  # of each text's words
LOSS = "accuracy minus that of random"
RANKERS = (ATTENTION, f"|{ATTACHED}|", RANDOM)
SPLITS = ("train", "validation", "test")


class Holes(NamedTuple):
    """The ``whole`` texts, of which the words where ``gone`` ``(words,)`` is True are masked."""

    whole: Texts
    gone: list[np.ndarray]

    @property
    def left(self) -> Texts:
        """The texts with their masks."""
        pairs = zip(self.whole.documents, self.gone, strict=True)
        return self.whole._replace(documents=[without(words, gone, MASK) for words, gone in pairs])


def lines(ground: Ground, seed: int, shares: Sequence[float] = SHARES) -> Lines:
    """The test accuracy of a BiLSTM trained anew on texts of which a share of the words is masked:
    those that come first by the attention or the gradients of the network before, or at random."""
    first = ground.fit(ground.untrained(seed), seed)
    found: Lines = {line_name(ranker, 0.0): {ACCURACY: ground.right(first)} for ranker in RANKERS}
    for ranker in RANKERS:
        model = first
        holes = [untouched(getattr(ground, split)) for split in SPLITS]
        for share in shares:
            holes = [further(ground, model, ranker, part, share, seed) for part in holes]
            train, validation, test = (part.left for part in holes)
            model = ground.fit(ground.untrained(seed), seed, train, validation)
            found[line_name(ranker, share)] = {ACCURACY: ground.right(model, test)}
    for ranker in RANKERS:
        for share in (0.0, *shares):
            figures = found[line_name(ranker, share)]
            figures[LOSS] = figures[ACCURACY] - found[line_name(RANDOM, share)][ACCURACY]
    return found


def line_name(ranker: str, share: float) -> str:
    """What a ranker's line at a share of the words is called."""
    return f"{ranker}, {share:.0%} of the words"


def untouched(texts: Texts) -> Holes:
    """Texts without a hole."""
    return Holes(texts, [np.zeros(len(words_of(words)), dtype=bool) for words in texts.documents])


def further(
    ground: Ground, model: nn.Module, ranker: str, holes: Holes, share: float, seed: int
) -> Holes:
    """More words gone: those that the model, trained on the texts as they are now, ranks first."""
    documents = holes.left.documents
    function = DocumentModel(ground.function(model))
    if ranker == ATTENTION:
        importances = function.attention(documents)[ATTENTION]
    elif ranker == RANDOM:
        importances = random_importance(holes.whole.documents, seed)
    else:
        signed = gradient_times_input(function.gradients, function, documents)
        importances = [np.abs(values) for values in signed]
    return holes._replace(gone=remove_further(documents, importances, holes.gone, share, seed))
