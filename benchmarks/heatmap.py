"""The heatmap in JupyterLab and from a file, beside seaborn in an Output widget.

All in one headless Chromium, in turns. Times are taken inside the page, from the key press to the
first frame with the picture.
"""

import tempfile
from pathlib import Path
from typing import Any

import torch
from browsers import chromium_open, lab
from common import arguments, interleave, ratio, show, spread, write

from course_lib.training.devices import use_threads
from course_lib.views.heatmap import AttentionHeatmap

SIZES = (60, 200, 1000)
PATIENCE = 20_000  # milliseconds before a picture counts as not shown

SETUP = """
import sys, time
import matplotlib.pyplot as plt, seaborn as sns, torch
from IPython.display import display
from ipywidgets import Output
from course_lib.views.heatmap import AttentionHeatmap
torch.manual_seed({seed})
words = [f"w{{i}}" for i in range(1000)]
weights = {{n: torch.randn(n, n).softmax(-1) for n in {sizes}}}

def ours(n):
    return AttentionHeatmap(weights[n], words[:n])

def seaborn(n):
    output = Output()
    with output:
        figure, axis = plt.subplots(figsize=(7, 6))
        labels = words[:n] if n <= 60 else "auto"
        sns.heatmap(weights[n], ax=axis, xticklabels=labels, yticklabels=labels)
        plt.show()
    return output
""".strip()

# What counts as painted: our canvas holds a colour, a picture has loaded.
WATCH = """([index, kind]) => {
  const cell = document.querySelectorAll(".jp-Notebook .jp-Cell")[index];
  const canvas = () => [...cell.querySelectorAll("[data-lm-suppress-shortcuts]")]
    .map((host) => host.shadowRoot?.querySelector("canvas")).filter(Boolean);
  const drawn = (one) => one.width > 300 && one.getContext("2d")
    .getImageData(one.width / 2, 0, 1, one.height).data.some((value) => value < 200);
  const found = () => kind === "ours" ? canvas().filter(drawn)
    : [...cell.querySelectorAll("img")].filter((one) => one.naturalWidth > 0);
  const old = new Set([...canvas(), ...cell.querySelectorAll("img")]);
  globalThis.painted = new Promise((resolve) => {
    document.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      const began = performance.now();
      const look = () => {
        if (found().some((one) => !old.has(one))) {
          requestAnimationFrame(() => resolve((performance.now() - began) / 1000));
        } else if (performance.now() - began > PATIENCE) resolve(null);
        else requestAnimationFrame(look);
      };
      look();
    }, { capture: true, once: false });
  });
}""".replace("PATIENCE", str(PATIENCE))

HOVER = """(plot) => {
  const box = plot.getBoundingClientRect();
  const times = [];
  for (let i = 0; i < 300; i++) {
    const [x, y] = [100 + (i * 37) % (box.width - 110), 80 + (i * 53) % (box.height - 90)];
    const began = performance.now();
    plot.dispatchEvent(new PointerEvent("pointermove", {clientX: box.x + x, clientY: box.y + y}));
    plot.getRootNode().querySelector(".readout").getBoundingClientRect();
    times.push(performance.now() - began);
  }
  return times.sort((a, b) => a - b)[Math.floor(0.95 * times.length)] / 1000;
}"""


class Live:
    """A notebook with one cell for each way and size."""

    def __init__(self, browser: Any, address: str, folder: Path, seed: int) -> None:
        self.cells = [(way, n) for n in SIZES for way in ("ours", "seaborn")]
        setup = SETUP.format(seed=seed, sizes=SIZES)
        context = browser.new_context(viewport={"width": 1400, "height": 1300})
        sources = [setup, *(f"{way}({n})" for way, n in self.cells)]
        self.notebook = lab.open_notebook(context, address, folder, sources)
        self.page = self.notebook.page
        self.notebook.run(0)

    def cell(self, way: str, n: int) -> int:
        """The number of the cell that shows ``n`` tokens this way."""
        return 1 + self.cells.index((way, n))

    def first_paint(self, way: str, n: int) -> float | None:
        """Seconds from Shift+Enter to the frame with the picture; ``None`` if it stays blank."""
        index = self.cell(way, n)
        self.notebook.cell(index).locator(".cm-content").click()
        self.page.evaluate(WATCH, [index, way])
        self.page.keyboard.press("Shift+Enter")
        seconds = self.page.evaluate("painted")
        self.notebook.finish(index)
        return seconds

    def hover(self, n: int) -> float:
        """Seconds of script and layout for a move of the pointer, 95 of 100 moves."""
        cell = self.notebook.cell(self.cell("ours", n))
        cell.scroll_into_view_if_needed()
        return cell.locator(".plot").evaluate(HOVER)


