"""Type a text, and see what small language models would write next; hide their heads."""

from collections.abc import Mapping, Sequence
from typing import Any

import ipywidgets as widgets
import torch
import traitlets

from course_lib.explore.explorer import Explorer, Picture
from course_lib.models.decoder import Decoder, DecoderOutput, Head
from course_lib.views.heatmap.static import stacked
from course_lib.views.panels import bar_panels, heatmap_panels


class NextWordView(Explorer):
    """A text that one types, and below it the probability of each next word, a network each.

    Trait ``text``: words of ``words`` with spaces between; a text that the networks cannot read
    leaves the picture and says why.
    """

    text = traitlets.Unicode()
    elsewhere = (
        "This page has no kernel, so it shows one text. In JupyterLab (make lab) you can type "
        "another and press Enter."
    )

    def __init__(
        self, networks: Mapping[str, Decoder], words: Sequence[str], text: str, **options: Any
    ) -> None:
        self._networks, self._words = networks, words
        self._box = widgets.Text(
            text,
            description="text",
            continuous_update=False,
            layout=widgets.Layout(width="min(100%, 46rem)"),
        )
        super().__init__([self._box, *self._controls()])
        traitlets.link((self._box, "value"), (self, "text"))
        self.text = text
        self._refresh()
        self.observe(self._refresh, "text")

    def _controls(self) -> list[widgets.Widget]:
        """What stands between the text and the picture."""
        return []

    def _refresh(self, _: Any = None) -> None:
        read = self.text.split()
        strange = [word for word in read if word not in self._words]
        most = min(network.config.positions for network in self._networks.values())
        if not 0 < len(read) <= most:
            self._say(f"The text has {len(read)} words; the network reads 1 to {most}.")
        elif strange:
            self._say(f"{strange[0]} is no word of theirs. They know {', '.join(self._words)}.")
        else:
            self._put(self._drawn(read))

    def _drawn(self, read: Sequence[str]) -> Picture:
        bars = {name: self._next(self._read(name, read)) for name in self._networks}
        about = f"After “… {' '.join(read[-3:])}”"
        self._say(f"{about}: " + "; ".join(f"{n}: {self._told(p)}" for n, p in bars.items()))
        figure = bar_panels(bars, self._words, "probability", f"{about}: the next word")
        figure.axes[0].set_ylim(0, 1)
        return Picture(figure, self._caption)

    @torch.no_grad()
    def _read(self, name: str, read: Sequence[str], hidden: Sequence[Head] = ()) -> DecoderOutput:
        tokens = torch.tensor([[self._words.index(word) for word in read]])
        tokens = tokens.to(self._networks[name].output.weight.device)
        return self._networks[name](tokens, hidden=hidden, return_attention=True)

    def _next(self, output: DecoderOutput) -> list[float]:
        return output.logits[0, -1].softmax(0).tolist()

    def _told(self, probabilities: Sequence[float]) -> str:
        """The three likeliest words."""
        order = sorted(range(len(self._words)), key=lambda word: -probabilities[word])[:3]
        return ", ".join(f"{self._words[word]} {probabilities[word]:.2f}" for word in order)

    def _stills(self) -> list[tuple[str, widgets.Widget]]:
        return [(self._caption, widget) for widget in self._stage.children]

    def to_png(self) -> bytes:
        """What the stage shows."""
        return stacked([part.to_png() for part in self._stage.children])


class HidingView(NextWordView):
    """The same for one network, with the map of each head, and a button for each that hides it.

    Trait ``hidden``: the hidden heads, (layer, head) from 0. What a hidden head would add is left
    out, so its map is empty, and the layers above read something else.
    """

    hidden = traitlets.List()
    elsewhere = (
        "This page has no kernel, so it shows one state. In JupyterLab (make lab) you can type "
        "another text and hide heads."
    )

    def __init__(self, network: Decoder, words: Sequence[str], text: str) -> None:
        config = network.config
        self._heads = [(i, j) for i in range(config.layers) for j in range(config.heads)]
        super().__init__({"": network}, words, text)
        self.observe(self._refresh, "hidden")

    def _controls(self) -> list[widgets.Widget]:
        self._buttons = [
            widgets.ToggleButton(description=f"hide {_named(head)}") for head in self._heads
        ]
        for button in self._buttons:
            button.observe(self._pressed, "value")
        return [widgets.HBox(self._buttons, layout=widgets.Layout(flex_flow="row wrap"))]

    def _pressed(self, _: Any) -> None:
        pairs = zip(self._heads, self._buttons, strict=True)
        self.hidden = [head for head, button in pairs if button.value]

    @traitlets.validate("hidden")
    def _check_hidden(self, proposal: dict[str, Any]) -> list[Head]:
        heads = sorted({tuple(head) for head in proposal["value"]})
        if strange := [head for head in heads if head not in self._heads]:
            raise ValueError(f"no head {strange[0]}; there are {self._heads}")
        for head, button in zip(self._heads, self._buttons, strict=True):
            button.unobserve(self._pressed, "value")
            button.value = head in heads
            button.observe(self._pressed, "value")
        return heads

    def _drawn(self, read: Sequence[str]) -> Picture:
        output = self._read("", read, self.hidden)
        probabilities = self._next(output)
        gone = ", ".join(_named(head) for head in self.hidden)
        about = f"After “… {' '.join(read[-3:])}”" + (f", without {gone}" if gone else "")
        self._say(f"{about}: {self._told(probabilities)}")
        maps = {
            _named(head) + (", hidden" if head in self.hidden else ""): output.attention[0][head]
            for head in self._heads
        }
        look = {"quantity": "weight", "most": 1.0, "across": len(maps)}
        figure = heatmap_panels(maps, read, read, self._caption, **look)
        return Picture(figure, f"The maps of all heads. {self._caption}")


def _named(head: Head) -> str:
    return f"layer {head[0] + 1}, head {head[1] + 1}"


def explore_next_word(
    networks: Mapping[str, Decoder], words: Sequence[str], text: str
) -> NextWordView:
    """A view of the next word's probabilities after a text, by the name of each network."""
    return NextWordView(networks, words, text)


def explore_hiding(network: Decoder, words: Sequence[str], text: str) -> HidingView:
    """A view of a network's heads in a text, in which heads can be hidden."""
    return HidingView(network, words, text)
