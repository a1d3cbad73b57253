"""AGT as a system that can be run: the paper's settings, its ablations and a mean of words."""

from dataclasses import dataclass, replace

from torch import Tensor

from course_lib.data.vocabulary import Vocabulary
from course_lib.experiments.systems.network import Look, Network, config_of, encode_words
from course_lib.metrics.composition import describe_composition
from course_lib.models.agt import AGT, AGTConfig


@dataclass(frozen=True)
class AGTSettings:
    """All that shapes an AGT run. The defaults are the paper's; its vectors are 300-d.

    The paper names Adadelta with a learning rate of 0.0005, which in PyTorch's parametrisation
    (where 1 is usual) hardly moves: ``learning_rate`` and ``optimizer`` are ours.
    """

    max_tokens: int = 0
    vocabulary: int = 1_000_000
    vectors: str = "glove.6B.50d"
    embedding: int = 300
    hidden: int = 200
    layers: int = 15
    selection_layers: int = 0
    attention: bool = True
    gate_bias: float = 1.0
    dropout: float = 0.2
    dropout_at: str = "both"
    frozen: bool = False
    batch_size: int = 50
    optimizer: str = "adam"
    learning_rate: float = 1e-3
    epsilon: float = 0.0
    weight_decay: float = 0.0
    epochs: int = 20
    patience: int = 4


PAPER = AGTSettings()
PRESETS = {
    "paper": PAPER,
    "s0-only": replace(PAPER, selection_layers=1),
    "layers-to-2": replace(PAPER, selection_layers=3),
    "mean": replace(PAPER, attention=False, layers=1),
    "small": AGTSettings(
        vectors="none",
        embedding=32,
        hidden=32,
        layers=4,
        batch_size=32,
        epochs=6,
        learning_rate=5e-3,
    ),
}


def build_agt(
    settings: AGTSettings, vocabulary: Vocabulary, classes: int, embedding: Tensor | None
) -> AGT:
    """An untrained AGT over the vocabulary's words."""
    return AGT(config_of(settings, AGTConfig), len(vocabulary), classes, embedding)


def look_at_agt(model: AGT, tokens: Tensor, mask: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
    """Logits, and what each layer selects of each document: ``describe_composition``."""
    output = model(tokens, mask)
    return output.logits, describe_composition(output.attention, output.gates, mask)


def look_of(settings: AGTSettings) -> Look | None:
    """``look_at_agt``, None where all words weigh alike."""
    return look_at_agt if settings.attention else None


NETWORK = Network(
    encode_words,
    build_agt,
    {"decay": False, "clip_norm": 0.0, "best_by": "accuracy", "precision": "native"},
    look=look_of,
)
