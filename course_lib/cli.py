"""The command ``attention-course``: everything that can be done here, by name.

``python -m course_lib`` is the same. What cannot be done ends with one sentence on stderr that
begins with ``error:``, and exit status 2; ``--debug`` shows where it happened.
"""

import argparse
import difflib
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.metadata import entry_points, version
from shutil import get_terminal_size
from textwrap import wrap

from course_lib.files import DataError

REFUSED, INTERRUPTED = 2, 130
PLUGINS = "attention_course.commands"  # the entry points through which others add commands
OURS = ("course_lib", "course_kit")
AUTHOR = "author"
GROUPS = ("learn", "run", AUTHOR)  # those of the last are called as ``author NAME``


@dataclass(frozen=True)
class Command:
    """One command: its ``purpose``, an ``example``, the ``extra`` of pyproject.toml that it needs,
    and two functions that import what they need only when they are called; then its group."""

    purpose: str
    example: str
    extra: str
    carry_out: Callable[[argparse.Namespace], int]
    add_arguments: Callable[[argparse.ArgumentParser], None] = lambda parser: None
    group: str = AUTHOR


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
    grouped = arguments[:1] == [AUTHOR]
    name = " ".join(arguments[: 1 + grouped])
    if name == "--version":
        print(version("attention-course"))
        return 0
    if name in ("", AUTHOR) or arguments[grouped] in ("-h", "--help"):
        print(overview(commands, AUTHOR if grouped else ""))
        return 0
    name = f"{AUTHOR} {name}" if f"{AUTHOR} {name}" in commands else name  # as records have it
    try:
        if name not in commands:
            raise DataError(f"no command {name!r}; {_suggested(name, commands)}")
        return commands[name].carry_out(parse(arguments[1 + grouped :], name, commands))
    except KeyboardInterrupt:
        sentence, status = "interrupted", INTERRUPTED
    except Exception as error:
        sentence, status = _sentence(error, name, commands), REFUSED
        if arguments != words or sentence is None:
            raise
    print(f"error: {sentence}", file=sys.stderr)
    return status


def parse(arguments: list[str], name: str, commands: dict[str, Command]) -> argparse.Namespace:
    """What was asked of the command ``name``."""
    command = commands[name]
    parser = argparse.ArgumentParser(
        prog=f"attention-course {name}",
        description=f"{command.purpose[0].upper()}{command.purpose[1:]}.",
        epilog=f"example: attention-course {command.example}",
    )
    command.add_arguments(parser)
    options, further = parser.parse_known_args(arguments)
    ours = re.findall(r"--[\w-]+", parser.format_usage())
    near = [m for each in further for m in difflib.get_close_matches(each, ours, 1, 0.7)]
    if further and (near or not hasattr(options, "further")):
        hint = f"; do you mean {near[0]}?" if near else ""
        parser.error(f"unrecognized arguments: {' '.join(further)}{hint}")
    options.command, options.further = name, further
    return options


def overview(commands: dict[str, Command], only: str = "") -> str:
    """All commands by group, or those of one group, each with its purpose."""
    lines = [f"usage: attention-course {f'{only} ' * bool(only)}COMMAND …", ""]
    for group in [only] if only else GROUPS:
        here = [(name, each.purpose) for name, each in commands.items() if each.group == group]
        listed = {name.split()[-1]: purpose for name, purpose in here}
        if group == AUTHOR != only:
            listed = {f"{AUTHOR} …": f"{', '.join(listed)} (`attention-course author` says more)"}
        lines.append(group)
        for name, purpose in listed.items():
            first, *others = wrap(purpose, get_terminal_size().columns - 18, break_on_hyphens=False)
            lines += [f"  {name:<13}  {first}", *(" " * 17 + other for other in others)]
        lines.append("")
    return "\n".join([*lines, "COMMAND --help says more; --debug shows where an error happened"])


def _suggested(name: str, commands: dict[str, Command]) -> str:
    """The nearest names of commands, or how to see all."""
    short = {each.split()[-1]: repr(each) for each in commands}
    near = difflib.get_close_matches(name.split()[-1], short, n=1)
    return f"do you mean {short[near[0]]}?" if near else "`attention-course --help` lists them"


def _sentence(error: Exception, name: str, commands: dict[str, Command]) -> str | None:
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
    """The library's commands and those that installed packages add to them, by what calls them."""
    added = [point.load() for point in sorted(entry_points(group=PLUGINS))]
    commands = {}
    for name, command in (pair for part in (COMMANDS, *added) for pair in part.items()):
        before = f"{AUTHOR} " if command.group == AUTHOR else ""
        commands[before + name] = replace(command, example=before + command.example)
    return commands


COMMANDS = {
    "run": Command(
        "make one run: train, evaluate, record",
        "run --system han --preset report --seed 0", "course",
        *command_of("course_lib.runs.run"), "run",
    ),
    "predict": Command(
        "ask a finished run about the texts of a file: classes, probabilities, heaviest words",
        "predict runs/han-reviews.csv_0123456789ab-small-s0 new.csv --to answers.parquet",
        "course", *command_of("course_lib.runs.predict"), "run",
    ),
    "audit": Command(
        "say whether the attention of any classifier may be believed, on texts of your own",
        "audit han-imdb-compact-s0 --texts reviews.csv", "course",
        *command_of("course_lib.runs.audit"), "run",
    ),
}  # fmt: skip
