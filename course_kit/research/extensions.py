"""Extensions: what the papers left open, tried once and recorded.

These studies are finished, and a record is found by its settings. The networks are in the history:
each record names the commit that trained it. ``course_lib`` finds them through entry points.
"""

from dataclasses import asdict, make_dataclass, replace
from typing import Any, ClassVar

from course_lib.runs.settings import Settings, SpecError
from course_lib.runs.systems import SYSTEMS


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


def finished(name: str, variant_of: str, *presets: str, **further: Any) -> type[FinishedSystem]:
    """A variant of a system with some of its presets, whose networks have ``further`` settings."""
    fields = [(field, type(value), value) for field, value in further.items()]
    chosen = {preset: SYSTEMS[variant_of].presets[preset] for preset in presets}
    bases = (type(chosen[presets[0]].model),)
    config = make_dataclass(f"{name}_config", fields, bases=bases, frozen=True)
    made = {
        preset: replace(settings, model=config(**asdict(settings.model)))
        for preset, settings in chosen.items()
    }
    return type(name, (FinishedSystem,), {"presets": made})


# An IRAM that decides how many steps it takes, at most ``steps``: by a learned ``halting``
# probability at the price ``ponder`` a step (Graves 2016), or, by "overlap", it ends before a step
# whose cosine with an earlier one is above ``most_overlap``.
adaptive_iram = finished(
    "adaptive_iram", "iram", "vanilla", halting="probability", ponder=0.01, most_overlap=0.9
)
# A HAN whose word attention knows what the other sentences say (Remy et al. 2019): read in ``both``
# directions, their ``mean`` and not their sum, through a gate (``gated``) or whole.
context_han = finished("context_han", "han", "report", "long", both=True, mean=True, gated=False)
# A SANet with several ``heads``, whose scores have a learned bias for each distance between two
# words up to ``relative`` (0: none).
near_sanet = finished("near_sanet", "sanet", "base", "compact", heads=1, relative=0)
# An AGT that learns of the ``order`` in (1): "gru", from the states of a GRU, or "positions", from
# vectors of the places added to those of the words.
ordered_agt = finished("ordered_agt", "agt", "compact", order="gru")
