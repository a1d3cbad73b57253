"""What the views with controls share: a stage for what they show, and a form without a kernel."""

import base64
import html
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets as widgets

from course_lib.views.heatmap.widget import shown_form
from course_lib.views.reading_view import page, picture, tree


class Explorer(widgets.VBox):
    """Controls above a stage for one widget: live in Jupyter, elsewhere some stages as pages, with
    ``elsewhere`` below them: what the controls would do."""

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

    def _stills(self) -> list[tuple[str, widgets.Widget]]:
        """What to show where nothing can be clicked: captions and widgets."""
        raise NotImplementedError

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        form = shown_form()
        if form == "live":
            return super()._repr_mimebundle_(**kwargs)
        stills = self._stills()
        bundle = {"text/plain": "\n".join(caption for caption, _ in stills)}
        if image := next(filter(None, map(picture, (widget for _, widget in stills))), None):
            bundle["image/png"] = base64.b64encode(image).decode("ascii")
        if form == "static":
            bundle["text/html"] = "".join(
                f"<p><b>{html.escape(caption)}</b></p>{page(widget)}" for caption, widget in stills
            )
            bundle["text/html"] += f"<p><small>{html.escape(self.elsewhere)}</small></p>"
        return bundle, {"image/png": {"alt": stills[0][0]}}


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
