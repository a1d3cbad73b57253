"""Turn the measures of an audit into a report: for each question a sentence, a figure, a verdict.

No sentence says more than its interval allows. In the report's files the key of a verdict is
``grade``, as in those that were written before.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from course_kit.audit.measures import Rows
from course_kit.audit.page import audit_page
from course_kit.audit.questions import (
    ATTENTION,
    GRADIENT,
    ITSELF,
    LEFT_OUT,
    QUESTIONS,
    RANDOM,
    TOP,
    UNTRAINED,
)
from course_kit.audit.report_files import report_files
from course_kit.audit.verdicts import LEAST_TEXTS, RULES, VERDICTS, verdict, weakest
from course_lib.files import write_text
from course_lib.metrics.statistics import Estimate, crossed, holm

DIGITS = 4


@dataclass(frozen=True)
class Row:
    """A mean over ``texts`` with its 95 % interval; None if fewer than two have a value."""

    name: str
    mean: float | None = None
    low: float | None = None
    high: float | None = None
    texts: int = 0

    def __str__(self) -> str:
        if self.mean is None:
            return "(no value)"
        said = f"{self.mean:.2f} [{self.low:.2f}, {self.high:.2f}]"
        return said.replace("-0.00", "0.00").replace("-", "−")


@dataclass(frozen=True)
class Answer:
    """The answer to one question: a ``sentence``, a ``verdict`` or None, a figure's ``rows``.

    The verdict rests on the estimate ``decides``, and on ``p`` after Holm's correction.
    """

    question: str
    title: str
    sentence: str
    verdict: str | None
    unit: str
    rows: tuple[Row, ...]
    decides: Row | None = None
    p: float | None = None


@dataclass(frozen=True)
class AuditReport:
    """What an audit found.

    Attributes
    ----------
    missing: by question why it was not asked
    compared: the number of differences that Holm's correction is for
    counts: the texts given, measured and left out, and whether an interrupt stopped the audit
    cost: the texts asked and the seconds of each stage
    texts: words, importances and the effect of erasing them, for the page alone
    """

    headline: str
    verdict: str
    answers: tuple[Answer, ...]
    missing: dict[str, str]
    compared: int
    name: str
    counts: dict[str, Any]
    cost: dict[str, dict[str, float]]
    texts: tuple[dict[str, Any], ...] = ()

    def verdicts(self) -> dict[str, str]:
        """Return the verdict of each question that has one."""
        return {one.question: one.verdict for one in self.answers if one.verdict}

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


def report_of(found: list[Rows], **about: Any) -> AuditReport:
    """Make the report of what was measured on groups of texts; ``about`` are the fields that need
    no arithmetic."""
    rows = {
        question: {name: np.concatenate([group[question][name] for group in found]) for name in one}
        for question, one in found[0].items()
    }
    deciding, order = _deciding(rows), rows["order"][ATTENTION]
    half = len(order) // 2
    rows["order"] |= {"one half of the texts": order[:half], "the other half": order[half:]}
    estimates = {question: _estimate(values) for question, (values, _) in deciding.items()}
    decided = {question: one for question, one in estimates.items() if one}
    controlled = [question for question in decided if RULES[question].controlled]
    p = dict(zip(controlled, holm([decided[question].p for question in controlled])))
    answers = []
    for question, told in rows.items():
        if question == "limits":
            answers.append(_answer(question, told))
        elif question in decided:
            values, gap = deciding[question]
            said = verdict(question, decided[question], p.get(question, 0.0), _estimate(gap))
            decides = _row("what decides", values)
            answers.append(_answer(question, told, said, decides, p.get(question)))
    missing = {
        question: f"{QUESTIONS[question]['title']} {QUESTIONS[question]['missing']}"
        for question in RULES
        if question not in decided
    }
    overall = weakest({one.question: one.verdict for one in answers if one.verdict})
    says = QUESTIONS["headline"]["endings"][VERDICTS.index(overall)]
    if (texts := about["counts"]["measured"]) < LEAST_TEXTS:
        says = f"{texts} texts are too few for its intervals: give {LEAST_TEXTS} or more. {says}"
    return AuditReport(says, overall, tuple(answers), missing, len(controlled), **about)


def _answer(
    question: str, rows: dict[str, np.ndarray], said: str | None = None, *decides: Any
) -> Answer:
    text, told = QUESTIONS[question], {name: _row(name, each) for name, each in rows.items()}
    rivals = {GRADIENT: "the gradient's", LEFT_OUT: "leave-one-out's"}
    others = "".join(f", {says} {told[n]}" for n, says in rivals.items() if n in told)
    sentence = text["sentence"].format(others=others, **told)
    ending = f": {text['endings'][VERDICTS.index(said)]}." if said else "."
    figure = tuple(told.values())
    return Answer(question, text["title"], sentence + ending, said, text["unit"], figure, *decides)


def _deciding(rows: Rows) -> dict[str, tuple[np.ndarray, np.ndarray | None]]:
    """Return the values that decide each question, larger being better, and their distance to the
    best that could be expected, if there is a best."""
    cost, alone, order, signs = (rows[name] for name in ("removal", "alone", "order", "signs"))
    mine, left, top = cost[ATTENTION], alone[ATTENTION], signs[TOP]
    right, guess = rows["labels"].values()
    return {
        "removal": (mine - cost[RANDOM], mine - cost[LEFT_OUT]),
        "alone": (alone[RANDOM] - left, alone[LEFT_OUT] - left),
        "order": (order[ATTENTION] - order[RANDOM], order[ATTENTION] - order[ITSELF]),
        "signs": (signs[RANDOM] - top, -_counted(top)),
        "weights": (rows["weights"]["shuffled"], None),
        "adversary": (-rows["adversary"]["the furthest weights"], None),
        "seed": (rows["seed"]["another seed"], None),
        "training": (mine - rows["training"][UNTRAINED], None),
        "people": (rows["people"]["marked"] - 0.5, None),
        "labels": (right - guess, None),
    }


def _estimate(values: np.ndarray | None) -> Estimate | None:
    """Estimate the mean over texts that have a value; None for fewer than two of them."""
    kept = np.array([]) if values is None else values[~np.isnan(values)]
    return crossed(kept[None]) if len(kept) > 1 else None


def _counted(values: np.ndarray) -> np.ndarray:
    """Add two zeros and two ones to zeros and ones, so that none in 20 texts is no certainty
    (Agresti and Coull 1998)."""
    return np.append(values, [0, 0, 1, 1])


def _row(name: str, values: np.ndarray) -> Row:
    one = _estimate(values)
    if one is None:
        return Row(name)
    low, high = one.interval
    if set(np.unique(values)) <= {0.0, 1.0}:
        low, high = np.clip(_estimate(_counted(values)).interval, 0, 1)
    return Row(name, *(round(float(x), DIGITS) for x in (one.value, low, high)), one.texts)
