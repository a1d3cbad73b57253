"""The author's command ``faithful``: runs the design's cells, publishes them, writes the paper."""

import argparse

from course_kit.research.factorial_study import design, paper
from course_kit.research.factorial_study.cell import publish, run
from course_lib.front_end import progress
from course_lib.runs.settings import SpecError


def command(options: argparse.Namespace) -> int:
    """Run cells, publish what is new, or write the paper; ``SpecError`` for a name of no cell."""
    if options.what == "publish":
        print("\n".join(publish(design.cells())))
    elif options.what == "paper":
        print(paper.write())
    else:
        known = {cell.name: cell for cell in design.cells()}
        if unknown := [name for name in options.only if name not in known]:
            raise SpecError(f"no cell {unknown[0]!r} in {design.DESIGN.name}")
        chosen = [known[name] for name in options.only] or design.missing()
        for cell in progress(chosen, "networks"):
            run(cell)
            print(cell.name, flush=True)
    return 0
