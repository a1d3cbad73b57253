"""What the paper reads: the tables and records of a folder, the plan's table of power, settings."""

import json
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from course_kit.research.crossover_study import analysis, design
from course_kit.research.crossover_study.corpora import FOLDER, NEW
from course_lib.files import DataError


@dataclass(frozen=True)
class Sources:
    """A folder such as ``results/crossover``, each of its files read once."""

    folder: Path = FOLDER

    @cached_property
    def rows(self) -> pd.DataFrame:
        """The measured texts of all networks; ``DataError`` if a corpus has no table."""
        paths = [self.folder / f"{corpus}.parquet" for corpus in NEW]
        if missing := [path.name for path in paths if not path.exists()]:
            raise DataError(
                f"{self.folder} has no {', '.join(missing)}; `attention-course author crossover "
                "publish --runs FOLDER` writes the tables when the networks are trained"
            )
        return pd.concat(map(pd.read_parquet, paths), ignore_index=True)

    @cached_property
    def table(self) -> pd.DataFrame:
        """The same without networks that have not learned their task."""
        return analysis.load(self.folder) if len(self.rows) else self.rows

    @cached_property
    def by_corpus(self) -> dict[str, analysis.Values]:
        """The values of each corpus, for contrasts."""
        return {str(name): analysis.Values(part) for name, part in self.table.groupby("corpus")}

    def values(self, corpus: str, measure: str) -> analysis.Values:
        """The values of a corpus by a measure."""
        values = copy(self.by_corpus[corpus])
        values.measure = measure
        return values

    @cached_property
    def results(self) -> pd.DataFrame:
        """A row for each hypothesis, by its name."""
        return analysis.results(self.table).set_index("hypothesis")

    @cached_property
    def planted(self) -> pd.DataFrame:
        """The planted texts' rows."""
        return pd.read_parquet(self.folder / "ruler.parquet")

    @cached_property
    def decided(self) -> dict[str, Any]:
        """What the planted texts say about the rulers."""
        return self._json("ruler.json")

    @cached_property
    def texts(self) -> dict[str, Any]:
        """The digests of all texts, by corpus."""
        return self._json("held_out.json")

    @cached_property
    def records(self) -> dict[str, dict[str, Any]]:
        """The records of the plan's networks, by name."""
        names = [cell.name for cell in design.cells()]
        paths = {name: self.folder / "runs" / f"{name}.json" for name in names}
        return {
            name: json.loads(path.read_text(encoding="utf-8"))
            for name, path in paths.items()
            if path.exists()
        }

    def _json(self, name: str) -> dict[str, Any]:
        return json.loads((self.folder / name).read_text(encoding="utf-8"))


def planned_power(plan: Path = design.PLAN) -> dict[str, Sequence[str]]:
    """Seeds, power at 5 % and power at Holm's strictest level of each hypothesis, as the plan's
    table of hypotheses has them, which stand there in the order of ``HYPOTHESES``."""
    section = plan.read_text(encoding="utf-8").split("## Hypotheses")[1].split("\n##")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    names = [hypothesis.name for hypothesis in analysis.HYPOTHESES]
    predicted = [hypothesis.predicted for hypothesis in analysis.HYPOTHESES]
    if [row[2] for row in cells] != predicted:
        raise DataError(f"{plan.name}: its table of hypotheses is not that of the analysis")
    return {name: row[3:6] for name, row in zip(names, cells, strict=True)}
