"""The README's picture: a review of ours, as the network of a finished run reads it."""

from pathlib import Path

from course_lib.experiments.run import load_run
from course_lib.explore.reading import read_text
from course_lib.files import REPOSITORY, atomic_path
from course_lib.views import plots

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
        reading.by_sentence(reading.word_weights()),
        reading.sentence_weights(),
        reading.answer,
    )
    with atomic_path(path) as temporary:
        figure.savefig(temporary, format="png", dpi=100)
