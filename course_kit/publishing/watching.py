"""What a reader sees while lessons run: where they are, and how much time is left."""

import io
import json
import re
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat

from course_kit.publishing.kernels import TEXT_BAR, Watch, text_bars
from course_kit.publishing.students import title_of
from course_lib.files import REPOSITORY, atomic_path
from course_lib.terminal import Line, in_words, plain

FRESH_CLONE = REPOSITORY / "benchmarks" / "results" / "fresh_clone.json"
TRAINING = re.compile(r"epoch \d+( of \d+)?")  # the loop's bars, without those of validation
NAME, ERROR = 24, 400  # characters of a lesson's name and of an error on one line


@dataclass(frozen=True)
class Expected:
    """Expected seconds by lesson, and whether they were measured on this machine."""

    seconds: dict[str, float]
    here: bool

    def left(
        self, done: dict[str, float], now: str, spent: float, later: list[str]
    ) -> float | None:
        """Seconds until all have ended; None where that would be a guess.

        ``done`` are the lessons that have ended with their seconds, ``spent`` the seconds of the
        one running ``now``. What has run says how fast this machine is compared with the expected.
        """
        if not {now, *later} <= self.seconds.keys():
            return None
        known = done.keys() & self.seconds.keys()
        took = sum(done[name] for name in known)
        expected = sum(self.seconds[name] for name in known)
        speed = took / expected if expected else 1.0
        overdue = spent > speed * self.seconds[now]
        if overdue:
            speed = (took + spent) / (expected + self.seconds[now])
        if not (known or self.here) or (overdue and not later):
            return None
        rest = max(0.0, speed * self.seconds[now] - spent)
        return rest + speed * sum(self.seconds[name] for name in later)


def expected(times: Path, profile: str) -> Expected:
    """What the lessons took here the last time, else what they took from a fresh clone."""
    here = _read(times).get(profile, {})
    if here or profile != "lesson":
        return Expected(here, here=True)
    figures = _read(FRESH_CLONE).get("figures", {})
    report = {"report": figures["report_seconds"]} if "report_seconds" in figures else {}
    return Expected(figures.get("lesson_seconds", {}) | report, here=False)


def _read(path: Path) -> dict[str, Any]:
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):  # it only makes an estimate better
        return {}
    return kept if isinstance(kept, dict) else {}


def lesson_name(lesson: Path) -> str:
    """What a lesson is called on the line: its title up to a colon or comma, cut to fit."""
    try:
        title = title_of(nbformat.read(lesson, as_version=4), lesson.stem)
    except (OSError, ValueError):  # what is wrong with it is told when it is run
        title = lesson.stem
    name = re.split("[:,]", title)[0].replace(" · ", " ")
    return textwrap.shorten(name, NAME, placeholder="…")


class Progress(Watch):
    """One line for all lessons on a terminal; in a file, a line for each thing that happens."""

    def __init__(self, lessons: list[Path], profile: str, times: Path, line: Line) -> None:
        self.lessons = [lesson.stem for lesson in lessons]
        self.profile, self.times, self.line = profile, times, line
        self.expected = expected(times, profile)
        self.done: dict[str, float] = {}
        self.head, self.stage = "", ""
        self.trainings: list[str] = []  # the epochs of the cell that runs
        self.now: str | None = None
        self.began = 0.0

    def preparing(self, name: str) -> None:
        """A dataset is being fetched and prepared."""
        self.head, self.stage = f"preparing {name} …", ""
        self.line.note(self.head)
        self.draw()

    def begin(self, lesson: Path) -> None:
        """A lesson starts."""
        number = self.lessons.index(lesson.stem) + 1
        self.head = f"lesson {number} of {len(self.lessons)} · {lesson_name(lesson)}"
        self.stage, self.began, self.now = "", time.monotonic(), lesson.stem
        self.line.note(f"{self.head} · started")
        self.draw()

    def cell(self, number: int, last: int) -> None:
        """A cell starts."""
        self._note_training()
        self.stage = f"cell {number} of {last}"
        self.draw()

    def bar(self, name: str, percent: int) -> None:
        """A progress bar has moved."""
        if TRAINING.fullmatch(name) and name not in self.trainings[-1:]:
            self.trainings.append(name)
        self.stage = f"{name}, {percent}%" if name else f"{percent}%"
        self.draw()

    def message(self, text: str) -> None:
        """A message goes above the line."""
        self.line.say(text)

    def end(self, lesson: Path, seconds: float, errors: list[str]) -> None:
        """A lesson has ended; how long it took helps to estimate the rest, and the next course."""
        self._note_training()
        self.now = None
        for error in errors:
            self.line.say(f"{self.head} · failed: {textwrap.shorten(plain(error), ERROR)}")
        if not errors:
            self.line.note(f"{self.head} · ok in {seconds:.0f} s")
            self.done[lesson.stem] = seconds
            self._keep(lesson.stem, seconds)

    def draw(self) -> None:
        """Show the line as it is now; what does not fit is cut from the stage."""
        left = self._left()
        end = f" · {in_words(left)} left" if left else ""
        room = self.line.width - len(self.head) - len(end) - 3
        stage = f" · {self.stage[:room]}" if self.stage and room > 0 else ""
        self.line.show(self.head + stage + end)

    def _left(self) -> float | None:
        now, spent = self.now, time.monotonic() - self.began  # the clock's thread asks too
        if now is None:
            return None
        later = self.lessons[self.lessons.index(now) + 1 :]
        return self.expected.left(self.done, now, spent, later)

    def _note_training(self) -> None:
        if count := len(self.trainings):
            self.line.note(f"{self.head} · trained {count} epoch{'s' * (count > 1)}")
            self.trainings.clear()

    def _keep(self, name: str, seconds: float) -> None:
        kept = _read(self.times)
        kept[self.profile] = kept.get(self.profile, {}) | {name: round(seconds, 1)}
        with atomic_path(self.times) as temporary:
            temporary.write_text(json.dumps(kept, indent=1))


@contextmanager
def shown_progress(lessons: list[Path], profile: str, times: Path) -> Iterator[Progress]:
    """Progress on stderr; whatever else this process writes there goes above the line."""
    progress = Progress(lessons, profile, times, Line(sys.stderr))
    ended = threading.Event()
    clock = threading.Thread(target=_redraw, args=(progress, ended), daemon=True)
    above = _Above(progress)
    clock.start()
    try:
        with redirect_stderr(above):
            yield progress
    finally:
        ended.set()
        clock.join()
        above.end_line()
        progress.line.clear()


def _redraw(progress: Progress, ended: threading.Event) -> None:
    """Keep the time left up to date while a lesson says nothing."""
    while not ended.wait(1):
        if progress.now:
            progress.draw()


class _Above(io.TextIOBase):
    """A stderr whose progress bars become the stage and whose other lines go above the line."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.rest = ""

    def write(self, text: str) -> int:
        """Take what was written, which may be part of a line."""
        for name, percent in text_bars(text):
            self.progress.bar(name, percent)
        *lines, self.rest = (self.rest + text).split("\n")
        for line in lines:
            self._pass_on(line)
        self.rest = self.rest.rpartition("\r")[2]  # a bar writes over itself
        return len(text)

    def end_line(self) -> None:
        """Pass on a last line that has no end."""
        self._pass_on(self.rest)
        self.rest = ""

    def _pass_on(self, line: str) -> None:
        if plain(line) and not TEXT_BAR.search(line):
            self.progress.message(line)
