"""Try a learner's function on many cases, smallest first, and say in a sentence what is wrong."""

import copy
import linecache
import textwrap
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
import seaborn as sns
import torch
from matplotlib.figure import Figure
from torch import Tensor

from course_lib.views import plots
from course_lib.views.colours import ATTENTION

TOLERANCE = 1e-4  # two right answers to scores of 1000 differ by this much in float32
DRAWN = 12  # columns and rows of a drawn answer
SIGNED = sns.blend_palette(["#7fb8c8", "#ffffff", "#e2764f"], as_cmap=True)


class CheckFailed(AssertionError):
    """The learner's answer is wrong; a notebook shows the sentence alone, without a traceback."""

    def _render_traceback_(self) -> list[str]:
        return textwrap.wrap(str(self), 100)


@dataclass(frozen=True)
class Case:
    """One set of inputs, and in words what is in it."""

    description: str
    inputs: tuple[Any, ...]


@dataclass(frozen=True)
class Trial:
    """A case with the learner's answer beside the expected one, both as tuples of ``returns``.

    A ``remark`` says what is wrong whatever the numbers are, such as an exception.
    """

    case: Case
    yours: tuple[Any, ...]
    expected: tuple[Any, ...]
    remark: str = ""

    @property
    def wrong(self) -> int | None:
        """The last part of the answer that differs (earlier ones are made from it), or None."""
        pairs = zip(self.yours, self.expected, strict=False)
        differing = [place for place, (a, b) in enumerate(pairs) if not _same(a, b)]
        return differing[-1] if differing else None

    @property
    def failed(self) -> bool:
        """Whether anything is wrong."""
        return bool(self.remark) or self.wrong is not None


@dataclass(frozen=True)
class Checker:
    """What an exercise asks for, and what its wrong answers look like.

    ``cases`` come smallest first. ``mistakes`` are wrong functions with what to say to a learner
    whose answers equal theirs in every case; ``diagnoses`` look at the smallest failing trial and
    return a sentence, or None where it is something else. The first that fits speaks.
    """

    name: str
    reference: Callable
    cases: Callable[[], list[Case]]
    returns: tuple[str, ...]
    start: str
    span: str
    mistakes: tuple[tuple[Callable, str], ...] = ()
    diagnoses: tuple[Callable[[Trial], str | None], ...] = ()


@dataclass(frozen=True)
class Verdict:
    """``"passed"``, ``"open"`` or ``"wrong"``, what to tell the learner, the smallest failure."""

    state: str
    sentence: str
    trial: Trial | None = None


def judge(checker: Checker, function: Callable) -> Verdict:
    """Try a function on all cases of a checker; nothing is printed or raised."""
    if not callable(function):
        kind = type(function).__name__
        return Verdict("wrong", f"pass the function itself, not its result (got {kind}).")
    trials = []
    for case in checker.cases():
        try:
            trials.append(_try(checker, function, case))
        except NotImplementedError:
            return Verdict("open", f"it is not written yet. Start from {checker.start}")
        if _is_open(trials[-1].yours):
            empty = repr(trials[-1].yours[0]).replace("Ellipsis", "...")
            return Verdict("open", f"it returned {empty}. Start from {checker.start}")
    failures = [trial for trial in trials if trial.failed]
    if not failures:
        return Verdict("passed", f"{len(trials)} cases, {checker.span}")
    smallest = failures[0]
    sentence = _diagnose(checker, trials, smallest)
    where = f"Smallest of {len(failures)} failing cases (of {len(trials)})"
    return Verdict("wrong", f"{sentence} {where}: {smallest.case.description}.", smallest)


def check(checker: Checker, function: Callable) -> None:
    """Tell the learner in one line that the function is right, or still open.

    Raises ``CheckFailed``, after drawing both answers, if it is wrong.
    """
    verdict = judge(checker, function)
    if verdict.state == "passed":
        print(f"✓ {checker.name}: {verdict.sentence}")
    elif verdict.state == "open":
        print(f"○ {checker.name} is still open: {verdict.sentence}")
    else:
        if verdict.trial and (figure := beside(checker, verdict.trial)):
            plots.show(figure, f"Your answer beside the expected one. {verdict.sentence}")
        raise CheckFailed(f"✗ {checker.name}: {verdict.sentence}")


