"""A real Chromium, pages from files with every request refused, and a real JupyterLab."""

from pathlib import Path

import lab
import pytest


def pytest_collection_modifyitems(items):
    """Everything in this folder is for the full lane alone."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.full)


@pytest.fixture(scope="session")
def browser(missing):
    program = lab.chromium()
    if program is None:
        missing(f"none of {', '.join(lab.CHROMIUM)} is installed")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("playwright is not installed")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=program, args=list(lab.QUIET))
        yield running
        running.close()


@pytest.fixture
def open_static(browser, tmp_path):
    """``open_static(view)``: its frame in a page from a file, which may ask for nothing else."""
    options = {"viewport": {"width": 1000, "height": 1000}, "offline": True}
    context = browser.new_context(**options)
    phone = browser.new_context(**options, has_touch=True, is_mobile=True)
    watched = []

    def open_one(view, width=1000, touch=False):
        path = tmp_path / f"view{len(watched)}.html"
        path.write_text(
            f"<!DOCTYPE html><meta charset='utf-8'><body>{view.to_html()}", encoding="utf-8"
        )
        page = (phone if touch else context).new_page()
        page.set_viewport_size({"width": width, "height": 1000})
        watched.append((lab.Watched(page), path.as_uri()))
        page.goto(path.as_uri())
        lab.settle(page)
        return page.locator("iframe").element_handle().content_frame()

    yield open_one
    for page, address in watched:
        assert page.wrong == []
        assert set(page.asked) <= {address, "about:srcdoc"}
    context.close()
    phone.close()


@pytest.fixture(scope="session")
def open_notebook(browser, tmp_path_factory):
    """``open_notebook(cells)`` in a JupyterLab of its own, in its dark theme."""
    context = browser.new_context(viewport={"width": 1400, "height": 3000})
    with lab.running_lab(tmp_path_factory.mktemp("lab")) as (address, folder):
        yield lambda cells: lab.open_notebook(context, address, folder, cells)
        context.close()
