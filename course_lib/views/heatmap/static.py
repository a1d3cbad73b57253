"""What needs neither kernel nor network: an isolated frame of HTML, and a picture."""

import base64
import html
import io
import json
import zlib
from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from PIL import Image

from course_lib.javascript import module
from course_lib.views.colours import DARK_THEME, PAPER
from course_lib.views.fonts import legible

PICTURE_LIMIT = 150_000  # bytes of a picture that is committed
DOTS = 130  # an inch of such a picture, if that is small enough

# The policy forbids the frame every request; the sandbox keeps it from the page around it.
_DOCUMENT = """<!DOCTYPE html><html lang="en"><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'">
<meta name="color-scheme" content="light dark">
<title>Attention</title>
<style>html { scrollbar-width: none } /* a bar would change the width on which the height depends */
body { margin: 0; background: {LIGHT} }
@media print { * { print-color-adjust: exact; -webkit-print-color-adjust: exact } }
@media (prefers-color-scheme: dark) { body { background: {DARK} } }</style>
<body><script>
const bytesOf = (text) => {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
};
const inflate = (bytes) =>
  new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate")));
const program = inflate(bytesOf("{PROGRAM}")).json();
const data = bytesOf("{DATA}");
const parts = data.length ? inflate(data.subarray(1)).arrayBuffer() : null;
program.then(({ module, state }) => {
  globalThis.courseView = [state, data[0], parts];
  const script = document.createElement("script");
  script.type = "module";
  script.textContent = module + "\\nrenderStatic(...globalThis.courseView);";
  document.body.append(script);
}).catch((error) => { document.body.textContent = "This browser cannot show it: " + error; });
</script></body></html>"""

FRAME_HEAD = _DOCUMENT.partition("{LIGHT}")[0]  # every frame begins with it, and with its policy

# The frame cannot be looked into from outside: it tells its height when asked, and when it changes.
RESIZE = (
    "window.addEventListener('message',e=>{if(e.source===this.contentWindow&&e.data.courseHeight>0)"
    "this.style.height=Math.min(Math.ceil(e.data.courseHeight),9000)+'px'});"
    "this.contentWindow.postMessage('height','*')"
)


def frame(state: dict[str, Any], data: bytes, name: str) -> str:
    """A self-contained ``<iframe srcdoc>`` that draws ``state`` and ``data`` with the live module.

    The module and the state are deflated together, so that no token stands in the page as text. The
    frame is dark where the reader prefers that, unless the page around it says otherwise by
    ``color-scheme``.
    """
    height = _first_height(state["spec"])
    program = json.dumps({"module": module(), "state": state}, separators=(",", ":"))
    document = _DOCUMENT.replace("{PROGRAM}", _base64(zlib.compress(program.encode(), 9)))
    document = document.replace("{DATA}", _base64(data))  # braces: base64 has none
    document = document.replace("{LIGHT}", PAPER).replace("{DARK}", DARK_THEME["paper"])
    return (
        f'<iframe title="{html.escape(name)}" sandbox="allow-scripts" srcdoc="'
        f'{html.escape(document)}" onload="{html.escape(RESIZE)}" '
        f'style="width:100%;height:{height}px;border:0"></iframe>'
    )


def _first_height(spec: dict[str, Any]) -> int:
    """About what the view takes on a page of 900 pixels; the frame soon reports its own height."""
    if spec["kind"] == "text":
        letters = (sum(len(word) + 2 for word in words) for words in spec["sentences"])
        return 90 + sum(30 + 25 * (count // 100) for count in letters)
    down, across = spec["rows"], spec["columns"]
    if spec["transpose"]:
        down, across = across, down
    cell = min(26, 760 / len(down), 760 / len(across) if len(down) == len(across) else 26)
    return round(110 + cell * len(down) + min(180, 7 * max(map(len, across))))


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def picture(figure: Figure) -> bytes:
    """The figure as PNG of at most ``PICTURE_LIMIT`` bytes; closes it.

    It is drawn once, which takes long; a file that is too large gets fewer pixels and colours.
    """
    return _small(Image.open(io.BytesIO(_drawn(figure, "png", DOTS))).convert("RGB"))


def stacked(pictures: Sequence[bytes]) -> bytes:
    """Pictures one below the other as one, of at most ``PICTURE_LIMIT`` bytes."""
    parts = [Image.open(io.BytesIO(each)).convert("RGB") for each in pictures]
    size = max(part.width for part in parts), sum(part.height for part in parts)
    whole, top = Image.new("RGB", size, PAPER), 0
    for part in parts:
        whole.paste(part, (0, top))
        top += part.height
    return _small(whole)


def _small(image: Image.Image) -> bytes:
    """An image as PNG of at most ``PICTURE_LIMIT`` bytes."""
    for dots, colours in ((DOTS, 256), (110, 128), (90, 64), (70, 32), (50, 16), (30, 8)):
        size = [max(1, side * dots // DOTS) for side in image.size]
        data = _palette_png(image if dots == DOTS else image.resize(size), colours)
        if len(data) <= PICTURE_LIMIT:
            break
    return data


def saved(figure: Figure, form: str) -> bytes:
    """A figure as ``svg``, or as ``png`` with 300 dots an inch; closes it."""
    return _drawn(figure, form, 300)


def _drawn(figure: Figure, form: str, dots: int) -> bytes:
    packed = io.BytesIO()
    with legible(figure):
        figure.savefig(packed, format=form, dpi=dots, bbox_inches="tight", facecolor="white")
    plt.close(figure)
    return packed.getvalue()


def _palette_png(image: Image.Image, colours: int) -> bytes:
    packed = io.BytesIO()
    image.quantize(colours, dither=Image.Dither.NONE).save(packed, "PNG", optimize=True)
    return packed.getvalue()
