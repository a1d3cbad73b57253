"""What the training of any neural system has to know about it."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import datasets
from torch import Tensor, nn

from course_lib.data.batches import Documents
from course_lib.data.encoding import encode_documents
from course_lib.data.vocabulary import Vocabulary

VALIDATION_SHARE = 0.1  # of the training half, where a corpus has no validation split of its own
Config = TypeVar("Config")
Look = Callable[[nn.Module, Tensor, Tensor], tuple[Tensor, dict[str, Tensor]]]


def usual_validation_share(settings: Any) -> float:
    """A tenth, whatever the settings."""
    return VALIDATION_SHARE


def nothing_to_see(settings: Any) -> None:
    """No attention that is measured."""


def as_they_are(settings: Any) -> bool:
    """Word vectors are not standardised."""
    return False


def encode_words(rows: datasets.Dataset, vocabulary: Vocabulary, settings: Any) -> Documents:
    """Each document as one sequence of words, cut at ``settings.max_tokens`` (0: not at all)."""
    return encode_documents(rows, vocabulary, flat=True, max_tokens=settings.max_tokens)


def config_of(settings: Any, config: type[Config]) -> Config:
    """The ``config`` that the settings mean: every field that both have is as the settings say."""
    own = {item.name for item in fields(settings)}
    values = {
        item.name: getattr(settings, item.name) for item in fields(config) if item.name in own
    }
    return config(**values)


@dataclass(frozen=True)
class Network:
    """How a neural system reads documents, is built, is trained and is looked at.

    ``encode(rows, vocabulary, settings)`` turns rows into ids; ``build(settings, vocabulary,
    classes, embedding)`` makes the untrained network. ``training`` gives the fields of
    ``TrainingConfig`` that differ from its defaults, ``validation_share(settings)`` the part of the
    training half that chooses the epoch, ``standardise(settings)`` whether the word vectors lose
    what all of them share. ``look(settings)`` is a function of model, tokens and mask
    that gives logits and figures of each document's attention, ``(batch,)`` or
    ``(batch, layers)`` each, or None where there is none.
    """

    encode: Callable[[datasets.Dataset, Vocabulary, Any], Documents]
    build: Callable[[Any, Vocabulary, int, Tensor | None], nn.Module]
    training: dict[str, Any]
    vocabulary_of: tuple[str, ...] = ("train",)
    validation_share: Callable[[Any], float] = usual_validation_share
    look: Callable[[Any], Look | None] = nothing_to_see
    standardise: Callable[[Any], bool] = as_they_are
