"""Pictures of views as a browser draws them. They need playwright and a Chromium."""

import io
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from PIL import Image

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
WIDTH, SETTLED = 720, 600  # CSS pixels of a picture; milliseconds until a view has drawn itself
COLOURS, STILL = 64, 3000  # of an animation's palette; milliseconds that each picture stays


class NoBrowser(RuntimeError):
    """There is no Chromium to draw with."""


def chromium() -> str | None:
    """The program's path; None where there is none."""
    return next(filter(None, map(shutil.which, CHROMIUM)), None)


@contextmanager
def _shown(markup: str) -> Iterator[Any]:
    """The HTML in a page without a network."""
    from playwright.sync_api import sync_playwright

    program = chromium()
    if program is None:
        raise NoBrowser(f"no browser to draw with: install one of {', '.join(CHROMIUM)}")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(QUIET))
        page = browser.new_page(viewport={"width": 2 * WIDTH, "height": 1200}, offline=True)
        # a zoomed page is sharp; with the device's scale instead, frames are blurred
        page.set_content(f"<!DOCTYPE html><meta charset='utf-8'><body style='zoom:2'>{markup}")
        page.wait_for_timeout(SETTLED)
        yield page
        browser.close()


def picture(markup: str) -> bytes:
    """HTML as a browser draws it, as PNG."""
    with _shown(markup) as page:
        return _small(page.locator("body > *").first.screenshot())


def animation(markup: str) -> bytes:
    """The states of a group of radio buttons one after the other, as GIF."""
    with _shown(markup) as page:
        pictures = [_palette(state) for state in _states(page)]
    data = io.BytesIO()
    pictures[0].save(data, "GIF", save_all=True, append_images=pictures[1:], duration=STILL, loop=0)
    return data.getvalue()


def _states(page: Any) -> Iterator[bytes]:
    for label in page.locator("fieldset label").all():
        label.click()
        page.mouse.move(0, 0)
        page.wait_for_timeout(SETTLED)
        yield page.locator("fieldset").screenshot()


def _palette(png: bytes) -> Image.Image:
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    return picture.quantize(COLOURS, dither=Image.Dither.NONE)


def _small(png: bytes) -> bytes:
    data = io.BytesIO()
    _palette(png).save(data, "PNG", optimize=True)
    return data.getvalue()
