"""The command ``audit``, which ``attention-course`` finds through an entry point.

Nothing here imports torch, so a wrong argument is refused within a second.
"""

import argparse
from importlib.util import find_spec
from pathlib import Path

from course_kit.audit.report_files import MARKS, report_files
from course_lib.cli import Command, command_of, present_file
from course_lib.data.naming import DEFAULT
from course_lib.files import DataError
from course_lib.runs.folders import instead_of, is_run, recorded_names, run_folder

TRANSFORMERS = find_spec("transformers") is not None


def _arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``attention-course audit``."""
    parser.add_argument(
        "network",
        help="a run, a recorded network (attention-course networks lists them), owner/name of the "
        "hub, or file.py:function",
    )
    parser.add_argument(
        "--texts",
        type=present_file,
        metavar="FILE",
        help=".csv, .tsv, .jsonl, .parquet, .txt (default: up to 100 of a run's own test texts)",
    )
    parser.add_argument("--text", default=DEFAULT.text, metavar="COLUMN", help="of the texts")
    parser.add_argument("--label", metavar="COLUMN", help="of labels, if there are any")
    parser.add_argument("--encoding", help="of the file, such as cp1252 (default: detected)")
    parser.add_argument(
        "--view",
        help="which view of the attention (default: all, and the verdict is that of the weakest)",
    )
    to = Path("audit.html")
    parser.add_argument("--to", type=Path, default=to, help=f".html or .json (default: {to})")
    parser.add_argument("--force", action="store_true", help="replace an earlier report there")


def check(options: argparse.Namespace) -> None:
    """Refuse a file that cannot be the report, and what cannot be a network, by a ``DataError``."""
    if options.to.suffix not in MARKS:
        raise DataError(f"--to takes .html or .json, got {options.to}")
    if not options.text or options.label == "":
        raise DataError("--text and --label need a value, got an empty one")
    name = options.network
    path, _, function = name.rpartition(":")
    if path.endswith(".py") and function:
        if not Path(path).exists():
            raise DataError(f"{path}: there is no such file")
    elif not (run_folder(name).exists() or "/" in name or name in recorded_names()) or not name:
        raise DataError(
            f"no run, network or folder {name!r} (on the hub: owner/name); {instead_of(name)}"
        )
    elif name not in recorded_names() and not is_run(run_folder(name)) and not TRANSFORMERS:
        raise DataError(
            f"{name} is no finished run; a classifier of transformers needs that package: in the "
            'repository, pip install --editable ".[audit]" brings it'
        )
    report_files(options.to, options.force)
    if options.texts:
        from course_lib.runs.asked import check_table  # which reads the catalog

        columns = (options.text, *filter(None, [options.label]))
        check_table(options.texts, columns, options.encoding)


COMMANDS = {
    "audit": Command(
        "say whether the attention of any classifier may be believed, on texts of your own",
        "audit han-imdb-compact-s0 --texts reviews.csv",
        "course",
        command_of("course_kit.audit.by_name"),
        _arguments,
        "run",
        check,
    ),
}
