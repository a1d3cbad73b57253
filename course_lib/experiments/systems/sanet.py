"""SANet as a system that can be run: the paper's settings, and its baselines without attention."""

from dataclasses import dataclass, replace

from torch import Tensor

from course_lib.data.vocabulary import Vocabulary
from course_lib.experiments.systems.network import Look, Network, config_of, encode_words
from course_lib.metrics.attention import describe_attention
from course_lib.models.sanet import SANet, SANetConfig


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


BASE = SANetSettings()
BIG = SANetSettings(embedding=200, hidden=256, blocks=2, learning_rate=0.005)
PRESETS = {
    "base": BASE,
    "baseline-base": replace(BASE, attention=False),
    "big": BIG,
    "baseline-big": replace(BIG, attention=False),
    "small": SANetSettings(
        vectors="none",
        embedding=32,
        hidden=32,
        batch_size=32,
        epochs=12,
        learning_rate=0.02,
        embedding_rate=1.0,
    ),
}


def build_sanet(
    settings: SANetSettings, vocabulary: Vocabulary, classes: int, embedding: Tensor | None
) -> SANet:
    """An untrained SANet over the vocabulary's words."""
    config = replace(config_of(settings, SANetConfig), sparse=True)
    return SANet(config, len(vocabulary), classes, embedding)


def look_at_sanet(model: SANet, tokens: Tensor, mask: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
    """Logits, and what describes the attention of each document, block by block."""
    output = model(tokens, mask, return_attention=True)
    figures = {}
    for number in range(model.config.blocks):
        prefix = f"block {number + 1} " if model.config.blocks > 1 else ""
        for name, values in describe_attention(output.attention[:, number], mask).items():
            figures[prefix + name] = values
    return output.logits, figures


def look_of(settings: SANetSettings) -> Look | None:
    """``look_at_sanet``, None for a baseline."""
    return look_at_sanet if settings.attention else None


NETWORK = Network(
    encode_words,
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
    validation_share=lambda settings: settings.validation_share,
    look=look_of,
)
