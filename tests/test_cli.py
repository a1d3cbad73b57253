"""The command: what it offers, that it starts at once, and that refusals are one sentence."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from papermill.exceptions import PapermillExecutionError

from course_lib import cli
from course_lib.files import REPOSITORY, DataError


def call(*arguments, program=("-m", "course_lib"), **environment):
    return subprocess.run(
        [sys.executable, *program, *arguments],
        cwd=REPOSITORY, capture_output=True, text=True, env=os.environ | environment,
    )  # fmt: skip


def test_the_commands_are_those_of_the_readme():
    assert list(cli.COMMANDS) == [
        "course", "lab", "test", "students", "notebooks", "data", "run", "grid", "report", "museum",
        "migrate",
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
        ([0, 0, 0, 0], 0, ["ok", "ok", PASSED, PASSED]),
        ([0, 3, 1, 0], 3, ["ok", "failed (exit status 3)", f"3 failed, 4{PASSED[1:]}", PASSED]),
        ([0, 0, 0, 4], 4, ["ok", "ok", PASSED, "failed (exit status 4)"]),
    ],
)
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
    (module, _report), profile = called[2]
    assert (module, profile) == ("pytest", None)
    (module, flag, *notebooks, _report), profile = called[3]
    assert (module, flag, profile) == ("pytest", "--nbval-lax", "smoke")
    assert len(notebooks) == len(list((REPOSITORY / "notebooks").glob("[0-9]*.ipynb"))) + 1
    assert notebooks[-1].endswith("report.ipynb")
    *_, empty, first, second, third, last = capsys.readouterr().out.splitlines()
    assert empty == ""
    names = ("ruff check", "ruff format", "tests", "notebooks")
    for line, name, words in zip((first, second, third, last), names, says, strict=True):
        assert line == f"{name:<12} {words} in 0 s"


def test_only_snakemake_may_get_arguments_that_we_do_not_know(monkeypatch):
    from course_lib.experiments import scheduler

    seen = []
    monkeypatch.setattr(scheduler, "run_groups", lambda *all_: seen.append(all_) or [])
    assert cli.main(["grid", "run", "core", "--resources", "gpu=4"]) == 0
    assert seen == [(["core"], False, "", ["--resources", "gpu=4"])]
    for arguments in (["lab", "--port", "9"], ["grid", "status", "--executor", "slurm"]):
        with pytest.raises(SystemExit):
            cli.main(arguments)
