"""The reading room in a headless browser: how large, how soon there, and how soon it answers.

All of it is the page as ``attention-course room`` writes it, opened from a file in a new context
each round. Times are taken inside the page, which must not report an error. There is nothing to
compare with, so the limits stand beside the figures: 12 MB, 0.5 s, 2 s, 0.25 s, 5 s.
"""

import tempfile
from pathlib import Path
from typing import Any

from browsers import Open, running, version
from common import arguments, show, spread, write

from course_kit.reading_room.packed import read_packed
from course_kit.reading_room.page.assembly import write_page
from course_lib.training.devices import use_threads

LIMITS = {"first_example": 0.5, "live": 2.0, "sixty_words": 0.25, "leave_one_out": 5.0}
BYTES = 12_000_000
SENTENCE = "the acting is good but the story is slow and it has no end . "  # 15 words
# Watches from inside: the first example drawn, the networks ready, a reading, all words left out.
WATCH = """
window.wrong = [];
for (const kind of ["error", "unhandledrejection", "securitypolicyviolation"])
  addEventListener(kind, (event) =>
    window.wrong.push(String(event.message ?? event.reason ?? event.violatedDirective)));
addEventListener("DOMContentLoaded", () => { window.parsed = performance.now(); });
window.until = (found) => new Promise((resolve) => {
  const look = () => found() ? resolve(performance.now()) : setTimeout(look, 2);
  look();
});
window.says = (text) => () =>
  document.querySelector("#took")?.textContent.startsWith(text);
window.drawn = window.until(() => document.querySelector(".card .most")).then((at) =>
  new Promise((resolve) => requestAnimationFrame(() => resolve(Math.max(at, performance.now())))));
"""
READ = """async (text) => {
  const box = document.getElementById("text");
  const status = document.querySelector("#took");
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


def measure(open_page: Open, address: str) -> dict[str, float]:
    """One round: seconds of each."""
    ask = open_page(address, WATCH)
    figures = {"first_example": ask("() => window.drawn") / 1000}
    ready = "() => window.until(window.says('The networks are ready'))"
    figures["live"] = ask(ready) / 1000
    ask(READ, SENTENCE)  # compiled
    figures["sixty_words"] = ask(READ, SENTENCE * 4)
    ask(READ, SENTENCE * 2)
    figures["leave_one_out"] = ask(LEAVE_OUT)
    if wrong := ask("() => window.wrong"):
        raise SystemExit(f"the page reports {'; '.join(wrong)}")
    return figures


def main() -> None:
    """Measure, show, write."""
    chosen = arguments(__doc__, rounds=5).parse_args()
    threads = use_threads(2)
    with tempfile.TemporaryDirectory() as scratch, running() as open_page:
        path = write_page(read_packed(), Path(scratch) / "reading_room.html")
        rounds = [measure(open_page, path.as_uri()) for _ in range(chosen.rounds)]
        size = path.stat().st_size
    rows = {f"{name}_seconds": spread([each[name] for each in rounds]) for name in LIMITS}
    show(rows)
    print(f"{size:,} bytes")
    limits: dict[str, Any] = {f"{name}_seconds": limit for name, limit in LIMITS.items()}
    figures = rows | {"bytes": size, "limits": limits | {"bytes": BYTES}}
    figures |= {"browser": version()}
    text = f"{SENTENCE.strip()!r}, repeated"
    write("reading_room_page", figures, 0, text, threads, "a sentence of ours")


if __name__ == "__main__":
    main()
