"""The two views: what they take, what they hold, and the form in which they show themselves."""

import base64
import csv
import io
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import anywidget
import numpy as np
import traitlets
from IPython.display import display
from matplotlib.figure import Figure

from course_lib.files import atomic_path
from course_lib.front_end import shown_form
from course_lib.javascript import module
from course_lib.views.colours import ATTENTION_HEX, DARK_THEME, THEME, TINTS_HEX
from course_lib.views.heatmap import encoding, picture, static
from course_lib.views.reading import QUANTITY

MOST_WORDS = 20_000  # in an AttentionText: each is an element of the page
SAVED = ("svg", "png", "csv")
UNITS = ("sentence", "text")  # what a list of words in an AttentionText may be
CLIPS = {"sentence": 4, "text": 8}  # times uniform attention over it; more is no darker


# JupyterLab says in place of a widget, in a box of this class, that its model is gone
_GONE = "> * > .jp-OutputArea-output.jupyter-widgets"
# A frame is as dark as the theme around it, whatever the system prefers.
_KEPT = f"""<style>.course-kept {{ display: none }}
[data-jp-theme-light=true] .course-kept iframe {{ color-scheme: light }}
[data-jp-theme-light=false] .course-kept iframe {{ color-scheme: dark }}
.jp-OutputArea:has({_GONE}) .course-kept {{ display: block }}
.jp-OutputArea:has(.course-kept) {_GONE} {{ display: none }}</style><div class="course-kept">"""


class Kept:
    """A widget that leaves its ``_page()``, what of it needs no kernel, in a saved notebook, where
    JupyterLab shows that once the widget is gone: when the notebook is opened anew."""

    def _ipython_display_(self) -> None:
        if shown_form() != "live":
            raise NotImplementedError  # what _repr_mimebundle_ gives is shown
        still = self._page().replace("<iframe ", '<iframe loading="lazy" ')
        display({"text/html": f"{_KEPT}{still}</div>"}, raw=True)
        live = self._repr_mimebundle_()
        display(live[0] if isinstance(live, tuple) else live, raw=True)


class _View(Kept, anywidget.AnyWidget):
    """What both views share: a description of what to draw, packed numbers, and three forms, of
    which each has its own ``to_html``, ``_figure``, ``_numbers`` (a heading and rows), and a
    ``name`` for whoever cannot see it.

    The kernel sends nothing before the widget is shown or linked, so that notebooks that are
    executed without a front end store no widget state.
    """

    _esm = module()
    spec = traitlets.Dict().tag(sync=True)
    data = traitlets.Bytes().tag(sync=True)
    selected = traitlets.List(traitlets.Int(), None, minlen=2, maxlen=2, allow_none=True).tag(
        sync=True
    )

    def to_png(self) -> bytes:
        """The view as it stands as a picture of at most 150 kB, which says what it leaves out."""
        return static.picture(self._figure())

    def save(self, path: str | Path) -> Path:
        """Write the view as it stands: ``.svg``, ``.png`` with 300 dots an inch, or its numbers as
        ``.csv``; returns the path. ``ValueError`` for another form."""
        path = Path(path)
        saved = self._saved(path.suffix.lower()[1:])
        with atomic_path(path) as temporary:
            temporary.write_bytes(saved)
        return path

    def _saved(self, form: str) -> bytes:
        if form not in SAVED:
            raise ValueError(f"a view is saved as .svg, .png or .csv, not as {form!r}")
        if form != "csv":
            return static.saved(self._figure(), form)
        table = io.StringIO()
        csv.writer(table, lineterminator="\n").writerows(self._numbers())
        return table.getvalue().encode()

    def _handle_custom_msg(self, content: Any, buffers: list) -> None:
        if isinstance(content, dict) and (form := content.get("save")) in SAVED:
            self.send({"saved": form}, [self._saved(form)])

    def open(self) -> None:
        """Open nothing yet: asking for ``model_id`` does."""

    @property
    def model_id(self) -> str:
        """The name by which a front end knows this widget, which is told of it on first use."""
        if self.comm is None:
            super().open()
        return super().model_id

    def _page(self) -> str:
        return self.to_html()

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        form = shown_form()
        if form == "live":
            bundle, metadata = super()._repr_mimebundle_(**kwargs), {}
            if isinstance(bundle, tuple):
                bundle, metadata = bundle
            return bundle | {"text/plain": self.name}, metadata
        bundle = {
            "text/plain": self.name,
            "image/png": base64.b64encode(self.to_png()).decode("ascii"),
        }
        if form == "static":
            bundle["text/html"] = self.to_html()
        return bundle, {"image/png": {"alt": self.name}}


