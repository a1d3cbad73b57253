"""The studies' commands, which ``attention-course`` finds through an entry point."""

import argparse
import re
from pathlib import Path

from course_lib.checking import instead
from course_lib.cli import Command, command_of
from course_lib.files import REPOSITORY, DataError


def _grid(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``attention-course grid``."""
    commands = parser.add_subparsers(dest="action")
    parser.set_defaults(overview=parser.format_help)
    example = "example: attention-course grid"
    shown = commands.add_parser(
        "status",
        epilog=f"{example} status core han",
        help="what is missing, how much of each group is done",
    )
    shown.add_argument("groups", nargs="*", help="only these")
    several = commands.add_parser(
        "run", epilog=f"{example} run core", help="run what is missing of some groups"
    )
    several.add_argument("groups", nargs="+", help="of grid.yaml, such as core")
    several.add_argument("--on", default="", metavar="PROFILE", help="elsewhere, e.g. slurm")
    several.add_argument("--again", action="store_true", help="also what only results/ holds")
    several.add_argument("--publish", action="store_true", help="copy the records to results/")
    several.set_defaults(further=[])  # unknown arguments go to Snakemake
    one = commands.add_parser(
        "one",
        epilog=f"{example} one han-imdb-small-s0",
        help="one run of the grid (what the Snakefile calls)",
    )
    one.add_argument("id", help="of the run, as status lists it")


def _check_grid(options: argparse.Namespace) -> None:
    """The names of groups are those of grid.yaml."""
    text = (REPOSITORY / "notebooks" / "experiments" / "grid.yaml").read_text(encoding="utf-8")
    there = re.findall(r"^([\w-]+):", text, re.MULTILINE)
    for name in getattr(options, "groups", ()):
        if name not in there:
            raise DataError(f"no group {name!r}; {instead(name, there)}")


def _crossover(parser: argparse.ArgumentParser) -> None:
    """What to do, with which networks, where and how many at a time."""
    parser.add_argument(
        "what",
        choices=("run", "publish", "analyse", "paper", "ruler", "texts"),
        help="train and measure networks, copy their records, test the plan's hypotheses, write "
        "the paper, let planted texts choose the ruler, or list the texts' digests",
    )
    parser.add_argument("--group", nargs="+", default=[], help="default: all of the plan")
    parser.add_argument("--only", nargs="+", default=[], metavar="CELL", help="these networks")
    parser.add_argument("--runs", default="runs/crossover", metavar="FOLDER", help="of the records")
    parser.add_argument("--jobs", type=int, default=2, help="networks at a time (default: 2)")
    parser.add_argument(
        "--pause", type=Path, metavar="FILE", help="start no network while this file exists"
    )


def _crossover_command(options: argparse.Namespace) -> int:
    """The study's own command; the paper is written by another package, since records name a digest
    of the study's code."""
    package = "crossover_paper" if options.what == "paper" else "crossover_study"
    return command_of(f"course_kit.research.{package}.command")(options)


def _seed_claims(parser: argparse.ArgumentParser) -> None:
    """Which claims, and the seed of their samples."""
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="a wrong name lists all (default: all)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the sample and of what is random")


COMMANDS = {
    "grid": Command(
        "show which runs in notebooks/experiments/grid.yaml are missing, or run them",
        "grid run core",
        "experiments",
        command_of("course_kit.research.grid.scheduler"),
        _grid,
        "run",
        _check_grid,
    ),
    "crossover": Command(
        "run the study of when sparse attention helps: what is missing, a group, a network",
        "crossover run --group ruler --jobs 2",
        "course",
        _crossover_command,
        _crossover,
    ),
    "seed-claims": Command(
        "measure claims of the four seed papers on recorded networks, and record what comes out",
        "seed-claims han_words",
        "course",
        command_of("course_kit.research.seed_claims.claims_record"),
        _seed_claims,
    ),
}
