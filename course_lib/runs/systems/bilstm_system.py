"""Jain and Wallace's BiLSTM with attention, and their variants, as a system that can be run.

Theirs are 256 wide over 300-d vectors that learn, trained for 8 epochs. Ours are half as wide, over
the committed 100-d vectors, which stay as they are, so that a training takes minutes on one core.
In a quick look at SST-2's validation sentences, vectors that learn gained nothing.
``model.encoder`` and ``model.attention`` choose the variant.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from course_lib.data.config import TextConfig
from course_lib.metrics.attention import gini, row_entropy
from course_lib.models.bilstm import BiLSTM, BiLSTMConfig, BiLSTMOutput
from course_lib.runs.settings import Settings
from course_lib.runs.systems.neural import NeuralSystem, rows_of, see_input
from course_lib.runs.systems.system import compact
from course_lib.training.config import TrainingConfig
from course_lib.views.reading import Attention

SST2 = compact(
    Settings(
        TextConfig(),
        BiLSTMConfig.paper(hidden=128),
        # theirs, but for the epochs
        TrainingConfig(
            epochs=3, best_by="accuracy", optimizer="amsgrad", weight_decay=1e-5, decay=False
        ),
    )
)


class BiLSTMSystem(NeuralSystem):
    """One sequence of words, encoded and then weighed by attention."""

    network_of = BiLSTM
    presets: ClassVar = {
        "sst2": SST2,
        # Reviews are cut at 400 words; theirs are those of fewer than 400.
        "imdb": replace(SST2, text=replace(SST2.text, max_tokens=400)),
        "ag_news": SST2,
        "small": Settings(
            TextConfig(vectors="none"),
            replace(SST2.model, embedding=50, hidden=32),
            TrainingConfig(epochs=4, optimizer="adam", learning_rate=1e-2),
        ),
    }

    def scorers(self, model: BiLSTM) -> list[nn.Module]:
        """W, b and the context vector c."""
        return [model.pooling]

    def figures(self, output: BiLSTMOutput, mask: Tensor) -> dict[str, Tensor]:
        """How sparse each document's attention is: its Gini, and its entropy over log n."""
        row = output.attention.unsqueeze(1)  # (batch, 1, length)
        return {
            "gini": gini(row, mask, row_mask=mask.any(1, keepdim=True)),
            "entropy": row_entropy(row, mask).squeeze(1),
        }

    def views(
        self, output: BiLSTMOutput, words: tuple[str, ...], lengths: tuple[int, ...]
    ) -> dict[str, Attention]:
        """``words``: the share of each word's state in the document vector."""
        return {"words": Attention(rows_of(output.attention), ("",))}

    def word_attention(self, output: BiLSTMOutput, mask: Tensor) -> dict[str, Tensor]:
        """The attention as it is."""
        return {"attention": output.attention}

    def encoder(self) -> nn.Module:
        """What makes states of words."""
        return self.model.encoder

    def see_states(self, see: Callable[[Tensor], None]) -> RemovableHandle:
        """The encoder's states."""
        return see_input(self.model.pooling, see)
