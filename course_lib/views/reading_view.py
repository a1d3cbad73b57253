"""A reading as a widget, and widgets that stand one above the other without a kernel too."""

import base64
import html
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import ipywidgets as widgets
import numpy as np

from course_lib.front_end import shown_form
from course_lib.views.heatmap.widget import AttentionHeatmap, AttentionText, Kept, same_scale
from course_lib.views.reading import Reading

SMALLEST = 0.005  # a probability below it would be printed as 0.00


class Stack(Kept, widgets.VBox):
    """Widgets one above the other: live in Jupyter, elsewhere as pages and a picture."""

    def _page(self) -> str:
        return page(self)

    def _stills(self) -> list[tuple[str, widgets.Widget]]:
        """What stands where nothing can be clicked: widgets, each with a line about it."""
        return [(next((part.name for part in tree(self) if hasattr(part, "to_html")), ""), self)]

    def _pages(self, stills: list[tuple[str, widgets.Widget]]) -> str:
        return "".join(page(widget) for _, widget in stills)

    def _picture(self, stills: list[tuple[str, widgets.Widget]]) -> bytes | None:
        """The stills as PNG: the first part that has a picture."""
        return next(filter(None, (picture(widget) for _, widget in stills)), None)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        form = shown_form()
        if form == "live":
            return super()._repr_mimebundle_(**kwargs)
        stills = self._stills()
        bundle = {"text/plain": "\n".join(about for about, _ in stills)}
        if png := self._picture(stills):
            bundle["image/png"] = base64.b64encode(png).decode("ascii")
        if form == "static":
            bundle["text/html"] = self._pages(stills)
        return bundle, {"image/png": {"alt": stills[0][0]}}


def show_reading(reading: Reading, title: str = "", tint: str = "sentence") -> widgets.Widget:
    """A reading's words tinted by its first attention over words, all its looks as heatmaps below.

    Titled with the probabilities and ``title``. Words beyond the system's cut are counted below the
    text, and shown when that line is opened. The words stand sentence by sentence, with shares,
    where an attention over sentences exists, else as one text; untinted for a system without
    attention. ``tint="text"`` compares words of different sentences (``AttentionText``). An
    attention of several rows is a heatmap; all of them share one colour scale.
    """
    about = "; ".join(filter(None, [probabilities(reading), title]))
    if not reading.tokens:
        return _no_word(about)
    heatmaps = [
        _heatmap(reading, name, title=name)
        for name, attention in reading.attention.items()
        if len(attention.rows) > 1
    ]
    same_scale(*heatmaps)
    text = _text(reading, about, tint)
    return Stack([text, *heatmaps]) if heatmaps else text


def show_attention(reading: Reading, name: str, **options: Any) -> widgets.Widget:
    """One attention of a reading as a heatmap, its extra columns set apart; ``options`` are those
    of ``AttentionHeatmap``, such as ``band``, and the ``title`` is the answer unless given."""
    if not reading.tokens:
        return _no_word(reading.answer)
    return _heatmap(reading, name, **{"title": reading.answer} | options)


def text_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> widgets.HTML:
    """A table of plain texts, left-aligned; no text is read as markup."""
    lines = [
        "".join(
            f"<{tag} style='text-align:left;padding:0 1.2em'>{html.escape(text)}</{tag}>"
            for text in texts
        )
        for tag, texts in [("th", head), *(("td", row) for row in rows)]
    ]
    return widgets.HTML("<table>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>")


def probabilities(reading: Reading) -> str:
    """``P(positive) = 0.71`` of the second of two classes; of more, each by name, likeliest first,
    and how many others are 0.00."""
    if len(reading.classes) == 2:
        return f"P({reading.classes[1]}) = {reading.probabilities[1]:.2f}"
    order = np.argsort(-np.asarray(reading.probabilities), kind="stable")
    likely = [place for place in order if reading.probabilities[place] >= SMALLEST]
    parts = [f"{reading.classes[place]} {reading.probabilities[place]:.2f}" for place in likely]
    rest = len(order) - len(likely)
    if rest:
        parts.append(f"{rest} {'other' if rest == 1 else 'others'} 0.00")
    return ", ".join(parts)


def tree(widget: widgets.Widget) -> Iterator[widgets.Widget]:
    """The widget, its children and theirs."""
    yield widget
    for child in getattr(widget, "children", ()):
        yield from tree(child)


def picture(widget: widgets.Widget) -> bytes | None:
    """The picture of the first part that has one, as PNG; ``None`` without any."""
    return next((part.to_png() for part in tree(widget) if hasattr(part, "to_png")), None)


def page(widget: widgets.Widget) -> str:
    """What needs no kernel: frames of heatmaps and texts, and plain HTML; controls are left out."""
    return "".join(
        part.to_html() if hasattr(part, "to_html") else part.value
        for part in tree(widget)
        if hasattr(part, "to_html") or isinstance(part, widgets.HTML)
    )


def _text(reading: Reading, title: str, tint: str) -> AttentionText:
    sentences = reading.sentences
    weights = reading.word_weights() if reading.names("words") else None
    told = {"title": title, "rest": reading.rest}
    if reading.names("sentences"):
        rows = None if weights is None else _rows(weights, list(map(len, sentences)))
        return AttentionText(sentences, rows, reading.sentence_weights(), tint=tint, **told)
    if weights is None:
        return AttentionText(sentences, None, **told)
    return AttentionText([reading.tokens], weights[None], unit="text", **told)


def _rows(weights: np.ndarray, lengths: Sequence[int]) -> np.ndarray:
    """``(tokens,)`` → ``(sentences, words)``, padded with 0."""
    rows = np.zeros((len(lengths), max(lengths)), weights.dtype)
    rows[np.arange(max(lengths)) < np.array(lengths)[:, None]] = weights
    return rows


def _no_word(about: str) -> widgets.HTML:
    return widgets.HTML(f"<p>{html.escape(f'There are no words to show. {about}')}</p>")


def _heatmap(reading: Reading, name: str, **options: Any) -> AttentionHeatmap:
    attention, units = reading.attention[name], reading.tokens
    if attention.over == "sentences":
        units = [f"sentence {place + 1}" for place in range(len(reading.sentence_lengths))]
    columns = [*units, *attention.extra]
    extra = len(attention.extra)
    return AttentionHeatmap(attention.weights, attention.rows, columns, extra=extra, **options)
