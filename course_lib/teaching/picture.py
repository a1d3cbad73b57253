"""What a finished run makes of texts of ours: the README's picture, and the index's readings."""

from pathlib import Path

import numpy as np
import torch

from course_lib.data.encoding import encode_sentences
from course_lib.experiments.records import write_json
from course_lib.experiments.run import Run, load_run
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


SENTENCE = "I expected a dull evening, and instead I laughed until I cried."
READINGS = REPOSITORY / "results" / "hero" / "readings.json"


def write_readings(folder: Path, path: Path = READINGS) -> None:
    """Write what a HAN makes of ``SENTENCE``: trained, untrained, and trained with its word
    attention replaced by a uniform one."""
    run = load_run(folder)
    trained = read_text(run, SENTENCE)
    untrained = read_text(run.system.before_training(run.record["spec"]["seed"]), SENTENCE)
    uniform = np.full(len(trained.tokens), 1 / len(trained.tokens))
    readers = [
        ("trained", trained.word_weights(), trained.probabilities),
        ("untrained", untrained.word_weights(), untrained.probabilities),
        ("uniform", uniform, _with_uniform_attention(run, trained.tokens)),
    ]
    kept = {
        "run": run.record["id"],
        "words": trained.tokens,
        "classes": trained.classes,
        "readers": [
            {
                "name": name,
                "attention": [round(float(weight), 4) for weight in attention],
                "probabilities": [round(float(share), 4) for share in probabilities],
            }
            for name, attention, probabilities in readers
        ],
    }
    write_json(path, kept)


@torch.inference_mode()
def _with_uniform_attention(run: Run, words: tuple[str, ...]) -> np.ndarray:
    """The probabilities of the classes if every word of the one sentence has the same weight."""
    system = run.system
    batch = encode_sentences([[list(words)]], system.vocabulary).batch(np.arange(1))
    uniform = batch.mask / batch.mask.sum(-1, keepdim=True)
    output = system.model.eval()(batch.tokens, batch.mask, attention=(uniform, None))
    return output.logits.softmax(1)[0].numpy()