class AttentionHeatmap(_View):
    """Attention as a heatmap: ``weights`` ``(rows, columns)``, ≥ 0.

    Weights come from torch or numpy, ``rows`` and ``columns`` are tokens (``columns`` defaults to
    ``rows``). The colour scale goes from 0 to ``most``, by default the largest weight. Give views
    that are compared the same ``most``, or let ``same_scale(one, other)`` find and set it.

    - ``extra``: so many last columns are summaries, set apart by a gap (IRAM, ``(T, N + T − 1)``).
    - ``band``: marks \\|i − j\\| ≤ band and tells its share of the weight (SANet); square only.
    - ``scale``: ``"linear"`` or ``"sqrt"``; ``normalise``: each row over its maximum.
    - ``transpose``: columns are drawn as rows (AGT's word × layer table).
    - ``outline``: cells above it are framed, compared with what is shown, so with ``normalise``
      with the share of the row's maximum.
    - ``quantity``: what a cell is, such as ``"gate"``, for legend, readout and descriptions.

    Traits that can be observed, set and linked: ``selected`` (``[row, column]`` of the array or
    ``None``), ``zoom`` (1 shows all), ``scale``, ``most``, ``normalise``, ``band``. Hover shows
    weights to within 1e-4 of the largest one. ``ValueError`` names the argument that does not fit.
    """

    zoom = traitlets.Float(1.0, min=1.0).tag(sync=True)
    scale = traitlets.Enum(["linear", "sqrt"], "linear").tag(sync=True)
    most = traitlets.CFloat(1.0).tag(sync=True)
    normalise = traitlets.Bool(False).tag(sync=True)
    band = traitlets.Int(None, allow_none=True).tag(sync=True)

    def __init__(
        self,
        weights: Any,
        rows: Sequence[str],
        columns: Sequence[str] | None = None,
        *,
        extra: int = 0,
        band: int | None = None,
        scale: str = "linear",
        most: float | None = None,
        normalise: bool = False,
        transpose: bool = False,
        outline: float | None = None,
        quantity: str = QUANTITY,
        title: str = "",
    ) -> None:
        matrix = encoding.as_weights(weights)
        if matrix.ndim != 2:
            raise ValueError(f"weights has shape {matrix.shape}; it takes (rows, columns)")
        rows = encoding.as_tokens(rows, "rows")
        columns = rows if columns is None else encoding.as_tokens(columns, "columns")
        encoding.check_sides(matrix.shape, rows, columns, extra)
        encoding.check_size(matrix.shape)
        if scale not in ("linear", "sqrt"):
            raise ValueError(f'scale is {scale!r}; it takes "linear" or "sqrt"')
        quantity = encoding.as_text(quantity)
        self._matrix = matrix
        spec = {
            "kind": "heatmap",
            "theme": THEME,
            "dark": DARK_THEME,
            "title": encoding.as_text(title),
            "rows": rows,
            "columns": columns,
            "shape": list(matrix.shape),
            "levels": encoding.LIVE_LEVELS,
            "peak": float(matrix.max()),
            "extra": int(extra),
            "outline": None if outline is None else encoding.as_number(outline, "outline"),
            "transpose": bool(transpose),
            "quantity": quantity,
            "heading": "Attention heatmap"
            if quantity == QUANTITY
            else f"Heatmap, each cell a {quantity}",
            "colours": ATTENTION_HEX,
        }
        super().__init__(
            spec=spec,
            scale=scale,
            most=spec["peak"] if most is None else most,
            normalise=normalise,
            band=band,
        )

    @traitlets.default("data")
    def _pack(self) -> bytes:
        return encoding.deflate(encoding.quantise(self._matrix, encoding.LIVE_LEVELS))

    @traitlets.validate("band")
    def _check_band(self, proposal: dict[str, Any]) -> int | None:
        band, (rows, columns) = proposal["value"], self._matrix.shape
        if band is not None and rows != columns:
            raise ValueError(
                f"band needs a square matrix, not {rows} × {columns}: distances between row and "
                "column mean nothing otherwise. Leave band out"
            )
        if band is not None and not 0 <= band < rows:
            raise ValueError(f"band is {band}; it takes None or 0 to {rows - 1}")
        return band

    @traitlets.validate("most")
    def _check_most(self, proposal: dict[str, Any]) -> float:
        most, peak = proposal["value"], self.spec["peak"]
        if not peak * (1 - 1e-5) <= most < np.inf:  # a softmax may exceed 1 by a rounding error
            raise ValueError(f"most is {most:g}; it takes at least the largest weight, {peak:g}")
        return max(most, peak)

    def to_html(self) -> str:
        """The view as it stands, as an ``<iframe>`` that needs neither kernel nor network."""
        data = encoding.deflate(encoding.quantise(self._matrix, encoding.STATIC_LEVELS))
        spec = self.spec | {"levels": encoding.STATIC_LEVELS}
        traits = ("selected", "zoom", "scale", "most", "normalise", "band")
        state = {name: getattr(self, name) for name in traits} | {"spec": spec}
        return static.frame(state, data, self.name)

    def _figure(self) -> Figure:
        settings = {name: getattr(self, name) for name in ("scale", "most", "normalise", "band")}
        return picture.heatmap(self._matrix, self.spec, **settings)

    def _numbers(self) -> Iterator[Sequence[Any]]:
        yield ("row", "column", self.spec["quantity"])
        for (row, column), weight in np.ndenumerate(self._matrix):
            yield self.spec["rows"][row], self.spec["columns"][column], f"{weight:.7g}"

    @property
    def name(self) -> str:
        """Its size and title in one line."""
        title = f": {self.spec['title']}" if self.spec["title"] else ""
        return "{}, {} × {}".format(self.spec["heading"], *self._matrix.shape) + title


