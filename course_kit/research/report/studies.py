"""The tables and figures of studies: HAN's levels, agreement with a human lexicon, networks trained
to test attention, and sanity checks of the instruments."""

import statistics
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from course_kit.research.report import frames
from course_kit.research.report.erasure import ATTACHED, ATTENTION, RANDOM, unsigned
from course_kit.research.report.frames import bounds, interval, mean_std, study_records, to_markdown
from course_lib.views.colours import ACCENT, SECOND, THIRD
from course_lib.views.panels import grid, legend

ACCURACY = "accuracy"  # figures of the trained tests, as records name them
VARIATION, DIVERGENCE = "TVD to the base", "JSD to the base"
LOSS = "accuracy minus that of random"
SHARES = (0.1, 0.2, 0.3, 0.5, 0.7)  # of each text's words, removed before a training
RANKERS = (ATTENTION, unsigned(ATTACHED), RANDOM)
COLUMNS = ("trained", "untrained", "uniform")
LEVEL_FIGURES = (
    "comprehensiveness",
    "comprehensiveness per tenth",
    "sufficiency",
    "sufficiency per tenth",
    "tenths of the words",
)


def roar_line(ranker: str, share: float) -> str:
    """What a record calls the line of a ranking at a share of the words."""
    return f"{ranker}, {share:.0%} of the words"


def roar_table() -> str:
    """Test accuracy on SST-2's sentences of networks trained again without a share of the words, a
    row a share, by the ranking that chose them: mean over seeds and texts with its 95 % interval
    over texts, and ± the standard deviation over seeds; then the difference to random words."""
    lines = _trained("roar", "sst2_sentences")
    ahead = [ranker for ranker in RANKERS if ranker != RANDOM]
    rows = []
    for share in SHARES:
        of = {ranker: lines[roar_line(ranker, share)] for ranker in RANKERS}
        cells = [of[ranker][ACCURACY] for ranker in of]
        cells += [of[ranker][LOSS] for ranker in ahead]
        rows.append([f"{share:.0%}", *map(_with_seeds, cells)])
    heads = ["words removed", *RANKERS, *(f"{ranker} − random" for ranker in ahead)]
    return to_markdown(heads, rows, "lr")


def _with_seeds(mean: frames.Mean | None) -> str | None:
    told = interval(mean, 3)
    seeds = [value for value in mean["by_seed"] if value is not None] if told else []
    return f"{told} ± {statistics.stdev(seeds):.3f}" if len(seeds) > 1 else told


def levels_table() -> str:
    """What HAN loses without the sentence with most attention, or with it alone, beside as many
    words with most attention and random ones: mean ± deviation over the networks' means."""
    records, rows = study_records("levels"), []
    for level in ("sentence", "words", "random sentence", "random words"):
        lines = [record["lines"][level] for record in records.values()]
        rows.append(
            [
                level,
                *(mean_std([line[n]["mean"] for line in lines], digits=3) for n in LEVEL_FIGURES),
            ]
        )
    return to_markdown(["taken by attention, or at random", *LEVEL_FIGURES], rows, "lr")


def lexicon_table() -> str:
    """The AUPRC of the rankings that all networks have, with 95 % intervals over texts, a column a
    network, the best first."""
    records = study_records("lexicon")
    lines = [record["lines"] for record in records.values()]
    shared = set.intersection(*map(set, lines))
    order = sorted(shared, key=lambda n: (-np.mean([of[n]["AUPRC"]["mean"] for of in lines]), n))
    rows = [[name, *(interval(of[name]["AUPRC"]) for of in lines)] for name in order]
    return to_markdown(["ranking", *map(frames.network_title, records)], rows, "lr")


def sanity_figures() -> dict[tuple[str, str, str], dict[str, list[float]]]:
    """The figures of all seeds by (check, network, figure), then by column; a column that a
    figure lacks is an empty list."""
    records = study_records("sanity_checks").values()
    lines = pd.DataFrame([line for record in records for line in record["lines"]])
    return {
        key: {column: of[column].dropna().tolist() for column in COLUMNS}
        for key, of in lines.groupby(["control", "network", "figure"], sort=False)
    }


