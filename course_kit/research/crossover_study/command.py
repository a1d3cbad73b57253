"""The author's command ``crossover``: runs the design's cells, and what follows from them."""

import argparse
from pathlib import Path

from course_kit.research.crossover_study import analysis, design, publishing
from course_kit.research.crossover_study.cell import plan_commit
from course_kit.research.crossover_study.runner import run_all
from course_lib.runs.settings import SpecError


def command(options: argparse.Namespace) -> int:
    """Run cells, publish or analyse them, decide the ruler, or list the texts.

    ``SpecError`` for a name of no cell or group.
    """
    chosen, folder = chosen_cells(options.group, options.only), Path(options.runs)
    if options.what == "run":
        before = set(design.cells(*design.BEFORE_THE_PLAN)) >= set(chosen)
        plan = None if before else plan_commit()
        missing = run_all(chosen, folder, plan, options.jobs, options.pause)
        print(f"{len(chosen) - missing} of {len(chosen)} networks are done")
        return bool(missing)
    if options.what == "publish":
        print(f"{len(publishing.publish(chosen, folder))} networks are published")
    elif options.what == "ruler":
        print(f"primary measure: {publishing.decide(folder)['primary']}")
    elif options.what == "texts":
        print(f"{len(publishing.list_texts())} corpora are listed")
    else:
        table = analysis.load()
        print(f"by {analysis.PRIMARY}\n{analysis.results(table).to_string(index=False)}")
        print(f"\nby every ruler\n{analysis.by_ruler(table).round(3).to_string()}")
    return 0


def chosen_cells(groups: list[str], only: list[str]) -> list[design.Cell]:
    """The cells of some groups, or some cells, or all of the plan."""
    if unknown := [name for name in groups if name not in design.groups()]:
        raise SpecError(f"no group {unknown[0]!r}; there are {', '.join(design.groups())}")
    known = {cell.name: cell for cell in design.cells(*(design.groups() if only else groups))}
    if unknown := [name for name in only if name not in known]:
        raise SpecError(f"no cell {unknown[0]!r} in {design.DESIGN.name}")
    return [known[name] for name in only] if only else list(known.values())
