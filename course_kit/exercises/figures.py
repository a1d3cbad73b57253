"""The larger figures of lessons and of their side notes; titles are the lesson's."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from course_lib.views.colours import MUTED
from course_lib.views.panels import grid, legend


def positions_panels(encoding: np.ndarray, places: Sequence[int]) -> Figure:
    """Position vectors ``(positions, features)`` as waves, and the dot products of those of some
    ``places`` with all others."""
    names = ("Fast waves first, slow waves last", "Near positions match best")
    figure, (left, right) = grid(names, 2, (5.2, 3.3), width_ratios=[1.5, 1])
    picture = left.imshow(encoding.T, aspect="auto", cmap="PuOr", vmin=-1, vmax=1)
    left.set(xlabel="position p", ylabel="feature")
    figure.colorbar(picture, ax=left, label="value")
    overlap = encoding @ encoding.T
    for place in places:
        right.plot(overlap[place], label=f"position {place}")
    right.axhline(0, color=MUTED, linewidth=0.8)
    right.set(xlabel="position q", ylabel="dot product")
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
