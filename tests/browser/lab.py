"""JupyterLab and Chromium for the browser tests."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

from course_lib.files import REPOSITORY

# in a frame: its page has given it the height that it told
AS_TALL_AS_TOLD = "() => innerHeight === Math.min(9000, document.documentElement.offsetHeight)"
DRAWN = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
QUIET = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)


def chromium() -> str | None:
    """The program's path; None where there is none."""
    return next(filter(None, map(shutil.which, CHROMIUM)), None)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def running_lab(home: Path):
    """Address and folder of a JupyterLab of its own: no settings, no history, no token; dark."""
    folders = (
        "JUPYTER_CONFIG_DIR",
        "JUPYTER_DATA_DIR",
        "JUPYTER_RUNTIME_DIR",
        "IPYTHONDIR",
        "JUPYTERLAB_SETTINGS_DIR",
        "JUPYTERLAB_WORKSPACES_DIR",
    )
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
        sys.executable,
        "-m",
        "jupyterlab",
        "--no-browser",
        "--allow-root",
        "--ip=127.0.0.1",
        f"--port={port}",
        f"--ServerApp.root_dir={notebooks}",
        "--IdentityProvider.token=",
        "--LabApp.news_url=",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]
    log = home / "log.txt"
    with log.open("w") as output:
        server = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
    try:
        wait_for_server(f"http://127.0.0.1:{port}/api", server, log)
        yield f"http://127.0.0.1:{port}", notebooks
    finally:
        server.terminate()
        server.wait()


def wait_for_server(address, server, log):
    while server.poll() is None:
        try:
            urllib.request.urlopen(address, timeout=5)
            return
        except OSError:  # nobody answers yet
            time.sleep(0.1)
    raise RuntimeError(f"JupyterLab did not start: {log.read_text()[-2000:]}")


def settle(page):
    """Wait until every visible frame of a page has drawn itself and stands at its height."""
    for element in page.locator("iframe:visible").all():
        frame = element.element_handle().content_frame()
        frame.locator("figure").wait_for(state="attached")
        frame.wait_for_function(AS_TALL_AS_TOLD, polling=20)


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


def write_notebook(path: Path, cells):
    notebook = {
        "cells": [
            {
                "cell_type": "code",
                "id": f"cell{i}",
                "metadata": {},
                "source": source,
                "outputs": [],
                "execution_count": None,
            }
            for i, source in enumerate(cells)
        ],
        "metadata": {
            "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
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
        prompt.filter(has_text=re.compile(r"\d")).wait_for(timeout=600_000)

    def run(self, number):
        """Run a cell to its end."""
        self.start(number)
        self.finish(number)

    def end_kernel(self):
        """Shut down every kernel of this JupyterLab."""
        sessions = self.page.url.partition("/lab/")[0] + "/api/sessions"
        cookies = {each["name"]: each["value"] for each in self.page.context.cookies()}
        headers = {"X-XSRFToken": cookies.get("_xsrf", "")}
        for session in self.page.request.get(sessions).json():
            self.page.request.delete(f"{sessions}/{session['id']}", headers=headers)

    def says(self, number, text):
        """Wait until a cell's output holds a text; the browser may draw it after the cell's end."""
        self.cell(number).locator(".jp-Cell-outputArea").filter(has_text=text).wait_for()


def open_notebook(context, address, folder, cells):
    """A new notebook with these cells, open and with its kernel ready."""
    path = folder / f"lesson{len(list(folder.glob('*.ipynb')))}.ipynb"
    write_notebook(path, cells)
    watched = Watched(context.new_page())
    watched.page.goto(f"{address}/lab/tree/{path.name}?reset")
    watched.page.locator(".jp-Notebook .jp-Cell").first.wait_for(timeout=600_000)
    watched.page.get_by_text("Python 3 (ipykernel) | Idle").wait_for(timeout=600_000)
    return Notebook(watched, path)
