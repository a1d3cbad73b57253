"""The command: what it offers, that it starts at once, and that refusals are one sentence."""

import errno
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_markdown_cell
from papermill.exceptions import PapermillExecutionError

from course_kit.publishing import commands, lessons, students, workspace
from course_kit.research.grid import scheduler
from course_lib import cli
from course_lib.files import REPOSITORY, DataError

COMMANDS = cli.all_commands()


def test_the_commands_are_the_library_s_and_those_of_the_course():
    assert {"run", "predict", "weights"} == cli.COMMANDS.keys() < COMMANDS.keys()
    assert {"course", "lab", "test", "grid", "faithfulness", "museum"} < COMMANDS.keys()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_shows_an_example_that_it_understands(name, capsys):
    with pytest.raises(SystemExit) as end:
        cli.main([name, "--help"])
    assert end.value.code == 0
    example = f"attention-course {COMMANDS[name].example}"
    assert f"example: {example}" in " ".join(capsys.readouterr().out.split())
    chosen = cli.parse(example.split()[1:], name, COMMANDS)
    assert chosen.command == name


def test_help_imports_nothing_that_takes_time():
    program = (
        "import sys\nfrom course_lib import cli\n"
        "try:\n    cli.main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print(sorted({'torch', 'numpy', 'datasets', 'nbformat', 'yaml'} & sys.modules.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "museum" in done.stdout and done.stdout.endswith("\n[]\n")


@pytest.mark.parametrize(
    ("arguments", "environment", "says"),
    [
        ("run --system nope", {}, "no system 'nope'; there are: "),
        ("run --preset small --dataset toy --device cuda:99", {}, "device 'cuda:99' "),
        ("run --set model.hidden=" + 100_000 * "[", {}, "model.hidden takes a whole number"),
        ("students nowhere.ipynb", {}, "nowhere.ipynb: No such file or directory"),
        ("notebooks nowhere.ipynb", {}, "nowhere.ipynb: no such notebook"),
        ("course", {"COURSE_PROFILE": "quick"}, "COURSE_PROFILE is 'quick'; it takes one of"),
        ("museum --dataset toy", {"COURSE_DATA_DIR": "/dev/null/x"}, "Not a directory"),
        ("museum --dataset toy --device cuda:99", {}, "device 'cuda:99' "),
        ("museum --dataset toy --rows -1", {}, "rows takes a whole number from"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_cannot_be_done_is_one_sentence(arguments, environment, says, monkeypatch, capsys):
    """And before any notebook is begun."""
    monkeypatch.setattr("papermill.execute_notebook", None)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert cli.main(arguments.split()) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("error: ") and says in last


def failing(monkeypatch, error):
    def carry_out(chosen):
        raise error

    failing = cli.Command("fail", "lab", "course", carry_out)
    monkeypatch.setattr(cli, "all_commands", lambda: {"lab": failing})


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
    ("code", "report", "says"),
    [
        (0, REPORT.format(errors=0, failures=0), PASSED),
        (1, REPORT.format(errors=1, failures=2), f"3 failed, 4{PASSED[1:]}"),
        (2, REPORT.format(errors=0, failures=0), "failed (exit status 2)"),  # Ctrl+C
        (3, "<testsuites", "failed (exit status 3)"),
        (3, "", "failed (exit status 3)"),
        (3, '<testsuite tests="many" />', "failed (exit status 3)"),
        (0, "<testsuites", "ok"),
    ],
)
def test_all_checks_are_made_and_summed_up(code, report, says, monkeypatch, capsys):
    called = []

    def run(command, cwd, env):
        called.append(command[2:])
        if command[-1].startswith("--junitxml="):
            Path(command[-1].removeprefix("--junitxml=")).write_text(report)
        return subprocess.CompletedProcess(command, code if command[2] == "pytest" else 0)

    monkeypatch.setattr(commands.subprocess, "run", run)
    assert cli.main(["test"]) == code
    assert ["ruff", "check"] in called and called[-1][:2] == ["pytest", "--nbval-lax"]
    said = {"ruff": "ok", "spelling": "ok", "tests": says, "notebooks": says}
    lines = capsys.readouterr().out.partition("\n\n")[2].splitlines()
    assert len(lines) == len(called)
    for line in lines:
        assert re.search(rf"^(.+) +{re.escape(said[line.split()[0]])} in \d+ s$", line)


def opened(monkeypatch, folder, *arguments):
    """The arguments JupyterLab was started with, from the repository."""
    started = []

    def run(command, cwd, env):
        assert command[1:3] == ["-m", "jupyterlab"] and cwd == REPOSITORY
        started.append(command[3:])
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(lessons, "STUDENTS", folder)
    monkeypatch.setattr(commands.subprocess, "run", run)
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
    assert capsys.readouterr().out == ""

    copy = nbformat.read(folder / names[1], as_version=4)
    copy.cells[0].source = "my notes"
    nbformat.write(copy, folder / names[1])

    def newer(notebook, name):
        notebook.cells = [new_markdown_cell("# Newer"), *notebook.cells]
        return students.student_copy(notebook, name)

    monkeypatch.setattr(workspace, "student_copy", newer)
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
    seen = []
    monkeypatch.setattr(scheduler, "run_groups", lambda *all_: seen.append(all_) or [])
    assert cli.main(["grid", "run", "core", "--resources", "gpu=4"]) == 0
    assert seen == [(["core"], False, "", ["--resources", "gpu=4"])]
    for arguments in (["students", "--port", "9"], ["grid", "status", "--executor", "slurm"]):
        with pytest.raises(SystemExit):
            cli.main(arguments)
