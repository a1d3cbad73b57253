"""An AGT that sees the order of the words: the smallest changes that let it."""

from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from course_lib.checking import check_choice, check_even, refusal
from course_lib.models.agt import AGT, AGTConfig
from course_lib.models.gru import BidirectionalGRU
from course_lib.models.layers import positions
from course_lib.runs.settings import Settings
from course_lib.runs.systems.agt_system import AGTSystem
from course_lib.runs.systems.network import Network


@dataclass(frozen=True)
class OrderedAGTConfig(AGTConfig):
    """An AGT's sizes, and how (1) learns of the order: ``gru``, B_n = tanh(W [→h_n; ←h_n] + b), or
    ``positions``, B_n = tanh(W (x_n + PE_n) + b). ``ValueError`` for another value."""

    order: str = "gru"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self, "order", ("gru", "positions"))
        check_even(self, "hidden")
        if self.ablated:
            raise refusal(self, "layers", "at least 2, all of which select words")


class OrderedAGT(AGT):
    """An AGT whose word vectors B depend on where each word stands."""

    def __init__(self, config: OrderedAGTConfig, *sizes: Any) -> None:
        """As ``AGT``."""
        super().__init__(config, *sizes)
        if config.order == "gru":
            self.gru = BidirectionalGRU(self.embedding.embedding_dim, config.hidden // 2)
            self.projection = nn.Linear(config.hidden, config.hidden)

    def project(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """As in ``AGT``; real words come first."""
        x = self.word_dropout(self.embedding(tokens))
        if self.config.order == "gru":
            x = self.gru(x, mask)
        else:
            x = x + positions(x.shape[1], x.shape[2], x.dtype).to(x.device)
        return torch.tanh(self.projection(x))

    def word_scores(self, words: Tensor) -> Tensor:
        """``ValueError``: here a word has no scores of its own."""
        raise ValueError("in an AGT that sees the order, a word's scores depend on its place")


def presets_for(system: type[Network], config: type, *names: str) -> dict[str, Settings]:
    """Some presets of a system for a variant of its network, whose ``config`` has more fields."""
    chosen = {name: system.presets[name] for name in names}
    return {name: replace(s, model=config(**asdict(s.model))) for name, s in chosen.items()}


class OrderedAGTSystem(AGTSystem):
    """One sequence of words, read by an AGT that sees their order."""

    network_of: ClassVar = OrderedAGT
    presets: ClassVar = presets_for(AGTSystem, OrderedAGTConfig, "paper", "compact", "small")
