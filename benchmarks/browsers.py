"""Pages in a headless Chromium or Firefox, without a network, for measurements.

Chromium is driven by Playwright. Playwright's Firefox is a build of its own, so the Firefox that a
system has is driven by WebDriver BiDi, which it speaks without any driver.
"""

import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import websocket
from playwright.sync_api import sync_playwright

from course_kit.publishing.screens import QUIET, chromium

FIREFOX = ("firefox", "firefox-esr")
BROWSERS = ("chromium", "firefox")
NOBODY = 9  # the discard port: a proxy that never answers, so that nothing leaves the browser
SIZE = {"width": 1280, "height": 900}
PATIENCE = 300  # seconds
Ask = Callable[..., Any]  # ``ask(function, *arguments)``: what the JavaScript function answers
Open = Callable[..., Ask]  # ``open_page(address, first)``: a new page, ``first`` run before its own


def program(name: str) -> str:
    """Where the browser is. SystemExit where there is none."""
    found = chromium() if name == "chromium" else next(filter(None, map(shutil.which, FIREFOX)), "")
    if not found:
        raise SystemExit(f"{name} is not installed")
    return found


def version(name: str) -> str:
    """As the browser says."""
    said = subprocess.run([program(name), "--version"], capture_output=True, text=True).stdout
    return said.strip()


@contextmanager
def running(name: str) -> Iterator[Open]:
    """The browser, from which pages of files are opened, each in a context of its own."""
    with {"chromium": _chromium, "firefox": _firefox}[name]() as open_page:
        yield open_page


@contextmanager
def _chromium() -> Iterator[Open]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program("chromium"), args=list(QUIET))

        def open_page(address: str, first: str = "") -> Ask:
            page = browser.new_context(viewport=SIZE, offline=True).new_page()
            page.add_init_script(first)
            page.goto(address)
            return lambda function, *given: page.evaluate(f"given => ({function})(...given)", given)

        yield open_page
        browser.close()


@contextmanager
def _firefox() -> Iterator[Open]:
    with tempfile.TemporaryDirectory() as profile:
        settings = {"network.proxy.type": 1, "network.proxy.http": "127.0.0.1",
                    "network.proxy.http_port": NOBODY, "network.proxy.ssl": "127.0.0.1",
                    "network.proxy.ssl_port": NOBODY}  # fmt: skip
        with (Path(profile) / "user.js").open("w") as file:
            file.writelines(
                f"user_pref({json.dumps(key)}, {json.dumps(value)});\n"
                for key, value in settings.items()
            )
        command = [program("firefox"), "--headless", "--no-remote", "--remote-debugging-port=0",
                   "--profile", profile]  # fmt: skip
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        try:
            yield _pages(_Conversation(_address(process)))
        finally:
            process.terminate()
            process.wait()


def _address(process: subprocess.Popen) -> str:
    """Where Firefox says that it listens."""
    for line in process.stderr:
        if found := re.search(r"ws://\S+", line):
            return found[0] + "/session"
    raise SystemExit("Firefox ended before it listened")


class _Conversation:
    """Commands of WebDriver BiDi, one after the other."""

    def __init__(self, address: str) -> None:
        self.socket = websocket.create_connection(
            address, timeout=PATIENCE, suppress_origin=True, http_no_proxy=["127.0.0.1"]
        )
        self.numbers = count(1)
        self.send("session.new", capabilities={})

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        number = next(self.numbers)
        self.socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while (said := json.loads(self.socket.recv())).get("id") != number:
            pass  # an event
        if said["type"] == "error":
            raise RuntimeError(f"Firefox: {said['message']}")
        return said["result"]


def _pages(firefox: _Conversation) -> Open:
    def open_page(address: str, first: str = "") -> Ask:
        user = firefox.send("browser.createUserContext")["userContext"]
        tab = firefox.send("browsingContext.create", type="tab", userContext=user)["context"]
        firefox.send("browsingContext.setViewport", context=tab, viewport=SIZE)
        firefox.send("script.addPreloadScript", functionDeclaration=f"() => {{ {first} }}",
                     contexts=[tab])  # fmt: skip
        firefox.send("browsingContext.navigate", context=tab, url=address, wait="complete")

        def ask(function: str, *given: Any) -> Any:
            found = firefox.send(
                "script.callFunction", target={"context": tab}, awaitPromise=True,
                functionDeclaration=f"async given => JSON.stringify(await ({function})"
                "(...JSON.parse(given)) ?? null)",
                arguments=[{"type": "string", "value": json.dumps(given)}],
            )  # fmt: skip
            if found["type"] == "exception":
                raise RuntimeError(f"in the page: {found['exceptionDetails']['text']}")
            return json.loads(found["result"]["value"])

        return ask

    return open_page
