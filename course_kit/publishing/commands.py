"""What learners, teachers and authors do with the course, as commands of ``attention-course``."""

import argparse
import errno
import os
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from course_kit import publishing
from course_kit.publishing import places
from course_kit.reading_room import MARK
from course_kit.reading_room.packed import read_packed
from course_kit.reading_room.page.assembly import PAGE, PRETRAINED_PAGE, write_page
from course_kit.research import report as tables
from course_lib.cli import AUTHOR, Command, column_arguments, command_of
from course_lib.files import REPOSITORY, DataError, check_free
from course_lib.profile import profile_from_environment
from course_lib.runs.folders import check_finished

# JupyterLab neither fetches news nor asks whether it may
NO_NEWS = {"JUPYTER_CONFIG_PATH": str(Path(__file__).parent / "jupyter")}
# One process for each core, and each file, so each kernel, in one of them.
DAY = 24 * 60  # minutes
BUILDERS = ("sphinx", "myst_nb", "sphinx_book_theme", "markdown_it", "latex2mathml", "bleach")
EACH_CORE = ("-n", "logical", "--dist", "loadfile")


def _check_site(options: argparse.Namespace) -> None:
    """What builds the site is there: the lessons would run for minutes before it is missed."""
    for module in BUILDERS:
        _require(module)


def course(options: argparse.Namespace) -> int:
    """Execute every lesson on real text and write site/ with the results."""
    profile = profile_from_environment()
    if profile != "smoke":
        publishing.preparing.prepare_data()
    paths = publishing.lessons.lesson_paths()
    outcomes = [each for _, each in publishing.executing.execute_all(paths, profile, "static")]
    write_page(read_packed(), in_site=True)
    publishing.site.write_site()
    status = _status(outcomes)
    print(f"\nOpen {publishing.site.SITE / 'index.html'} or type `make lab`.")
    return status


def _site_arguments(parser: argparse.ArgumentParser) -> None:
    left_out = "leave out solutions, and the teacher's pages"
    parser.add_argument("--for-class", action="store_true", help=left_out)


def site(options: argparse.Namespace) -> int:
    """Write site/ from the lessons that `course` has executed, else from the committed ones."""
    lessons = publishing.lessons
    executed = [path for path in lessons.lesson_paths() if (lessons.EXECUTED / path.name).exists()]
    folder = lessons.EXECUTED if executed else lessons.LESSONS
    publishing.site.write_site(folder, for_class=options.for_class)
    print(publishing.site.SITE / "index.html")
    return 0


def _status(outcomes: list) -> int:
    """1 if any notebook holds an error, after a line about each."""
    print(f"\n{publishing.lessons.summary(outcomes)}")
    return int(any(outcome.errors for outcome in outcomes))


def contents(options: argparse.Namespace) -> int:
    """Write the tables of lessons, with minutes, in both READMEs and lesson 00."""
    publishing.contents.write_tables()
    return 0


def _path(text: str) -> Path:
    """A path as it was given; an unset variable of a shell gives an empty one, which is none."""
    if not text:
        raise argparse.ArgumentTypeError("the name is empty")
    return Path(text)


def _notebook(text: str) -> Path:
    if not _path(text).is_file():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), text)
    return Path(text)


def _submissions(text: str) -> Path:
    if not _path(text).is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "no such folder", text)
    if not any(Path(text).rglob("*.ipynb")):
        raise FileNotFoundError(errno.ENOENT, "no notebooks there", text)
    return Path(text)


def _table(text: str) -> Path:
    if _path(text).is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a folder; give the name of a file", text)
    return Path(text)


