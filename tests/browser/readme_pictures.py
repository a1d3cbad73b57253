"""Pictures of a finished run: the README's review, and three readers of one sentence.

They need playwright and a Chromium: ``python tests/browser/readme_pictures.py runs/a-run-of-han``.
"""

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from lab import CHROMIUM, QUIET, chromium, settle
from PIL import Image

from course_kit.publishing import site
from course_lib.explore.reading import read_text
from course_lib.faithfulness import DocumentModel
from course_lib.files import REPOSITORY, DataError, atomic_path
from course_lib.runs.records import write_json
from course_lib.runs.run import Run, load_run
from course_lib.views.reading_view import show_reading

WIDTH = 720  # CSS pixels of a picture
COLOURS, STILL = 64, 3000  # of a palette; milliseconds that each picture of an animation stays
REVIEW = (
    "I had hoped for more. The first half hour is charming, with a lovely scene at the harbour. "
    "Then the plot falls apart, and nobody seems to notice. The dialogue is awful and the ending "
    "is awful. My neighbour fell asleep. Still, the music is good."
)
SENTENCE = "I expected a dull evening, and instead I laughed until I cried."


def write_pictures(folder: Path, results: Path = REPOSITORY / "results") -> None:
    """Write what the README and the site show of a finished run of HAN: ``reading.png``, a review
    of ours in the real view, and in ``hero/`` the readings of a sentence and their picture."""
    run = load_run(folder)
    readings = results / "hero" / site.READINGS.name
    write_json(readings, readings_of(run))
    with _shown(show_reading(read_text(run, REVIEW)).to_html()) as page:
        review = _palette(page.locator("body > *").first.screenshot())
    with _shown(site.three_readers(readings)) as page:
        first, *others = [_palette(state) for state in _states(page)]
    for name, save in {
        "reading.png": lambda path: review.save(path, "PNG", optimize=True),
        "hero/readers.gif": lambda path: first.save(
            path, "GIF", save_all=True, append_images=others, duration=STILL, loop=0
        ),
    }.items():
        with atomic_path(results / name) as temporary:
            save(temporary)


def readings_of(run: Run) -> dict[str, Any]:
    """What a HAN makes of ``SENTENCE``: trained, untrained, and trained with its word attention
    replaced by a uniform one."""
    trained = read_text(run, SENTENCE)
    untrained = read_text(run.system.before_training(run.record["spec"]["seed"]), SENTENCE)
    uniform = np.full(len(trained.tokens), 1 / len(trained.tokens))
    attended = DocumentModel(run.system).attended(trained.sentences)
    (answer,) = attended.answer(np.tile(uniform, (1, *attended.attention.shape[:-1], 1)))
    readers = [
        ("trained", trained.word_weights(), trained.probabilities),
        ("untrained", untrained.word_weights(), untrained.probabilities),
        ("uniform", uniform, answer),
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


@contextmanager
def _shown(markup: str) -> Iterator[Any]:
    """The HTML in a page without a network; ``DataError`` where there is no browser."""
    from playwright.sync_api import sync_playwright

    program = chromium()
    if program is None:
        raise DataError(f"no browser to draw with: install one of {', '.join(CHROMIUM)}")
    style = (Path(site.__file__).parent / "static" / "site.css").read_text(encoding="utf-8")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(QUIET))
        page = browser.new_page(viewport={"width": 2 * WIDTH, "height": 1200}, offline=True)
        # a zoomed page is sharp; with the device's scale instead, frames are blurred
        page.set_content(
            f"<!DOCTYPE html><meta charset='utf-8'><style>{style}</style>"
            f"<body style='zoom:2'>{markup}"
        )
        settle(page)
        yield page
        browser.close()


def _states(page: Any) -> Iterator[bytes]:
    """The readers, one after the other."""
    for label in page.locator("fieldset label").all():
        label.click()
        page.mouse.move(0, 0)
        settle(page)
        yield page.locator("fieldset").screenshot()


def _palette(png: bytes) -> Image.Image:
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    return picture.quantize(COLOURS, dither=Image.Dither.NONE)


if __name__ == "__main__":
    write_pictures(Path(sys.argv[1]))
