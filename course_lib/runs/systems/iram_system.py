"""IRAM as a system that can be run: the paper's settings, its ablations and its baseline."""

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from course_lib.data.config import TextConfig
from course_lib.data.ngrams import hashed_ngrams
from course_lib.data.vocabulary import RESERVED
from course_lib.faithfulness.word_attention import iram_steps
from course_lib.metrics.steps import describe_steps
from course_lib.models.iram import IRAM, FullIRAM, IRAMConfig, IRAMOutput
from course_lib.models.layers import visible
from course_lib.runs.settings import Settings
from course_lib.runs.systems.neural import NeuralSystem, rows_of, see_input
from course_lib.runs.systems.system import compact
from course_lib.training.config import TrainingConfig
from course_lib.views.reading import Attention

# With fixed vectors, a word of the test half has its vector like any other; with trained ones
# (IMDb), it keeps its initial vector, shrunk by weight decay. Labels are not used.
TEXT = TextConfig(vocabulary_from="train+validation+test", standardise=True)
TRAINING = TrainingConfig(
    batch_size=32,
    epochs=20,
    patience=3,
    best_by="accuracy",
    optimizer="amsgrad",
    learning_rate=3e-4,
    weight_decay=3e-5,
    decay=False,
)
VANILLA = Settings(TEXT, IRAMConfig.vanilla(), TRAINING)
FULL = Settings(TEXT, IRAMConfig.full(), TRAINING)


def full_without(**parts: int) -> Settings:
    """The full network without some of its parts."""
    return replace(FULL, model=replace(FULL.model, **parts))


class IRAMSystem(NeuralSystem):
    """One sequence of words, read by an IRAM."""

    network_of = IRAM
    presets: ClassVar = {
        "vanilla": VANILLA,
        "baseline": replace(VANILLA, model=IRAMConfig.vanilla(steps=0, penalty=0.0)),
        "full": FULL,
        "full-no-ngrams": full_without(ngrams=0),
        "full-no-query": full_without(query_layers=0, query_highway=False),
        "full-no-embedding": full_without(embedding_highway=0),
        "imdb": Settings(
            replace(TEXT, max_tokens=200, vocabulary_limit=30_000),
            IRAMConfig.full(frozen=False),
            TRAINING,
        ),
        "compact": compact(
            replace(VANILLA, model=IRAMConfig.vanilla(dropout=0.3, hidden_dropout=0.3))
        ),
        "lesson": compact(  # lesson 05 trains it with several penalties
            Settings(
                replace(TEXT, max_tokens=60),
                IRAMConfig.vanilla(hidden=60, initial_std=0.0),
                replace(TRAINING, batch_size=64, epochs=3, learning_rate=1e-3),
            )
        ),
        "small": Settings(
            replace(TEXT, vectors="none", standardise=False),
            IRAMConfig.vanilla(embedding=16, hidden=32, frozen=False, initial_std=0.0),
            replace(TRAINING, epochs=4, learning_rate=5e-3),
        ),
    }

    def network(self, embedding: Tensor | None) -> IRAM:
        """The untrained network over the vocabulary's words."""
        config, ngrams = self.settings.model, None
        if not config.has_extras:
            return self.network_of(config, len(self.vocabulary), len(self.classes), embedding)
        if config.ngrams:
            ngrams = hashed_ngrams(self.vocabulary.words, config.ngrams)
            ngrams = torch.nn.functional.pad(ngrams, (0, 0, RESERVED, 0))  # padding, unknown: none
        return FullIRAM(config, len(self.vocabulary), len(self.classes), embedding, ngrams)

    def scorers(self, model: IRAM) -> list[nn.Module]:
        """W and whatever makes queries alone: the controller, the first query's highway and the
        LSTM layers above that of the states. Uniform weights are those of each step over all words
        and the summaries of earlier steps."""
        of_query = [*model.encoder.layers[model.encoder.context_layers :], model.refine_query]
        controller = model.steps.controller  # a single step has none
        return [model.steps.attend, *of_query, *([] if controller is None else [controller])]

    def figures(self, output: IRAMOutput, mask: Tensor) -> dict[str, Tensor]:
        """What describes the steps of each document."""
        return describe_steps(output.attention, mask)

    def views(
        self, output: IRAMOutput, words: tuple[str, ...], lengths: tuple[int, ...]
    ) -> dict[str, Attention]:
        """``steps``: one row per step, over the words and the summaries of earlier steps."""
        if output.attention is None:
            return {}
        steps = range(1, self.settings.model.steps + 1)
        rows = tuple(f"step {step}" for step in steps)
        summaries = tuple(f"summary {step}" for step in steps[:-1])
        return {"steps": Attention(rows_of(output.attention[0]), rows, extra=summaries)}

    def word_attention(self, output: IRAMOutput, mask: Tensor) -> dict[str, Tensor]:
        """What the last summary is made of, unrolled to words; then each step's own words, without
        its summaries."""
        if output.attention is None:
            return {}
        words = output.attention[:, :, : mask.shape[1]]
        steps = {f"step {number}": one for number, one in enumerate(words.unbind(1), start=1)}
        return {"attention": iram_steps(output.attention, mask)[:, -1]} | steps

    def visible(self, weights: Tensor, mask: Tensor) -> Tensor:
        """The words, and the summaries of earlier steps."""
        return visible(mask, weights.shape[1])

    def change_vectors(self, change: Callable[[Tensor], Tensor]) -> RemovableHandle:
        """What the LSTM reads before the highway, so a word's n-grams belong to its vector."""
        if not isinstance(self.model, FullIRAM):
            return super().change_vectors(change)
        return self.model.highway.register_forward_pre_hook(lambda _, inputs: change(*inputs))

    def encoder(self) -> nn.Module:
        """What makes states of words."""
        return self.model.encoder

    def see_states(self, see: Callable[[Tensor], None]) -> RemovableHandle:
        """The LSTM's states, which all steps read."""
        if self.model.steps is None:
            return super().see_states(see)
        return see_input(self.model.steps, see)
