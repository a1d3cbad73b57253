"""SANet as a system that can be run: the paper's settings and its baselines without attention."""

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from course_lib.data.config import TextConfig
from course_lib.faithfulness.word_attention import mean_received, pooled_rollout, rollout_words
from course_lib.metrics.attention import describe_attention
from course_lib.models.sanet import SANet, SANetConfig, SANetOutput, pooled_word_attention
from course_lib.runs.settings import Settings
from course_lib.runs.systems.neural import NeuralSystem, rows_of, see_input
from course_lib.runs.systems.system import compact
from course_lib.training.config import TrainingConfig
from course_lib.views.reading import Attention

TEXT = TextConfig(
    max_tokens=1000, vocabulary_from="train+validation", validation_share=0.2
)  # the paper's vectors are 100-d and 200-d
TRAINING = TrainingConfig(
    batch_size=128,
    epochs=40,
    patience=40,  # all epochs are run, the best is kept
    best_by="accuracy",
    optimizer="sgd",
    learning_rate=0.01,
    momentum=0.9,
    embedding_rate=0.1,
    decay=False,
    clip_norm=0.0,
    precision="native",
    most_tokens=32_768,  # 128 documents of 256 words at once, 32 of 1000
)
BASE = Settings(TEXT, SANetConfig.base(sparse=True), TRAINING)
BIG = Settings(TEXT, SANetConfig.big(sparse=True), replace(TRAINING, learning_rate=0.005))
# Frozen vectors, scores divided by √d, and a cut that most reviews fit into.
COMPACT = compact(
    replace(
        BASE, model=SANetConfig.base(scaled=True), training=replace(TRAINING, epochs=20, patience=5)
    ),
    max_tokens=400,
)


class SANetSystem(NeuralSystem):
    """One sequence of words, read by a SANet."""

    network_of = SANet
    presets: ClassVar = {
        "base": BASE,
        "baseline-base": replace(BASE, model=replace(BASE.model, attention=False)),
        "big": BIG,
        "baseline-big": replace(BIG, model=replace(BIG.model, attention=False)),
        "compact": COMPACT,
        "small": Settings(
            replace(TEXT, vectors="none"),
            SANetConfig(embedding=32, hidden=32, sparse=True),
            replace(TRAINING, batch_size=32, epochs=12, learning_rate=0.02, embedding_rate=1.0),
        ),
    }

    def scorers(self, model: SANet) -> list[nn.Module]:
        """Each block's W_QK; uniform weights are those of each word over all words."""
        return [block.mixer.w_qk for block in model.blocks]

    def forward(self, tokens: Tensor, mask: Tensor) -> SANetOutput:
        """The network's output with its attention."""
        return self.model(tokens, mask, return_attention=True)

    def figures(self, output: SANetOutput, mask: Tensor) -> dict[str, Tensor]:
        """Figures of each document's attention, block by block."""
        blocks = output.attention.shape[1]
        return {
            (f"block {number + 1} " if blocks > 1 else "") + name: values
            for number in range(blocks)
            for name, values in describe_attention(output.attention[:, number], mask).items()
        }

    def views(
        self, output: SANetOutput, words: tuple[str, ...], lengths: tuple[int, ...]
    ) -> dict[str, Attention]:
        """``block 1``, …: what each word attends to; ``pooled``: the share of the document
        vector's dimensions that come from each word."""
        mask = output.pooled_from.new_ones(1, len(words)).bool()
        views = {}
        if output.attention is not None:
            for number, block in enumerate(output.attention[0], start=1):
                views[f"block {number}"] = Attention(rows_of(block), words)
        shares = pooled_word_attention(output.pooled_from, mask)
        return views | {"pooled": Attention(rows_of(shares), ("",))}

    def word_attention(self, output: SANetOutput, mask: Tensor) -> dict[str, Tensor]:
        """Rollout from the places that max pooling took, and from all; what each word receives in
        each block; and what max pooling took, which a baseline has too."""
        pooled = pooled_word_attention(output.pooled_from, mask)
        if output.attention is None:
            return {"pooled": pooled}
        return {
            "attention": pooled_rollout(output.attention, pooled, mask),
            "rollout": rollout_words(output.attention, mask),
            **{
                f"received in block {number}": mean_received(block, mask)
                for number, block in enumerate(output.attention.unbind(1), start=1)
            },
            "pooled": pooled,
        }

    def visible(self, weights: Tensor, mask: Tensor) -> Tensor:
        """Every pair of words, in every block."""
        return (mask.unsqueeze(1) & mask.unsqueeze(2)).unsqueeze(1).expand_as(weights)

    def see_states(self, see: Callable[[Tensor], None]) -> RemovableHandle:
        """The first block's input: projected words."""
        return see_input(self.model.blocks[0], see)
