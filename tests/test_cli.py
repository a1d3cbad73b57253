"""The command: what it offers, that it starts at once, and that refusals are one sentence."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_markdown_cell
from papermill.exceptions import PapermillExecutionError

from course_kit.publishing import desk, lessons, students
from course_lib import cli
from course_lib.files import REPOSITORY, DataError


def call(*arguments, program=("-m", "course_lib"), **environment):
    return subprocess.run(
        [sys.executable, *program, *arguments],
        cwd=REPOSITORY, capture_output=True, text=True, env=os.environ | environment,
    )  # fmt: skip


def test_the_commands_are_those_of_the_readme():
    assert list(cli.COMMANDS) == [
        "course", "lab", "progress", "test", "students", "notebooks", "contents", "data",
        "vectors", "compact", "run", "predict", "grid", "weights", "faithfulness",
        "extensions", "trained-tests", "room", "report", "doors", "museum",
        "sanity-checks", "migrate",
    ]  # fmt: skip


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_shows_an_example_that_it_understands(name, capsys):
    with pytest.raises(SystemExit) as end:
        cli.main([name, "--help"])
    assert end.value.code == 0
    example = f"attention-course {cli.COMMANDS[name].example}"
    assert f"example: {example}" in " ".join(capsys.readouterr().out.split())
    chosen = cli.parse(example.split()[1:], name)
    assert chosen.command == name


def test_help_imports_nothing_that_takes_time():
    program = (
        "import sys\nfrom course_lib import cli\n"
        "try:\n    cli.main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print(sorted({'torch', 'numpy', 'datasets', 'nbformat', 'yaml'} & sys.modules.keys()))"
    )
    done = call(program=("-c", program))
    assert done.returncode == 0, done.stderr
    assert "museum" in done.stdout and done.stdout.endswith("\n[]\n")


@pytest.mark.parametrize(
    ("arguments", "environment", "says"),
    [
        ("run --system nope", {}, "no system 'nope'; there are: "),
        ("students nowhere.ipynb", {}, "nowhere.ipynb: No such file or directory"),
        ("course", {"COURSE_PROFILE": "quick"}, "COURSE_PROFILE is 'quick'; it takes one of"),
        ("museum --dataset toy", {"COURSE_DATA_DIR": "/dev/null/x"}, "Not a directory"),
        ("museum --dataset toy --device cuda:99", {}, "device 'cuda:99' "),
    ],
)
def test_what_cannot_be_done_is_one_sentence(arguments, environment, says):
    done = call(*arguments.split(), **environment)
    assert done.returncode == 2, done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("error: ") and says in last
    assert "Traceback" not in done.stderr


def failing(monkeypatch, error):
    def carry_out(chosen):
        raise error

    failing = cli.Command("fail", "lab", "course", carry_out)
    monkeypatch.setitem(cli.COMMANDS, "lab", failing)


CELL = PapermillExecutionError(4, 4, "x", "DataError", "no such file", [])


@pytest.mark.parametrize(
    ("error", "status", "says"),
    [
        (DataError("rows: damaged"), 2, "rows: damaged"),
        (PermissionError(errno.EACCES, "Permission denied", "runs"), 2, "runs: Permission denied"),
        (OSError(errno.ENOSPC, "No space left on device"), 2, "[Errno 28] No space left on device"),
        (CELL, 2, "cell 4: DataError: no such file"),
        (
            ModuleNotFoundError("No module named 'yaml'", name="yaml"), 2,
            'attention-course lab needs yaml, which is not installed; in the repository, '
            'pip install --editable ".[course]" brings it',
        ),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_an_expected_error_is_reported_without_a_traceback(
    error, status, says, monkeypatch, capsys
):
    failing(monkeypatch, error)
    assert cli.main(["lab"]) == status
    assert capsys.readouterr().err == f"error: {says}\n"


@pytest.mark.parametrize("arguments", [["--debug", "lab"], ["lab", "--debug"]])
def test_debug_shows_where_it_happened(arguments, monkeypatch):
    failing(monkeypatch, DataError("rows: damaged"))
    with pytest.raises(DataError, match="rows: damaged"):
        cli.main(arguments)


@pytest.mark.parametrize(
    "error", [ZeroDivisionError("a mistake of ours"), ValueError("of another's code"),
              ModuleNotFoundError("a moved file", name="course_lib.layers")],
)  # fmt: skip
def test_a_mistake_of_ours_keeps_its_traceback(error, monkeypatch):
    failing(monkeypatch, error)
    with pytest.raises(type(error)):
        cli.main(["lab"])


REPORT = (
    '<testsuites><testsuite errors="{errors}" failures="{failures}" skipped="2" tests="9">'
    "</testsuite></testsuites>"
)
PASSED = "7 passed, 2 skipped"


@pytest.mark.parametrize(
    ("status", "result", "says"),
    [
        ([0, 0, 0, 0, 0], 0, ["ok", "ok", "ok", PASSED, PASSED]),
        (
            [0, 3, 0, 1, 0],
            3,
            ["ok", "failed (exit status 3)", "ok", f"3 failed, 4{PASSED[1:]}", PASSED],
        ),
        ([0, 0, 65, 0, 4], 65, ["ok", "ok", "failed (exit status 65)", PASSED,
                                "failed (exit status 4)"]),
    ],
)  # fmt: skip
def test_all_checks_are_made_and_summed_up(status, result, says, monkeypatch, capsys):
    called = []

    def run(command, cwd, env):
        code = status[len(called)]
        called.append((command[2:], env.get("COURSE_PROFILE")))
        report = command[-1].removeprefix("--junitxml=")
        if report != command[-1] and code < 2:  # pytest does not write it after a usage error
            Path(report).write_text(REPORT.format(errors=code, failures=2 * code))
        return subprocess.CompletedProcess(command, code)

    monkeypatch.delenv("COURSE_PROFILE", raising=False)
    monkeypatch.setattr(cli.subprocess, "run", run)
    assert cli.main(["test"]) == result
    assert called[:2] == [(["ruff", "check"], None), (["ruff", "format", "--check"], None)]
    assert called[2] == (["codespell_lib"], None)
    (module, *parallel, _report), profile = called[3]
    assert (module, profile) == ("pytest", None)
    assert parallel == ["-n", "logical", "--dist", "loadfile"]
    (module, flag, *rest, _report), profile = called[4]
    assert (module, flag, profile) == ("pytest", "--nbval-lax", "smoke")
    assert rest[:4] == parallel
    notebooks = rest[4:]
    assert len(notebooks) == len(list((REPOSITORY / "notebooks").glob("[0-9]*.ipynb"))) + 3
    names = [Path(notebook).name for notebook in notebooks[-3:]]
    assert names == ["left_open.ipynb", "report.ipynb", "your_own_text.ipynb"]
    *_, empty, first, second, third, fourth, last = capsys.readouterr().out.splitlines()
    assert empty == ""
    lines = (first, second, third, fourth, last)
    names = ("ruff check", "ruff format", "spelling", "tests", "notebooks")
    for line, name, words in zip(lines, names, says, strict=True):
        assert line == f"{name:<12} {words} in 0 s"


@pytest.mark.parametrize(
    ("code", "report", "says"),
    [
        (2, REPORT.format(errors=0, failures=0), "failed (exit status 2)"),  # Ctrl+C
        (2, REPORT.format(errors=0, failures=1), f"1 failed, 6{PASSED[1:]}"),
        (5, '<testsuites><testsuite tests="0" /></testsuites>', "failed (exit status 5)"),
        (3, "<testsuites", "failed (exit status 3)"),
        (3, "", "failed (exit status 3)"),
        (3, "<testsuites />", "failed (exit status 3)"),
        (3, '<testsuite tests="many" />', "failed (exit status 3)"),
        (0, "<testsuites", "ok"),
    ],
)
def test_a_status_that_no_failed_test_explains_is_named(code, report, says, monkeypatch, capsys):
    def run(command, cwd, env):
        if command[-1].startswith("--junitxml="):
            Path(command[-1].removeprefix("--junitxml=")).write_text(report)
        return subprocess.CompletedProcess(command, code if command[2] == "pytest" else 0)

    monkeypatch.setattr(cli.subprocess, "run", run)
    assert cli.main(["test"]) == code
    assert f"{'tests':<12} {says} in 0 s" in capsys.readouterr().out.splitlines()


def opened(monkeypatch, folder, *arguments):
    """The arguments JupyterLab was started with, from the repository."""
    started = []

    def run(command, cwd, env):
        assert command[1:3] == ["-m", "jupyterlab"] and cwd == REPOSITORY
        started.append(command[3:])
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(lessons, "STUDENTS", folder)
    monkeypatch.setattr(cli.subprocess, "run", run)
    assert cli.main(["lab", *arguments]) == 0
    return started[0]


def test_the_lab_opens_the_learner_s_copies_and_keeps_their_work(tmp_path, monkeypatch, capsys):
    folder = tmp_path / "students"
    assert opened(monkeypatch, folder, "--no-browser", "--port", "8890") == [
        "--ServerApp.root_dir=.", "--LabApp.default_url=/lab/tree/students/start.ipynb",
        "--no-browser", "--port", "8890",
    ]  # fmt: skip
    names = [path.name for path in lessons.lesson_paths()]
    assert sorted(path.name for path in folder.glob("*.ipynb")) == [*names, "start.ipynb"]
    assert "0 of 3" in (folder / "progress.html").read_text(encoding="utf-8")
    assert capsys.readouterr().out == ""

    copy = nbformat.read(folder / names[1], as_version=4)
    copy.cells[0].source = "my notes"
    nbformat.write(copy, folder / names[1])

    def newer(notebook, name):
        notebook.cells = [new_markdown_cell("# Newer"), *notebook.cells]
        return students.student_copy(notebook, name)

    monkeypatch.setattr(desk, "student_copy", newer)
    opened(monkeypatch, folder)
    stays = f"students/{names[1]} holds your work and stays; the newer lesson is"
    new = f"{names[1].removesuffix('.ipynb')}.new.ipynb: to go on with it, rename it to {names[1]}"
    assert capsys.readouterr().out == f"{stays} {new}, after giving your own another name\n"
    assert nbformat.read(folder / names[1], as_version=4) == copy
    assert nbformat.read(folder / names[2], as_version=4).cells[0].source == "# Newer"


def test_authors_open_the_lessons_themselves(tmp_path, monkeypatch):
    folder = tmp_path / "students"
    started = opened(monkeypatch, folder, "--from", "notebooks", "--no-browser")
    assert started == ["--notebook-dir=notebooks", "--no-browser"]
    assert not folder.exists()


def test_only_snakemake_and_jupyterlab_may_get_arguments_that_we_do_not_know(monkeypatch):
    from course_kit.research.grid import scheduler

    seen = []
    monkeypatch.setattr(scheduler, "run_groups", lambda *all_: seen.append(all_) or [])
    assert cli.main(["grid", "run", "core", "--resources", "gpu=4"]) == 0
    assert seen == [(["core"], False, "", ["--resources", "gpu=4"])]
    for arguments in (["students", "--port", "9"], ["grid", "status", "--executor", "slurm"]):
        with pytest.raises(SystemExit):
            cli.main(arguments)
