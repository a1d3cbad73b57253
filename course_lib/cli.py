"""The command ``attention-course``: everything that can be done here, by name.

``python -m course_lib`` is the same. What cannot be done ends with one sentence on stderr that
begins with ``error:``, and exit status 2; ``--debug`` shows where it happened.
"""

import argparse
import errno
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import entry_points, version
from io import TextIOWrapper
from pathlib import Path
from shutil import get_terminal_size
from textwrap import fill, wrap
from typing import Any, NoReturn

from course_lib.checking import CourseError, instead
from course_lib.data.naming import DEFAULT, OFFERED
from course_lib.files import DataError

REFUSED, INTERRUPTED = 2, 130
PLUGINS = "attention_course.commands"  # the entry points through which others add commands
OURS = ("course_lib", "course_kit")
AUTHOR = "author"
READ = (".csv", ".tsv", ".jsonl", ".parquet", ".txt")  # how the name of a file of texts ends
GROUPS = ("learn", "run", AUTHOR)  # those of the last are called as ``author NAME``


@dataclass(frozen=True)
class Command:
    """One command: its ``purpose``, an ``example``, the ``extra`` of pyproject.toml that it needs,
    and two functions that import what they need only when they are called; then its group, and what
    refuses wrong arguments before anything slow is imported."""

    purpose: str
    example: str
    extra: str
    carry_out: Callable[[argparse.Namespace], int]
    add_arguments: Callable[[argparse.ArgumentParser], None] = lambda parser: None
    group: str = AUTHOR
    check: Callable[[argparse.Namespace], None] = lambda options: None


class Parser(argparse.ArgumentParser):
    """A parser whose errors name the option or choice nearest to a wrong one. It passes unknown
    arguments on where ``further`` has a default. Each command of a group has such a parser."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """The options, and what is passed on."""
        options, further = super().parse_known_args(args, namespace)
        for word in further:
            near = get_close_matches(word.partition("=")[0], self._option_string_actions, 1, 0.7)
            if near or not hasattr(options, "further"):
                hint = f"do you mean {near[0]}?" if near else self.epilog
                self.error(f"unrecognized arguments: {word}", hint)
        return options, further

    def error(self, message: str, hint: str | None = None) -> NoReturn:
        """Refuse what was asked, in one line."""
        word, *choices = re.findall(r"[\w-]+", message.partition("invalid choice:")[2]) or [""]
        near = get_close_matches(word, choices, 1)
        more = f"do you mean {near[0]}?" if near else f"{self.prog} --help says more"
        self.exit(REFUSED, f"error: {message}; {hint or more}\n")


def command_of(module: str, name: str = "command") -> Callable[[argparse.Namespace], Any]:
    """A function of a module, which is imported when it is called."""
    return lambda options: getattr(import_module(module), name)(options)


def main(arguments: list[str] | None = None) -> int:
    """Carry out one command; its exit status is 0, 1 for what failed, 2 for what cannot be done."""
    words = sys.argv[1:] if arguments is None else arguments
    if isinstance(sys.stdout, TextIOWrapper):  # a console of cp1252, say, lacks most letters
        sys.stdout.reconfigure(errors="replace")
    debug = words[:1] == ["--debug"]  # or behind a command that passes nothing on
    arguments = words[debug:]
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
            short = (each.split()[-1] for each in commands)  # which any command is also called by
            raise DataError(f"no command {name!r}; {instead(arguments[grouped], short)}")
        options = parse(arguments[1 + grouped :], name, commands)
        debug = debug or options.debug
        commands[name].check(options)
        return commands[name].carry_out(options)
    except KeyboardInterrupt:
        sentence, status = "interrupted", INTERRUPTED
    except BrokenPipeError:  # whoever read our output has seen enough
        sys.stdout = None
        return 0
    except Exception as error:
        sentence, status = _sentence(error, name, commands), REFUSED
        if debug or sentence is None:
            raise
    width = get_terminal_size().columns if sys.stderr.isatty() else 10_000  # a pipe: one line
    block = {"subsequent_indent": "  ", "break_long_words": False, "break_on_hyphens": False}
    print(fill(f"error: {sentence}", width, **block), file=sys.stderr)
    return status


def parse(arguments: list[str], name: str, commands: dict[str, Command]) -> argparse.Namespace:
    """What was asked of the command ``name``."""
    command = commands[name]
    parser = Parser(
        prog=f"attention-course {name}",
        description=f"{command.purpose[0].upper()}{command.purpose[1:]}.",
        epilog=f"example: attention-course {command.example}",
    )
    command.add_arguments(parser)
    parser.set_defaults(debug=False)
    if parser.get_default("further") is None:  # else it may be meant for what is started
        shown = "show where an error happened"
        parser.add_argument("--debug", action="store_true", help=shown)
    options, further = parser.parse_known_args(arguments)
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
    return str(error) if isinstance(error, CourseError) else None


def all_commands() -> dict[str, Command]:
    """The library's commands and those that installed packages add to them, by what calls them."""
    added = [point.load() for point in sorted(entry_points(group=PLUGINS))]
    commands = {}
    for name, command in (pair for part in (COMMANDS, *added) for pair in part.items()):
        before = f"{AUTHOR} " if command.group == AUTHOR else ""
        commands[before + name] = replace(command, example=before + command.example)
    return commands


