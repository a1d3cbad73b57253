"""Turn what an audit measured into a report: for each question a sentence, a figure, a verdict.

No sentence says more than its interval allows. In the report's files the key of a verdict is
``grade``.
"""

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from course_kit.audit.grades import (
    CARRIER,
    LEAST_TEXTS,
    NOT_APPLICABLE,
    NOT_SHOWN,
    PARTLY,
    SHOWN,
    VERSION,
)
from course_kit.audit.group import Found
from course_kit.audit.intervals import Mean, mean_of
from course_kit.audit.judging import (
    MISLEADING,
    Judged,
    Verdicts,
    judge,
    may_carry,
    of_class,
    of_views,
    overall,
    stays_behind,
    views_in,
    weakest_way,
)
from course_kit.audit.names import RANDOM
from course_kit.audit.page import audit_page, signed
from course_kit.audit.questions import QUESTIONS, Comparison
from course_kit.audit.questions.signs import TOP
from course_kit.audit.questions.words import grafted
from course_kit.audit.report_files import report_files
from course_kit.audit.ways import Way, detail
from course_lib.files import write_text

DIGITS = 4
NAMED = 3  # names of which the same is said; more of them are counted
AGAINST = 0.1  # of the texts: as many as go against the mean are told
FEW_ANSWERS = f"Fewer than {LEAST_TEXTS} texts have an answer."
NO_HEAT = "Whether its weight lies on words that matter could not be asked."
NO_WEIGHTS = "Whether the output depends on these weights could not be asked."
ONE_DECISION = (
    "All texts have one decision, so whether it is the words, or the place where the network keeps "
    "its summary of others, could not be asked: give texts of several decisions."
)
HOW_SURE = (
    "Few decisions change without its first words: they change how sure the network is, and other "
    "words may be enough for the decision."
)
STAYS = (
    "Put into another text, its first words take along less than half of what removing them costs: "
    "other words, or the place where they stand, have a part in the decision."
)
UNTOLD = (
    "Its first words decide little in other company. Whether that is because many words decide, or "
    "because the network keeps its summary of others there, could not be told."
)
HEADLINES = {
    SHOWN: "This attention may be read as a ranking of the words that the decision depends on.",
    PARTLY: "This attention is a hint at the words that the decision depends on, not a ranking of "
    "them.",
    CARRIER: "This attention shows where the network keeps its summary of the text, not which "
    "words made it.",
    NOT_SHOWN: "These texts do not show that this attention says what the decision depends on.",
    NOT_APPLICABLE: "No single word matters here, nor do random ones, up to half of a text, so "
    "there is nothing to compare attention with.",
}
SHORT = {
    SHOWN: "a ranking of the words",
    PARTLY: "a hint",
    CARRIER: "a place where the network keeps its summary",
    NOT_SHOWN: "nothing is shown",
    NOT_APPLICABLE: "often no word matters by itself",
    MISLEADING: MISLEADING,
}


@dataclass(frozen=True)
class Row:
    """A mean over ``texts`` with its 95 % interval; None if fewer than two have a value, and no
    interval for fewer than ``LEAST_TEXTS``."""

    name: str
    mean: float | None = None
    low: float | None = None
    high: float | None = None
    texts: int = 0

    def __str__(self) -> str:
        if self.mean is None:
            return "(no value)"
        ends = "" if self.low is None else f" [{signed(self.low)}, {signed(self.high)}]"
        return signed(self.mean) + ends


