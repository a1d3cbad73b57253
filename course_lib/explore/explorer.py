"""What the views with controls share: a stage for what they show, and a form without a kernel."""

import base64
import html
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets as widgets
import matplotlib.pyplot as plt
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from course_lib.views.reading_view import Stack, page, tree


class Explorer(Stack):
    """Controls above a stage for one widget: live in Jupyter, elsewhere some stages as pages
    (``_stills``), with ``elsewhere`` below them: what the controls would do."""

    elsewhere = ""

    def __init__(self, controls: Sequence[widgets.Widget]) -> None:
        self._message = widgets.HTML()
        self._stage = widgets.VBox(layout=widgets.Layout(width="100%"))
        super().__init__([*controls, self._message, self._stage])

    def _put(self, widget: widgets.Widget) -> None:
        """Let the stage hold this widget alone; ``show`` may hand the same one out again."""
        before = self._stage.children
        if before != (widget,):
            self._stage.children = (widget,)
            for old_widget in (part for old in before for part in tree(old)):
                old_widget.close()

    def _say(self, text: str) -> None:
        self._caption = text
        self._message.value = f"<p style='margin:.2rem 0'>{html.escape(text)}</p>"

    def _pages(self, stills: list[tuple[str, widgets.Widget]]) -> str:
        parts = [f"<p><b>{html.escape(about)}</b></p>{page(widget)}" for about, widget in stills]
        return "".join(parts) + f"<p><small>{html.escape(self.elsewhere)}</small></p>"


class Picture(widgets.HTML):
    """A figure as a vector drawing with its description, with and without a kernel."""

    def __init__(self, figure: Figure, alt: str) -> None:
        super().__init__(layout=widgets.Layout(max_width="52rem"))
        self.draw(figure, alt)

    def draw(self, figure: Figure, alt: str) -> None:
        """Show this figure, of its own size whatever it holds; closes it."""
        plt.close(figure)
        self._figure, drawing = figure, io.BytesIO()
        with plt.rc_context({"svg.hashsalt": alt}):  # the same figure is the same text
            FigureCanvasSVG(figure).print_svg(drawing, metadata={"Date": None})
        data = base64.b64encode(drawing.getvalue()).decode("ascii")
        source = f"data:image/svg+xml;base64,{data}"
        self.value = f"<img alt='{html.escape(alt)}' style='max-width:100%' src='{source}'>"

    def to_png(self) -> bytes:
        """The figure in dots, for pages that show nothing else."""
        dots = io.BytesIO()
        FigureCanvasAgg(self._figure).print_png(dots)
        return dots.getvalue()


class WordSlider(anywidget.AnyWidget, widgets.SelectionSlider):
    """A ``SelectionSlider`` whose value is the word also for a screen reader, to which ipywidgets'
    own tells the number of the place."""

    _esm = Path(__file__).with_name("slider.js").read_text(encoding="utf-8")


class TextBox(anywidget.AnyWidget, widgets.Textarea):
    """A ``Textarea`` whose text is handed over by Ctrl+Enter or Cmd+Enter, which ipywidgets' own
    does not tell of."""

    _esm = Path(__file__).with_name("box.js").read_text(encoding="utf-8")

    def on_submit(self, read: Callable[[], None]) -> None:
        """Call ``read`` whenever the keys are pressed; ``value`` is then what stands in the box."""

        def receive(_: widgets.Widget, message: Any, __: list) -> None:
            if isinstance(message, dict) and isinstance(message.get("read"), str):
                self.value = message["read"]  # may overtake what was typed last
                read()

        self.on_msg(receive)