FROM_FILE = "texts are read from a file, a .txt holds one a line"


def present_file(value: str, hint: str = FROM_FILE) -> Path:
    """A file of texts that is there, as an argument's type: a wrong name is told before torch is
    loaded."""
    path = Path(value)
    if value and path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), value)
    if not value or not path.exists():
        how = f"{os.strerror(errno.ENOENT)}; {hint}"
        raise FileNotFoundError(errno.ENOENT, how, value or "''")
    return path


def file_or_text(value: str) -> Path | str:
    """A file of texts that is there, or else one text, as an argument's type. What is one word, or
    ends like a file of texts, can only be a file: a mistyped name is never read as a text."""
    if len(value.split()) < 2 or value.lower().endswith(READ) or os.path.lexists(value):
        return present_file(value, "name a file of texts, or type a text of two words or more")
    return value


def column_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments that say how a file of texts is read."""
    group = parser.add_argument_group("a file of your own (data/README.md, Your own text)")
    group.add_argument("--text", metavar="COLUMN", help=f"of the texts (default: {DEFAULT.text})")
    group.add_argument("--label", metavar="COLUMN", help=f"of the labels ({DEFAULT.label})")
    group.add_argument("--encoding", help="of the file, such as cp1252 (default: detected)")
    group.add_argument("--words", choices=OFFERED, dest="tokeniser", help="tokeniser (english)")


ABOUT = {  # options of the command that are fields of a RunSpec
    "system": "the network, needed: sanet, say (a wrong name lists all)",
    "dataset": "its name, or a file or folder of your own texts (default: imdb)",
    "preset": "settings of the network (default: report; a wrong name lists all)",
    "seed": "of all that is random (default: 0)",
    "device": "cpu, cuda or cuda:1, say (default: auto, a GPU if there is one)",
    "threads": "on a CPU (default: 2)",
    "limit": "read only so many training texts (default: all)",
}


def run_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``attention-course run``."""
    column_arguments(parser)
    for name, about in ABOUT.items():
        kind = int if name in ("seed", "threads", "limit") else str
        parser.add_argument(f"--{name}", type=kind, default=argparse.SUPPRESS, help=about)
    parser.add_argument(
        "--set",
        nargs="*",
        action="extend",
        default=[],
        metavar="ADDRESS=VALUE",
        help="change settings of the preset, such as model.hidden=60 training.patience=10",
    )
    parser.add_argument(
        "--no-test",
        dest="test",
        action="store_false",
        default=argparse.SUPPRESS,
        help="leave the test half unread",
    )
    parser.add_argument("--publish", action="store_true", help="copy the record to results/")


def predict_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``attention-course predict``."""
    network = "the folder of a finished run, or a recorded network: attention-course networks"
    parser.add_argument("run", metavar="network", help=f"{network} lists them")
    parser.add_argument(
        "texts",
        type=file_or_text,
        help="one text in quotes, whose answer is printed, or a file: .csv, .tsv, .jsonl, "
        ".parquet, or .txt with one a line",
    )
    group = parser.add_argument_group("a file of texts")
    to = ".csv or .parquet to be written (default: the file's name, then .predictions.csv)"
    group.add_argument("--to", type=Path, metavar="FILE", help=to)
    group.add_argument("--force", action="store_true", help="replace earlier predictions there")
    group.add_argument("--text", metavar="COLUMN", help=f"of the texts (default: {DEFAULT.text})")
    group.add_argument("--encoding", help="of the file, such as cp1252 (default: detected)")


COMMANDS = {
    "run": Command(
        "make one run: train, evaluate, record",
        "run --system han --preset report --seed 0",
        "course",
        command_of("course_lib.runs.run"),
        run_arguments,
        "run",
        command_of("course_lib.runs.asked", "check_run"),
    ),
    "predict": Command(
        "ask a finished run about a text or a file: classes, probabilities, heaviest words",
        "predict runs/han-reviews.csv_0123456789ab-small-s0 new.csv --to answers.parquet",
        "course",
        command_of("course_lib.runs.predict"),
        predict_arguments,
        "run",
        command_of("course_lib.runs.asked", "check_predict"),
    ),
    "networks": Command(
        "list the recorded networks, which answer at once: what each reads, how well, its size",
        "networks",
        "course",
        command_of("course_lib.runs.listing"),
        group="run",
    ),
}
