"""Judge what an audit compared: by question and way, by class, by view, and the whole."""

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from course_kit.audit.grades import (
    BY_QUESTION,
    CARRIER,
    DECISIVE,
    LEAST_OF_CLASS,
    LEAST_TEXTS,
    MOST_OF_CLASS,
    NOT_APPLICABLE,
    NOT_SHOWN,
    PARTLY,
    SHOWN,
    VERDICTS,
    weakest,
)
from course_kit.audit.group import Found
from course_kit.audit.intervals import Mean, mean_of
from course_kit.audit.questions import QUESTIONS, Comparison
from course_kit.audit.ways import Way
from course_lib.metrics.statistics import holm

BY_CLASS = (
    *(name for name in DECISIVE if name != "weights"),
    "decisions",
)  # asked of each predicted class
SLOW = ("weights", "adversary")  # no more texts are asked than an answer takes, so all must tell
FEWEST = 10  # texts of a class, of which a share can be told
MISLEADING, TOO_FEW = "misleading", "too few to say"  # of a class


class Judged(NamedTuple):
    """What is said of one way in which a question is asked."""

    verdict: str
    decides: Mean
    p: float | None
    best: Mean | None = None
    first: Mean | None = None


Verdicts = dict[str, dict[Way, Judged]]  # by question


def judge(comparisons: dict[str, dict[Way, Comparison]], corrected: bool = True) -> Verdicts:
    """Return what is said of each question in each way; those without a value are left out, and so
    are those with an answer in fewer than ``LEAST_TEXTS`` where removal has one in as many.

    Parameters
    ----------
    corrected: whether p-values are corrected for the number of differences (Holm)
    """
    means = {
        (question, way): (mean, compared)
        for question, ways in comparisons.items()
        for way, compared in ways.items()
        if (mean := mean_of(compared.values, QUESTIONS[question].shares))
    }
    if any(key[0] == "removal" and of[0].texts >= LEAST_TEXTS for key, of in means.items()):
        kept = {key: of for key, of in means.items() if of[0].texts >= LEAST_TEXTS}
        means = kept | {key: of for key, of in means.items() if key[0] in SLOW}
    controlled = [key for key in means if BY_QUESTION[key[0]].controlled]
    p = [means[key][0].p for key in controlled]
    p = dict(zip(controlled, holm(p) if corrected and p else p))
    judged: Verdicts = {}
    for (question, way), (mean, compared) in means.items():
        grade = BY_QUESTION[question]
        shares = QUESTIONS[question].shares
        gap, value, best, first = (
            None if each is None else mean_of(each, of_texts)
            for each, of_texts in zip(compared[1:], (shares, True, shares, shares), strict=True)
        )
        said = grade.verdict(mean, p.get((question, way), 0.0), gap, value)
        if said == NOT_SHOWN and best and best.low < grade.partly:
            said = NOT_APPLICABLE
        judged.setdefault(question, {})[way] = Judged(
            said, mean, p.get((question, way)), best, first
        )
    return judged


def overall(judged: Verdicts, classes: dict[str, str]) -> str:
    """Return the verdict on the whole.

    It is the weakest of the decisive questions'; ``CARRIER`` where words must stay in most texts
    and yet do not decide. ``SHOWN`` must hold for each of the ``classes``, also for one in which no
    word matters by itself; it needs an answer to whether removing words matters, to whether it is
    the words or the places, to where the weight lies, and, where some view's weights can be moved,
    to what moving those of each view does; some decisions must change without its first words, and
    these must take along most of what removing them costs.
    """
    if "removal" not in judged:
        return NOT_APPLICABLE
    verdicts = {n: weakest_way(judged[n]).verdict for n in DECISIVE if n in judged}
    if may_carry(judged) and _carries(judged):
        return CARRIER
    said = weakest([*verdicts.values()])
    worse = {CARRIER, NOT_SHOWN, MISLEADING, NOT_APPLICABLE} & {*classes.values()}
    asked = (verdicts.get(name, SHOWN) for name in ("removal", "words", "texts"))
    unanswered = "heat" not in verdicts or NOT_APPLICABLE in asked
    unchanged = "decisions" in judged and weakest_way(judged["decisions"]).verdict != SHOWN
    unmoved = "weights" in judged and views_in(judged["removal"]) - views_in(judged["weights"])
    told = {*classes.values()} - {TOO_FEW}
    doubts = worse or told == {PARTLY} or unanswered or unmoved or unchanged or stays_behind(judged)
    return PARTLY if said == SHOWN and doubts else said


