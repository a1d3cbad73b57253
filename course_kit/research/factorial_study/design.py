"""The cells of the design, whole designs of few seeds first, and where their records are."""

from dataclasses import dataclass
from itertools import product
from pathlib import Path

import yaml

from course_lib.files import REPOSITORY
from course_lib.runs.folders import RESULTS

HERE = REPOSITORY / "notebooks" / "experiments" / "faithful"
DESIGN, PLAN = HERE / "design.yaml", HERE / "plan.md"
FOLDER = RESULTS / "faithful"
FACTORS = ("corpora", "encoders", "attentions")


@dataclass(frozen=True)
class Cell:
    """One network of the design."""

    corpus: str
    encoder: str
    attention: str
    seed: int

    @property
    def name(self) -> str:
        """What names its record."""
        return f"{self.corpus}-{self.encoder}-{self.attention}-s{self.seed}"

    @property
    def record(self) -> Path:
        """Where its record is."""
        return FOLDER / "runs" / f"{self.name}.json"


def cells(path: Path = DESIGN) -> list[Cell]:
    """All cells of all groups, seed after seed."""
    groups = yaml.safe_load(path.read_text(encoding="utf-8"))
    seeds = max(group["seeds"] for group in groups.values())
    return [
        Cell(*levels, seed)
        for seed in range(seeds)
        for group in groups.values()
        if seed < group["seeds"]
        for levels in product(*(group[factor] for factor in FACTORS))
    ]


def rows_path(corpus: str) -> Path:
    """The table with a row for each network and measured text of a corpus."""
    return FOLDER / f"{corpus}.parquet"
