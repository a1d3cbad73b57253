"""The paper's tables, of named figures alone; each takes the ``Numbers`` of a folder."""

from collections.abc import Sequence

from course_kit.research.crossover_paper.figures import OTHERS
from course_kit.research.crossover_paper.numbers import (
    ATTENTIONS,
    CORPORA,
    ENCODERS,
    TRAININGS,
    WINDOWS,
    Number,
    Numbers,
)
from course_kit.research.crossover_study import analysis, planted
from course_kit.research.report.frames import to_markdown
from course_kit.research.report.template import with_minus

HYPOTHESES = {f"H{n}": each for n, each in enumerate(analysis.HYPOTHESES, start=1)}
USUAL, DELETIONS = analysis.USUAL, analysis.DELETIONS
SETTINGS = (  # encoder, attention, training: in the order of the questions
    *((encoder, attention, USUAL) for encoder in ENCODERS for attention in ATTENTIONS),
    *((window, kind, USUAL) for window in list(WINDOWS)[:3] for kind in ("additive", "sparsemax")),
    *(
        (e, kind, DELETIONS)
        for e in ("bilstm", "transformer")
        for kind in ("additive", "sparsemax")
    ),
)
NOT_RUN = {("projected", "entmax15", USUAL)}  # the design has no such networks


def markdown(heads: Sequence[str], rows: Sequence[Sequence[object]], align: str = "lr") -> str:
    """A table with true minus signs."""
    return with_minus(to_markdown(heads, rows, align))


def hypotheses(numbers: Numbers) -> str:
    """Every prediction of the plan, what was found and what became of it, in one type."""
    rows = []
    for number, hypothesis in HYPOTHESES.items():
        name = hypothesis.name
        powers = [
            numbers("power", name=name, level=level) for level in ("5 %", "Holm's strictest level")
        ]
        rows.append(
            [
                number,
                name,
                numbers("predicted", name=name),
                numbers("estimate", name=name),
                numbers("estimate as drawn", name=name).ends,
                numbers("entering", name=name),
                f"{powers[0]} ({powers[1]})",
                numbers("holm", name=name),
                numbers("outcome", name=name),
                numbers("claim", name=name),
            ]
        )
    heads = ["", "contrast", "predicted", "estimate", "interval as drawn", "values, %", "power"]
    return markdown([*heads, "Holm's p", "what came out", "claimed"], rows, "lllrrrrrll")


def by_rulers(numbers: Numbers) -> str:
    """Every hypothesis by every ruler and removal, and in the loss itself."""
    rows = [
        [
            f"{measure} (primary)" if measure == analysis.PRIMARY else measure,
            *(
                numbers("estimate by", name=h.name, measure=measure).alone
                for h in HYPOTHESES.values()
            ),
        ]
        for measure in (*planted.COLUMNS, analysis.RAW)
    ]
    return markdown(["ruler", *HYPOTHESES], rows)


def gains(numbers: Numbers) -> str:
    """What sparsemax adds over each encoder, by corpus and in their mean, and the crossover."""
    corpora = [*CORPORA, None]
    rows = [
        [title, *(numbers("gain", encoder=encoder, corpus=corpus) for corpus in corpora)]
        for encoder, title in ENCODERS.items()
    ]
    contrast = [numbers("crossover", corpus=corpus) for corpus in corpora]
    rows.append(["the BiLSTM − the Transformer", *contrast])
    return markdown(["sparsemax − softmax over", *CORPORA.values(), "their mean"], rows)


def windows(numbers: Numbers) -> str:
    """By the neighbours that a word sees in each block: value, gain and contextuality."""
    rows = [
        [
            seen,
            numbers("level", encoder=name, attention="additive").alone,
            numbers("gain", encoder=name),
            numbers("contextuality", encoder=name, attention="additive").alone,
        ]
        for name, seen in WINDOWS.items()
    ]
    return markdown(
        ["neighbours in each block", "additive softmax", "gain of sparsemax", "contextuality"], rows
    )


def beyond_gradients(numbers: Numbers) -> str:
    """The contrasts of question 5 by each ranking, and attention's minus each."""
    contrasts = {
        "projected words − the Transformer": (
            lambda ranking: numbers("words ahead", ranking=ranking),
            lambda ranking: numbers("words ahead beyond", ranking=ranking),
        ),
        "gain over the Transformer": (
            lambda ranking: numbers("gain", encoder="transformer", ranking=ranking),
            lambda ranking: numbers("gain beyond", encoder="transformer", ranking=ranking),
        ),
    }
    rows = [
        [title, *map(by, ("", *OTHERS)), *map(beyond, OTHERS)]
        for title, (by, beyond) in contrasts.items()
    ]
    heads = ["contrast", "attention", *OTHERS, *(f"attention − {each}" for each in OTHERS)]
    return markdown(heads, rows)


def beside_others(numbers: Numbers) -> str:
    """How far the weights are ahead of other rankings in the same networks."""
    rankings = {"random words": "random", **{each: each for each in OTHERS}}
    rows = [
        [
            title,
            ATTENTIONS[attention],
            *(
                numbers("ahead of", encoder=encoder, attention=attention, ranking=each)
                for each in rankings.values()
            ),
        ]
        for encoder, title in ENCODERS.items()
        for attention in ("additive", "sparsemax")
    ]
    heads = ["encoder", "attention", *(f"weights − {each}" for each in rankings)]
    return markdown(heads, rows, "llr")


def settings(numbers: Numbers) -> str:
    """Each setting: value, accuracy, concentration, words with weight, and texts without value."""
    rows = []
    for encoder, attention, training in SETTINGS:
        if (encoder, attention, training) in NOT_RUN:
            continue
        asked = {"encoder": encoder, "attention": attention, "training": training}
        names = ("level", "accuracy", "concentration", "support", "without value")
        cells = [numbers(name, **asked).alone for name in names]
        titles = encoder_title(encoder), ATTENTIONS[attention], TRAININGS[training]
        rows.append([*titles, *cells])
    heads = ["encoder", "attention", "training", "value", "accuracy, %", "concentration"]
    return markdown([*heads, "words with weight", "no value, %"], rows, "lllr")


def encoder_title(encoder: str) -> str:
    """Its name in a table."""
    return ENCODERS.get(encoder) or f"two blocks, window {WINDOWS[encoder]}"


def rulers(numbers: Numbers) -> str:
    """What the planted texts say about each ruler: both tests, and the correlation with truth."""
    rows = []
    for measure in planted.COLUMNS:
        within, tested = (
            numbers("ruler comparisons", measure=measure, what=what)
            for what in ("within", "tested")
        )
        rhos = [numbers("ruler rho", measure=measure, encoder=each).alone for each in ENCODERS]
        rows.append(
            [
                f"{measure} (primary)" if measure == analysis.PRIMARY else measure,
                f"{within} of {tested}",
                numbers("ruler size", measure=measure),
                *(numbers("ruler sees", measure=measure, encoder=each) for each in ENCODERS),
                f"{numbers('ruler blank', measure=measure)} %",
                ", ".join(rhos),
            ]
        )
    heads = [
        "ruler",
        f"*equal*: within ±{planted.MARGIN}",
        "mean size",
        "*sees*: projected words",
        "the BiLSTM",
    ]
    return markdown([*heads, "the Transformer", "no value", "ρ with truth"], rows)


def every_figure(asked: Sequence[Number]) -> str:
    """Figures with their unit and what a positive or larger value means."""
    rows = [[one.label, one, one.unit, one.positive] for one in asked]
    heads = ["figure", "value", "unit", "a positive or a larger value means"]
    return markdown(heads, rows, "lrll")