def static_view(n: int, seed: int) -> str:
    """A frame with diffuse attention: the softmax of normal scores."""
    weights = torch.randn(n, n, generator=torch.Generator().manual_seed(seed)).softmax(-1)
    return AttentionHeatmap(weights, [f"w{i}" for i in range(n)]).to_html()


def static_paint(browser: Any, path: Path) -> float:
    """Seconds from opening the file, offline, to the frame in which the canvas is drawn."""
    context = browser.new_context(viewport={"width": 1100, "height": 1100}, offline=True)
    page = context.new_page()
    page.goto(path.as_uri(), wait_until="commit")
    opened = page.evaluate("performance.timeOrigin")
    frame = page.locator("iframe").element_handle().content_frame()
    painted = frame.evaluate(
        """() => new Promise((resolve) => {
          const look = () => {
            const canvas = document.querySelector("canvas");
            if (canvas && canvas.width > 300)
              requestAnimationFrame(() => resolve(performance.timeOrigin + performance.now()));
            else requestAnimationFrame(look);
          };
          look();
        })"""
    )
    context.close()
    return (painted - opened) / 1000


def measure_static(browser: Any, folder: Path, rounds: int, seed: int) -> dict[str, Any]:
    """Bytes and seconds to paint of frames."""
    found = {}
    for n in SIZES:
        page, path = static_view(n, seed), folder / f"static{n}.html"
        path.write_text(f"<!DOCTYPE html><meta charset='utf-8'>{page}", encoding="utf-8")
        seconds = [static_paint(browser, path) for _ in range(rounds)]
        found[str(n)] = {"bytes": len(page.encode()), "paint_seconds": spread(seconds)}
    return found


def measure_live(live: Live, rounds: int) -> dict[str, Any]:
    """First paint and hover of every way and size."""
    both = live.cells
    for way, n in both:  # the first figure of a kernel loads fonts and modules
        live.first_paint(way, n)
    paint = interleave(
        {f"{way} {n}": lambda _, way=way, n=n: live.first_paint(way, n) for way, n in both}, rounds
    )
    hover = interleave({f"ours {n}": lambda _, n=n: live.hover(n) for n in SIZES}, rounds)
    return {
        "first_paint_seconds": {name: spread(values) for name, values in paint.items()},
        "hover_seconds": {name: spread(values) for name, values in hover.items()},
        "first_paint_ratio_to_seaborn": {
            str(n): spread(ratio(paint[f"ours {n}"], paint[f"seaborn {n}"])) for n in SIZES
        },
    }


def main() -> None:
    """Measure, show, write."""
    chosen = arguments(__doc__, rounds=5).parse_args()
    threads = use_threads(2)
    with tempfile.TemporaryDirectory() as scratch, chromium_open("--mute-audio") as browser:
        folder = Path(scratch)
        static = measure_static(browser, folder, chosen.rounds, chosen.seed)
        with lab.running_lab(folder) as (address, notebooks):
            live = Live(browser, address, notebooks, chosen.seed)
            figures = measure_live(live, chosen.rounds) | {"static": static}
    table = {
        f"{kind.removesuffix('_seconds')}, {name}": row
        for kind in ("first_paint_seconds", "hover_seconds")
        for name, row in figures[kind].items()
    }
    table |= {f"static paint, {name}": row["paint_seconds"] for name, row in static.items()}
    show(table)
    for name, row in static.items():
        print(f"static, {name}: {row['bytes']:,} bytes")
    write("heatmap", figures, chosen.seed, "softmax of normal scores", threads, "generated")


if __name__ == "__main__":
    main()
