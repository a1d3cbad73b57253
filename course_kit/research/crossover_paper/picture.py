"""The paper's one figure: what sparsemax adds over each encoder, by corpus; and what it shows, in
words that follow from its numbers."""

import numpy as np
from matplotlib.figure import Figure

from course_kit.research.crossover_paper.numbers import CORPORA, ENCODERS, Number, Numbers
from course_kit.research.crossover_study.analysis import HYPOTHESES, MARGIN
from course_lib.views.colours import ACCENT, FOURTH, INK, MUTED, SECOND
from course_lib.views.panels import grid

SIZE = 5.0, 4.6  # inches: letters of 10 points have 11 pixels where it is 400 wide
ROWS = ("projected\nwords", "BiLSTM", "Transformer", "BiLSTM −\nTransformer")
LOOKS = {  # colour, marker, size; apart in grey, too
    "huffpost": (ACCENT, "o", 5),
    "films": (SECOND, "s", 5),
    "products": (FOURTH, "^", 6),
    None: (INK, "D", 7),
}
MEAN = "mean of the corpora"
TITLE = "What sparsemax adds to softmax, by encoder"


def points(numbers: Numbers, corpus: str | None) -> list[Number]:
    """The gains over the encoders and the crossover, of one corpus or of their mean."""
    return [
        *(numbers("gain", encoder=encoder, corpus=corpus) for encoder in ENCODERS),
        numbers("crossover", corpus=corpus),
    ]


def draw(numbers: Numbers) -> Figure:
    """Gains with their intervals, a row for each encoder and one for the crossover; differences
    within the margin are shaded."""
    figure, (axis,) = grid([""], 1, SIZE, TITLE)
    axis.axvspan(-MARGIN, MARGIN, color=MUTED, alpha=0.15, linewidth=0, label=f"within ±{MARGIN}")
    axis.axvline(0, color=MUTED, linewidth=0.8)
    axis.axhline(len(ROWS) - 1.5, color=MUTED, linewidth=0.8, linestyle=":")
    for place, (corpus, (colour, marker, size)) in enumerate(LOOKS.items()):
        means, low, high = np.array([point.found[:3] for point in points(numbers, corpus)]).T
        axis.errorbar(
            means,
            np.arange(len(ROWS)) + 0.2 * (place - 1.5),
            xerr=[means - low, high - means],
            fmt=marker,
            color=colour,
            markersize=size,
            capsize=2,
            linewidth=1.2 if corpus else 2,
            label=CORPORA[corpus] if corpus else MEAN,
        )
    axis.set(xlabel="sparsemax − softmax, on a scale from 0 to 1", ylim=(len(ROWS) - 0.5, -0.5))
    axis.set_yticks(range(len(ROWS)), ROWS)
    axis.tick_params(axis="y", length=0)
    figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


def sentence(numbers: Numbers) -> str:
    """The result in one sentence, whatever it is."""
    gains = [f"{numbers('gain', encoder=name)} over {of}" for name, of in ENCODERS.items()]
    contrast, came, claimed = (
        str(numbers(name, name=HYPOTHESES[0].name)) for name in ("estimate", "outcome", "claim")
    )
    limits = ""
    if claimed != "–":
        limits = f", and we claim {'' if claimed.startswith('nothing') else 'it '}{claimed}"
    return (
        f"In faithfulness from 0 (worst) to 1 (best), sparsemax minus softmax is {gains[0]},"
        f" {gains[1]} and {gains[2]}. The predicted crossover, over the BiLSTM minus over the "
        f"Transformer, is {contrast}: {came}{limits}."
    )


def description(numbers: Numbers) -> str:
    """The figure in words, for those who do not see it."""
    parts = []
    for row, name in enumerate(("projected words", "BiLSTM", "Transformer", "crossover")):
        each = [f"{of} {points(numbers, corpus)[row].alone}" for corpus, of in CORPORA.items()]
        parts.append(f"{name}: {', '.join(each)}, mean {points(numbers, None)[row]}")
    return (
        "Sparsemax minus additive softmax by encoder and corpus, with 95 % intervals; "
        f"differences within ±{MARGIN} are shaded. {'; '.join(parts)}."
    )