def same_scale(*heatmaps: AttentionHeatmap) -> None:
    """Give heatmaps that are compared one colour scale, from 0 to the largest weight among them."""
    most = max((heatmap.spec["peak"] for heatmap in heatmaps), default=0.0)
    for heatmap in heatmaps:
        heatmap.most = most


class AttentionText(_View):
    """Text whose words are tinted by attention, sentences with their share before them.

    ``sentences`` are lists of tokens, ``word_attention`` ``(sentences, words)`` their weights,
    padded beyond each sentence's end, or ``None`` for words without a tint; ``sentence_attention``
    ``(sentences,)`` shares of 1 or ``None``. A word's tint is its
    weight × the number of words in its sentence, 1 being uniform attention, clipped at 4 (HAN
    report, Fig. 6 and 8). With ``tint="text"`` it is the word's share of the text, i.e. its weight
    × its sentence's share, × the number of all words, clipped at 8; then tints of different
    sentences can be compared. ``unit="text"`` says that each list is a whole text, not a sentence.
    ``rest`` are words that were not read; they are counted, and shown when the reader asks.

    Trait: ``selected``, the pinned word as ``[sentence, word]`` or ``None``. ``ValueError`` names
    the argument that does not fit.
    """

    def __init__(
        self,
        sentences: Sequence[Sequence[str]],
        word_attention: Any,
        sentence_attention: Any = None,
        *,
        title: str = "",
        unit: str = "sentence",
        tint: str = "sentence",
        rest: Sequence[str] = (),
    ) -> None:
        for name, given in (("unit", unit), ("tint", tint)):
            if given not in UNITS:
                raise ValueError(f"{name} is {given!r}; it takes one of {', '.join(UNITS)}")
        sentences = encoding.as_list(sentences, "sentences")
        if not sentences:
            raise ValueError("sentences is empty; there is nothing to show")
        words = [encoding.as_tokens(part, f"sentences[{i}]") for i, part in enumerate(sentences)]
        count = sum(map(len, words))
        if count > MOST_WORDS:
            raise ValueError(
                f"sentences holds {count:,} words; a page holds {MOST_WORDS:,}. Give fewer"
            )
        self._words = _word_weights(word_attention, words)
        self._shares = None
        if sentence_attention is not None:
            self._shares = encoding.as_weights(sentence_attention, "sentence_attention")
            if self._shares.shape != (len(words),):
                raise ValueError(
                    f"sentence_attention has shape {self._shares.shape} for {len(words)} sentences"
                )
        if tint == "text" and self._shares is not None:
            self._words = self._words * self._shares[:, None]
        rest = encoding.as_tokens(() if rest is None else rest, "rest", least=0)
        beyond = f"not read: {len(rest):,} word{'s' * (len(rest) != 1)} beyond the model's cut"
        spec = {
            "kind": "text",
            "theme": THEME,
            "dark": DARK_THEME,
            "title": encoding.as_text(title),
            "sentences": words,
            "weights": None
            if word_attention is None
            else [
                [float(f"{weight:.7g}") for weight in weights[: len(part)]]
                for weights, part in zip(self._words, words)
            ],
            "unit": unit,
            "over": unit if tint == "sentence" else tint,
            "quantity": QUANTITY if tint == "sentence" else "share of the text",
            "counts": [len(part) if tint == "sentence" else count for part in words],
            "shares": None if self._shares is None else self._shares.tolist(),
            "rest": rest,
            "beyond": beyond if rest else "",
            "clip": CLIPS[tint],
            "tints": TINTS_HEX,
        }
        super().__init__(spec=spec)

    def to_html(self) -> str:
        """The text as an ``<iframe>`` that needs neither kernel nor network."""
        state = {"spec": self._spec_now(), "selected": self.selected}
        return static.frame(state, b"", self.name)

    def _figure(self) -> Figure:
        return picture.text(self._spec_now())

    def _spec_now(self) -> dict[str, Any]:
        """The spec of the text as it stands."""
        return self.spec

    def _numbers(self) -> Iterator[Sequence[Any]]:
        yield (self.spec["unit"], "word", self.spec["quantity"])
        for number, words in enumerate(self.spec["sentences"], start=1):
            yield from ((number, *pair) for pair in zip(words, self._words[number - 1]))

    @property
    def name(self) -> str:
        """How much text it is, its title, and how much was not read."""
        count, unit = len(self.spec["sentences"]), self.spec["unit"]
        size = f"{count} {unit}" + "s" * (count != 1)
        told = "; ".join(filter(None, [self.spec["title"], self.spec["beyond"]]))
        return f"Attention over {size}" + (f": {told}" if told else "")


