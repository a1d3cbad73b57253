"""Systems of finished studies, of which the records are left: a record is found by its settings.

Their networks are in the history. Each record names the commit that trained it.
"""

from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

from course_lib.models.agt import AGTConfig
from course_lib.models.han import HANConfig
from course_lib.models.iram import IRAMConfig
from course_lib.models.sanet import SANetConfig
from course_lib.runs.settings import Settings, SpecError
from course_lib.runs.systems import Network
from course_lib.runs.systems.agt_system import AGTSystem
from course_lib.runs.systems.han_system import HANSystem
from course_lib.runs.systems.iram_system import IRAMSystem
from course_lib.runs.systems.sanet_system import SANetSystem


def presets_for(system: type[Network], config: type, *names: str) -> dict[str, Settings]:
    """Some presets of a system for a variant of its network, whose ``config`` has more fields."""
    chosen = {name: system.presets[name] for name in names}
    return {name: replace(s, model=config(**asdict(s.model))) for name, s in chosen.items()}


class FinishedSystem:
    """Presets, by which records are found, and no network: ``SpecError`` if one is asked for."""

    presets: ClassVar[dict[str, Settings]]

    def __init__(self, *_: Any) -> None:
        raise SpecError(
            f"{type(self).__name__} belongs to a finished study: its records can be read, and the "
            "commit in their environment trains it again"
        )

    @classmethod
    def check(cls, settings: Settings, rows: int | None = None) -> None:
        """Nothing is refused, since nothing is trained."""


@dataclass(frozen=True)
class AdaptiveIRAMConfig(IRAMConfig):
    """An IRAM that takes at most ``steps`` steps and ends them itself: by a learned ``halting``
    probability at the price ``ponder`` a step (Graves 2016), or before a step whose cosine with an
    earlier one is above ``most_overlap``."""

    steps: int = 5
    halting: str = "probability"
    ponder: float = 0.01
    most_overlap: float = 0.9


class AdaptiveIRAMSystem(FinishedSystem):
    """An IRAM that decides for itself how many steps it takes."""

    presets: ClassVar = presets_for(IRAMSystem, AdaptiveIRAMConfig, "vanilla")


@dataclass(frozen=True)
class ContextHANConfig(HANConfig):
    """A HAN whose word attention knows what the other sentences say (Remy et al. 2019): read in
    ``both`` directions, their ``mean`` and not their sum, through a gate (``gated``) or whole."""

    both: bool = True
    mean: bool = True
    gated: bool = False


class ContextHANSystem(FinishedSystem):
    """A HAN that reads each sentence in the context of the others."""

    presets: ClassVar = presets_for(HANSystem, ContextHANConfig, "report", "long")


@dataclass(frozen=True)
class NearSANetConfig(SANetConfig):
    """A SANet with several ``heads``, whose scores have a learned bias for each distance between
    two words up to ``relative`` (0: none)."""

    heads: int = 1
    relative: int = 0


class NearSANetSystem(FinishedSystem):
    """A SANet that knows how far two words stand apart, or that has several heads in a block."""

    presets: ClassVar = presets_for(SANetSystem, NearSANetConfig, "base", "compact")


@dataclass(frozen=True)
class OrderedAGTConfig(AGTConfig):
    """An AGT that learns of the ``order`` in (1): ``gru``, from the states of a GRU, or
    ``positions``, from vectors of the places added to those of the words."""

    order: str = "gru"


class OrderedAGTSystem(FinishedSystem):
    """An AGT that sees the order of the words."""

    presets: ClassVar = presets_for(AGTSystem, OrderedAGTConfig, "compact")
