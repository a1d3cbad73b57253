"""The paper's figures as they are printed: a number and its interval, in the digits of its unit."""

import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from course_kit.research.crossover_paper import figures
from course_kit.research.crossover_paper.figures import PRIMARY, USUAL, Shown
from course_kit.research.crossover_paper.sources import Sources
from course_kit.research.report import template
from course_kit.research.report.named import Figure

FIGURES: dict[str, Figure] = {
    name.replace("_", " "): found
    for name, found in vars(figures).items()
    if isinstance(found, Figure)
}
ENCODERS = {
    "projected": "projected words",
    "bilstm": "the BiLSTM",
    "transformer": "the Transformer",
}
WINDOWS = {"blocks2-window0": 0, "blocks2-window1": 1, "blocks2-window4": 4, "transformer": "all"}
ATTENTIONS = {
    "additive": "additive softmax",
    "sparsemax": "sparsemax",
    "entmax15": "entmax 1.5",
    "sharp": "sharp softmax",
    "flat": "flat softmax",
    "query_key": "query and key",
}
CORPORA = {"huffpost": "HuffPost", "films": "films", "products": "products"}
TRAININGS = {"usual": "usual", "deletions": "with deletions"}
TITLES = {
    **{
        name: f"two blocks, {seen} neighbours on either side in each"
        for name, seen in WINDOWS.items()
        if seen != "all"
    },
    **ENCODERS,
    **ATTENTIONS,
    **CORPORA,
    **TRAININGS,
    "": "attention",
}
DIGITS = {"": 2, "3 digits": 3, "core hours": 1, "points": 1, "words": 1}  # else whole numbers
DIFFERENCES = {  # which have a sign
    "estimate",
    "estimate as drawn",
    "estimate by",
    "estimate without",
    "ahead of",
    "gain",
    "crossover",
    "crossover lost",
    "window slope",
    "words ahead",
    "words ahead beyond",
    "gain beyond",
    "accuracy gain",
    "ruler sees",
    "ruler error",
    "crossover error",
    "stopping gain",
}


@dataclass(frozen=True)
class Number:
    """A figure that was asked for: by which name, with which arguments, and what was found."""

    name: str
    arguments: Mapping[str, Any]
    label: str
    unit: str
    positive: str
    found: Shown

    @property
    def value(self) -> Any:
        """The number or the text."""
        return self.found.value

    @property
    def low(self) -> float:
        """The lower end of its interval."""
        return self.found.low

    @property
    def high(self) -> float:
        """The upper end of its interval."""
        return self.found.high

    @property
    def alone(self) -> str:
        """The number without its interval; a dash where there is none."""
        return self._say(self.value)

    @property
    def ends(self) -> str:
        """``−0.03 to 0.21``; a dash where there is no interval."""
        if not math.isfinite(self.low):
            return "–"
        return template.interval(self.low, self.high, DIGITS.get(self.unit, 0))

    def __str__(self) -> str:
        """``+0.12 (0.03 to 0.21)``, with a sign where it is a difference."""
        return self.alone if self.ends == "–" else f"{self.alone} ({self.ends})"

    def _say(self, value: Any) -> str:
        if isinstance(value, str) or self.unit == "as it is":
            return str(value)
        if self.unit == "p":
            return template.p_value(value)
        if not math.isfinite(value):
            return "–"
        sign = "+" * (self.name in DIFFERENCES)
        return f"{value:{sign},.{DIGITS.get(self.unit, 0)}f}"


class Numbers:
    """The figures of a folder, each measured once: ``numbers("gain", encoder="bilstm")``.

    ``asked`` holds all that somebody has asked for, in order.
    """

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self._found: dict[tuple, Number] = {}

    def __call__(self, name: str, /, **arguments: Any) -> Number:
        """A figure by its name; ``KeyError`` for a name of none."""
        key = (name, *sorted(arguments.items()))
        if key not in self._found:
            self._found[key] = self._measure(FIGURES[name], name, arguments)
        return self._found[key]

    @property
    def asked(self) -> list[Number]:
        """Every figure that was asked for."""
        return list(self._found.values())

    def _measure(self, figure: Figure, name: str, arguments: dict[str, Any]) -> Number:
        found = figure(self.sources, **arguments)
        found = found._replace(words=in_words(figure, arguments))
        said = [figure.say(text, found, **arguments) for text in (figure.label, figure.positive)]
        return Number(name, arguments, said[0], figure.unit, said[1], found)


def in_words(figure: Figure, arguments: Mapping[str, Any]) -> dict[str, str]:
    """The arguments of a figure by their titles; ``where`` tells its part and its measure."""
    bound = inspect.signature(figure.measure).bind(None, **arguments)
    bound.apply_defaults()
    words = {
        name: "all" if value is None else TITLES.get(value, str(value))
        for name, value in bound.arguments.items()
    }
    usual = {"corpus": None, "training": USUAL, "measure": PRIMARY, "ranking": ""}
    named = [
        words[name]
        for name, each in usual.items()
        if name in words and bound.arguments[name] != each
    ]
    return words | {"where": "".join(f", {each}" for each in named)}
