"""A headless Chromium for measurements, and pages in it without a network."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, sync_playwright

from course_lib.files import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "tests" / "browser"))
import lab

SIZE = {"width": 1280, "height": 900}
Ask = Callable[..., Any]  # ``ask(function, *arguments)``: what the JavaScript function answers
Open = Callable[..., Ask]  # ``open_page(address, first)``: a new page, ``first`` run before its own


def program() -> str:
    """Where Chromium is. SystemExit where there is none."""
    found = lab.chromium()
    if not found:
        raise SystemExit("chromium is not installed")
    return found


def version() -> str:
    """As the browser says."""
    said = subprocess.run([program(), "--version"], capture_output=True, text=True).stdout
    return said.strip()


@contextmanager
def chromium_open(*further: str) -> Iterator[Browser]:
    """Chromium as the tests start it."""
    with sync_playwright() as playwright:
        arguments = [*lab.QUIET, *further]
        browser = playwright.chromium.launch(executable_path=program(), args=arguments)
        yield browser
        browser.close()


@contextmanager
def running() -> Iterator[Open]:
    """Chromium, from which pages of files are opened, each in a context of its own."""
    with chromium_open() as browser:

        def open_page(address: str, first: str = "") -> Ask:
            page = browser.new_context(viewport=SIZE, offline=True).new_page()
            page.add_init_script(first)
            page.goto(address)
            return lambda function, *given: page.evaluate(f"given => ({function})(...given)", given)

        yield open_page
