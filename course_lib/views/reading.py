"""What a system read: tokens, the attention it paid them, and the probability of every class."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

QUANTITY = "weight"  # what a number is, unless its data say otherwise


class Attention(NamedTuple):
    """Named weights of a reading: ``weights`` ``(rows, columns)``; each row is one look.

    ``rows`` names the looks: ``("",)`` for a single one, else steps, layers, or the tokens
    themselves. The columns are the reading's tokens (``over="words"``) or its sentences
    (``over="sentences"``), then what ``extra`` names, such as summaries.
    """

    weights: np.ndarray
    rows: tuple[str, ...]
    over: str = "words"
    extra: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Reading:
    """What a system read: tokens, attention by name, probabilities of all classes.

    ``tokens`` are those within the system's cut, ``rest`` the words beyond it, in their order;
    ``sentence_lengths`` tells how many of the tokens each sentence holds. ``probabilities``
    ``(classes,)`` sum to 1. ``attention`` maps names to weights, the most informative first; it is
    empty for a system without attention. ``ValueError`` names what does not fit.
    """

    tokens: tuple[str, ...]
    sentence_lengths: tuple[int, ...]
    classes: tuple[str, ...]
    probabilities: np.ndarray
    attention: dict[str, Attention] = field(default_factory=dict)
    rest: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        lengths, shares = self.sentence_lengths, np.asarray(self.probabilities)
        if sum(lengths) != len(self.tokens) or min(lengths, default=1) < 1:
            raise ValueError(f"sentence_lengths {lengths} do not cut {len(self.tokens)} tokens")
        count, right = len(self.classes), (shares >= 0).all() and abs(shares.sum() - 1) <= 1e-3
        if shares.shape != (count,) or not right:
            raise ValueError(f"probabilities {shares} are not what a softmax gives {count} classes")

    @property
    def sentences(self) -> list[list[str]]:
        """The tokens of each sentence."""
        return [list(words) for words in self.by_sentence(self.tokens)]

    def by_sentence(self, values: np.ndarray | tuple[str, ...]) -> list[Any]:
        """One value per token ``(tokens,)`` → those of each sentence, ``(words,)`` each.

        ``ValueError`` for another number of values.
        """
        if len(values) != len(self.tokens):
            raise ValueError(f"values holds {len(values)} numbers for {len(self.tokens)} tokens")
        ends = np.cumsum(self.sentence_lengths, dtype=int)
        return [
            values[end - length : end]
            for end, length in zip(ends, self.sentence_lengths, strict=True)
        ]

    @property
    def predicted(self) -> str:
        """The name of the likeliest class, the first one of equals."""
        return self.classes[int(np.argmax(self.probabilities))]

    @property
    def answer(self) -> str:
        """The likeliest class and its probability, such as ``"positive 0.71"``."""
        return f"{self.predicted} {np.max(self.probabilities):.2f}"

    def word_weights(self) -> np.ndarray:
        """``(tokens,)``, one weight per token of the first attention over words.

        A single row as it is, several rows as their mean; extra columns are dropped. ``ValueError``
        if there is none.
        """
        return self._mean("words")

    def sentence_weights(self) -> np.ndarray:
        """``(sentences,)``, one weight per sentence of the first attention over sentences."""
        return self._mean("sentences")

    def names(self, over: str) -> list[str]:
        """The names of the attentions over ``"words"`` or ``"sentences"``."""
        return [name for name, attention in self.attention.items() if attention.over == over]

    def _mean(self, over: str) -> np.ndarray:
        names = self.names(over)
        if not names:
            raise ValueError(f"this reading is without any attention over {over}")
        weights, _, _, extra = self.attention[names[0]]
        return np.mean(weights, axis=0)[: np.shape(weights)[1] - len(extra)]
