"""The figures of studies: sanity checks, faithfulness, networks trained to test attention."""

from itertools import cycle
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from course_kit.research.faithfulness.faithfulness_run import ATTENTION, RANDOM
from course_kit.research.report import frames
from course_kit.research.report.frames import ByName, bounds
from course_kit.research.trained_tests import protocols
from course_lib.views.colours import LINES
from course_lib.views.panels import dot_panels, grid, legend

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
    each ranking, with 95 % intervals over texts.

    ``ValueError`` lists what is recorded if that is not.
    """
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
    from the base's, with 95 % intervals over texts.

    ``ValueError`` lists what is recorded if that is not.
    """
    points = {
        name: (bounds(figures[protocols.DIVERGENCE]), bounds(figures[protocols.VARIATION]))
        for name, figures in _trained("adversary", on).items()
    }
    near = points["the base, another seed"]
    taught = [name for name in points if name.startswith("adversary")]
    # the gentlest of those that attend further away than another seed
    name = next((name for name in taught if points[name][0][1] > near[0][2]), taught[-1])
    far = points[name]
    title = (
        f"{frames.texts_title(on)}: an {name}, attends elsewhere (JSD {far[0][0]:.2f}, another "
        "seed "
        f"{near[0][0]:.2f})\nand its predictions differ by {far[1][0]:.2f} (another seed "
        f"{near[1][0]:.2f})"
    )
    points.pop("the base network", None)
    figure, (axis,) = grid([""], 1, (8.5, 3.8), title)
    for (name, found), marker, colour in zip(points.items(), cycle("os^vDPX*"), cycle(LINES)):
        at, low, high = np.array(found).T
        width, height = np.abs([at - low, high - at]).T
        look = {"fmt": marker, "color": colour, "label": name, "capsize": 3}
        axis.errorbar(*at[:, None], height[:, None], width[:, None], **look)
    label = "Jensen-Shannon divergence of the attention from the base's"
    axis.set(xlabel=label, ylabel="TVD of the predictions")
    axis.set_xlim(0)
    axis.set_ylim(0)
    legend(figure, "right center")
    return figure


def _trained(test: str, on: str) -> dict[str, Any]:
    records = frames.study_records("faithfulness/trained")
    found = {record["on"]: record for record in records.values() if record["test"] == test}
    return frames.recorded(found, on, test)["lines"]
