"""HAN as a system that can be run: the IMDb report's settings, and ours where it gives none."""

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

import numpy as np
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from course_lib.data.config import TextConfig
from course_lib.faithfulness.word_attention import han_words
from course_lib.models.han import HAN, HANConfig, HANOutput
from course_lib.runs.settings import Settings
from course_lib.runs.systems.neural import NeuralSystem, rows_of, see_input
from course_lib.runs.systems.system import compact
from course_lib.training.config import TrainingConfig
from course_lib.views.reading import Attention

REPORT = Settings(
    TextConfig(max_sentences=7, max_words=30, vocabulary_limit=29_936),
    HANConfig.imdb(),
    TrainingConfig(batch_size=64, learning_rate=3e-3, epochs=4, patience=2),
)
LONG = replace(REPORT, text=replace(REPORT.text, max_sentences=25, max_words=50))


class HANSystem(NeuralSystem):
    """Sentences of words, read by a HAN."""

    reads_sentences = True
    network_of = HAN
    presets: ClassVar = {
        "report": REPORT,
        "long": LONG,
        "compact": compact(LONG),
        "small": Settings(
            replace(REPORT.text, vectors="none"),
            HANConfig.imdb(hidden=16, attention=32),
            replace(REPORT.training, batch_size=32, learning_rate=5e-3),
        ),
    }

    def scorers(self, model: HAN) -> list[nn.Module]:
        """W, b and the context vectors c of both levels."""
        return [model.words.pooling, model.sentences.pooling]

    def views(
        self, output: HANOutput, words: tuple[str, ...], lengths: tuple[int, ...]
    ) -> dict[str, Attention]:
        """``words``: shares within each sentence; ``sentences``: those of the document."""
        alpha, beta = rows_of(output.word_attention[0]), rows_of(output.sentence_attention)
        in_order = [alpha[sentence, :length] for sentence, length in enumerate(lengths)]
        return {
            "words": Attention(np.concatenate(in_order)[None], ("",)),
            "sentences": Attention(beta[:, : len(lengths)], ("",), over="sentences"),
        }

    def word_attention(self, output: HANOutput, mask: Tensor) -> dict[str, Tensor]:
        """Each word's share of its sentence, times that of the sentence."""
        return {"attention": han_words(output.word_attention, output.sentence_attention)}

    def attention_of(self, output: HANOutput) -> Tensor:
        """That of words within sentences; the sentences keep theirs."""
        return output.word_attention

    def given(self, weights: Tensor, output: HANOutput) -> tuple[Tensor, Tensor]:
        """With the sentences' attention."""
        return weights, output.sentence_attention.expand(len(weights), -1)

    def see_states(self, see: Callable[[Tensor], None]) -> RemovableHandle:
        """The words' GRU states."""
        return see_input(self.model.words.pooling, see)
