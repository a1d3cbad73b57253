"""What a finished run makes of texts of ours: the README's picture, and the index's readings."""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from course_kit.publishing import screens
from course_kit.publishing.site.build import hero_section
from course_kit.publishing.site.hero import READINGS
from course_lib.data.encoding import encode_sentences
from course_lib.explore.reading import read_text
from course_lib.files import REPOSITORY, atomic_path
from course_lib.runs.records import write_json
from course_lib.runs.run import Run, load_run
from course_lib.views.reading_view import show_reading

REVIEW = (
    "I had hoped for more. The first half hour is charming, with a lovely scene at the harbour. "
    "Then the plot falls apart, and nobody seems to notice. The dialogue is awful and the ending "
    "is awful. My neighbour fell asleep. Still, the music is good."
)


def write_pictures(folder: Path, results: Path = REPOSITORY / "results") -> None:
    """Write what the README and the index show of a finished run of HAN: ``reading.png``, a review
    of ours in the real view, and in ``hero/`` the readings of a sentence and their picture."""
    run = load_run(folder)
    readings = results / READINGS.relative_to(REPOSITORY / "results")
    write_json(readings, readings_of(run))
    with atomic_path(results / "reading.png") as temporary:
        temporary.write_bytes(screens.picture(show_reading(read_text(run, REVIEW)).to_html()))
    with atomic_path(readings.parent / "readers.gif") as temporary:
        temporary.write_bytes(screens.animation(hero_section(readings)))


SENTENCE = "I expected a dull evening, and instead I laughed until I cried."


def readings_of(run: Run) -> dict[str, Any]:
    """What a HAN makes of ``SENTENCE``: trained, untrained, and trained with its word attention
    replaced by a uniform one."""
    trained = read_text(run, SENTENCE)
    untrained = read_text(run.system.before_training(run.record["spec"]["seed"]), SENTENCE)
    uniform = np.full(len(trained.tokens), 1 / len(trained.tokens))
    readers = [
        ("trained", trained.word_weights(), trained.probabilities),
        ("untrained", untrained.word_weights(), untrained.probabilities),
        ("uniform", uniform, _with_uniform_attention(run, trained.tokens)),
    ]
    return {
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


@torch.inference_mode()
def _with_uniform_attention(run: Run, words: tuple[str, ...]) -> np.ndarray:
    """The probabilities of the classes if every word of the one sentence has the same weight."""
    system = run.system
    batch = encode_sentences([[list(words)]], system.vocabulary).batch(np.arange(1))
    uniform = batch.mask / batch.mask.sum(-1, keepdim=True)
    output = system.model.eval()(batch.tokens, batch.mask, attention=(uniform, None))
    return output.logits.softmax(1)[0].numpy()
