"""The larger figures of lessons and of their side notes; titles are the lesson's."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from course_lib.views.colours import ACCENT, INK, MUTED, SECOND
from course_lib.views.panels import grid, legend


def weighted_mean(
    words: Sequence[str], vectors: np.ndarray, query: np.ndarray, title: str = ""
) -> Figure:
    """Dot-product attention over three words in the plane, drawn: ``vectors`` ``(3, 2)`` and the
    ``query`` ``(2,)`` as arrows, the way from their plain to their weighted mean, the sums."""
    scores = vectors @ query
    powers = np.exp(scores)
    weights = powers / powers.sum()
    plain, mean = vectors.mean(0), weights @ vectors
    figure, (plane, table) = grid(["", ""], 2, (5, 3.6), title, width_ratios=[1.1, 1])
    plane.fill(*vectors.T, color=MUTED, alpha=0.15, lw=0)
    arrows = [(word, end, ACCENT) for word, end in zip(words, vectors, strict=True)]
    for name, end, colour in [*arrows, ("query", query, SECOND)]:
        look = {"arrowstyle": "-|>", "color": colour, "lw": 1.8, "shrinkA": 0, "shrinkB": 0}
        plane.annotate("", end, (0, 0), arrowprops=look)
        below = 4 if colour == ACCENT else -14
        plane.annotate(name, end, (6, below), textcoords="offset points", color=colour)
    plane.annotate("", mean, plain, arrowprops={"arrowstyle": "->", "color": INK})
    for name, end, fill in (("plain mean", plain, "none"), ("weighted mean", mean, "full")):
        plane.plot(*end, "o", color=INK, fillstyle=fill)
        plane.annotate(name, end, (6, -4), textcoords="offset points")
    room = max(1.0, np.abs(vectors).max())
    limits = {"xlim": (-0.3, 1.45 * room), "ylim": (-0.3, 1.25 * room)}
    plane.set(xlabel="first number", ylabel="second number", aspect="equal", **limits)
    rows = [
        [word, f"{score:g}", f"{power:.2f}", f"{weight:.2f}"]
        for word, score, power, weight in zip(words, scores, powers, weights, strict=True)
    ]
    rows.append(["sum", "", f"{powers.sum():.2f}", "1.00"])
    head = ["word", "score", "exp", "weight"]
    drawn = table.table(rows, colLabels=head, loc="center", cellLoc="center", edges="horizontal")
    drawn.auto_set_font_size(False)
    drawn.scale(1, 1.8)
    table.axis("off")
    return figure


def positions_panels(encoding: np.ndarray, places: Sequence[int]) -> Figure:
    """Positions ``(places, features)`` as waves, and the dot products of some ``places`` with all
    others."""
    names = ("Fast hands first, slow hands last", "Near places match best")
    figure, (left, right) = grid(names, 2, (5.2, 3.3), width_ratios=[1.5, 1])
    picture = left.imshow(encoding.T, aspect="auto", cmap="PuOr", vmin=-1, vmax=1)
    left.set(xlabel="place p", ylabel="feature")
    figure.colorbar(picture, ax=left, label="PE")
    overlap = encoding @ encoding.T
    for place in places:
        right.plot(overlap[place], label=f"place {place}")
    right.axhline(0, color=MUTED, linewidth=0.8)
    right.set(xlabel="place q", ylabel="PE(p) · PE(q)")
    right.legend()
    return figure


def distances(
    paths: Mapping[str, tuple[Sequence[int], ArrayLike]], steps: Mapping[str, int], title: str
) -> Figure:
    """How far a weight has come after so many steps, both axes logarithmic: ``paths`` holds
    ``(steps, distances)`` by name; ``steps`` names places on the axis with a dotted line each."""
    figure, (axis,) = grid([""], 1, (8.5, 3.8), title)
    for name, path in paths.items():
        axis.plot(*path, label=name)
    axis.set(xscale="log", yscale="log", xlabel="steps", ylabel="distance of one weight")
    for name, place in steps.items():
        axis.axvline(place, color=MUTED, linestyle=":", linewidth=1)
        look = {"ha": "center", "fontsize": 9, "color": MUTED}
        axis.annotate(name, (place, 1.01), xycoords=("data", "axes fraction"), **look)
    legend(figure, "right center")
    return figure
