"""The README's picture of a finished run: three readers of one sentence.

It needs playwright and a Chromium: ``python tests/browser/readme_pictures.py runs/a-run-of-han``.
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

WIDTH = 420  # CSS pixels of a picture: what a phone shows nearly as it is
COLOURS = 128  # of a palette
TIGHT = """
body { margin: 0; font: 16px "DejaVu Sans", sans-serif; }
.readers > .reader { display: grid !important; grid-template-columns: 1fr auto; }
.reader p { margin: 0.4rem 0.5rem 0; font-size: 1rem; }
.reader iframe { grid-area: 2 / 1 / 3 / 3; }
"""
SENTENCE = "I expected a dull evening, and instead I laughed until I cried."


def write_pictures(folder: Path, results: Path = REPOSITORY / "results") -> None:
    """Write what the README and the site show of a finished run of HAN, into ``hero/``: the
    readings of a sentence, and their picture as the site prints it."""
    readings = results / "hero" / site.READINGS.name
    write_json(readings, readings_of(load_run(folder)))
    with _printed(site.three_readers(readings)) as page:
        shot = io.BytesIO(page.locator("fieldset").screenshot())
    picture = Image.open(shot).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    with atomic_path(readings.with_name("readers.png")) as temporary:
        picture.save(temporary, "PNG", optimize=True)


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
def _printed(markup: str) -> Iterator[Any]:
    """The HTML as a page without a network prints it; ``DataError`` where there is no browser."""
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
            f"<!DOCTYPE html><meta charset='utf-8'><style>{style}{TIGHT}</style>"
            f"<body style='zoom:2'>{markup}"
        )
        page.emulate_media(media="print")
        settle(page)
        yield page
        browser.close()


if __name__ == "__main__":
    write_pictures(Path(sys.argv[1]))