def sanity_table(check: str | None = None, chosen: Sequence[str] = ()) -> str:
    """Every figure of all sanity checks, or of one, as mean ± standard deviation over seeds: of the
    trained network, of its untrained twin, and with uniform attention in the trained network.

    With ``chosen`` only these figures are shown.
    """
    rows = [
        [*key, *(_sanity_cell(columns[column]) for column in COLUMNS)]
        for key, columns in sanity_figures().items()
        if check in (None, key[0]) and (not chosen or key[2] in chosen)
    ]
    heads = ["control", "network", "figure", "trained", "untrained twin", "uniform attention"]
    return to_markdown(heads, rows, "lllr")


def _sanity_cell(values: list[float]) -> str | None:
    tiny = 0 < max(values, default=0) < 1e-4  # rounding, which three digits would hide
    return f"up to {max(values):.0e}" if tiny else mean_std(values, digits=3)


def roar_figure(on: str) -> Figure:
    """Test accuracy over the share of words that were removed before each training, a curve for
    each ranking, with 95 % intervals over texts."""
    lines = _trained("roar", on)
    curves = {
        ranker: {
            100 * share: bounds(lines[roar_line(ranker, share)][ACCURACY])
            for share in (0.0, *SHARES)
        }
        for ranker in RANKERS
    }
    last = 100 * SHARES[-1]
    title = (
        f"{frames.texts_title(on)}: trained without {last:.0f} % of the words, those that "
        "attention\nranks first, "
        f"networks are right in {curves[ATTENTION][last][0]:.0%}; without random ones in "
        f"{curves[RANDOM][last][0]:.0%}"
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


def adversary_figure(
    on: str, own: Mapping[str, tuple[float, float]] = MappingProxyType({})
) -> Figure:
    """How far predictions (TVD) and attention (JSD) of each adversary and each other network are
    from the base's: a small dot for each training, a large one for their mean; and points of one's
    ``own``, ``(JSD, TVD)`` by name."""
    points = {
        name: [figures[each]["by_seed"] for each in (DIVERGENCE, VARIATION)]
        for name, figures in _trained("adversary", on).items()
        if name != "the base network"
    }
    figure, (axis,) = grid([""], 1, (7.5, 3.8))
    labels: list[tuple[str, float, float]] = []
    for name, (across, up) in points.items():
        weight = name.partition("λ = ")[2]
        colour, mean = ACCENT if weight else SECOND, (np.mean(across), np.mean(up))
        axis.plot(across, up, "o", color=colour, markersize=3, alpha=0.5)
        kind = "adversaries" if weight else "trained on the labels"
        axis.plot(*mean, "o", color=colour, markersize=7, label=kind)
        text, *before = labels[-1] if labels else ("", 0.0, 0.0)
        if weight and "λ" in text and np.allclose(before, mean, atol=0.01, rtol=0):
            labels[-1] = (f"{text}, {weight}", *mean)
        else:
            labels.append((name.removeprefix("the base, "), *mean))
    for text, *at in labels:
        side = "center" if "λ" not in text else "right" if at[0] > 0.5 else "left"
        offset = {"left": (9, -7), "right": (-9, -7), "center": (0, 25)}[side]
        look = {"textcoords": "offset points", "size": "small", "ha": side, "va": "top"}
        axis.annotate(text, at, offset, **look)
    for name, at in own.items():
        axis.plot(*at, "*", color=THIRD, markersize=14, label=name)
    legend(figure)
    label = "Jensen-Shannon divergence of the attention from the base's"
    axis.set(xlabel=label, ylabel="TVD of the predictions")
    axis.set_xlim(0)
    axis.set_ylim(0)
    return figure


def _trained(test: str, on: str) -> dict[str, Any]:
    return study_records("faithfulness/trained")[f"{test}-{on}"]["lines"]
