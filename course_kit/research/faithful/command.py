"""``attention-course author faithful``: run cells of the design, publish, write the paper."""

import argparse

from course_kit.research.faithful import cell as cells
from course_kit.research.faithful import design
from course_lib.front_end import progress
from course_lib.runs.settings import SpecError


def command(options: argparse.Namespace) -> int:
    """Do it; ``SpecError`` for a name of no cell."""
    if options.what == "publish":
        print("\n".join(cells.publish(design.cells())))
    elif options.what == "paper":
        from course_kit.research.faithful import paper  # what it imports takes seconds

        print(paper.write())
    else:
        for cell in progress(chosen(options.only), "networks"):
            cells.run(cell)
            print(cell.name, flush=True)
    return 0


def chosen(names: list[str]) -> list[design.Cell]:
    """The cells of those names, or else the missing ones."""
    known = {cell.name: cell for cell in design.cells()}
    if unknown := [name for name in names if name not in known]:
        raise SpecError(f"no cell {unknown[0]!r} in {design.DESIGN.name}")
    return [known[name] for name in names] or design.missing()