def _minutes(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= DAY:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1 to {DAY}")
    return int(text)


def _some_notebooks(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("notebooks", nargs="*", type=_notebook, help="only these")


def _all_notebooks() -> list[Path]:
    return [*publishing.lessons.lesson_paths(), *publishing.lessons.side_notes()]


def notebooks(options: argparse.Namespace) -> int:
    """Execute the lessons and store their outputs in the form we commit."""
    outcomes = publishing.executing.publish_notebooks(options.notebooks or _all_notebooks())
    publishing.contents.write_tables()
    return _status(outcomes)


def report(options: argparse.Namespace) -> int:
    """Write the README's tables and both reports from the records in results/."""
    tables.write_readme()
    for name, table in tables.TABLES.items():
        print(f"{name}\n{table()}\n")
    return _status(publishing.executing.publish_notebooks([*publishing.lessons.REPORTS]))


def _students_arguments(parser: argparse.ArgumentParser) -> None:
    _some_notebooks(parser)
    parser.add_argument("--to", type=_path, metavar="FOLDER", help="write there, not to students/")


def students(options: argparse.Namespace) -> int:
    """Write copies of the lessons without solutions to a folder."""
    folder = options.to or places.STUDENTS
    paths = options.notebooks or _all_notebooks()
    _write_copies(publishing.workspace.learner_copies(paths, folder), folder)
    print(f"{len(paths)} notebooks are in {folder}")
    return 0


def _write_copies(copies: dict, folder: Path) -> None:
    for message in publishing.workspace.write_copies(copies, folder):
        print(message)


def _slides_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--to", type=_path, metavar="FOLDER", help="not to site/slides, but there")


def slides(options: argparse.Namespace) -> int:
    """Write a deck of slides for each lesson, one page of HTML that asks for nothing."""
    from course_kit.publishing.site import slides as decks

    for path in decks.write_slides(options.to or decks.FOLDER):
        print(path)
    return 0


def progress(options: argparse.Namespace) -> int:
    """Show which exercises are solved in your copies."""
    places.require_copies(places.STUDENTS)  # before anything heavy is imported
    print(publishing.as_text(publishing.read_progress(places.STUDENTS)))
    return 0


def _data_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "dataset",
        nargs="?",
        help="only this (texts, vectors, minilm), or your own file or folder of texts",
    )
    parser.add_argument("--mirror", type=Path, metavar="FOLDER", help="take archives from there")
    column_arguments(parser)


def data(options: argparse.Namespace) -> int:
    """Download all text and vectors and prepare what lessons read, or read a file of your own."""
    from course_lib.data.catalog import CARDS
    from course_lib.data.corpus import load_corpus
    from course_lib.runs.run import prepared_texts

    if options.mirror:
        os.environ["COURSE_DATA_MIRROR"] = str(options.mirror.expanduser().resolve())
    if options.dataset is None:
        publishing.preparing.prepare_data()
        return 0
    if options.dataset in CARDS and CARDS[options.dataset].kind in ("vectors", "network"):
        publishing.preparing.prepare(name := options.dataset)
    else:
        load_corpus(name := prepared_texts(options.dataset, options))
    print(name)
    return 0


def _check_data(options: argparse.Namespace) -> None:
    """A name of the catalog, or a file or folder that is there."""
    from course_lib.runs.asked import check_dataset

    if options.dataset is not None:
        check_dataset(options.dataset)
    if options.mirror and not options.mirror.expanduser().is_dir():
        raise DataError(f"--mirror {options.mirror}: no such folder")


def _lab_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--from",
        dest="source",
        choices=("students", "notebooks"),
        default="students",
        help="your own copies (students), or, for authors, the lessons with their solutions",
    )
    parser.set_defaults(further=[])  # unknown arguments go to JupyterLab


def lab(options: argparse.Namespace) -> int:
    """Open your own copies of the lessons in JupyterLab, in students/."""
    if options.source == "notebooks":
        return _python("jupyterlab", "--notebook-dir=notebooks", *options.further, **NO_NEWS)
    workspace, folder = publishing.workspace, places.STUDENTS
    paths = publishing.lessons.lesson_paths()
    copies = {workspace.START: workspace.start_notebook(paths, publishing.lessons.side_notes())}
    _write_copies(copies | workspace.learner_copies(_all_notebooks(), folder), folder)
    # the root is the repository, so that what a lesson links to outside its folder opens, too
    start = f"--LabApp.default_url=/lab/tree/{folder.name}/{workspace.START}"
    return _python("jupyterlab", "--ServerApp.root_dir=.", start, *options.further, **NO_NEWS)


def _test_arguments(parser: argparse.ArgumentParser) -> None:
    rest = "also browsers, clusters, kills, long trainings, side notes, reports and every record"
    parser.add_argument("--all", action="store_true", help=rest)


def test(options: argparse.Namespace) -> int:
    """Lint, tests, and the lessons checked cell by cell."""
    lessons = publishing.lessons
    checked = lessons.lesson_paths()
    if options.all:  # on real text, side notes and reports are executed by tests that compare them
        checked += [*lessons.side_notes(), lessons.LESSONS / "experiments" / "your_own_text.ipynb"]
    lane = () if options.all else ("-m", "not full")
    one_thread = {"OMP_NUM_THREADS": "1"}
    smoke = one_thread | {"COURSE_PROFILE": "smoke"}
    joined = map(str, lessons.joined(checked, os.cpu_count() or 1))
    checks = [
        ("ruff check", ("ruff", "check"), {}),
        ("ruff format", ("ruff", "format", "--check"), {}),
        ("spelling", ("codespell_lib",), {}),
        ("tests", ("pytest", *EACH_CORE, *lane), one_thread),
        ("notebooks", ("pytest", "--nbval-lax", *EACH_CORE, *joined), smoke),
    ]
    lines, failed = [""], 0
    for name, command, environment in checks:  # all, even after one that failed
        print(f"{name} …", flush=True)
        start = time.perf_counter()
        status = _python(*command, **environment)
        result = f"failed (exit status {status})" if status else "ok"
        lines.append(f"{name:<12} {result} in {time.perf_counter() - start:.0f} s")
        failed = failed or status
    print(*lines, sep="\n")
    return failed


