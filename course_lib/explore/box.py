"""A text box that can be handed over by keyboard."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets as widgets


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
