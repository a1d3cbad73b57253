"""``attention-course author faithful``: run the design's cells, say what is missing, publish."""

import argparse
import json

from course_kit.research.faithful import cell as cells
from course_kit.research.faithful import design
from course_lib.front_end import progress
from course_lib.runs.settings import SpecError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to do, and with which cells."""
    parser.add_argument("what", choices=("status", "run", "publish", "pilot", "paper"))
    parser.add_argument("--only", nargs="+", default=[], metavar="CELL",
                        help="these cells, whether they have a record or not")  # fmt: skip
    help_ = "every Nth missing cell from the Ith on, for several machines"
    parser.add_argument("--part", default="1/1", metavar="I/N", help=help_)


def command(options: argparse.Namespace) -> int:
    """Do it; ``SpecError`` lists the cells that there are for a name that is none."""
    if options.what == "publish":
        print("\n".join(cells.publish(design.cells())))
    elif options.what == "paper":
        from course_kit.research.faithful import paper  # what it imports takes seconds

        print(paper.write())
    elif options.what == "status":
        print("\n".join(lines()))
    else:
        for cell in progress(chosen(options.only, options.part), "networks"):
            record = cells.run(cell, pilot=options.what == "pilot")
            print(json.dumps(record) if options.what == "pilot" else cell.name, flush=True)
    return 0


def chosen(names: list[str], part: str) -> list[design.Cell]:
    """The cells of those names, or one part of the missing ones."""
    if names:
        known = {cell.name: cell for cell in design.cells()}
        if unknown := [name for name in names if name not in known]:
            raise SpecError(
                f"no cell {unknown[0]!r}; `attention-course author faithful status` lists them"
            )
        return [known[name] for name in names]
    number, of = map(int, part.split("/"))
    return design.missing()[number - 1 :: of]


def lines() -> list[str]:
    """A line for each seed, and the names of the missing cells."""
    every, absent = design.cells(), design.missing()
    seeds = sorted({cell.seed for cell in every})
    counts = [
        (seed, *(sum(c.seed == seed for c in of) for of in (absent, every))) for seed in seeds
    ]
    return [
        *(f"seed {seed}: {total - gone} of {total} networks done" for seed, gone, total in counts),
        *(f"  missing {cell.name}" for cell in absent),
    ]
