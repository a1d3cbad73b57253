"""AGT as a system that can be run: the paper's settings, its ablations and a mean of words."""

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from course_lib.data.config import TextConfig
from course_lib.faithfulness.word_attention import agt_words
from course_lib.metrics.composition import describe_composition
from course_lib.models.agt import AGT, AblatedAGT, AGTConfig, AGTOutput
from course_lib.runs.settings import Settings
from course_lib.runs.systems.neural import NeuralSystem, rows_of
from course_lib.runs.systems.system import compact
from course_lib.training.config import TrainingConfig
from course_lib.views.reading import Attention

# The paper names Adadelta with a learning rate of 0.0005. In PyTorch's parametrisation (where 1 is
# usual) that hardly trains, so optimiser and learning rate are ours. The paper's vectors are 300-d.
TRAINING = TrainingConfig(
    batch_size=50,
    epochs=20,
    patience=4,
    best_by="accuracy",
    optimizer="adam",
    learning_rate=1e-3,
    decay=False,
    clip_norm=0.0,
    precision="native",
)
PAPER = Settings(TextConfig(), AGTConfig.paper(), TRAINING)


class AGTSystem(NeuralSystem):
    """One sequence of words, read by an AGT."""

    network_of = AGT
    presets: ClassVar = {
        "paper": PAPER,
        "s0-only": replace(PAPER, model=AGTConfig.paper(selection_layers=1)),
        "layers-to-2": replace(PAPER, model=AGTConfig.paper(selection_layers=3)),
        "mean": replace(PAPER, model=AGTConfig.paper(attention=False, layers=1)),
        "compact": compact(replace(PAPER, model=AGTConfig.paper(frozen=True))),
        "small": Settings(
            TextConfig(vectors="none"),
            AGTConfig(embedding=32, hidden=32, layers=4),
            replace(TRAINING, batch_size=32, epochs=6, learning_rate=5e-3),
        ),
    }

    def network(self, embedding: Tensor | None) -> AGT:
        """The untrained network over the vocabulary's words."""
        config = self.settings.model
        network = AblatedAGT if config.ablated else self.network_of
        return network(config, len(self.vocabulary), len(self.classes), embedding)

    def scorers(self, model: AGT) -> list[nn.Module]:
        """Each layer's W_l and w_l."""
        return [model.attention]

    def figures(self, output: AGTOutput, mask: Tensor) -> dict[str, Tensor]:
        """What each layer selects of each document."""
        return describe_composition(output.attention, output.gates, mask)

    def views(
        self, output: AGTOutput, words: tuple[str, ...], lengths: tuple[int, ...]
    ) -> dict[str, Attention]:
        """``layers``: one row per layer, over the words."""
        weights = rows_of(output.attention[0])
        return {"layers": Attention(weights, tuple(f"layer {row}" for row in range(len(weights))))}

    def word_attention(self, output: AGTOutput, mask: Tensor) -> dict[str, Tensor]:
        """All layers weighted by the gates, and each layer alone; empty where all words weigh
        alike."""
        if not self.settings.model.attention:
            return {}
        layers = {f"layer {row}": one for row, one in enumerate(output.attention.unbind(1))}
        return {"attention": agt_words(output.attention, output.gates)} | layers

    def attention_of(self, output: AGTOutput) -> Tensor | None:
        """All layers'; None where all words weigh alike."""
        return output.attention if self.settings.model.attention else None

    def see_states(self, see: Callable[[Tensor], None]) -> RemovableHandle:
        """The projected words, B of (1)."""
        return self.model.projection.register_forward_hook(lambda _, __, x: see(x.tanh()))
