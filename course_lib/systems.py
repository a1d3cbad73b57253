"""What can be trained: each system's settings, presets, network and way of reading a document."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import datasets
from accelerate.utils import set_seed
from torch import Tensor, nn

from course_lib.data.batches import Documents, encode_documents
from course_lib.data.vectors import load_vectors
from course_lib.data.vocabulary import Vocabulary
from course_lib.metrics.attention import describe
from course_lib.models.han import HAN, HANConfig
from course_lib.models.sanet import SANet, SANetConfig

MAY_BE_ZERO = ("dropout", "penalty", "patience", "momentum", "embedding_rate",
               "max_sentences", "max_words", "max_tokens")  # fmt: skip  # max 0: no cut


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


@dataclass(frozen=True)
class SANetSettings:
    """All that shapes a SANet run. The defaults are the paper's base model; its vectors are 100-d.

    The learning rate does not decay, and all epochs
    are run; the best by validation accuracy is kept.
    """

    max_tokens: int = 1000
    vocabulary: int = 1_000_000
    vectors: str = "glove.6B.50d"
    embedding: int = 100
    hidden: int = 128
    blocks: int = 1
    dropout: float = 0.1
    attention: bool = True
    positions: bool = True
    scaled: bool = False
    masked_pooling: bool = True
    batch_size: int = 128
    learning_rate: float = 0.01
    momentum: float = 0.9
    embedding_rate: float = 0.1
    epochs: int = 40
    patience: int = 40
    validation_share: float = 0.2


@dataclass(frozen=True)
class TfidfSettings:
    """TF-IDF over words and word pairs, then logistic regression: what attention has to beat.

    The regularisation was chosen by validation loss among 1, 3, 10, 30 and 100.
    """

    longest: int = 2
    minimum_documents: int = 2
    inverse_regularisation: float = 30.0


PRESETS: dict[str, dict[str, Any]] = {
    "han": {
        "report": HANSettings(),
        "long": HANSettings(max_sentences=25, max_words=50),
        "small": HANSettings(vectors="none", hidden=16, attention=32, batch_size=32, epochs=4,
                             learning_rate=5e-3),
    },
    "sanet": {
        "base": SANetSettings(),
        "baseline-base": SANetSettings(attention=False),
        "big": SANetSettings(embedding=200, hidden=256, blocks=2, learning_rate=0.005),
        "baseline-big": SANetSettings(embedding=200, hidden=256, blocks=2, learning_rate=0.005,
                                      attention=False),
        "small": SANetSettings(vectors="none", embedding=32, hidden=32, batch_size=32, epochs=12,
                               learning_rate=0.02, embedding_rate=1.0),
    },
    "tfidf": {
        "default": TfidfSettings(),
        "words": TfidfSettings(longest=1, inverse_regularisation=10.0),
    },
}  # fmt: skip


def encode_for_han(
    rows: datasets.Dataset, vocabulary: Vocabulary, settings: HANSettings
) -> Documents:
    """Sentences of words."""
    return encode_documents(rows, vocabulary, settings.max_sentences, settings.max_words)


def han_config(
    settings: HANSettings, words: int, classes: int, embedding: Tensor | None
) -> HANConfig:
    """The network that the settings mean, over ``words`` words."""
    return HANConfig.imdb(
        words,
        classes=classes,
        embedding=embedding.shape[1] if embedding is not None else 50,
        hidden=settings.hidden,
        attention=settings.attention,
        dropout=settings.dropout,
        hops=settings.hops,
        penalty=settings.penalty,
    )


def build_han(settings: HANSettings, words: int, classes: int, embedding: Tensor | None) -> HAN:
    """An untrained HAN over ``words`` words."""
    return HAN(han_config(settings, words, classes, embedding), embedding)


def encode_for_sanet(
    rows: datasets.Dataset, vocabulary: Vocabulary, settings: SANetSettings
) -> Documents:
    """One sequence of words."""
    return encode_documents(rows, vocabulary, flat=True, max_tokens=settings.max_tokens)


def build_sanet(
    settings: SANetSettings, words: int, classes: int, embedding: Tensor | None
) -> SANet:
    """An untrained SANet over ``words`` words."""
    config = SANetConfig(
        words,
        classes=classes,
        embedding=embedding.shape[1] if embedding is not None else settings.embedding,
        hidden=settings.hidden,
        blocks=settings.blocks,
        dropout=settings.dropout,
        attention=settings.attention,
        positions=settings.positions,
        scaled=settings.scaled,
        masked_pooling=settings.masked_pooling,
        sparse=True,
    )
    return SANet(config, embedding)


def look_at_sanet(model: SANet, tokens: Tensor, mask: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
    """Logits, and what describes the attention of each document, block by block."""
    output = model(tokens, mask, attention=True)
    figures = {}
    for number in range(model.config.blocks):
        prefix = f"block {number + 1} " if model.config.blocks > 1 else ""
        for name, values in describe(output.attention[:, number], mask).items():
            figures[prefix + name] = values
    return output.logits, figures


@dataclass(frozen=True)
class Network:
    """How a neural system reads documents, is built and is trained.

    ``training`` gives the fields of ``TrainingConfig`` that differ from its defaults; ``look``
    measures the attention of a batch, None where there is nothing to measure yet.
    """

    encode: Callable[[datasets.Dataset, Vocabulary, Any], Documents]
    build: Callable[[Any, int, int, Tensor | None], nn.Module]
    training: dict[str, Any]
    vocabulary_of: tuple[str, ...] = ("train",)
    look: Callable[[nn.Module, Tensor, Tensor], tuple[Tensor, dict[str, Tensor]]] | None = None


NETWORKS = {
    "han": Network(encode_for_han, build_han, {}),
    "sanet": Network(
        encode_for_sanet,
        build_sanet,
        {
            "optimizer": "sgd",
            "decay": False,
            "clip_norm": 0.0,
            "best_by": "accuracy",
            "precision": "native",
            "most_tokens": 32_768,  # 128 documents of 256 words at once, 32 of 1000
        },
        vocabulary_of=("train", "validation"),
        look=look_at_sanet,
    ),
}


def build_network(
    system: str, settings: Any, vocabulary: Vocabulary, classes: int, seed: int
) -> tuple[nn.Module, float | None]:
    """An untrained network, and the share of the vocabulary that has a vector (None without)."""
    set_seed(seed)
    embedding, coverage = None, None
    if settings.vectors != "none":
        embedding, coverage = load_vectors(settings.vectors).embedding_for(vocabulary, seed)
    return NETWORKS[system].build(settings, len(vocabulary), classes, embedding), coverage
