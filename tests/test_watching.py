"""What a reader sees while lessons run: on a terminal, in a log, and after Ctrl+C."""

import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, redirect_stderr

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell
from test_lessons import PARAMETERS, notebook, write
from tqdm import tqdm

from course_kit.publishing import lessons, watching
from course_lib import cli
from course_lib.data.sources import NotObtained
from course_lib.files import REPOSITORY
from course_lib.terminal import Line, in_words, plain

pty = pytest.importorskip("pty", reason="this system has no pseudo-terminals")
termios = pytest.importorskip("termios")

TRAINING = """
from tqdm.auto import tqdm
for number in (1, 2):
    for kind in ("", " validation"):
        for _ in tqdm(range(4), f"epoch {number} of 3{kind}", leave=False):
            pass
"""
TEXT_BAR = """
from tqdm import tqdm
for _ in tqdm(range(2), "predict"):
    pass
"""
WARNING = "get_ipython().kernel.log.warning('of the kernel \\x1b[31m itself')"


class Terminal:
    """A pseudo-terminal; ``text`` is all that was ever written to it."""

    def __init__(self, columns=100):
        self.master, slave = pty.openpty()
        termios.tcsetwinsize(slave, (24, columns))
        self.stream = os.fdopen(slave, "w", encoding="utf-8")
        self.text = ""
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        try:
            while data := os.read(self.master, 4096):
                self.text += data.decode(errors="replace")
        except OSError:  # how Linux says that nobody holds the other side any more
            pass

    def close(self):
        self.stream.close()
        self.reader.join(10)

    def steps(self):
        """Every text that a line has had."""
        return [part.rstrip() for part in self.text.replace("\n", "\r").split("\r")]

    def rows(self):
        """What stays to be seen."""
        rows = []
        for line in self.text.split("\n"):
            seen = ""
            for part in line.split("\r"):
                seen = part + seen[len(part) :]
            rows.append(seen.rstrip())
        return rows


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A function that writes small lessons; what is executed stays in the temporary folder."""
    monkeypatch.setattr(lessons, "EXECUTED", tmp_path / "executed")
    written = []

    def lesson(heading, *sources):
        cells = [new_code_cell(source) for source in sources]
        name = f"{len(written) + 1:02}_made.ipynb"
        written.append(write(notebook(new_markdown_cell(heading), PARAMETERS, *cells),
                             tmp_path / name))  # fmt: skip
        return str(written[-1])

    return lesson


@contextmanager
def on_a_terminal():
    """stderr is a terminal; pytest sets its own before each test, so this is no fixture."""
    made = Terminal()
    try:
        with redirect_stderr(made.stream):
            yield made
    finally:
        made.close()


def three(place):
    return [
        place("# 01 · Bars: how far", TRAINING, TEXT_BAR, WARNING),
        place("# 02 · It fails", "raise ValueError('no \\x1b[2Jsuch')"),
        place("# 03 · It dies", "import os\nos._exit(3)"),
    ]


def program(tmp_path, *paths, before=""):
    """The command on these lessons, in a process of its own, which Ctrl+C interrupts even where
    pytest runs in the background and its children are born deaf to it."""
    code = (
        f"{before}\n"
        "import signal, sys\nfrom pathlib import Path\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from course_lib import cli\nfrom course_kit.publishing import lessons\n"
        f"lessons.EXECUTED = Path({str(tmp_path)!r}) / 'executed'\n"
        f"sys.exit(cli.main(['notebooks', *{paths!r}]))"
    )
    return [sys.executable, "-c", code]


def test_a_terminal_shows_one_line_for_all_lessons(place, tmp_path):
    terminal = Terminal()
    done = subprocess.run(
        program(tmp_path, *three(place)), cwd=REPOSITORY, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=terminal.stream,
    )  # fmt: skip
    terminal.close()
    assert done.returncode == 1
    steps = terminal.steps()
    first = "lesson 1 of 3 · 01 Bars"
    assert f"{first} · cell 5 of 5" in steps
    assert any(step.startswith(f"{first} · epoch 2 of 3, ") for step in steps)
    assert any(step.startswith(f"{first} · epoch 2 of 3 validation, ") for step in steps)
    assert f"{first} · predict, 100%" in steps
    assert [row for row in terminal.rows() if row] == [
        "[IPKernelApp] WARNING | of the kernel  itself",
        "lesson 2 of 3 · 02 It fails · failed: cell 3: ValueError: no such",
        "lesson 3 of 3 · 03 It dies · failed: cell 3: the kernel died",
    ]
    assert "\x1b" not in terminal.text
    assert "01_made" in done.stdout and "ok" in done.stdout and "\x1b" not in done.stdout


def test_a_log_gets_whole_lines(place, tmp_path):
    done = subprocess.run(
        program(tmp_path, *three(place)), cwd=REPOSITORY, text=True, capture_output=True
    )
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    ok = lines.pop(3)
    assert ok.startswith("lesson 1 of 3 · 01 Bars · ok in ") and ok.endswith(" s")
    assert lines == [
        "lesson 1 of 3 · 01 Bars · started",
        "lesson 1 of 3 · 01 Bars · trained 2 epochs",
        "[IPKernelApp] WARNING | of the kernel  itself",
        "lesson 2 of 3 · 02 It fails · started",
        "lesson 2 of 3 · 02 It fails · failed: cell 3: ValueError: no such",
        "lesson 3 of 3 · 03 It dies · started",
        "lesson 3 of 3 · 03 It dies · failed: cell 3: the kernel died",
    ]
    assert "\r" not in done.stderr and "\x1b" not in done.stderr
    kept = json.loads((lessons.EXECUTED / "seconds.json").read_text())
    assert kept["lesson"].keys() == {"01_made"}


SLOW_END = """
import asyncio
from jupyter_core.utils import run_sync
from nbclient import NotebookClient

