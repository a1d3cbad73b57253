"""A real Chromium, pages from files with every request refused, and a real JupyterLab."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from course_lib.experiments import REPOSITORY

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


def missing(what):
    """Skips where a reader runs the tests, fails where nobody would notice the skip."""
    if os.environ.get("CI"):
        pytest.fail(f"{what}: the browser tests must run in CI")
    pytest.skip(f"{what}: the views are not tested in a browser")


@pytest.fixture(scope="session")
def browser():
    program = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if program is None:
        missing(f"none of {', '.join(CHROMIUM)} is installed")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("playwright is not installed")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=program, args=list(QUIET))
        yield running
        running.close()


class Watched:
    """A page, and all it tried that a view may not do."""

    def __init__(self, page):
        self.page, self.asked, self.wrong = page, [], []
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        page.on("dialog", self._refuse)

    def _refuse(self, dialog):
        self.wrong.append(f"dialog: {dialog.message}")
        dialog.dismiss()


@pytest.fixture
def open_static(browser, tmp_path):
    """``open_static(view)``: its frame in a page from a file, which may ask for nothing else."""
    context = browser.new_context(viewport={"width": 1000, "height": 1000}, offline=True)
    watched = []

    def open_one(view, width=1000):
        path = tmp_path / f"view{len(watched)}.html"
        path.write_text(
            f"<!DOCTYPE html><meta charset='utf-8'><body>{view.to_html()}", encoding="utf-8"
        )
        page = context.new_page()
        page.set_viewport_size({"width": width, "height": 1000})
        watched.append((Watched(page), path.as_uri()))
        page.goto(path.as_uri())
        frame = page.locator("iframe").element_handle().content_frame()
        frame.locator("figure").wait_for()
        page.wait_for_timeout(60)
        return frame

    yield open_one
    for page, address in watched:
        assert page.wrong == []
        assert set(page.asked) <= {address, "about:srcdoc"}
    context.close()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="session")
def lab_server(tmp_path_factory):
    """Address and folder of a JupyterLab of its own: no settings, no history, no token."""
    home = tmp_path_factory.mktemp("lab")
    folders = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR",
               "JUPYTERLAB_SETTINGS_DIR", "JUPYTERLAB_WORKSPACES_DIR")  # fmt: skip
    environment = os.environ | {name: str(home / name.lower()) for name in folders}
    environment.pop("COURSE_HEATMAP", None)
    environment["PYTHONPATH"] = os.pathsep.join(
        filter(None, [str(REPOSITORY), os.environ.get("PYTHONPATH")])
    )
    theme = home / "jupyterlab_settings_dir/@jupyterlab/apputils-extension"
    theme.mkdir(parents=True)
    (theme / "themes.jupyterlab-settings").write_text('{"theme": "JupyterLab Dark"}')
    notebooks = home / "notebooks"
    notebooks.mkdir()
    port = free_port()
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1",
        f"--port={port}", f"--ServerApp.root_dir={notebooks}", "--IdentityProvider.token=",
        "--LabApp.news_url=", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]  # fmt: skip
    log = home / "log.txt"
    with log.open("w") as output:
        server = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
    try:
        wait_for_server(f"http://127.0.0.1:{port}/api", server, log)
        yield f"http://127.0.0.1:{port}", notebooks
    finally:
        server.terminate()
        server.wait(20)


def wait_for_server(address, server, log, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end and server.poll() is None:
        try:
            urllib.request.urlopen(address, timeout=5)
            return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.1)
    pytest.fail(f"JupyterLab did not start: {log.read_text()[-2000:]}")


def write_notebook(path: Path, cells):
    notebook = {
        "cells": [
            {"cell_type": "code", "id": f"cell{i}", "metadata": {}, "source": source,
             "outputs": [], "execution_count": None}
            for i, source in enumerate(cells)
        ],
        "metadata": {
            "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}
        },
        "nbformat": 4, "nbformat_minor": 5,
    }  # fmt: skip
    path.write_text(json.dumps(notebook))


class Notebook:
    """A notebook open in JupyterLab: its cells by number."""

    def __init__(self, watched, path):
        self.watched, self.page, self.path = watched, watched.page, path

    def cell(self, number):
        return self.page.locator(".jp-Notebook .jp-Cell").nth(number)

    def start(self, number):
        self.cell(number).locator(".cm-content").click()
        self.page.keyboard.press("Shift+Enter")

    def finish(self, number):
        """Wait until a cell has a number again."""
        prompt = self.cell(number).locator(".jp-InputArea-prompt")
        prompt.filter(has_text=re.compile(r"\d")).wait_for(timeout=60_000)

    def run(self, number):
        """Run a cell to its end; its text output."""
        self.start(number)
        self.finish(number)
        self.page.wait_for_timeout(150)
        return self.cell(number).locator(".jp-Cell-outputArea").inner_text()


@pytest.fixture(scope="session")
def open_notebook(browser, lab_server):
    """``open_notebook(cells)`` in JupyterLab, in its dark theme."""
    address, folder = lab_server
    context = browser.new_context(viewport={"width": 1400, "height": 3000})

    def open_one(cells):
        path = folder / f"lesson{len(list(folder.glob('*.ipynb')))}.ipynb"
        write_notebook(path, cells)
        watched = Watched(context.new_page())
        watched.page.goto(f"{address}/lab/tree/{path.name}?reset")
        watched.page.locator(".jp-Notebook .jp-Cell").first.wait_for(timeout=60_000)
        watched.page.get_by_text("Python 3 (ipykernel) | Idle").wait_for(timeout=60_000)
        return Notebook(watched, path)

    yield open_one
    context.close()
