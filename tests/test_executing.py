"""Notebooks executed at the same time: what each gets, and what ends them."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell
from test_lessons import PARAMETERS, notebook

from course_kit.publishing import contents, executing, lessons
from course_lib.files import REPOSITORY

WAITING = 120  # seconds after which something that should happen never will


@pytest.fixture
def write(tmp_path, monkeypatch):
    """``write(name, code)``: a notebook; executed copies lie in ``out``, two at a time."""
    monkeypatch.setattr(lessons, "EXECUTED", tmp_path / "out")
    monkeypatch.setattr(executing, "cores", lambda: 2)

    def made(name, code):
        nbformat.write(notebook(PARAMETERS, new_code_cell(code)), tmp_path / f"{name}.ipynb")
        return tmp_path / f"{name}.ipynb"

    return made


def meeting(own, other):
    """Code that ends when that of the ``other`` notebook has begun."""
    return (
        f"import time\nfrom pathlib import Path\nPath({own!r}).touch()\n"
        f"for _ in range({WAITING * 10}):\n"
        f"    if Path({other!r}).exists():\n        break\n    time.sleep(0.1)\n"
        f"else:\n    raise TimeoutError({other!r})"
    )


def text_of(path):
    return nbformat.read(path, as_version=4).cells[-1].outputs[0].text


@pytest.mark.full
def test_notebooks_run_at_the_same_time_and_an_error_stops_no_other(
    write, tmp_path, capsys, monkeypatch
):
    monkeypatch.setenv("OMP_NUM_THREADS", "5")  # for this process, not for kernels
    monkeypatch.delenv("COURSE_HEATMAP", raising=False)
    said = "import os\nprint(os.environ['OMP_NUM_THREADS'], os.environ['COURSE_HEATMAP'], profile)"
    codes = {"a": meeting("a", "b"), "b": meeting("b", "a"), "bad": "1 / 0", "said": said}
    paths = [write(name, code) for name, code in codes.items()]
    found = dict(executing.execute_all(paths, "smoke", "png"))
    errors = {path.stem: outcome.errors for path, outcome in found.items()}
    (failed,) = errors.pop("bad")
    assert failed.endswith("ZeroDivisionError: division by zero")
    assert errors == {"a": [], "b": [], "said": []}
    assert text_of(tmp_path / "out" / "said.ipynb") == "1 png smoke\n"
    assert os.environ["OMP_NUM_THREADS"] == "5" and "COURSE_HEATMAP" not in os.environ
    lines = capsys.readouterr().err.splitlines()
    assert [line[:8] for line in lines if " of 4 · " in line][3] == " 4 of 4 "
    assert {line for line in lines if line.endswith(" …")} == {f"{name} …" for name in codes}
    summary = lessons.summary([*found.values()]).splitlines()
    assert [line.split()[0] for line in summary] == sorted(codes)


@pytest.mark.full
def test_the_longest_begins_first(write, monkeypatch, capsys):
    seconds = {"a": 1, "b": 3, "c": 2}
    monkeypatch.setattr(contents, "running_seconds", lambda path: seconds[path.stem])
    monkeypatch.setattr(executing, "cores", lambda: 1)
    paths = [write(name, "1") for name in seconds]
    assert [path.stem for path, _ in executing.execute_all(paths, "smoke", "png")] == list("bca")
    every = [contents.read_entry(path).stem for path in lessons.lesson_paths()]
    monkeypatch.undo()
    assert all(contents.running_seconds(lessons.LESSONS / f"{stem}.ipynb") > 0 for stem in every)


@pytest.mark.full
def test_a_process_that_dies_is_one_error_and_another_takes_its_place(write, monkeypatch):
    monkeypatch.setattr(executing, "cores", lambda: 1)
    dying = write("a", "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)")
    found = dict(executing.execute_all([dying, write("b", "1")], "smoke", "png"))
    first, second = (outcome.errors for outcome in found.values())
    assert first == ["its process ended with exit status -9"] and second == []


def is_running(process):
    """Whether a process with that number computes: a dead one may wait for its parent."""
    try:
        about = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
        return about.rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def wait_for(true):
    for _ in range(WAITING * 10):
        if true():
            return
        time.sleep(0.1)
    raise TimeoutError


PROGRAM = """
import sys
from pathlib import Path
from course_kit.publishing import executing, lessons
from course_lib import cli
if __name__ == "__main__":
    folder = Path(sys.argv[1])
    lessons.EXECUTED = folder / "out"
    executing.cores = lambda: 2
    cli.main(["author", "notebooks", *map(str, sorted(folder.glob("*.ipynb")))])
"""


@pytest.mark.full
@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="asks Linux which processes run")
@pytest.mark.parametrize("how", ["SIGINT", "SIGKILL", "SIGHUP"])
def test_whatever_ends_the_command_ends_all_kernels_and_leaves_nothing_half_written(
    how, write, tmp_path
):
    """Once by an interrupt, once killed, once with its terminal, which tells the whole group."""
    endless = "import os\nfrom pathlib import Path\nPath(f'{os.getpid()}.kernel').touch()\n"
    paths = [write(name, endless + "while True:\n    pass") for name in ("a", "b")]
    before = [path.read_bytes() for path in paths]
    (tmp_path / "program.py").write_text(PROGRAM)
    started = subprocess.Popen(
        [sys.executable, tmp_path / "program.py", tmp_path],
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        wait_for(lambda: len(list(tmp_path.glob("*.kernel"))) == 2)
        kernels = [int(path.stem) for path in tmp_path.glob("*.kernel")]
        assert all(map(is_running, kernels))
        if how == "SIGHUP":
            os.killpg(started.pid, signal.SIGHUP)
        else:
            started.send_signal(getattr(signal, how))
        _, said = started.communicate(timeout=WAITING)
        wait_for(lambda: not any(map(is_running, kernels)))
    finally:
        started.kill()
    wait_for(lambda: not list((tmp_path / "out").iterdir()))
    if how == "SIGINT":
        assert said.splitlines()[-1] == "error: interrupted" and "Traceback" not in said
    assert [path.read_bytes() for path in paths] == before


@pytest.mark.full
def test_work_is_done_beside_a_block_and_its_error_raised_after_it(tmp_path):
    with executing.beside(os.mkdir, tmp_path / "made"):
        wait_for((tmp_path / "made").is_dir)
    done = []
    with pytest.raises(FileExistsError), executing.beside(os.mkdir, tmp_path):
        done.append("block")
    assert done == ["block"]
    with pytest.raises(ChildProcessError, match="exit status 3"), executing.beside(os._exit, 3):
        pass


@pytest.mark.full
def test_work_ends_when_the_block_beside_it_raises(capfd):
    with pytest.raises(ZeroDivisionError), executing.beside(time.sleep, 10 * WAITING):
        raise ZeroDivisionError
    assert not multiprocessing.active_children() and not capfd.readouterr().err
