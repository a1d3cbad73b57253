"""HAN as a system that can be run: the report's settings and our silent choices."""

from dataclasses import dataclass

import datasets
from torch import Tensor

from course_lib.data.batches import Documents
from course_lib.data.encoding import encode_documents
from course_lib.data.vocabulary import Vocabulary
from course_lib.experiments.systems.network import Network, config_of
from course_lib.models.han import HAN, HANConfig


@dataclass(frozen=True)
class HANSettings:
    """All that shapes a HAN run. The defaults are the report's cut and our silent choices."""

    max_sentences: int = 7
    max_words: int = 30
    vocabulary: int = 29_936
    vectors: str = "glove.6B.50d"
    hidden: int = 50
    attention: int = 100
    dropout: float = 0.4
    hops: int = 1
    penalty: float = 0.0
    batch_size: int = 64
    learning_rate: float = 3e-3
    epochs: int = 4
    patience: int = 2


PRESETS = {
    "report": HANSettings(),
    "long": HANSettings(max_sentences=25, max_words=50),
    "small": HANSettings(
        vectors="none", hidden=16, attention=32, batch_size=32, epochs=4, learning_rate=5e-3
    ),
}


def encode_for_han(
    rows: datasets.Dataset, vocabulary: Vocabulary, settings: HANSettings
) -> Documents:
    """Sentences of words."""
    return encode_documents(rows, vocabulary, settings.max_sentences, settings.max_words)


def build_han(
    settings: HANSettings, vocabulary: Vocabulary, classes: int, embedding: Tensor | None
) -> HAN:
    """An untrained HAN over the vocabulary's words."""
    return HAN(config_of(settings, HANConfig), len(vocabulary), classes, embedding)


NETWORK = Network(encode_for_han, build_han, {})
