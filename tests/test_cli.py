"""The command: what it offers, that it starts at once, and that refusals are one sentence."""

import argparse
import errno
import os
import re
import subprocess
import sys
from dataclasses import replace

import nbformat
import pytest
from papermill.exceptions import PapermillExecutionError

from course_kit.publishing import commands, contents, executing, lessons, places, site
from course_kit.research.grid import scheduler
from course_lib import cli
from course_lib.data.tables import FORMS
from course_lib.files import REPOSITORY, DataError
from course_lib.runs import asked, folders
from course_lib.runs.systems import known_systems

COMMANDS = cli.all_commands()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_shows_an_example_that_it_understands(name, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for file in ("new.csv", "reviews.csv", "notebooks/01_gru.ipynb", "collected/01_gru.ipynb"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).touch()  # examples name it
    with pytest.raises(SystemExit) as end:
        cli.main([*name.split(), "--help"])
    assert end.value.code == 0
    example = f"attention-course {COMMANDS[name].example}"
    assert f"example: {example}" in " ".join(capsys.readouterr().out.split())
    words = COMMANDS[name].example.split()
    called = 1 + name.startswith("author ")
    assert " ".join(words[:called]) == name
    assert cli.parse(words[called:], name, COMMANDS).command == name


def test_help_has_three_groups_and_that_of_authors_is_explained_on_its_own(capsys):
    for arguments in ([], ["--help"], ["-h"]):
        assert cli.main(arguments) == 0
    text = capsys.readouterr().out.split("\n\n")
    groups = {part.split()[0]: part for part in text[1:4]}
    assert set(groups) == {"learn", "run", "author"}
    assert re.findall(r"^  (\S+)", groups["learn"], re.M) == ["course", "lab", "progress", "room"]
    assert {"run", "predict", "grid", "data"} <= {*re.findall(r"^  (\S+)", groups["run"], re.M)}
    assert cli.main(["author", "--help"]) == 0
    named = re.findall(r"^  (\S+)", capsys.readouterr().out, re.M)
    assert [f"author {name}" for name in named] == [n for n in COMMANDS if n.startswith("author")]


def test_a_nested_command_has_an_overview_and_brings_the_nearest_one(capsys):
    assert cli.main(["grid"]) == 0
    assert "one run of the grid" in capsys.readouterr().out
    for words, told in {
        "grid stats": "(choose from 'status', 'run', 'one'); do you mean status?\n",
        "grid run core --agian": "unrecognized arguments: --agian; do you mean --again?\n",
        "run --seed x": "error: argument --seed: invalid int value: 'x'; attention-course run --he",
        "grid status --group core": "--group; example: attention-course grid status core han\n",
    }.items():
        with pytest.raises(SystemExit):
            cli.main(words.split())
        assert told in capsys.readouterr().err
    assert cli.main(["--version"]) == 0
    assert re.fullmatch(r"\d+\.\d+\.\d+\n", capsys.readouterr().out)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_says_what_it_is(name):
    parser = argparse.ArgumentParser()
    COMMANDS[name].add_arguments(parser)
    actions = [*parser._actions]
    for action in actions:  # to which those of nested commands are added
        nested = action.choices.values() if isinstance(action, argparse._SubParsersAction) else ()
        actions += [each for command in nested for each in command._actions]
        assert nested or action.help, action.dest


def test_help_imports_nothing_that_takes_time():
    program = (
        "import sys, contextlib\nfrom course_lib import cli\n"
        "for name in ('', *cli.all_commands(), 'grid status'):\n"
        "    with contextlib.suppress(SystemExit):\n        cli.main([*name.split(), '--help'])\n"
        "print(sorted({'torch', 'numpy', 'datasets', 'yaml', 'pandas'} & sys.modules.keys()))"
    )
    call = [sys.executable, "-c", program]
    done = subprocess.run(call, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert done.stdout.count("usage: ") == len(COMMANDS) + 2 and done.stdout.endswith("\n[]\n")


def test_a_mistake_is_told_before_anything_slow_is_imported(tmp_path):
    """Wrong commands, options, networks, systems and files, each in one process."""
    (tmp_path / "texts.txt").write_text("A fine film.\n")
    (tmp_path / "texts.csv").write_text("a,b\nfine,1\n")
    (tmp_path / "itself.csv").symlink_to("itself.csv")
    wrong = [
        *("xyzzy", "run", "run --system hann", "run --system context_han", "run --sed 1"),
        "run --system han --preset nope",
        *("run --system han --dataset nope", "run --system han --dataset nope.csv"),
        *("predict nope texts.txt", "predict han-imdb-compact-s0 nope.txt"),
        "predict han-imdb-compact-s0 texts.txt --to texts.txt",
        "predict han-imdb-compact-s0 texts.txt --text ''",
        *("predict han-imdb-compact-s0 'no such.CSV'", "predict han-imdb-compact-s0 Wonderful"),
        "predict han-imdb-compact-s0 'A fine film.' --to new.csv",
        *("audit nope", "audit nope.py:f", "audit han-imdb-compact-s0 --texts nope.csv"),
        *("audit han-imdb-compact-s0 --to a.txt", "data nope", "data ''", "data itself.csv"),
        *("room nope", "room --to .", "author weights nope", "author grade nope"),
        *("author grade . --minutes 0", "author notebooks nope.ipynb"),
        "grid run nope",
        *("predict han-imdb-compact-s0 texts.csv", "run --system han --dataset texts.csv"),
        "audit han-imdb-compact-s0 --texts texts.csv --text a --label nope",
    ]
    program = (
        "import shlex, sys\nfrom course_lib import cli\n"
        f"for command in {wrong!r}:\n"
        "    try:\n        status = cli.main(shlex.split(command))\n"
        "    except SystemExit as stop:\n        status = stop.code\n"
        "    slow = {'torch', 'datasets', 'pandas', 'matplotlib'} & sys.modules.keys()\n"
        "    assert (status, slow) == (2, set()), (command, status, slow)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
    )
    assert done.returncode == 0, done.stderr
    told = [line for line in done.stderr.splitlines() if line]
    assert len(told) == len(wrong) and all(line.startswith("error: ") for line in told)
    assert files_of(tmp_path) == ["itself.csv", "texts.csv", "texts.txt"]


def test_what_ends_like_a_file_of_texts_is_never_read_as_a_text():
    assert {*cli.READ} == {*FORMS, ".txt"}
    assert cli.file_or_text("A fine film. I cried") == "A fine film. I cried"
    for name in ("my texts.CSV", "texts", "", " "):
        with pytest.raises(FileNotFoundError, match="or type a text of two words or more"):
            cli.file_or_text(name)


def test_the_recorded_networks_are_listed_without_any_data_and_named_where_one_is_wrong():
    """And without torch, which takes seconds."""
    program = (
        "import sys\nfrom course_lib import cli\nstatus = cli.main(['networks'])\n"
        "cli.main(['predict', 'nope', 'README.md'])\ncli.main(['audit', 'nope'])\n"
        "print(status, 'torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True
    )
    *table, last = done.stdout.splitlines()
    rows = [re.split(r"\s{2,}", line) for line in table if line]
    listed = {row[0].rstrip("*"): row for row in rows if len(row) == 4}
    assert [*listed][1:] == folders.recorded_names() and last == "0 False"
    assert listed["han-imdb-compact-s0"][1:] == ["IMDb movie reviews", "91.0%", "0.2"]
    assert listed["minilm-sst2_sentences-adapters-s0"][0].endswith("*")
    assert any(line.startswith("*") and "data minilm" in line for line in table)
    (example,) = (line for line in table if line.startswith("example: "))
    assert example.split()[3] in listed
    wrong = done.stderr.splitlines()
    assert len(wrong) == 2 and all("attention-course networks lists them" in each for each in wrong)
    for command in ("predict", "audit"):
        parser = argparse.ArgumentParser()
        COMMANDS[command].add_arguments(parser)
        assert "attention-course networks lists them" in " ".join(parser.format_help().split())


def files_of(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_names_of_systems_and_presets_are_those_that_run():
    assert asked.system_names() == sorted(known_systems())
    for name, system in known_systems().items():
        assert asked.preset_names(name) == [*system.presets]
    assert asked.preset_names("another") == []


def test_a_classifier_of_the_hub_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setattr("course_kit.audit.commands.TRANSFORMERS", False)
    assert cli.main(["audit", "owner/name"]) == 2
    assert 'pip install --editable ".[audit]" brings it' in capsys.readouterr().err


REFUSED = {
    "author raport": "do you mean report?",
    "xyzzy": "no command 'xyzzy'; there are: run, predict, ",
    "grid status corre": "no group 'corre'; do you mean core?",
    "audit han": "(on the hub: owner/name); do you mean han-imdb-compact-s0 or han-imdb-comp",
    f"predict sanet-imdb {REPOSITORY / 'README.md'}": "do you mean sanet-imdb-compact-s0?",
    "run --system han --preset small --dataset toy --device cuda:99": "device 'cuda:99' ",
    "run": "run needs --system; there are: agt, bilstm, han",
    "run --system context_han": "no system 'context_han'; there are: agt, bilstm, han",
    "run --system han --dataset toy --set training.learning_rate=1"
    + 400 * "0": "training.learning_rate takes no number of 401 digits",
    "run --system han --dataset toy --limit 3": "limit takes 20 to 600 training rows, got 3",
    "run --system han --set model.hidden=" + 100_000 * "[": "model.hidden takes a whole number",
    "run --system han --set model.hidden": "model.hidden takes a whole number from 1, got None",
    "run --system han --dataset no.csv": "no.csv: no such file of texts, and no dataset of that",
    "run --system han --dataset toy --text body": "--text is for a file of your own, and toy is no",
    "students nowhere.ipynb": "nowhere.ipynb: No such file or directory",
    "notebooks nowhere.ipynb": "nowhere.ipynb: No such file or directory",
    "COURSE_PROFILE=quick course": "COURSE_PROFILE is 'quick'; it takes one of",
    "COURSE_DATA_DIR=/dev/null/x data": "Not a directory",
    "grid run core --on nowhere": "no profile 'nowhere'",
    "room nowhere": "nowhere: no finished run; attention-course run prints",
    "room --pretrained": "attention-course data minilm",
    "room mine --pretrained": "--pretrained takes no runs",
}


@pytest.mark.parametrize("command", REFUSED, ids=lambda command: command[:40])
def test_what_cannot_be_done_is_one_sentence(command, monkeypatch, capsys):
    """And before any notebook is begun."""
    monkeypatch.setattr("papermill.execute_notebook", None)
    words = command.split()
    if "=" in words[0]:  # a variable of the environment
        monkeypatch.setenv(*words.pop(0).split("="))
    monkeypatch.setenv("COLUMNS", "60")
    said = []
    for terminal in (False, True):  # whose lines are wrapped
        monkeypatch.setattr("sys.stderr.isatty", lambda terminal=terminal: terminal)
        assert cli.main(words) == 2
        said.append(capsys.readouterr().err)
    assert REFUSED[command] in said[0] and said[1].split() == said[0].split()
    _, *others = said[1].partition("error:")[2].splitlines()
    assert all(line[:2] == "  " and (len(line) <= 60 or " " not in line[2:]) for line in others)


MISSING = (
    "attention-course lab needs yaml, which is not installed; in the repository, pip install "
    '--editable ".[course]" brings it'
)


@pytest.mark.parametrize(
    ("error", "arguments", "status", "says"),
    [
        (DataError("rows: damaged"), "lab", 2, "rows: damaged"),
        (PermissionError(errno.EACCES, "Denied", "runs"), "lab", 2, "runs: Denied"),
        (OSError(errno.ENOSPC, "No space left"), "lab", 2, "[Errno 28] No space left"),
        (PapermillExecutionError(4, 4, "x", "A", "no", []), "lab", 2, "cell 4: A: no"),
        (ModuleNotFoundError("no 'yaml'", name="yaml"), "lab", 2, MISSING),
        (KeyboardInterrupt(), "lab", 130, "interrupted"),
        (DataError("rows: damaged"), "--debug lab", None, ""),
        (DataError("rows: damaged"), "lab --debug", None, ""),
        (DataError("rows: damaged"), "passing --debug", 2, "rows: damaged"),
        (ZeroDivisionError("a mistake of ours"), "lab", None, ""),
        (ValueError("of another's code"), "lab", None, ""),
        (ModuleNotFoundError("a moved file", name="course_lib.layers"), "lab", None, ""),
    ],
    ids=lambda value: type(value).__name__,
)
def test_only_a_mistake_of_ours_keeps_its_traceback(
    error, arguments, status, says, monkeypatch, capsys
):
    def carry_out(chosen):
        raise error

    def passes_on(parser):
        parser.set_defaults(further=[])

    command = cli.Command("fail", "lab", "course", carry_out, group="learn")
    passing = replace(command, add_arguments=passes_on)
    monkeypatch.setattr(cli, "all_commands", lambda: {"lab": command, "passing": passing})
    if status is None:
        with pytest.raises(type(error)):
            cli.main(arguments.split())
    else:
        assert cli.main(arguments.split()) == status
        assert capsys.readouterr().err == f"error: {says}\n"


@pytest.fixture
def called(monkeypatch):
    """What was run as a module in the repository; it ends with the status set for its name."""
    made = []

    def run(command, cwd, env):
        assert command[1] == "-m" and cwd == REPOSITORY
        if command[2] == "pytest" and "--nbval-lax" in command:
            assert env["COURSE_PROFILE"] == "smoke" and env["OMP_NUM_THREADS"] == "1"
        made.append(command[2:])
        return subprocess.CompletedProcess(command, statuses.get(command[2], 0))

    statuses = {}
    monkeypatch.setattr(commands.subprocess, "run", run)
    return made, statuses


@pytest.mark.parametrize("statuses", [{}, {"ruff": 1, "pytest": 3}])
def test_all_checks_are_made_and_summed_up(statuses, called, capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(lessons, "EXECUTED", tmp_path)
    made, ends = called
    ends |= statuses
    assert cli.main(["author", "test"]) == statuses.get("ruff", 0)
    assert made[:3] == [["ruff", "check"], ["ruff", "format", "--check"], ["codespell_lib"]]
    assert made[3][-2:] == ["-m", "not full"] and made[4][:2] == ["pytest", "--nbval-lax"]
    assert len(made) == 5
    lines = capsys.readouterr().out.partition("\n\n")[2].splitlines()
    for (module, *_), line in zip(made, lines, strict=True):
        status = statuses.get(module)
        said = re.escape(f"failed (exit status {status})") if status else "ok"
        assert re.search(rf" {said} in \d+ s$", line)


def test_all_checks_execute_the_side_notes_as_well(called, tmp_path, monkeypatch):
    """On real text, where it is there, they and the reports are executed by
    ``test_committed_outputs``."""
    monkeypatch.setattr(lessons, "EXECUTED", tmp_path)
    assert cli.main(["author", "test", "--all"]) == 0
    assert "-m" not in called[0][3]
    joined = [nbformat.read(name, 4) for name in called[0][-1] if name.endswith(".ipynb")]
    sources = "\n".join(cell.source for each in joined for cell in each.cells)
    for path in (*lessons.lesson_paths(), *lessons.side_notes()):
        assert f"# {path.name}, cell " in sources


@pytest.mark.parametrize("errors, status", [([], 0), (["cell 3: KeyError: 'a'"], 1)])
def test_a_lesson_with_an_error_fails_the_command_that_executed_it(
    errors, status, monkeypatch, capsys
):
    """Pages and tables are written all the same, and where to read them is said."""
    written, outcomes = [], [lessons.Outcome("03_han", 2.0, errors)]
    monkeypatch.setenv("COURSE_PROFILE", "smoke")
    monkeypatch.setattr(executing, "publish_notebooks", lambda paths: outcomes)
    monkeypatch.setattr(executing, "execute_all", lambda *how: [(each, each) for each in outcomes])
    monkeypatch.setattr(contents, "write_tables", lambda: written.append("tables"))
    monkeypatch.setattr(site, "write_site", lambda: written.append("site"))
    monkeypatch.setattr(commands, "write_page", lambda networks, in_site: written.append("room"))
    assert cli.main(["author", "notebooks"]) == status and written == ["tables"]
    assert ("03_han" in capsys.readouterr().out) and cli.main(["course"]) == status
    assert written == ["tables", "room", "site"]
    assert f"\nOpen {site.SITE / 'index.html'} or" in capsys.readouterr().out


def test_the_lab_opens_the_learner_s_copies(tmp_path, monkeypatch, called):
    folder = tmp_path / "students"
    monkeypatch.setattr(places, "STUDENTS", folder)
    assert cli.main(["lab", "--from", "notebooks", "--no-browser"]) == 0
    assert called[0].pop() == ["jupyterlab", "--notebook-dir=notebooks", "--no-browser"]
    assert not folder.exists()
    assert cli.main(["lab", "--no-browser", "--port", "8890"]) == 0
    assert called[0].pop() == [
        "jupyterlab",
        "--ServerApp.root_dir=.",
        "--LabApp.default_url=/lab/tree/students/start.ipynb",
        "--no-browser",
        "--port",
        "8890",
    ]
    names = [path.name for path in lessons.lesson_paths()]
    assert sorted(path.name for path in folder.glob("*.ipynb")) == [*names, "start.ipynb"]
    notes = [path.name for path in lessons.side_notes()]
    assert sorted(path.name for path in folder.glob("further/*.ipynb")) == notes


def test_only_snakemake_and_jupyterlab_may_get_arguments_that_we_do_not_know(monkeypatch):
    seen = []
    monkeypatch.setattr(scheduler, "run_groups", lambda *all_: seen.append(all_) or [])
    assert cli.main(["grid", "run", "core", "--resources", "gpu=4"]) == 0
    assert seen == [(["core"], False, "", ["--resources", "gpu=4"])]
    for arguments in (["students", "--port", "9"], ["grid", "status", "--executor", "slurm"]):
        try:
            status = cli.main(arguments)
        except SystemExit as end:
            status = end.code
        assert status == 2
