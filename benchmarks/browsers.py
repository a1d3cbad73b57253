"""Pages in a headless Chromium, without a network, for measurements."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import sync_playwright

from course_lib.files import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "tests" / "browser"))
from lab import QUIET, chromium

SIZE = {"width": 1280, "height": 900}
Ask = Callable[..., Any]  # ``ask(function, *arguments)``: what the JavaScript function answers
Open = Callable[..., Ask]  # ``open_page(address, first)``: a new page, ``first`` run before its own


def program() -> str:
    """Where Chromium is. SystemExit where there is none."""
    found = chromium()
    if not found:
        raise SystemExit("chromium is not installed")
    return found


def version() -> str:
    """As the browser says."""
    said = subprocess.run([program(), "--version"], capture_output=True, text=True).stdout
    return said.strip()


@contextmanager
def running() -> Iterator[Open]:
    """Chromium, from which pages of files are opened, each in a context of its own."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program(), args=list(QUIET))

        def open_page(address: str, first: str = "") -> Ask:
            page = browser.new_context(viewport=SIZE, offline=True).new_page()
            page.add_init_script(first)
            page.goto(address)
            return lambda function, *given: page.evaluate(f"given => ({function})(...given)", given)

        yield open_page
        browser.close()
