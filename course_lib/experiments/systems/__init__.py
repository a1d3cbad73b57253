"""What can be run: every system by its name. A new one is added here to be run; tables and
drawings of it are further work in `report/` and `views/`."""

from course_lib.experiments.systems.agt import AGTSystem
from course_lib.experiments.systems.bilstm import BiLSTMSystem
from course_lib.experiments.systems.context_han import ContextHANSystem
from course_lib.experiments.systems.han import HANSystem
from course_lib.experiments.systems.iram import IRAMSystem
from course_lib.experiments.systems.left_open import (
    AdaptiveIRAMSystem,
    NearSANetSystem,
    OrderedAGTSystem,
)
from course_lib.experiments.systems.network import Network
from course_lib.experiments.systems.sanet import SANetSystem
from course_lib.experiments.systems.system import Look, System
from course_lib.experiments.systems.tfidf import TfidfSystem

__all__ = ["SYSTEMS", "Look", "Network", "System", "TfidfSystem"]

SYSTEMS: dict[str, type] = {
    "adaptive_iram": AdaptiveIRAMSystem,
    "agt": AGTSystem,
    "bilstm": BiLSTMSystem,
    "context_han": ContextHANSystem,
    "han": HANSystem,
    "iram": IRAMSystem,
    "near_sanet": NearSANetSystem,
    "ordered_agt": OrderedAGTSystem,
    "sanet": SANetSystem,
    "tfidf": TfidfSystem,
}
