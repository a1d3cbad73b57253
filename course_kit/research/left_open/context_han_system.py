"""The context-aware HAN as a system that can be run, with HAN's own settings."""

from dataclasses import asdict, replace
from typing import ClassVar

from torch import Tensor, nn

from course_kit.research.left_open.context_han import ContextHAN, ContextHANConfig
from course_lib.runs.settings import Settings
from course_lib.runs.systems.han import LONG, REPORT, HANSystem


def in_context(settings: Settings, **variant: bool) -> Settings:
    """A HAN's settings for the network in context, and the variant of the paper."""
    return replace(settings, model=ContextHANConfig(**asdict(settings.model) | variant))


class ContextHANSystem(HANSystem):
    """Sentences of words, each read in the context of the others."""

    presets: ClassVar = {
        "report": in_context(REPORT),
        "long": in_context(LONG),
        "compact": in_context(HANSystem.presets["compact"]),
        "small": in_context(HANSystem.presets["small"]),
    }

    def network(self, embedding: Tensor | None) -> ContextHAN:
        """The untrained network over the vocabulary's words."""
        return ContextHAN(self.settings.model, len(self.vocabulary), len(self.classes), embedding)

    def scorers(self, model: ContextHAN) -> list[nn.Module]:
        """What scores the words in each direction, and the sentences."""
        return [*model.words.pooling, model.sentences.pooling]
