"""What learners, teachers and authors do with the course, as commands of ``attention-course``."""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

from course_lib.cli import Command, command_of
from course_lib.files import REPOSITORY, DataError

LESSONS = ("notebooks/[0-9]*.ipynb", "notebooks/experiments/your_own_text.ipynb")
REPORTS = ("notebooks/experiments/report.ipynb", "notebooks/experiments/left_open.ipynb")
# One process for each core, and each file, so each notebook and its kernel, in one of them.
EACH_CORE = ("-n", "logical", "--dist", "loadfile")


def _some_notebooks(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("notebooks", nargs="*", type=Path, help="only these")


def _course(options: argparse.Namespace) -> int:
    from course_kit.publishing import lessons, site
    from course_kit.reading_room.page.build import write_page
    from course_lib.profile import profile_from_environment

    profile = profile_from_environment()
    if profile != "smoke":
        lessons.prepare_data()
    with lessons.views_shown("static"):
        outcomes = list(lessons.execute_all(site.pages(), profile))
    write_page()
    site.write_site()
    print(f"\n{lessons.summary(outcomes)}\n")
    print(f"Open {site.SITE / 'index.html'} or run `attention-course lab`.")
    return _status(outcomes)


def _contents(options: argparse.Namespace) -> int:
    from course_kit.publishing import contents

    contents.write_tables()
    return 0


def _notebooks(options: argparse.Namespace) -> int:
    from course_kit.publishing import contents, lessons

    if absent := [path for path in options.notebooks if not path.is_file()]:
        raise DataError(f"{absent[0]}: no such notebook")
    outcomes = lessons.publish_notebooks(options.notebooks or lessons.lesson_paths())
    contents.write_tables()
    print(f"\n{lessons.summary(outcomes)}")
    return _status(outcomes)


def _status(outcomes: list) -> int:
    return int(any(outcome.errors for outcome in outcomes))


def _students_arguments(parser: argparse.ArgumentParser) -> None:
    _some_notebooks(parser)
    parser.add_argument("--to", type=Path, metavar="FOLDER", help="write there, not to students/")


def _students(options: argparse.Namespace) -> int:
    from course_kit.publishing import lessons, workspace

    folder = options.to or lessons.STUDENTS
    copies = workspace.learner_copies(options.notebooks or lessons.lesson_paths(), folder)
    for copy in workspace.write_copies(copies, folder):
        print(*(copy.messages or [_from_repository(copy.path)]), sep="\n")
    return 0


def _progress(options: argparse.Namespace) -> int:
    from course_kit.publishing import exercise_progress, lessons

    print(exercise_progress.as_text(exercise_progress.read_progress(lessons.STUDENTS)))
    return 0


def _from_repository(path: Path) -> Path:
    return path.relative_to(REPOSITORY) if path.is_relative_to(REPOSITORY) else path


def _data_arguments(parser: argparse.ArgumentParser) -> None:
    from course_lib.runs import custom

    parser.add_argument("dataset", nargs="?", help="only this file or folder of your own texts")
    parser.add_argument("--mirror", type=Path, metavar="FOLDER", help="take archives from there")
    custom.add_column_arguments(parser)


def _data(options: argparse.Namespace) -> int:
    if options.mirror:
        os.environ["COURSE_DATA_MIRROR"] = str(options.mirror)
    if options.dataset:
        from course_lib.runs import custom

        print(custom.prepared_texts(options.dataset, options))
        return 0
    from course_kit.publishing import lessons

    lessons.prepare_data()
    return 0


def _lab_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--from", dest="source", choices=("students", "notebooks"), default="students",
        help="your own copies (students), or, for authors, the lessons with their solutions",
    )  # fmt: skip
    parser.set_defaults(further=[])  # unknown arguments go to JupyterLab


def _lab(options: argparse.Namespace) -> int:
    if options.source == "notebooks":
        return _python("jupyterlab", "--notebook-dir=notebooks", *options.further)
    from course_kit.publishing import lessons, workspace

    paths, folder = lessons.lesson_paths(), lessons.STUDENTS
    copies = {workspace.START: workspace.start_notebook(paths)}
    copies |= workspace.learner_copies(paths, folder)
    for copy in workspace.write_copies(copies, folder):
        print(*copy.messages, sep="\n", end="\n" if copy.messages else "")
    # the root is the repository, so that what a lesson links to outside its folder opens, too
    start = f"--LabApp.default_url=/lab/tree/{folder.name}/{workspace.START}"
    return _python("jupyterlab", "--ServerApp.root_dir=.", start, *options.further)


def _test_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--all", action="store_true",
        help="also browsers, clusters, kills, long trainings and every record",
    )  # fmt: skip


