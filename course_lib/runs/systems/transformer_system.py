"""A small Transformer over words as a system that can be run: two layers of four heads."""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import torch
from torch import Tensor, nn

from course_lib.data.config import TextConfig
from course_lib.faithfulness.word_attention import mean_received, rollout, rollout_words
from course_lib.metrics.invariants import evaluating
from course_lib.models.transformer import Transformer, TransformerConfig, TransformerOutput
from course_lib.runs.settings import Settings
from course_lib.runs.systems.neural import NeuralSystem, rows_of
from course_lib.runs.systems.system import compact
from course_lib.training.config import TrainingConfig
from course_lib.views.reading import Attention

LESSON = compact(
    Settings(
        TextConfig(max_tokens=60), TransformerConfig(), TrainingConfig(epochs=2, batch_size=64)
    )
)


class TransformerSystem(NeuralSystem):
    """One sequence of words, read by a Transformer.

    ``special`` are tokens that the network adds, which stand behind the words.
    """

    network_of = Transformer
    special: ClassVar[tuple[str, ...]] = ()
    presets: ClassVar = {
        "lesson": LESSON,
        "small": Settings(
            replace(TextConfig(max_tokens=60), vectors="none"),
            TransformerConfig(dropout=0.1, attention_dropout=0.1),
            TrainingConfig(epochs=6, learning_rate=5e-3, patience=6),
        ),
    }

    def scorers(self, model: Transformer) -> list[nn.Module]:
        """Each block's W_Q and W_K; uniform weights are those of each token over all tokens."""
        return [
            part for block in model.blocks for part in (block.attention.query, block.attention.key)
        ]

    def forward(self, tokens: Tensor, mask: Tensor) -> TransformerOutput:
        """The network's output with its attention."""
        return self.model(tokens, mask, return_attention=True)

    def places(self, mask: Tensor) -> Tensor:
        """The mask of all that attends, from that of the words."""
        return mask

    @torch.inference_mode()
    def heads(self, words: Sequence[str]) -> Tensor:
        """The attention of every head over one text, ``(layers, heads, tokens, tokens)``."""
        with evaluating(self.model):
            return self.forward(*self.batch([[list(words)]])).attention[0]

    def views(
        self, output: TransformerOutput, words: tuple[str, ...], lengths: tuple[int, ...]
    ) -> dict[str, Attention]:
        """``rollout``, then the mean of the heads of ``layer 1``, …: what each word attends to."""
        rows = (*words, *self.special)
        mask = output.logits.new_ones(1, len(rows)).bool()
        means = output.attention.mean(2)  # (1, layers, words, words)
        views = {"rollout": Attention(rows_of(rollout(means, mask)[0]), rows, extra=self.special)}
        for number, alpha in enumerate(means[0], start=1):
            views[f"layer {number}"] = Attention(rows_of(alpha), rows, extra=self.special)
        return views

    def word_attention(self, output: TransformerOutput, mask: Tensor) -> dict[str, Tensor]:
        """What each word receives in the top layer, the mean of the heads; and rollout."""
        means = output.attention.mean(2)
        return {
            "attention": mean_received(means[:, -1], mask),
            "rollout": rollout_words(means, mask),
        }

    def visible(self, weights: Tensor, mask: Tensor) -> Tensor:
        """Every pair of words and special tokens, in every head."""
        real = self.places(mask)
        return (real.unsqueeze(1) & real.unsqueeze(2))[:, None, None].expand_as(weights)