def stays_behind(judged: Verdicts) -> bool:
    """Return whether, in some view, the words take less along into another text than a share of
    what removing them costs: then the rest of the decision is elsewhere."""
    share = BY_QUESTION["words"].along
    costs: dict[str, float] = {}
    for way, one in judged.get("removal", {}).items():
        costs[way.view] = min(one.decides.value, costs.get(way.view, math.inf))
    return any(
        one.decides.value < share * costs.get(way.view, 0.0)
        for way, one in judged.get("words", {}).items()
    )


def may_carry(judged: Verdicts) -> bool:
    """Return whether words must stay in most texts and yet decide little in other company."""
    verdicts = {name: weakest_way(ways).verdict for name, ways in judged.items()}
    needed = {verdicts.get(name, SHOWN) for name in ("removal", "heat", "texts")}
    if not needed <= {SHOWN, PARTLY} or verdicts.get("words") != NOT_SHOWN:
        return False
    share = BY_QUESTION["words"].carrier
    return all(one.decides.high < share * one.best.low for one in judged["words"].values())


def _carries(judged: Verdicts) -> bool:
    """Return whether places, and not words, explain that: without them much is lost, and the first
    words do nothing, be it alone or in a text with another decision.

    A tenth of the words that all decide a little adds little, too, but costs little.
    """
    costs = BY_QUESTION["removal"].shown
    if any(one.decides.low < costs for one in judged["removal"].values()):
        return False
    return all(
        one.first is not None and one.first.high < BY_QUESTION[name].shown
        for name in ("alone", "words")
        for one in judged.get(name, {}).values()
    )


def views_in(ways: Iterable[Way]) -> set[str]:
    """Return the views of the attention of which a question was asked."""
    return {way.view for way in ways}


def weakest_way(ways: dict[Way, Judged]) -> Judged:
    """Return what is said of the way that decides a question, the weakest to which it applies."""
    applied = [one for one in ways.values() if one.verdict != NOT_APPLICABLE]
    order = (*VERDICTS, NOT_APPLICABLE)
    return max(applied or ways.values(), key=lambda one: order.index(one.verdict))


def of_class(rows: dict[str, Found], chosen: np.ndarray) -> str:
    """Return what may be said of the texts of one predicted class, bool ``(texts,)``."""
    compared = {
        name: QUESTIONS[name].compare({n: each[chosen] for n, each in rows[name].items()})
        for name in BY_CLASS
    }
    judged = judge(compared, corrected=False)
    removal = [one.decides for one in judged.get("removal", {}).values()]
    most = max((one.texts for one in removal), default=0)
    if chosen.sum() >= FEWEST and most < MOST_OF_CLASS * chosen.sum():
        return NOT_APPLICABLE
    if not removal or removal[0].texts < LEAST_OF_CLASS:
        return TOO_FEW
    if all(one.high < 0 for one in removal):  # in each view: heads may divide the work
        return MISLEADING
    return overall(judged, {})


def of_views(judged: Verdicts, first: str) -> dict[str, str]:
    """Return what may be said of each view of the attention, of which the first is ``first``; empty
    for a single one."""
    views = [*dict.fromkeys(way.view for way in judged.get("texts", {}))]
    return {view or first: _of_view(judged, view) for view in views} if len(views) > 1 else {}


def _of_view(judged: Verdicts, view: str) -> str:
    own = {
        name: {way: one for way, one in ways.items() if way.view == view}
        for name, ways in judged.items()
    }
    said = overall({name: ways for name, ways in own.items() if ways}, {})
    return PARTLY if said == SHOWN and not own.get("weights", True) else said