def _test(options: argparse.Namespace) -> int:
    """All stages, even after one that failed; the exit status is the first one's that failed."""
    patterns = (*LESSONS, *REPORTS) if options.all else LESSONS
    notebooks = sorted(str(path) for pattern in patterns for path in REPOSITORY.glob(pattern))
    lessons = ("--nbval-lax", *EACH_CORE, *notebooks)
    lane = () if options.all else ("-m", "not full")
    one_thread = {"OMP_NUM_THREADS": "1"}
    stages = [
        _stage("ruff check", "ruff", "check"),
        _stage("ruff format", "ruff", "format", "--check"),
        _stage("spelling", "codespell_lib"),
        _stage("tests", "pytest", *EACH_CORE, *lane, **one_thread),
        _stage("notebooks", "pytest", *lessons, **one_thread, COURSE_PROFILE="smoke"),
    ]
    print(*("", *(line for _, line in stages)), sep="\n")
    return next((status for status, _ in stages if status), 0)


def _stage(name: str, module: str, *arguments: str, **environment: str) -> tuple[int, str]:
    """The exit status of ``python -m module …``, and a line of summary."""
    print(f"{name} …", flush=True)
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        further = [f"--junitxml={report}"] if module == "pytest" else []
        status = _python(module, *arguments, *further, **environment)
        counts = _counts(report)
    if status and not counts.get("failed"):  # an internal error, Ctrl+C, no tests at all
        result = f"failed (exit status {status})"
    else:
        result = ", ".join(f"{n} {word}" for word, n in counts.items() if n) or "ok"
    return status, f"{name:<12} {result} in {time.perf_counter() - start:.0f} s"


def _counts(report: Path) -> dict[str, int]:
    """How many tests failed, passed and were skipped, from pytest's report; empty if there is none
    that can be read."""
    try:
        suite = next(ElementTree.parse(report).iter("testsuite"))
        total, failures, errors, skipped = (
            int(suite.get(name, 0)) for name in ("tests", "failures", "errors", "skipped")
        )
    except (OSError, ElementTree.ParseError, StopIteration, ValueError):
        return {}
    failed = failures + errors
    return {"failed": failed, "passed": total - failed - skipped, "skipped": skipped}


def _python(module: str, *arguments: str, **environment: str) -> int:
    """The exit status of ``python -m module …`` in the repository."""
    if not find_spec(module):
        raise ModuleNotFoundError(f"no {module}", name=module)
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.run(command, cwd=REPOSITORY, env=os.environ | environment).returncode


def _report(options: argparse.Namespace) -> int:
    from course_kit.publishing import lessons
    from course_kit.research.report import TABLES, write_readme

    write_readme()
    for name, table in TABLES.items():
        print(f"{name}\n{table()}\n")
    outcomes = lessons.publish_notebooks(list(lessons.REPORTS))
    print(lessons.summary(outcomes))
    return _status(outcomes)


COMMANDS = {
    "course": Command(
        "execute every lesson on real text and write site/ with the results",
        "course", "course", _course,
    ),
    "lab": Command(
        "open your own copies of the lessons in JupyterLab, in students/",
        "lab --no-browser --port 8890", "course", _lab, _lab_arguments,
    ),
    "progress": Command(
        "show which exercises are solved in your copies",
        "progress", "course", _progress,
    ),
    "test": Command(
        "lint, tests, and the lessons checked cell by cell", "test --all", "dev", _test,
        _test_arguments,
    ),
    "students": Command(
        "write copies of the lessons without solutions to a folder",
        "students --to handout notebooks/01_gru.ipynb", "course", _students, _students_arguments,
    ),
    "notebooks": Command(
        "execute the lessons and store their outputs in the form we commit",
        "notebooks notebooks/01_gru.ipynb", "course", _notebooks, _some_notebooks,
    ),
    "contents": Command(
        "write the tables of lessons, with minutes, in both READMEs and lesson 00",
        "contents", "course", _contents,
    ),
    "data": Command(
        "download and prepare all text and vectors, or read a file of your own texts",
        "data reviews.csv --text review --label stars", "course", _data, _data_arguments,
    ),
    "room": Command(
        "write the reading room, one page in which recorded networks and your runs read a text",
        "room runs/han-imdb-small-s0 --to room.html", "course",
        *command_of("course_kit.reading_room.page.build"),
    ),
    "report": Command(
        "write the README's tables and both reports from the records in results/",
        "report", "course", _report,
    ),
    "museum": Command(
        "train every specimen of the bug museum, record the results, and show the wrong measures",
        "museum --dataset toy --rows 200", "course",
        *command_of("course_kit.exercises.museum"),
    ),
}  # fmt: skip
