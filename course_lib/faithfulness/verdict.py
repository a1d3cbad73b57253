"""What the measures of an audit say: a sentence a question, never stronger than its interval.

``questions.json`` has the sentences: titles, what their numbers are, and an ending for each grade.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from course_lib.faithfulness.grades import GRADES, RULES, grade, headline
from course_lib.faithfulness.report_files import report_files
from course_lib.files import write_text
from course_lib.metrics.statistics import Estimate, crossed, holm

ATTENTION, GRADIENT, LEFT_OUT = "attention", "gradient × input", "leave-one-out"
RANDOM, UNTRAINED = "random words", "attention before training"
ITSELF, TOP = "leave-one-out with itself", "the top word"
QUESTIONS = json.loads(Path(__file__).with_name("questions.json").read_text("utf-8"))
DIGITS = 4
ENOUGH = 20  # texts, below which an interval is too wide to say anything
Rows = dict[str, dict[str, np.ndarray]]  # by question and name, one number a text, NaN for none


@dataclass(frozen=True)
class Row:
    """A mean over ``texts`` with its 95 % interval; None where fewer than two have a value."""

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
    """A question's ``sentence`` and ``grade`` (None for one that has none), the ``rows`` of its
    figure, and what ``decides``: an estimate, and ``p`` after Holm's correction."""

    question: str
    title: str
    sentence: str
    grade: str | None
    unit: str
    rows: tuple[Row, ...]
    decides: Row | None = None
    p: float | None = None


@dataclass(frozen=True)
class Report:
    """What an audit found. ``missing`` says by question why it was not asked, ``cost`` counts the
    texts asked and the seconds of each stage, ``compared`` the differences that Holm's correction
    is for; ``texts`` hold words, importances and what erasing does, for the page alone."""

    headline: str
    grade: str
    answers: tuple[Answer, ...]
    missing: dict[str, str]
    compared: int
    name: str
    counts: dict[str, Any]
    cost: dict[str, dict[str, float]]
    texts: tuple[dict[str, Any], ...] = ()

    def grades(self) -> dict[str, str]:
        """The grade of each question that has one."""
        return {one.question: one.grade for one in self.answers if one.grade}

    def to_json(self) -> str:
        """Everything but the texts, which may not be ours to keep."""
        kept = asdict(self)
        del kept["texts"]
        return json.dumps(kept, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    def save(self, path: str | Path) -> None:
        """Write ``.json``; or ``.html``, one page that needs nothing else, and JSON beside it.

        Earlier reports are replaced; ``DataError`` names a file there that is no report.
        """
        files = dict.fromkeys(report_files(Path(path)), self.to_json())
        if Path(path).suffix == ".html":
            # imported here: the views take more than the thin part
            from course_lib.views.audit_page import audit_page

            files[Path(path)] = audit_page(asdict(self))
        for file, text in files.items():
            write_text(file, text)


def report_of(found: list[Rows], **about: Any) -> Report:
    """The report of what ``audit`` measured on groups of texts; ``about`` are the fields that need
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
            mark = grade(question, decided[question], p.get(question, 0.0), _estimate(gap))
            decides = _row("what decides", values)
            answers.append(_answer(question, told, mark, decides, p.get(question)))
    missing = {
        question: f"{QUESTIONS[question]['title']} {QUESTIONS[question]['missing']}"
        for question in RULES
        if question not in decided
    }
    weakest = headline({one.question: one.grade for one in answers if one.grade})
    says = QUESTIONS["headline"]["endings"][GRADES.index(weakest)]
    if (texts := about["counts"]["measured"]) < ENOUGH:
        says = f"{texts} texts are too few for its intervals: give {ENOUGH} or more. {says}"
    return Report(says, weakest, tuple(answers), missing, len(controlled), **about)


def _answer(
    question: str, rows: dict[str, np.ndarray], mark: str | None = None, *decides: Any
) -> Answer:
    text, told = QUESTIONS[question], {name: _row(name, each) for name, each in rows.items()}
    rivals = {GRADIENT: "the gradient's", LEFT_OUT: "leave-one-out's"}
    others = "".join(f", {says} {told[n]}" for n, says in rivals.items() if n in told)
    sentence = text["sentence"].format(others=others, **told)
    ending = f": {text['endings'][GRADES.index(mark)]}." if mark else "."
    figure = tuple(told.values())
    return Answer(question, text["title"], sentence + ending, mark, text["unit"], figure, *decides)


def _deciding(rows: Rows) -> dict[str, tuple[np.ndarray, np.ndarray | None]]:
    """What decides each question, turned so that larger is better, and its distance to the best
    that could be expected, if there is such a thing."""
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
    """The mean over texts that have a value, None for fewer than two of them."""
    kept = np.array([]) if values is None else values[~np.isnan(values)]
    return crossed(kept[None]) if len(kept) > 1 else None


def _counted(values: np.ndarray) -> np.ndarray:
    """Zeros and ones with two more of each, so that none in 20 texts is no certainty (Agresti and
    Coull 1998)."""
    return np.append(values, [0, 0, 1, 1])


def _row(name: str, values: np.ndarray) -> Row:
    one = _estimate(values)
    if one is None:
        return Row(name)
    low, high = one.interval
    if set(np.unique(values)) <= {0.0, 1.0}:
        low, high = np.clip(_estimate(_counted(values)).interval, 0, 1)
    return Row(name, *(round(float(x), DIGITS) for x in (one.value, low, high)), one.texts)
