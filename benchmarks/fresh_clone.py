"""``make course``, then ``make test``, in a fresh clone.

As in ``first_picture.py``, each round clones this repository as it is committed, with an empty home
and empty caches. Measured are the seconds of ``make course``, set-up and data included, of each
lesson while as many others run as there are cores, and of ``make test`` afterwards, which installs
its tools. A command that fails ends the measurement.
"""

import os
import re
import subprocess

from common import arguments, show, spread, write
from first_picture import cloned, timed

LIMITS = {"course_seconds": 480.0, "test_seconds": 240.0}
LESSON = re.compile(r"^(\d\d_\w+) +([\d.]+) s  ok$", re.MULTILINE)


def one_round() -> tuple[dict[str, float], dict[str, float]]:
    """Seconds of both commands, megabytes of the clone, and seconds of each lesson."""
    with cloned() as (clone, environment, _):
        course_seconds, said = timed(["make", "course"], clone, environment)
        size = ["du", "--summarize", "--block-size=1M", "--exclude=.git", str(clone)]
        megabytes = float(subprocess.check_output(size, text=True).split()[0])
        test_seconds, _ = timed(["make", "test"], clone, environment)
    figures = {
        "course_seconds": course_seconds,
        "test_seconds": test_seconds,
        "clone_megabytes": megabytes,
    }
    return figures, {lesson: float(seconds) for lesson, seconds in LESSON.findall(said)}


def main() -> None:
    """Measure, show, write."""
    chosen = arguments(__doc__, rounds=3).parse_args()
    rounds, lessons = zip(*[one_round() for _ in range(chosen.rounds)], strict=True)
    figures = {name: spread([each[name] for each in rounds]) for name in rounds[0]}
    seconds = {name: spread([each[name] for each in lessons]) for name in lessons[0]}
    show(figures | seconds)
    figures |= {"lesson_seconds": seconds, "limits": LIMITS}
    write("fresh_clone", figures, 0, "the repository, cloned", os.cpu_count() or 1, "all")


if __name__ == "__main__":
    main()
