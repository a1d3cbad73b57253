"""What systems share, neural networks or not."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import datasets
from torch import Tensor

from course_lib.data.config import OF_VECTORS
from course_lib.data.text import TokenisedText, normalised, tokeniser
from course_lib.metrics.classification import Predictions
from course_lib.runs.settings import Settings, SpecError

Rows = dict[str, datasets.Dataset]  # rows by split: train, validation and test
Text = str | TokenisedText | Mapping[str, Any]  # as typed, as tokens, or a row of a corpus


class Evaluation(NamedTuple):
    """``predictions`` of documents, and ``figures`` of their attention by name, each
    ``(documents,)`` or ``(documents, layers)``."""

    predictions: Predictions
    figures: dict[str, Tensor]


def compact(settings: Settings, **text: Any) -> Settings:
    """These settings as a *compact* preset, whose weights are small enough to be committed.

    It reads the committed vectors, frozen. Its vocabulary is theirs, so that it holds no text of a
    corpus and needs nothing but settings to be rebuilt; any other word is a zero vector.
    ``text`` changes further settings of the cut.
    """
    read = {"vectors": "reviews.100d", "vocabulary_from": OF_VECTORS, "without_vector": "zero"}
    return replace(
        settings,
        text=replace(settings.text, **read | text),
        training=replace(settings.training, embedding_rate=0.0),
    )


def refuse(settings: Settings, part: str, names: tuple[str, ...], why: str) -> None:
    """Raise ``SpecError`` if one of these settings, which the system ignores, is not 0."""
    for name in names:
        if value := getattr(getattr(settings, part), name):
            raise SpecError(f"{part}.{name} is {value!r}, but {why}")


def as_tokens(text: Text, words: str = "english") -> TokenisedText:
    """A document as tokens: a typed text is split as the text of a corpus is.

    ``words`` names its tokeniser (``data.text.TOKENISERS``).
    """
    if isinstance(text, TokenisedText):
        return text
    if isinstance(text, Mapping):
        return TokenisedText(list(text["tokens"]), list(text["sentence_lengths"]))
    return tokeniser(words)(normalised(text))