def check_number(
    name: str,
    answer: Any,
    expected: float,
    start: str,
    tolerance: float = 1e-3,
    mistakes: dict[float, str] | None = None,
) -> None:
    """For an exercise whose answer is one number; ``mistakes`` maps wrong ones to what went wrong.

    Prints and raises as ``check`` does.
    """
    if _is_open((answer,)):
        print(f"○ {name} is still open. Start from {start}")
        return
    try:
        value = float(answer)
    except (TypeError, ValueError):
        raise CheckFailed(f"✗ {name}: the answer must be a number, got {answer!r}.") from None
    if abs(value - expected) <= tolerance:
        print(f"✓ {name}: {value:.4g}")
        return
    messages = [
        message for wrong, message in (mistakes or {}).items() if abs(value - wrong) <= tolerance
    ]
    hint = messages[0] if messages else f"Try {start}"
    raise CheckFailed(f"✗ {name}: {value:.4g} is not it. {hint}")


def _try(checker: Checker, function: Callable, case: Case) -> Trial:
    """One call; raises ``NotImplementedError`` if the function does."""
    arguments = copy.deepcopy(case.inputs)
    expected = _parts(checker.reference(*copy.deepcopy(case.inputs)))
    try:
        answer = function(*arguments)
    except NotImplementedError:
        raise
    except Exception as error:
        return Trial(case, (), expected, _complaint(error, function))
    yours = _parts(answer, len(checker.returns))
    remark = "" if _is_open(yours) else _formal_remark(checker, case, arguments, yours, expected)
    return Trial(case, yours, expected, remark)


def _parts(answer: Any, count: int | None = None) -> tuple[Any, ...]:
    """The answer as a tuple; one tuple or list is an answer of several parts only if asked for."""
    several = isinstance(answer, tuple) and count != 1
    several = several or (isinstance(answer, list) and count is not None and count > 1)
    return tuple(answer) if several else (answer,)


def _is_open(yours: tuple[Any, ...]) -> bool:
    return bool(yours) and any(part is None or part is Ellipsis for part in yours)


def _complaint(error: Exception, function: Callable) -> str:
    """What the learner's code raised, and the learner's own line that did."""
    code = getattr(function, "__code__", None)
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if code and frame.filename == code.co_filename]
    line = linecache.getline(own[-1].filename, own[-1].lineno).strip() if own else ""
    place = f" in your line `{line}`" if line else ""
    return f"your code raised {type(error).__name__}{place}: {str(error).rstrip('.')}."


def _formal_remark(
    checker: Checker, case: Case, arguments: tuple, yours: tuple, expected: tuple
) -> str:
    """What is wrong with an answer before its numbers matter, or nothing."""
    for place, (before, after) in enumerate(zip(case.inputs, arguments, strict=True)):
        if not _same(after, before):
            return (
                f"the input was changed in place (argument {place + 1}): work on a copy, since "
                "whoever calls you still needs it."
            )
    if len(yours) != len(expected):
        names = ", ".join(checker.returns)
        return f"{len(expected)} results are expected ({names}), you returned {len(yours)}."
    for name, part, right in zip(checker.returns, yours, expected, strict=True):
        if isinstance(right, Tensor):
            if _is_number(part) and right.dim() == 0:
                continue
            shape = tuple(right.shape)
            if not isinstance(part, Tensor):
                kind = f"{type(part).__module__}.{type(part).__name__}".removeprefix("builtins.")
                return f"{name} is a {kind}, expected a tensor of shape {shape}."
            if part.shape != right.shape:
                return f"{name} has shape {tuple(part.shape)}, expected {shape}."
            if part.dtype != right.dtype:
                return f"{name} has dtype {part.dtype}, expected {right.dtype}."
        elif type(part) is not type(right):
            return f"{name} is a {type(part).__name__}, expected a {type(right).__name__}."
    return ""


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _same(yours: Any, expected: Any) -> bool:
    if not isinstance(expected, Tensor):
        return type(yours) is type(expected) and yours == expected
    if _is_number(yours):
        yours = torch.tensor(yours, dtype=expected.dtype)
    if not isinstance(yours, Tensor) or yours.shape != expected.shape:
        return False
    if not expected.is_floating_point():
        return torch.equal(yours, expected)
    yours = yours.detach().to(expected.dtype)
    return bool(_close(yours, expected).all())


def _close(yours: Tensor, expected: Tensor) -> Tensor:
    return torch.isclose(yours, expected, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)