@dataclass(frozen=True)
class Answer:
    """The answer to one question: a ``sentence``, a ``verdict`` or None, a figure's ``rows``.

    The verdict rests on the estimate ``decides``, and on ``p`` after Holm's correction. A question
    that is asked in several ``ways`` has its weakest verdict; then ``decides`` is that way's.
    """

    question: str
    title: str
    sentence: str
    verdict: str | None
    unit: str
    rows: tuple[Row, ...]
    decides: Row
    p: float | None
    ways: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class AuditReport:
    """What an audit found.

    Attributes
    ----------
    view: the name of the first view of the attention
    views: by view of the attention what may be said of it alone; empty for a single one
    classes: by predicted class what may be said of its texts alone
    missing: by question why it was not asked
    compared: the number of differences that Holm's correction is for
    counts: the texts given, measured and left out, and whether an interrupt stopped the audit
    cost: the texts asked and the seconds of each stage
    texts: words, importances and the effect of erasing them, for the page alone
    """

    headline: str
    verdict: str
    version: int
    view: str
    answers: tuple[Answer, ...]
    views: dict[str, str]
    classes: dict[str, str]
    missing: dict[str, str]
    compared: int
    name: str
    counts: dict[str, Any]
    cost: dict[str, dict[str, float]]
    texts: tuple[dict[str, Any], ...] = ()

    def verdicts(self) -> dict[str, str]:
        """Return the verdict of each question that has one."""
        return {one.question: one.verdict for one in self.answers}

    def to_json(self) -> str:
        """Return everything but the texts, which may not be ours to keep."""
        kept = asdict(self, dict_factory=_with_keys_of_files)
        del kept["texts"]
        return json.dumps(kept, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    def save(self, path: str | Path) -> None:
        """Write ``.json``; or ``.html``, one page that needs nothing else, and JSON beside it.

        Earlier reports are replaced; a ``DataError`` names any other file in the way.
        """
        files = dict.fromkeys(report_files(Path(path)), self.to_json())
        if Path(path).suffix == ".html":
            files[Path(path)] = audit_page(asdict(self, dict_factory=_with_keys_of_files))
        for file, text in files.items():
            write_text(file, text)


def _with_keys_of_files(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    return {"grade" if name == "verdict" else name: value for name, value in fields}


def report_of(found: list[dict[str, Found]], view: str, **about: Any) -> AuditReport:
    """Make the report of what was measured on groups of texts.

    Parameters
    ----------
    view: the name of the first view of the attention
    about: the fields that need no arithmetic
    """
    rows = {
        question: {name: np.concatenate([group[question][name] for group in found]) for name in one}
        for question, one in found[0].items()
    }
    compared = {name: QUESTIONS[name].compare(each) for name, each in rows.items()}
    judged = judge(compared)
    answers = [_answer(question, rows[question], ways) for question, ways in judged.items()]
    texts = about["texts"]
    same = f" The word with the most weight is the same in {same_top(texts):.0%} of the texts."
    answers = tuple(
        replace(one, sentence=one.sentence + same) if one.question == "words" else one
        for one in answers
    )
    labels = np.array([text["label"] for text in texts])
    classes = {label: of_class(rows, labels == label) for label in np.unique(labels).tolist()}
    ahead = QUESTIONS["texts"].compare(rows["texts"])[Way()].values
    verdict, views = overall(judged, classes), of_views(judged, view)
    untold = verdict == NOT_SHOWN and may_carry(judged)
    says = [
        HEADLINES[verdict],
        *_apart("view", views),
        *_apart("predicted class", classes),
        *_without_words(ahead),
        *_behind(ahead),
        *_against(rows["signs"]),
        *(_in_place(rows["words"]) if untold or verdict in (SHOWN, PARTLY, CARRIER) else []),
        *[UNTOLD] * untold,
        *[HOW_SURE] * (verdict == PARTLY and not _decide(judged)),
        *[STAYS] * (verdict == PARTLY and stays_behind(judged)),
        *[NO_HEAT] * (verdict in (SHOWN, PARTLY) and "heat" not in judged),
        *(_unmoved(judged, view) if verdict in (SHOWN, PARTLY) else []),
    ]
    if (counted := int((~np.isnan(ahead)).sum())) < LEAST_TEXTS and verdict != NOT_APPLICABLE:
        has = "" if counted == len(ahead) else " in which a word matters"
        few = f"{counted} texts{has} are too few for intervals: give {LEAST_TEXTS} or more."
        says = [few, *says[:1]]
    return AuditReport(
        " ".join(says),
        verdict,
        VERSION,
        view,
        answers,
        views,
        classes,
        missing={
            name: f"{question.title} {FEW_ANSWERS if _some(compared[name]) else question.missing}"
            for name, question in QUESTIONS.items()
            if name not in judged
        },
        compared=sum(one.p is not None for ways in judged.values() for one in ways.values()),
        **about,
    )


def _some(ways: dict[Way, Comparison]) -> bool:
    """Return whether a question without a verdict was answered by some texts."""
    return any((~np.isnan(each.values)).sum() > 1 for each in ways.values())


def same_top(texts: Sequence[dict[str, Any]]) -> float:
    """Return the share of the texts whose top word is the most frequent of the top words. That is
    no evidence by itself: a word that decides repeats rightly."""
    tops = Counter(text["words"][text["views"][0]["first"][0]] for text in texts)
    return tops.most_common(1)[0][1] / len(texts)


def _apart(by: str, verdicts: dict[str, str]) -> list[str]:
    """A sentence, where what may be said differs between views or classes."""
    said = {name: SHORT[one] for name, one in verdicts.items() if one in SHORT}
    if len({*said.values()}) < 2:
        return []
    return [f"By {by}: {_grouped(said)}."]


def _grouped(said: dict[str, str]) -> str:
    """Say what is said of each name, once for all names of which the same is said; most of many
    names are counted as "the others"."""
    groups: dict[str, list[str]] = {}
    for name, one in said.items():
        groups.setdefault(one, []).append(name)
    most = max(groups, key=lambda one: len(groups[one]))
    if len(groups) > 1 and len(groups[most]) > NAMED:
        groups[most] = [f"the {len(groups.pop(most))} others"]  # behind those that have names
    return "; ".join(f"{', '.join(names)}: {one}" for one, names in groups.items())


def _by_view(ways: dict[Way, Judged]) -> dict[str, str]:
    """Return the verdict of each way, or of a view, where it has the same in all of its ways."""
    of_view: dict[str, set[str]] = {}
    for way, one in ways.items():
        of_view.setdefault(way.view, set()).add(one.verdict)
    several = len(of_view) > 1
    return {
        str(Way(way.view) if several and len(of_view[way.view]) == 1 else way): one.verdict
        for way, one in ways.items()
    }


def _without_words(ahead: np.ndarray) -> list[str]:
    """A sentence, where nothing is said of at least a tenth of the texts."""
    counted = (~np.isnan(ahead)).sum()
    if not counted or counted > (1 - AGAINST) * len(ahead):
        return []
    return [
        f"This is said of {counted} of {len(ahead)} texts; in the others no word matters by itself."
    ]


def _behind(ahead: np.ndarray) -> list[str]:
    """A sentence, where at least a tenth of the texts go against the mean."""
    behind = mean_of(np.where(np.isnan(ahead), math.nan, ahead == 0))
    if behind is None or behind.value < AGAINST:
        return []
    return [f"In {behind.value:.0%} of the texts its order costs less than random words."]


def _in_place(words: Found) -> list[str]:
    """A sentence, where in at least a tenth of the texts the first words decide no more than random
    ones."""
    if not grafted(words):
        return [ONE_DECISION]
    share = mean_of(QUESTIONS["words"].compare(words)[Way()].value)
    if share is None or share.value > 1 - AGAINST:
        return []
    return [
        f"In {1 - share.value:.0%} of the texts its first words decide no more than random words "
        "in their place: there it may show where the network keeps its summary."
    ]


def _decide(judged: Verdicts) -> bool:
    """Return whether decisions change without the first words."""
    return "decisions" not in judged or weakest_way(judged["decisions"]).verdict == SHOWN


def _unmoved(judged: Verdicts, first: str) -> list[str]:
    """A sentence, where weights of some view could not be moved."""
    if "weights" not in judged:
        return [NO_WEIGHTS]
    moved = views_in(judged["weights"])
    if not views_in(judged["removal"]) - moved:
        return []
    names = " and ".join(sorted(view or first for view in moved))
    return [f"Whether the output depends on the weights could be asked of {names} alone."]


def _against(signs: Found) -> list[str]:
    """A sentence on the direction of the top word, which no weight tells."""
    top, random = (mean_of(signs[name]) for name in (TOP, RANDOM))
    if top is None or random is None:
        return []
    return [
        f"The word with the most weight speaks against the decision in {top.value:.0%} of the "
        f"texts, a random word in {random.value:.0%}."
    ]


def _answer(question: str, rows: Found, ways: dict[Way, Judged]) -> Answer:
    asked = QUESTIONS[question]
    # in a figure, a mean of 0, a half and 1 is a share of the texts, whatever the question
    told = {name: row(name, mean_of(each, shares=True)) for name, each in rows.items()}
    weak = weakest_way(ways)
    order = (SHOWN, PARTLY, NOT_SHOWN, NOT_APPLICABLE)
    template = asked.sentence(rows) if callable(asked.sentence) else asked.sentence
    sentence = template.format(**told) + f": {asked.endings[order.index(weak.verdict)]}."
    if asked.further:
        sentence += asked.further(rows)
    verdicts = {str(way): one.verdict for way, one in ways.items()} if len(ways) > 1 else {}
    if len({*verdicts.values()}) > 1:
        each = _grouped(_by_view(ways))
        sentence += f" Asked in {len(ways)} ways, of which the weakest decides: {each}."
    return Answer(
        question,
        asked.title,
        sentence,
        weak.verdict,
        asked.unit,
        rows=tuple(
            each for each in told.values() if each.mean is not None and not detail(each.name)
        ),
        decides=row("what decides", weak.decides),
        p=weak.p,
        ways=verdicts,
    )


def row(name: str, mean: Mean | None) -> Row:
    """Round a mean and, of enough texts, the ends of its interval."""
    if mean is None:
        return Row(name)
    few = mean.texts < LEAST_TEXTS
    ends = (None, None) if few else (round(mean.low, DIGITS), round(mean.high, DIGITS))
    return Row(name, round(float(mean.value), DIGITS), *ends, mean.texts)
