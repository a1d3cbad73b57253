"""``python -m course_lib.report``: what the README shows, written from the records."""

import argparse
import sys
from pathlib import Path

from course_lib import plots
from course_lib.data.sources import atomic_path
from course_lib.experiments import REPOSITORY, load_run
from course_lib.explore import read_text
from course_lib.report.readme import TABLES, write_readme

REVIEW = (
    "I had hoped for more. The first half hour is charming, with a lovely scene at the harbour. "
    "Then the plot falls apart, and nobody seems to notice. The dialogue is awful and the ending "
    "is awful. My neighbour fell asleep. Still, the music is good."
)


def write_picture(folder: Path, path: Path = REPOSITORY / "results" / "reading.png") -> None:
    """Draw a review of ours as the model of a finished run reads it (the README's picture)."""
    plots.use_course_style()
    reading = read_text(load_run(folder), REVIEW)
    figure = plots.attention_text(
        reading.sentences,
        reading.word_attention,
        reading.sentence_attention,
        f"P(positive) = {reading.probability:.2f}",
    )
    with atomic_path(path) as temporary:
        figure.savefig(temporary, format="png", dpi=100)


def main(arguments: list[str] | None = None) -> int:
    """Refresh the README's tables and, given a finished HAN run's folder, its picture."""
    parser = argparse.ArgumentParser(prog="python -m course_lib.report", description=main.__doc__)
    parser.add_argument("run", nargs="?", type=Path, help="runs/… to draw the picture from")
    chosen = parser.parse_args(arguments)
    if chosen.run:
        write_picture(chosen.run)
    write_readme()
    for name, table in TABLES.items():
        print(f"{name}\n{table()}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
