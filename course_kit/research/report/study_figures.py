"""The figures of studies: sanity checks, faithfulness, networks trained to test attention."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from course_kit.research.faithfulness.faithfulness_run import ATTENTION, RANDOM
from course_kit.research.report import frames
from course_kit.research.report.frames import ByName, bounds
from course_kit.research.trained_tests import protocols
from course_lib.views.colours import ACCENT, SECOND
from course_lib.views.panels import dot_panels, grid

SIGNS = {  # rankings by what they rest on: as they come, and towards the class that is predicted
    "unsigned": {
        "attention": ATTENTION,
        "α · ∇α": "|α · ∇α|",
        "gradient": "|gradient × input|",
        "integrated": "|integrated gradients|",
        "left out": "|leave-one-out|",
        "random": RANDOM,
    },
    "signed": {
        "attention": "attention × sign of the gradient",
        "α · ∇α": "α · ∇α",
        "gradient": "gradient × input",
        "integrated": "integrated gradients",
        "left out": "leave-one-out",
    },
}


def erasure_figure(records: ByName | None = None) -> Figure:
    """What deleting words costs (comprehensiveness, AOPC) as small multiples, a panel for each
    network and a dot for each of its trainings: rankings that know the sign of a word's effect
    beside the same without it."""
    records = frames.study_records("faithfulness") if records is None else records
    panels: dict[str, dict[str, dict[str, list[float]]]] = {}
    for name, record in records.items():
        found = record["removals"]["deletion"]["comprehensiveness"]["rankings"]
        panel = panels.setdefault(frames.network_title(name), {sign: {} for sign in SIGNS})
        for sign, rankings in SIGNS.items():
            for word, ranking in rankings.items():
                if ranking in found:
                    panel[sign].setdefault(word, []).append(found[ranking]["aopc"]["mean"])
    ends = {
        title: (0.0, max(x for by in panel.values() for runs in by.values() for x in runs))
        for title, panel in panels.items()
    }
    title = "What deleting words costs, with and without the sign of an effect"
    return dot_panels(panels, title=title, limits=ends)


def roar_figure(on: str) -> Figure:
    """Test accuracy over the share of words that were removed before each training, a curve for
    each ranking, with 95 % intervals over texts."""
    lines = _trained("roar", on)
    curves = {
        ranker: {
            100 * share: bounds(lines[protocols.roar_line(ranker, share)][protocols.ACCURACY])
            for share in (0.0, *protocols.SHARES)
        }
        for ranker in protocols.RANKERS
    }
    last = 100 * protocols.SHARES[-1]
    title = (
        f"{frames.texts_title(on)}: trained without {last:.0f} % of the words, those that "
        "attention\nranks first, "
        f"networks are right in {curves[protocols.ATTENTION][last][0]:.0%}; without random ones in "
        f"{curves[protocols.RANDOM][last][0]:.0%}"
    )
    figure, (axis,) = grid([""], 1, (7.5, 3.8), title)
    for number, (name, curve) in enumerate(curves.items()):
        means, low, high = np.array(list(curve.values())).T
        at = np.array(list(curve)) + 0.006 * last * (number - (len(curves) - 1) / 2)  # side by side
        look = {"fmt": ("o-", "s--", "^:", "v-.")[number % 4], "capsize": 3, "label": name}
        axis.errorbar(at, means, np.abs([means - low, high - means]), **look)
    axis.set(xlabel="words masked before training, % of each text", ylabel="test accuracy")
    axis.legend()
    return figure


def adversary_figure(on: str) -> Figure:
    """How far predictions (TVD) and attention (JSD) of each adversary and each other network are
    from the base's, with 95 % intervals over texts."""
    points = {
        name: (bounds(figures[protocols.DIVERGENCE]), bounds(figures[protocols.VARIATION]))
        for name, figures in _trained("adversary", on).items()
    }
    points.pop("the base network", None)
    figure, (axis,) = grid([""], 1, (7.5, 3.8))
    labels: list[tuple[str, float, float]] = []
    for name, (across, up) in points.items():
        weight = name.partition("λ = ")[2]
        bars = ([[at - low], [high - at]] for at, low, high in (up, across))
        colour = ACCENT if weight else SECOND
        axis.errorbar(across[0], up[0], *bars, fmt="o", color=colour, capsize=3)
        text, *before = labels[-1] if labels else ("", 0.0, 0.0)
        if weight and "λ" in text and np.allclose(before, [across[0], up[0]], atol=0.01, rtol=0):
            labels[-1] = (f"{text}, {weight}", across[0], up[0])
        else:
            labels.append((name.removeprefix("the base, "), across[0], up[0]))
    for text, *at in labels:
        side = "center" if "λ" not in text else "right" if at[0] > 0.5 else "left"
        offset = {"left": (7, -5), "right": (-7, -5), "center": (0, 25)}[side]
        look = {"textcoords": "offset points", "size": "small", "ha": side, "va": "top"}
        axis.annotate(text, at, offset, **look)
    label = "Jensen-Shannon divergence of the attention from the base's"
    axis.set(xlabel=label, ylabel="TVD of the predictions")
    axis.set_xlim(0)
    axis.set_ylim(0)
    return figure


def _trained(test: str, on: str) -> dict[str, Any]:
    return frames.study_records("faithfulness/trained")[f"{test}-{on}"]["lines"]
