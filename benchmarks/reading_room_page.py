"""The reading room in headless Chromium: how large, how soon there, and how soon it answers.

All of it is the page as ``attention-course room`` writes it, opened from a file in a new context
each round. Times are taken inside the page. There is nothing to compare with, so the limits stand
beside the figures: 12 MB, 0.5 s, 2 s, 0.25 s, 5 s.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

from common import show, spread, write
from playwright.sync_api import Browser, sync_playwright

from course_lib.reading_room import write_page
from course_lib.teaching.screens import QUIET, chromium
from course_lib.training.devices import use_threads

LIMITS = {"first_example": 0.5, "live": 2.0, "sixty_words": 0.25, "leave_one_out": 5.0}
BYTES = 12_000_000
SENTENCE = "the acting is good but the story is slow and it has no end . "  # 15 words
# Watches from inside: the first example drawn, the networks ready, a reading, all words left out.
WATCH = """
addEventListener("DOMContentLoaded", () => { window.parsed = performance.now(); });
window.until = (found) => new Promise((resolve) => {
  const look = () => found() ? resolve(performance.now()) : setTimeout(look, 2);
  look();
});
window.says = (text) => () =>
  document.querySelector("p.small[role=status]")?.textContent.startsWith(text);
window.drawn = window.until(() => document.querySelector(".card .most")).then((at) =>
  new Promise((resolve) => requestAnimationFrame(() => resolve(Math.max(at, performance.now())))));
"""
READ = """async (text) => {
  const box = document.getElementById("text");
  const status = document.querySelector("p.small[role=status]");
  status.textContent = "";
  box.value = text;
  box.dispatchEvent(new Event("input"));
  await window.until(window.says("Read in"));
  return parseInt(status.textContent.match(/\\d+/)[0]) / 1000;
}"""
LEAVE_OUT = """async () => {
  const start = performance.now();
  document.querySelector("input[value=drops]").click();
  const taus = () => [...document.querySelectorAll(".card:not([hidden]) .tau")];
  const end = await window.until(() => taus().every(({ textContent }) =>
    textContent && !textContent.includes("so far")));
  return (end - start) / 1000;
}"""


def measure(browser: Browser, address: str) -> dict[str, float]:
    """One round: seconds of each."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True)
    context.add_init_script(WATCH)
    page = context.new_page()
    page.goto(address)
    figures = {"first_example": page.evaluate("window.drawn") / 1000}
    figures["live"] = page.evaluate("window.until(window.says('The networks are ready'))") / 1000
    page.evaluate(READ, SENTENCE)  # compiled
    figures["sixty_words"] = page.evaluate(READ, SENTENCE * 4)
    page.evaluate(READ, SENTENCE * 2)
    figures["leave_one_out"] = page.evaluate(LEAVE_OUT)
    context.close()
    return figures


def main() -> None:
    """Measure, show, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args()
    program = chromium()
    if program is None:
        parser.error("needs Chromium")
    threads = use_threads(2)
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        path = write_page([], Path(scratch) / "reading_room.html")
        browser = playwright.chromium.launch(executable_path=program, args=list(QUIET))
        rounds = [measure(browser, path.as_uri()) for _ in range(chosen.rounds)]
        browser.close()
        size = path.stat().st_size
    rows = {f"{name}_seconds": spread([each[name] for each in rounds]) for name in LIMITS}
    show(rows)
    print(f"{size:,} bytes")
    limits: dict[str, Any] = {f"{name}_seconds": limit for name, limit in LIMITS.items()}
    figures = rows | {"bytes": size, "limits": limits | {"bytes": BYTES}}
    write("reading_room_page", figures, 0, f"{SENTENCE.strip()!r}, repeated", threads,
          "a sentence of ours")  # fmt: skip


if __name__ == "__main__":
    main()
