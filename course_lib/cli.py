"""The command ``attention-course``: everything that can be done here, by name.

``python -m course_lib`` is the same. What cannot be done ends with one sentence on stderr that
begins with ``error:``, and exit status 2; ``--debug`` shows where it happened.
"""

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points

REFUSED, INTERRUPTED = 2, 130
PLUGINS = "attention_course.commands"  # the entry points through which others add commands
OURS = ("course_lib", "course_kit")


@dataclass(frozen=True)
class Command:
    """One command: its ``purpose``, an ``example``, the ``extra`` of pyproject.toml that it needs,
    and two functions that import what they need only when they are called."""

    purpose: str
    example: str
    extra: str
    carry_out: Callable[[argparse.Namespace], int]
    add_arguments: Callable[[argparse.ArgumentParser], None] = lambda parser: None


def command_of(module: str) -> tuple[Callable, Callable]:
    """``command`` and ``add_arguments`` of a module, which is imported when one is called."""

    def load(function: str) -> Callable:
        return getattr(import_module(module), function)

    return lambda options: load("command")(options), lambda parser: load("add_arguments")(parser)


def main(arguments: list[str] | None = None) -> int:
    """Carry out one command; its exit status is 0, 1 for what failed, 2 for what cannot be done."""
    words = sys.argv[1:] if arguments is None else arguments
    arguments = [word for word in words if word != "--debug"]
    commands = all_commands()
    name = next((word for word in arguments if word in commands), None)
    try:
        options = parse(arguments, name, commands)
        return commands[options.command].carry_out(options)
    except KeyboardInterrupt:
        sentence, status = "interrupted", INTERRUPTED
    except Exception as error:
        sentence, status = _sentence(error, name, commands), REFUSED
        if arguments != words or sentence is None:
            raise
    print(f"error: {sentence}", file=sys.stderr)
    return status


def parse(
    arguments: list[str], name: str | None, commands: dict[str, Command]
) -> argparse.Namespace:
    """What was asked for; only the arguments of the command ``name`` are looked up, because those
    of some take seconds to import."""
    parser = argparse.ArgumentParser(prog="attention-course", description=__doc__.splitlines()[0])
    parser.add_argument("--debug", action="store_true", help="show where an error happened")
    parsers = parser.add_subparsers(dest="command", required=True, metavar="command")
    for each, command in commands.items():
        one = parsers.add_parser(
            each,
            help=command.purpose,
            description=f"{command.purpose[0].upper()}{command.purpose[1:]}.",
            epilog=f"example: attention-course {command.example}",
        )
        if each == name:
            command.add_arguments(one)
    options, further = parser.parse_known_args(arguments)
    if further and not hasattr(options, "further"):
        parser.error(f"unrecognized arguments: {' '.join(further)}")
    options.further = further
    return options


def _sentence(error: Exception, name: str | None, commands: dict[str, Command]) -> str | None:
    """What an error that can be expected says to a reader; None for one that is our mistake."""
    missing = error.name if isinstance(error, ModuleNotFoundError) else None
    if missing and not missing.startswith(OURS):
        return (
            f"attention-course {name} needs {missing}, which is not installed; in the repository, "
            f'pip install --editable ".[{commands[name].extra}]" brings it'
        )
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename else str(error)
    if type(error).__name__ == "PapermillExecutionError":
        return f"cell {error.cell_index}: {error.ename}: {error.evalue}"
    if type(error).__module__.partition(".")[0] in OURS:
        return str(error)
    return None


def all_commands() -> dict[str, Command]:
    """The library's commands and those that installed packages add to them."""
    added = [point.load() for point in sorted(entry_points(group=PLUGINS))]
    return {name: command for part in (*added, COMMANDS) for name, command in part.items()}


COMMANDS = {
    "run": Command(
        "make one run: train, evaluate, record",
        "run --system han --preset report --seed 0", "course", *command_of("course_lib.runs.run"),
    ),
    "predict": Command(
        "ask a finished run about the texts of a file: classes, probabilities, heaviest words",
        "predict runs/han-reviews.csv_0123456789ab-small-s0 new.csv --to answers.parquet",
        "course", *command_of("course_lib.runs.predict"),
    ),
    "audit": Command(
        "say whether the attention of any classifier may be believed, on texts of your own",
        "audit han-imdb-compact-s0 --texts reviews.csv", "course",
        *command_of("course_lib.runs.audit"),
    ),
    "weights": Command(
        "copy the networks of finished runs to results/weights, small enough to be committed",
        "weights runs/agt-sst5-compact-s0", "experiments", *command_of("course_lib.runs.weights"),
    ),
}  # fmt: skip