ended = NotebookClient._async_cleanup_kernel

async def slowly(client):
    await ended(client)
    await asyncio.sleep(2)  # as on a busy machine; tasks that were left would now report

NotebookClient._cleanup_kernel = run_sync(slowly)
"""


def test_ctrl_c_ends_with_one_line_and_no_kernel(place, tmp_path):
    path = place("# 01 · Long", "import os\nfrom pathlib import Path\n"
                 "Path('kernel').write_text(str(os.getpid()))\n"
                 "import time\ntime.sleep(120)")  # fmt: skip
    terminal = Terminal()
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), terminal.stream)
    process = subprocess.Popen(
        program(tmp_path, path, before=SLOW_END), cwd=REPOSITORY, start_new_session=True, **streams
    )
    kernel = tmp_path / "kernel"
    deadline = time.monotonic() + 100
    while not (kernel.exists() and kernel.read_text()) and time.monotonic() < deadline:
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(60) == 130
    terminal.close()
    assert "lesson 1 of 1 · 01 Long · cell 3 of 3" in terminal.steps()
    assert [row for row in terminal.rows() if row] == ["error: interrupted"]
    with pytest.raises(ProcessLookupError):
        os.kill(int(kernel.read_text()), 0)


@pytest.fixture
def preparation(monkeypatch):
    """Datasets that show a bar, one of which cannot be had."""

    def load(name):
        for _ in tqdm(range(2), f"{name}: read"):
            pass
        if name == "sst2":
            raise NotObtained("sst2 cannot be had")

    monkeypatch.setattr(lessons, "load_corpus", load)
    monkeypatch.setattr(lessons, "load_vectors", load)


def test_the_data_are_prepared_on_the_same_line(preparation):
    with on_a_terminal() as terminal:
        assert cli.main(["data"]) == 0
    assert "preparing imdb … · imdb: read, 100%" in terminal.steps()
    assert [row for row in terminal.rows() if row] == [
        "sst2 cannot be had", "The lessons use movies2 instead."
    ]  # fmt: skip


def test_the_data_are_prepared_with_one_line_each_in_a_log(preparation):
    with redirect_stderr(io.StringIO()) as log:
        assert cli.main(["data"]) == 0
    lines = log.getvalue().splitlines()
    assert lines[0] == "preparing imdb …" and lines[-1] == "preparing reviews.100d …"
    place = lines.index("preparing sst2 …")
    assert lines[place + 1 : place + 3] == [
        "sst2 cannot be had", "The lessons use movies2 instead."
    ]  # fmt: skip
    assert len(lines) == 9 + 2 and "%" not in log.getvalue()


HERE = watching.Expected({"a": 10.0, "b": 20.0, "c": 30.0}, here=True)


@pytest.mark.parametrize(
    ("done", "now", "spent", "later", "left"),
    [
        ({}, "a", 4.0, ["b", "c"], 56.0),
        ({"a": 20.0}, "b", 10.0, ["c"], 30.0 + 60.0),  # twice as slow as the last time
        ({"a": 10.0}, "b", 50.0, ["c"], 60.0),  # overdue: two times the expected up to here
        ({"a": 10.0, "b": 20.0}, "c", 31.0, [], None),  # overdue, and nothing to compare with
        ({}, "a", 1.0, ["b", "new"], None),
        ({"failed": 3.0}, "a", 4.0, [], 6.0),
    ],
)
def test_the_time_left_is_what_the_lessons_took_before_at_this_machines_speed(
    done, now, spent, later, left
):
    assert HERE.left(done, now, spent, later) == left


def test_another_machines_times_say_nothing_before_a_lesson_has_ended():
    there = watching.Expected(HERE.seconds, here=False)
    assert there.left({}, "a", 4.0, ["b", "c"]) is None
    assert there.left({"a": 20.0}, "b", 0.0, ["c"]) == 100.0


def test_expected_seconds_are_this_machines_else_those_of_the_fresh_clone(tmp_path):
    times = tmp_path / "seconds.json"
    there = watching.expected(times, "lesson")
    assert not there.here and {"00_start_here", "report"} <= there.seconds.keys()
    assert watching.expected(times, "smoke").seconds == {}
    times.write_text('{"lesson": {"01_gru": 9.0}}')
    assert watching.expected(times, "lesson") == watching.Expected({"01_gru": 9.0}, here=True)
    for damaged in ("{", "[]", "3", "null"):
        times.write_text(damaged)
        assert not watching.expected(times, "lesson").here


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(1, "10 s"), (41, "50 s"), (90, "90 s"), (100, "2 min"), (170, "3 min"), (3600, "60 min")],
)
def test_lengths_of_time_in_words(seconds, words):
    assert in_words(seconds) == words


def test_the_line_fits_a_narrow_terminal_and_keeps_the_time_left(place, tmp_path):
    path = tmp_path / place("# 01 · A heading that is much too long for it: really").split("/")[-1]
    times = tmp_path / "seconds.json"
    times.write_text('{"smoke": {"01_made": 170.0}}')
    terminal = Terminal(columns=60)
    shown = watching.Progress([path], "smoke", times, Line(terminal.stream))
    shown.begin(path)
    shown.bar("a stage with a long name", 50)
    terminal.close()
    last = terminal.steps()[-1]
    assert last == "lesson 1 of 1 · 01 A heading that is… · a stag · 3 min left"
    assert len(last) < 60


def test_a_lesson_is_called_by_its_title_on_the_line(tmp_path):
    code, heading = new_code_cell("1"), new_markdown_cell("Text.\n\n# 02 · `nn.GRU`: <b>why</b>")
    assert watching.lesson_name(write(notebook(code, heading), tmp_path / "a.ipynb")) == "02 nn.GRU"
    assert watching.lesson_name(write(notebook(code), tmp_path / "b.ipynb")) == "b"
    (tmp_path / "c.ipynb").write_text("{")
    assert watching.lesson_name(tmp_path / "c.ipynb") == "c"


def test_what_would_move_the_cursor_is_left_out():
    assert plain("a\x1b[2Kb\x1b]0;title\x07c\rd\u202ee\n") == "abc de"


def test_a_stream_that_is_gone_is_left_alone():
    class Gone(io.StringIO):
        tried = 0

        def isatty(self):
            return True

        def write(self, text):
            self.tried += 1
            raise BrokenPipeError

    stream = Gone()
    line = Line(stream)
    line.say("nobody reads it")
    said = stream.tried
    line.put("nor this")
    assert stream.tried > said > 0