def _require(module: str) -> None:
    """Raise ``ModuleNotFoundError``, of which the command says what to install."""
    if not find_spec(module):
        raise ModuleNotFoundError(f"no {module}", name=module)


def _python(module: str, *arguments: str, **environment: str) -> int:
    """The exit status of ``python -m module …`` in the repository."""
    _require(module)
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.run(command, cwd=REPOSITORY, env=os.environ | environment).returncode


def _command(
    carry_out: Callable,
    example: str = "",
    arguments: Callable = Command.add_arguments,
    extra: str = "course",
    group: str = AUTHOR,
    check: Callable = Command.check,
) -> Command:
    """A command with the name and the purpose of a function."""
    name, purpose = carry_out.__name__, carry_out.__doc__.removesuffix(".")
    purpose = purpose[0].lower() + purpose[1:]
    return Command(purpose, f"{name} {example}".rstrip(), extra, carry_out, arguments, group, check)


def _room_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``attention-course room``."""
    parser.add_argument("runs", nargs="*", type=Path, metavar="RUN_FOLDER", help="finished runs")
    parser.add_argument("--to", type=Path, metavar="FILE", help="write this file")
    parser.add_argument("--pretrained", action="store_true", help="a page of MiniLM alone (30 MB)")


def room(options: argparse.Namespace) -> int:
    """Write the reading room, one page in which recorded networks and your runs read a text."""
    if options.pretrained or options.runs:
        from course_kit.reading_room.page import build

        if options.pretrained:
            path = build.write_pretrained_page(options.to or PRETRAINED_PAGE)
        else:
            path = build.write_own_page(options.runs, options.to or PAGE)
    else:
        path = write_page(read_packed(), options.to or PAGE)
    print(f"{path} ({path.stat().st_size / 1e6:.1f} MB)")
    return 0


def _check_room(options: argparse.Namespace) -> None:
    """Finished runs, and a page that may be written."""
    if options.pretrained and options.runs:
        raise DataError("--pretrained takes no runs: its page holds MiniLM alone")
    _check_runs(options)
    if options.to:
        check_free(options.to, MARK)


def _check_runs(options: argparse.Namespace) -> None:
    for folder in options.runs:
        check_finished(folder)


def _grade_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes; what is wrong with it is said before anything heavy is imported."""
    alone = "run submissions as you, with your files and network: only what you have read"
    parser.add_argument("folder", type=_submissions, help="submissions, named by learner")
    parser.add_argument(
        "--csv",
        type=_table,
        default=Path("marks.csv"),
        help="the table of marks (default: marks.csv)",
    )
    parser.add_argument(
        "--minutes",
        type=_minutes,
        default=5,
        metavar="N",
        help="of computing for each (default: 5)",
    )
    parser.add_argument("--without-isolation", action="store_true", help=alone)


def grade(options: argparse.Namespace) -> int:
    """Mark a folder of learners' notebooks: run each in a sandbox, points for each exercise."""
    from course_kit.publishing.grading import isolation, table

    table.earlier(options.csv)  # refuses a file that is no table of marks
    if not options.without_isolation:
        isolation.prove(options.folder)
    return command_of("course_kit.publishing.grading.whole_class")(options)


def _weights_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``attention-course author weights``."""
    parser.add_argument("runs", nargs="+", type=Path, metavar="FOLDER", help="of a finished run")


COMMANDS = {
    "course": _command(course, extra="site", group="learn", check=_check_site),
    "lab": _command(lab, "--no-browser --port 8890", _lab_arguments, group="learn"),
    "progress": _command(progress, group="learn"),
    "room": _command(
        room,
        "runs/han-imdb-small-s0 --to room.html",
        _room_arguments,
        group="learn",
        check=_check_room,
    ),
    "data": _command(
        data,
        "reviews.csv --text review --label stars",
        _data_arguments,
        group="run",
        check=_check_data,
    ),
    "students": _command(students, "--to handout notebooks/01_gru.ipynb", _students_arguments),
    "site": _command(site, "--for-class", _site_arguments, "site", check=_check_site),
    "slides": _command(slides, "--to slides", _slides_arguments, "site"),
    "grade": _command(grade, "collected --csv marks.csv", _grade_arguments),
    "test": _command(test, "--all", _test_arguments, "dev"),
    "notebooks": _command(notebooks, "notebooks/01_gru.ipynb", _some_notebooks),
    "contents": _command(contents),
    "report": _command(report),
    "weights": Command(
        "copy the networks of finished runs to results/weights, small enough to be committed",
        "weights runs/agt-sst5-compact-s0",
        "experiments",
        command_of("course_kit.publishing.recorded_weights"),
        _weights_arguments,
        check=_check_runs,
    ),
    "pack": Command(
        "pack the recorded networks into the files that make look and the site begin with",
        "pack",
        "course",
        command_of("course_kit.reading_room.page.build"),
    ),
}
