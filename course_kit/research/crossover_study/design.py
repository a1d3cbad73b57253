"""The cells of the design: one network each, in the order in which they run."""

from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import yaml

from course_kit.research.crossover_study.corpora import FOLDER, NEW
from course_lib.files import REPOSITORY
from course_lib.runs.folders import RUNS

HERE = REPOSITORY / "notebooks" / "experiments" / "faithful"
DESIGN, PLAN = HERE / "design_2.yaml", HERE / "plan_2.md"
WORKING = RUNS / "crossover"  # by default; ``--runs`` names another folder
RECORDS = FOLDER / "runs"
BEFORE_THE_PLAN = ("ruler", "ruler_minilm", "pilot")  # groups that are not part of it


@dataclass(frozen=True, order=True)
class Cell:
    """One network of the design."""

    corpus: str
    encoder: str
    attention: str
    training: str
    seed: int

    @property
    def name(self) -> str:
        """What names its record."""
        return "_".join([self.corpus, self.encoder, self.attention, self.training, f"s{self.seed}"])


@cache
def groups(path: Path = DESIGN) -> dict[str, list[Cell]]:
    """The cells of each group, seed after seed."""
    every: dict[str, dict[str, Any]] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return {
        name: [
            Cell(*levels, seed)
            for seed in range(group["seeds"])
            for levels in product(
                group.get("corpora", NEW),
                group["encoders"],
                group["attentions"],
                group.get("trainings", ["usual"]),
            )
        ]
        for name, group in every.items()
    }


def cells(*names: str) -> list[Cell]:
    """The cells of some groups, each once; by default of all groups of the plan."""
    chosen = names or [name for name in groups() if name not in BEFORE_THE_PLAN]
    return list(dict.fromkeys(cell for name in chosen for cell in groups()[name]))
