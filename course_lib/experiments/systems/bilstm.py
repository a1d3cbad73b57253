"""The BiLSTM with attention as a system that can be run: settings of ours for both corpora."""

from dataclasses import replace
from typing import ClassVar

from torch import Tensor, nn

from course_lib.data.config import TextConfig
from course_lib.experiments.settings import Settings
from course_lib.experiments.systems.network import Network, rows_of
from course_lib.metrics.attention import gini, row_entropy
from course_lib.models.bilstm import BiLSTM, BiLSTMConfig, BiLSTMOutput
from course_lib.training.config import TrainingConfig
from course_lib.views.reading import Attention

# The papers' network at half its width, with 50-d vectors and dropout.
IMDB = Settings(
    TextConfig(max_tokens=400, vocabulary_limit=30_000),
    BiLSTMConfig.paper(hidden=128, dropout=0.3),
    TrainingConfig(optimizer="adam", learning_rate=1e-3, epochs=6, patience=2),
)


class BiLSTMSystem(Network):
    """One sequence of words, read by a BiLSTM."""

    presets: ClassVar = {
        "imdb": IMDB,
        # The vectors are fixed, so a word of the test half has its own like any other.
        "sst2": replace(
            IMDB,
            text=TextConfig(vocabulary_from="train+validation+test"),
            model=replace(IMDB.model, hidden=200, frozen=True),
        ),
        "small": Settings(
            replace(IMDB.text, vectors="none"),
            replace(IMDB.model, embedding=50, hidden=32),
            replace(IMDB.training, epochs=4, learning_rate=1e-2),
        ),
    }

    def network(self, embedding: Tensor | None) -> BiLSTM:
        """The untrained network over the vocabulary's words."""
        return BiLSTM(self.settings.model, len(self.vocabulary), len(self.classes), embedding)

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
