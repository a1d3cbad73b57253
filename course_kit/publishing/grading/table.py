"""The table of marks: one row a learner, which is whole after each of them."""

import csv
import re
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from course_lib.files import DataError, atomic_path

FEW = 0.5  # of the points: those who tried an exercise and have less have failed it
WAITING = "not marked yet"
HEAD = ("learner", "points", "of")


def earlier(path: Path) -> Path | None:
    """Where the table of an earlier run is moved before a new one begins; None if there is none.
    ``DataError`` for another file, which is not ours to move."""
    if not path.exists():
        return None
    ours = ",".join(HEAD).encode()
    if not path.is_file() or path.read_bytes()[: len(ours)] != ours:
        raise DataError(f"{path} is there and is no table of marks; give another name to --csv")
    names = (path.with_name(f"{path.stem}.{number}{path.suffix}") for number in count(1))
    return next(name for name in names if not name.exists())


@dataclass
class Row:
    """A learner's ``points`` by exercise, which of them have an answer, and the notes."""

    points: dict[str, float] = field(default_factory=dict)
    tried: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=lambda: [WAITING])


@dataclass
class Table:
    """The rows by learner, and the ``most`` points of each exercise that anybody handed in."""

    most: dict[str, float]
    rows: dict[str, Row]

    def write(self, path: Path) -> None:
        """Write it as CSV. What a spreadsheet would take for a formula stays text."""
        of = round(sum(self.most.values()), 2)
        with (
            atomic_path(path) as temporary,
            temporary.open("w", newline="", encoding="utf-8") as out,
        ):
            writer = csv.writer(out, lineterminator="\n")
            writer.writerow([*HEAD, *self.most, "notes"])
            for learner, row in self.rows.items():
                each = [row.points.get(column, "") for column in self.most]
                total = "" if WAITING in row.notes else round(sum(row.points.values()), 2)
                texts = (re.sub(r"^(?=[=+@-])", "'", t) for t in (learner, "; ".join(row.notes)))
                name, notes = (text.encode(errors="replace").decode() for text in texts)
                writer.writerow([name, total, of, *each, notes])

    def summary(self) -> str:
        """How the class did in each exercise, and which ones those who tried have failed."""
        lines = []
        for column, most in self.most.items():
            handed = [row for row in self.rows.values() if column in row.points]
            shares = [row.points[column] / most for row in handed]
            tried = [row.points[column] / most for row in handed if column in row.tried]
            mean = sum(shares) / max(1, len(shares))
            failed = tried and sum(tried) / len(tried) < FEW
            lines.append(
                f"{column:<28}{sum(share == 1 for share in shares):>3} of {len(handed)} solved, "
                f"{len(tried)} tried, {mean:4.0%} of the points"
                + "   ← the class failed this one"
                * bool(failed)
            )
        return "\n".join(lines)


def _text(text: str) -> str:
    return re.sub(r"^(?=[=+@-])", "'", text).encode(errors="replace").decode()
