"""IRAM as a system that can be run: the paper's settings, its ablations and its baseline."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from course_lib.data.ngrams import hashed_ngrams
from course_lib.data.vocabulary import RESERVED, Vocabulary
from course_lib.experiments.systems.network import Look, Network, config_of, encode_words
from course_lib.metrics.steps import describe_steps
from course_lib.models.iram import IRAM, IRAMConfig


@dataclass(frozen=True)
class IRAMSettings:
    """All that shapes an IRAM run. The defaults are the vanilla model.

    ``standardise`` takes from the vectors what all words share (Mu et al. 2017), ``penalty`` is γ,
    ``ngrams`` the rows of the table that character n-grams are hashed into.
    Training ends when the accuracy on the validation split has not risen for ``patience`` epochs.
    """

    max_tokens: int = 0
    vocabulary: int = 1_000_000
    vectors: str = "glove.6B.50d"
    standardise: bool = True
    embedding: int = 50
    hidden: int = 200
    steps: int = 3
    penalty: float = 0.0003
    context_layers: int = 1
    query_layers: int = 0
    query_highway: bool = False
    ngrams: int = 0
    embedding_highway: int = 0
    dropout: float = 0.1
    hidden_dropout: float = 0.1
    initial_std: float = 0.01
    trainable: bool = False
    batch_size: int = 32
    learning_rate: float = 3e-4
    weight_decay: float = 3e-5
    epochs: int = 20
    patience: int = 3


VANILLA = IRAMSettings()
FULL = replace(
    VANILLA,
    context_layers=2,
    query_layers=1,
    query_highway=True,
    ngrams=8192,
    embedding_highway=2,
)
PRESETS = {
    "vanilla": VANILLA,
    "baseline": replace(VANILLA, steps=0, penalty=0.0),
    "full": FULL,
    "full-no-ngrams": replace(FULL, ngrams=0),
    "full-no-query": replace(FULL, query_layers=0, query_highway=False),
    "full-no-embedding": replace(FULL, embedding_highway=0),
    "imdb": replace(FULL, max_tokens=200, vocabulary=30_000, trainable=True),
    "small": IRAMSettings(
        vectors="none",
        embedding=16,
        hidden=32,
        trainable=True,
        initial_std=0.0,
        epochs=4,
        learning_rate=5e-3,
    ),
}


def build_iram(
    settings: IRAMSettings, vocabulary: Vocabulary, classes: int, embedding: Tensor | None
) -> IRAM:
    """An untrained IRAM over the vocabulary's words."""
    config = replace(config_of(settings, IRAMConfig), frozen=not settings.trainable)
    ngrams = None
    if settings.ngrams:
        ngrams = hashed_ngrams(vocabulary.words, settings.ngrams)
        ngrams = torch.nn.functional.pad(ngrams, (0, 0, RESERVED, 0))  # padding, unknown: none
    return IRAM(config, len(vocabulary), classes, embedding, ngrams)


def look_at_iram(model: IRAM, tokens: Tensor, mask: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
    """Logits, and what describes the steps of each document."""
    output = model(tokens, mask)
    return output.logits, describe_steps(output.attention, mask)


def look_of(settings: IRAMSettings) -> Look | None:
    """``look_at_iram``; None where no two steps can be compared."""
    return look_at_iram if settings.steps > 1 else None


NETWORK = Network(
    encode_words,
    build_iram,
    {"optimizer": "amsgrad", "decay": False, "best_by": "accuracy"},
    # where vectors are fixed, a word of the test half has its vector like any other; where they
    # learn (IMDb), the one it came with, less what weight decay takes. Labels play no part
    vocabulary_of=("train", "validation", "test"),
    look=look_of,
    standardise=lambda settings: settings.standardise,
)
