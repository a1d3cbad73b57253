"""What can be run: every system by its name, ours and those that other packages register."""

from functools import cache
from importlib.metadata import entry_points

from course_lib.runs import asked
from course_lib.runs.systems.agt_system import AGTSystem
from course_lib.runs.systems.bilstm_system import BiLSTMSystem
from course_lib.runs.systems.han_system import HANSystem
from course_lib.runs.systems.iram_system import IRAMSystem
from course_lib.runs.systems.minilm_system import MiniLMSystem
from course_lib.runs.systems.neural import NeuralSystem
from course_lib.runs.systems.sanet_system import SANetSystem
from course_lib.runs.systems.system import Evaluation
from course_lib.runs.systems.tfidf_system import TfidfSystem
from course_lib.runs.systems.transformer_system import TransformerSystem

__all__ = ["Evaluation", "NeuralSystem", "System", "TfidfSystem", "known_systems", "register"]

System = NeuralSystem | TfidfSystem  # a text classifier, from its settings to its readings
SYSTEMS: dict[str, type] = {
    "agt": AGTSystem,
    "bilstm": BiLSTMSystem,
    "han": HANSystem,
    "iram": IRAMSystem,
    "minilm": MiniLMSystem,
    "sanet": SANetSystem,
    "tfidf": TfidfSystem,
    "transformer": TransformerSystem,
}


def register(name: str, system: type) -> None:
    """Make a system known by its name in specs; raises ``ValueError`` if another one has it.

    One that is no ``NeuralSystem`` has what ``TfidfSystem`` has.
    """
    if SYSTEMS.setdefault(name, system) is not system:
        raise ValueError(f"there is a system named {name!r} already: {SYSTEMS[name]}")


@cache
def known_systems() -> dict[str, type]:
    """Every system by its name, those of installed packages included."""
    for plugin in entry_points(group=asked.SYSTEMS):
        register(plugin.name, plugin.load())
    return dict(sorted(SYSTEMS.items()))