class PressableText(AttentionText):
    """A text whose words can be pressed: each is erased, and comes back when pressed again.

    ``shares`` ``(words,)`` are the words' shares of the text, in reading order; ``on_press(place)``
    is called with the place of a pressed word. ``wear`` shows what is left when words are erased.
    """

    dress = traitlets.List().tag(sync=True)
    shares = traitlets.List(None, allow_none=True).tag(sync=True)

    def __init__(
        self,
        sentences: Sequence[Sequence[str]],
        shares: np.ndarray,
        on_press: Callable[[int], None],
        **told: Any,
    ) -> None:
        self._starts = np.cumsum([0, *map(len, sentences)])
        super().__init__(sentences, self._padded(shares), tint="text", **told)
        self._on_press = on_press
        self.spec = self.spec | {"pressable": True}
        self.wear(shares, np.zeros(len(shares), bool))
        self.observe(self._press, "selected")

    def wear(self, shares: np.ndarray, gone: np.ndarray) -> None:
        """Tint words ``(words,)`` by their shares of what is left, and strike out what is gone."""
        left, clip = int((~gone).sum()), self.spec["clip"]

        def look(share: float, erased: bool) -> dict[str, Any]:
            if erased:
                return {"fact": "", "colour": "", "marks": [picture.ERASED]}
            fact = f"{self.spec['quantity']} {share:.3g}, {share * left:.2f}× uniform"
            return {"fact": fact, "colour": picture.tint_of(share, left, clip), "marks": []}

        worn = [look(float(share), bool(erased)) for share, erased in zip(shares, gone)]
        self._words = self._padded(shares)
        with self.hold_sync():
            self.shares = self._words.sum(1).tolist() if len(self._words) > 1 else None
            self.dress = self._by_sentence(worn)

    def _padded(self, shares: np.ndarray) -> np.ndarray:
        """``(words,)`` → ``(sentences, words)``, padded with 0."""
        parts = self._by_sentence(np.asarray(shares))
        longest = max(map(len, parts))
        return np.stack([np.pad(part, (0, longest - len(part))) for part in parts])

    def _by_sentence(self, values: Any) -> list[Any]:
        return [values[start:end] for start, end in pairwise(self._starts)]

    def _press(self, change: dict[str, Any]) -> None:
        if change["new"] is None:
            return
        sentence, word = change["new"]
        self.selected = None
        if 0 <= sentence < len(self._starts) - 1:
            place = int(self._starts[sentence]) + word
            if self._starts[sentence] <= place < self._starts[sentence + 1]:
                self._on_press(place)

    def _spec_now(self) -> dict[str, Any]:
        return self.spec | {"dress": self.dress, "shares": self.shares, "pressable": False}


def _word_weights(word_attention: Any, sentences: list[list[str]]) -> np.ndarray:
    """``(sentences, words)``, all 0 for ``None``; ``ValueError`` where they are too few."""
    longest = max(map(len, sentences))
    if word_attention is None:
        return np.zeros((len(sentences), longest), np.float32)
    weights = encoding.as_weights(word_attention, "word_attention")
    if weights.ndim != 2 or len(weights) != len(sentences) or weights.shape[1] < longest:
        raise ValueError(
            f"word_attention has shape {weights.shape}; {len(sentences)} sentences of up to "
            f"{longest} words take ({len(sentences)}, {longest} or more)"
        )
    return weights
