"""The reading room at once: ``make look``, or ``python3 -m course_kit.reading_room.look``.

It puts the page together from the committed networks, says where it is and opens it where there is
a browser. That takes the Python that is there, from 3.11 on, and nothing else. What is imported
from elsewhere is imported late, so that an older Python can still say that it is too old.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

OLDEST = (3, 11)
SCREENS = ("DISPLAY", "WAYLAND_DISPLAY")  # where neither is set, a Unix has no window to open
REFUSED = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page and open it; returns the exit status."""
    if sys.version_info < OLDEST:
        found = ".".join(map(str, sys.version_info[:2]))
        return refuse(f"Python 3.11 or newer is needed, {sys.executable} is {found}")
    from course_kit.reading_room.packed import read_packed
    from course_kit.reading_room.page.assembly import PAGE, write_page
    from course_lib.checking import CourseError

    parser = argparse.ArgumentParser(
        prog="python3 -m course_kit.reading_room.look",
        description="Write the reading room and open it in a browser.",
    )
    parser.add_argument("--to", type=Path, default=PAGE, metavar="FILE", help="write this file")
    parser.add_argument("--no-browser", action="store_true", help="only write it")
    options = parser.parse_args(arguments)
    try:
        path = write_page(read_packed(), options.to)
    except CourseError as error:
        return refuse(str(error))
    print(f"{path} ({path.stat().st_size / 1e6:.1f} MB)", flush=True)
    if not options.no_browser and has_screen():
        open_in_browser(path)
    return 0


def refuse(why: str) -> int:
    """Say why nothing was written; returns the exit status."""
    print(f"error: {why}", file=sys.stderr)
    return REFUSED


def has_screen() -> bool:
    """Whether this machine can open a window, as far as its environment tells."""
    return sys.platform in ("darwin", "win32") or any(map(os.environ.get, SCREENS))


def open_in_browser(path: Path) -> subprocess.Popen:
    """Ask for the user's browser in a process of its own, for which nobody waits: one that hangs or
    fails takes nothing with it."""
    address, nowhere = path.resolve().as_uri(), subprocess.DEVNULL
    return subprocess.Popen(
        [sys.executable, "-m", "webbrowser", "-t", address],
        stdin=nowhere,
        stdout=nowhere,
        stderr=nowhere,
        start_new_session=True,
    )


if __name__ == "__main__":
    sys.exit(main())
