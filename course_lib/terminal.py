"""Progress on a terminal, in one line that is written over; in a file, in whole lines."""

import math
import os
import re
import threading
from contextlib import suppress
from typing import TextIO

ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[^\[\]])")
COLUMNS = 80  # of a terminal that does not say how wide it is


def plain(text: str) -> str:
    """The text on one line, without what would move a terminal's cursor or colour it."""
    signs = (" " if sign.isspace() else sign for sign in ESCAPES.sub("", text).strip())
    return "".join(sign for sign in signs if sign.isprintable())


def in_words(seconds: float) -> str:
    """A length of time as one would say it: ``40 s``, ``3 min``."""
    if seconds > 90:
        return f"{round(seconds / 60)} min"
    return f"{10 * math.ceil(seconds / 10)} s"


class Line:
    """The last line of a terminal: ``show`` replaces it, ``say`` writes above it.

    A stream that is no terminal gets what ``say`` and ``note`` write, and none of the steps
    between. One that has gone away is left alone, since progress is no reason to fail. Threads may
    share it. (tqdm would do the first half; its bars share rows and a lock with those of the data's
    preparation, which forks.)
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.live = stream.isatty()
        self._shown = ""
        self._lock = threading.RLock()

    @property
    def width(self) -> int:
        """How many characters fit; a full last column would make some terminals wrap."""
        columns = 0
        with suppress(OSError, ValueError):
            columns = os.get_terminal_size(self.stream.fileno()).columns
        return (columns or COLUMNS) - 1

    def show(self, text: str) -> None:
        """Replace the line on a terminal."""
        text = plain(text)[: self.width]
        with self._lock:
            if self.live and text != self._shown:
                self._write(f"\r{text:<{len(self._shown)}}")
                self._shown = text

    def note(self, text: str) -> None:
        """Write a line only where nothing can be replaced."""
        if not self.live:
            self.say(text)

    def put(self, text: str) -> None:
        """Replace the line, or write one where nothing can be replaced."""
        self.show(text)
        self.note(text)

    def say(self, text: str) -> None:
        """Write a line that stays, above the one that is replaced."""
        with self._lock:
            shown = self._shown
            self.clear()
            self._write(f"{plain(text)}\n")
            self.show(shown)

    def clear(self) -> None:
        """Leave the terminal's last line empty."""
        with self._lock:
            if self._shown:
                self._write(f"\r{'':<{len(self._shown)}}\r")
                self._shown = ""

    def _write(self, text: str) -> None:
        with suppress(OSError, ValueError):
            self.stream.write(text)
            self.stream.flush()