def _diagnose(checker: Checker, trials: list[Trial], smallest: Trial) -> str:
    if smallest.remark:
        return smallest.remark
    for mistake, message in checker.mistakes:
        if all(_agrees(mistake, trial) for trial in trials):
            return message
    for diagnosis in checker.diagnoses:
        if message := diagnosis(smallest):
            return message
    return _largest_difference(checker, smallest)


def _agrees(mistake: Callable, trial: Trial) -> bool:
    answer = _parts(mistake(*copy.deepcopy(trial.case.inputs)), len(trial.expected))
    return not trial.remark and all(map(_same, trial.yours, answer))


def _largest_difference(checker: Checker, trial: Trial) -> str:
    part = trial.wrong
    name, yours, expected = checker.returns[part], trial.yours[part], trial.expected[part]
    if not isinstance(expected, Tensor):
        return f"{name} is {yours!r}, expected {expected!r}."
    yours = torch.as_tensor(yours, dtype=expected.dtype)
    difference = (yours.double() - expected.double()).abs().nan_to_num(torch.inf)  # bool, too
    place = tuple(int(i) for i in torch.unravel_index(difference.argmax(), difference.shape))
    where = f" at {place}" if place else ""
    return f"{name}{where} is {yours[place]:.4g}, expected {expected[place]:.4g}."


def beside(checker: Checker, trial: Trial) -> Figure | None:
    """Yours and the expected answer as two heatmaps on one scale; None if there is nothing to draw.

    Of a larger answer, the corner around the first difference.
    """
    part = trial.wrong
    if trial.remark or part is None or not isinstance(trial.expected[part], Tensor):
        return None
    expected = trial.expected[part].detach().float()
    yours = torch.as_tensor(trial.yours[part]).detach().float()
    corner = _corner(~_close(yours, expected))
    panels = {"yours": yours[corner], "expected": expected[corner]}
    panels = {title: values.reshape(-1, values.shape[-1] if values.dim() else 1)
              for title, values in panels.items()}  # fmt: skip
    values = torch.cat([panel[panel.isfinite()] for panel in panels.values()])
    limit = max(values.abs().max().item() if len(values) else 0.0, 1e-9)
    scale = {"vmin": -limit, "vmax": limit, "cmap": SIGNED}
    if not (values < 0).any():
        scale |= {"vmin": 0, "cmap": ATTENTION}
    rows, columns = panels["expected"].shape
    size = (2 * max(1.6, 0.62 * columns) + 1, max(1.0, 0.45 * rows) + 0.6)
    figure, axes = plt.subplots(1, 2, figsize=size)
    for axis, (title, panel) in zip(axes, panels.items(), strict=True):
        axis.imshow(panel.numpy(), aspect="auto", **scale)
        axis.set_title(f"{title}: {checker.returns[part]}")
        axis.set(xticks=range(columns), yticks=range(rows))
        axis.tick_params(length=0, labelsize=8)
        axis.spines[:].set_visible(False)
        for row in range(rows):
            for column in range(columns):
                number = panel[row, column].item() + 0.0  # not −0.00
                axis.text(column, row, f"{number:.2f}", ha="center", va="center", fontsize=8)
    figure.tight_layout()
    return figure


def _corner(wrong: Tensor) -> tuple[slice | int, ...]:
    """Where to look in an answer: at most ``DRAWN`` rows and columns with the first difference."""
    if wrong.dim() == 0:
        return ()
    first = wrong.nonzero()[0].tolist()
    leading, last_two = first[:-2], first[-2:]
    starts = [max(0, place - DRAWN + 1) for place in last_two]
    return (*leading, *(slice(start, start + DRAWN) for start in starts))


def generator(*numbers: int) -> torch.Generator:
    """A random generator that depends on these numbers alone."""
    seed = 0
    for number in numbers:
        seed = 1009 * seed + number
    return torch.Generator().manual_seed(seed)


def ragged(rows: int, length: int) -> Tensor:
    """A mask ``(rows, length)`` of rows that differ in length, real places first.

    A single row is half real; of several, the first may be short and the last has one real place.
    """
    lengths = (torch.arange(rows) * 3 % length + 1).flip(0)
    if rows == 1:
        lengths[:] = (length + 1) // 2
    return torch.arange(length) < lengths.unsqueeze(1)


def plural(count: int, noun: str) -> str:
    """``1 row``, ``3 rows``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
