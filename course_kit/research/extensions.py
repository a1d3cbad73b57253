"""Extensions: what the papers left open, tried once and recorded.

These studies are finished, and a record is found by its settings. The networks are in the history:
each record names the commit that trained it.
"""

from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

from course_lib.models.agt import AGTConfig
from course_lib.models.han import HANConfig
from course_lib.models.iram import IRAMConfig
from course_lib.models.sanet import SANetConfig
from course_lib.runs.settings import Settings, SpecError
from course_lib.runs.systems import Network, register
from course_lib.runs.systems.agt_system import AGTSystem
from course_lib.runs.systems.han_system import HANSystem
from course_lib.runs.systems.iram_system import IRAMSystem
from course_lib.runs.systems.sanet_system import SANetSystem


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


def finished(system: type[Network], config: type, *names: str) -> type[FinishedSystem]:
    """A variant of a system with some of its presets, whose network's ``config`` has more."""
    chosen = {name: system.presets[name] for name in names}
    presets = {name: replace(s, model=config(**asdict(s.model))) for name, s in chosen.items()}
    return type(
        config.__name__.replace("Config", "System"), (FinishedSystem,), {"presets": presets}
    )


@dataclass(frozen=True)
class AdaptiveIRAMConfig(IRAMConfig):
    """An IRAM that decides how many steps it takes, at most ``steps``: by a learned ``halting``
    probability at the price ``ponder`` a step (Graves 2016), or it ends before a step whose cosine
    with an earlier one is above ``most_overlap``."""

    steps: int = 5
    halting: str = "probability"
    ponder: float = 0.01
    most_overlap: float = 0.9


@dataclass(frozen=True)
class ContextHANConfig(HANConfig):
    """A HAN whose word attention knows what the other sentences say (Remy et al. 2019): read in
    ``both`` directions, their ``mean`` and not their sum, through a gate (``gated``) or whole."""

    both: bool = True
    mean: bool = True
    gated: bool = False


@dataclass(frozen=True)
class NearSANetConfig(SANetConfig):
    """A SANet with several ``heads``, whose scores have a learned bias for each distance between
    two words up to ``relative`` (0: none)."""

    heads: int = 1
    relative: int = 0


@dataclass(frozen=True)
class OrderedAGTConfig(AGTConfig):
    """An AGT that learns of the ``order`` in (1): ``gru``, from the states of a GRU, or
    ``positions``, from vectors of the places added to those of the words."""

    order: str = "gru"


SYSTEMS = {
    "adaptive_iram": finished(IRAMSystem, AdaptiveIRAMConfig, "vanilla"),
    "context_han": finished(HANSystem, ContextHANConfig, "report", "long"),
    "near_sanet": finished(SANetSystem, NearSANetConfig, "base", "compact"),
    "ordered_agt": finished(AGTSystem, OrderedAGTConfig, "compact"),
}


def register_all() -> None:
    """Make these systems known to ``course_lib``, which finds this through an entry point."""
    for name, system in SYSTEMS.items():
        register(name, system)
