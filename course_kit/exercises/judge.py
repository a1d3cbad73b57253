"""Try a learner's function on many cases, smallest first, and say in a sentence what is wrong."""

import copy
import inspect
import linecache
import os
import textwrap
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from matplotlib.figure import Figure
from torch import Tensor

from course_kit.exercises import case_in_words, solutions
from course_kit.exercises.case_figure import case_figure, drawable
from course_kit.exercises.cases import Case, CaseResult
from course_kit.exercises.comparison import close, is_number, is_readable, largest, parts, same
from course_kit.exercises.relations import relation
from course_lib.views import plots

DENSE = "expected a dense tensor on the CPU"
WHERE = "Write your answer above; a hint is folded below the task."
NOT_KNOWN = "This check does not recognise the mistake. A general hint:"
RETURNED_NOTHING = (
    "it returned None here, and an answer elsewhere: does every way through your function end in "
    "a return?"
)


class CheckFailed(AssertionError):
    """The learner's answer is wrong; a notebook shows the sentence alone, without a traceback."""

    def _render_traceback_(self) -> list[str]:
        return [line for part in str(self).split("\n") for line in textwrap.wrap(part, 100)]


class Remark(Exception):
    """What is wrong with an answer before its numbers matter; raised while it is tried."""


@dataclass(frozen=True)
class Checker:
    """What an exercise asks for, and what its wrong answers look like.

    ``cases`` come smallest first. ``mistakes`` are wrong functions with what to say to a learner
    whose answers equal theirs in every case; each of the ``diagnoses`` examines the smallest
    failing result and returns a sentence, or None if it does not apply. The first sentence found is
    shown: mistakes, then what is wrong with the answer's form (an error, a shape), then generic
    slips, then diagnoses. ``shapes`` says what to think of when the shape is wrong, often an axis.
    Where many answers are right, ``requirement`` takes the inputs and the answer and returns what
    is wrong with it, or nothing; the reference is then only an example. ``changes`` are the places
    of inputs that an answer may change. ``adapt`` makes a function of an answer that is none, such
    as the class of a network (``building``), and ``ours`` is what a lesson uses in its place.
    ``about`` is its docstring: what it is called with and must return.
    """

    name: str
    about: str
    reference: Callable
    cases: Callable[[], list[Case]]
    returns: tuple[str, ...]
    start: str
    span: str
    shapes: str = ""
    mistakes: tuple[tuple[Callable, str], ...] = ()
    diagnoses: tuple[Callable[[CaseResult], str | None], ...] = ()
    requirement: Callable[..., str] | None = None
    changes: tuple[int, ...] = ()
    adapt: Callable[[Any], Callable] | None = None
    ours: Callable | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "__doc__", inspect.cleandoc(self.about))

    def __call__(self, answer: Callable) -> None:
        """Tell the learner in one line that the answer is right, or still open.

        Raises ``CheckFailed``, after drawing the smallest failing case, if it is wrong, and under
        nbgrader also if it is open. A right answer and the third wrong one bring our solution.
        """
        verdict = self.judged(answer)
        if verdict.state == "passed":
            print(f"✓ {self.name}: {verdict.sentence}")
            solutions.after_right(self.name, answer)
        elif verdict.state == "open":
            sentence = f"○ {self.name} is still open: {verdict.sentence}"
            if "NBGRADER_EXECUTION" in os.environ:  # a check without an error gets all its points
                raise CheckFailed(sentence)
            print(sentence)
        else:
            if verdict.result and (figure := result_figure(self, verdict.result)):
                plots.show(figure, f"The smallest failing case: {verdict.sentence}")
            if verdict.result and not verdict.result.crashed:  # else there was no answer
                solutions.after_wrong(self.name, answer)
            raise CheckFailed(f"✗ {self.name}: {verdict.sentence}\n{verdict.lists}".rstrip())

    def judged(self, answer: Callable) -> "Verdict":
        """What ``judge`` says of an answer as a learner gives it."""
        return judge(self, self.adapt(answer) if self.adapt else answer)

    def or_ours(self, answer: Callable) -> Callable:
        """The answer if it is right, else ours, so that a lesson can go on; prints which."""
        right = self.judged(answer).state == "passed"
        print(f"{self.name}: {'your own' if right else 'ours, until yours passes its check'}")
        return answer if right else self.ours or self.reference


@dataclass(frozen=True)
class Verdict:
    """``"passed"``, ``"open"`` or ``"wrong"``, what to tell the learner, the smallest failure.

    ``lists`` are both answers one below the other where they are lists; ``right`` cases of those
    ``tried`` were answered as expected.
    """

    state: str
    sentence: str
    result: CaseResult | None = None
    lists: str = ""
    right: int = 0
    tried: int = 0


def judge(checker: Checker, function: Callable) -> Verdict:
    """Try a function on all cases of a checker; nothing is printed or raised."""
    if not callable(function):
        kind = type(function).__name__
        return Verdict("wrong", f"pass the function itself, not its result (got {kind}).")
    results = []
    for case in checker.cases():
        try:
            results.append(_try(checker, function, case))
        except NotImplementedError:
            return Verdict("open", f"it is not written yet. {WHERE}")
    if all(_is_open(result.yours) for result in results):
        empty = repr(results[0].yours[0]).replace("Ellipsis", "...")
        return Verdict("open", f"it returned {empty}. {WHERE}")
    failures = [result for result in results if result.failed]
    if not failures:
        tried = "1 case" if len(results) == 1 else f"{len(results)} cases"
        sentence = f"{tried}, {checker.span}"
        return Verdict("passed", sentence, right=len(results), tried=len(results))
    smallest = failures[0]
    count = len(failures)
    where = "the only failing case" if count == 1 else f"smallest of {count} failing cases"
    case = f"{where} (of {len(results)}): {smallest.case.description}."
    said = [*_diagnose(checker, results, smallest), case]
    sentence = " ".join([said[0], *(part[0].upper() + part[1:] for part in said[1:])])
    right = len(results) - count
    return Verdict("wrong", sentence, smallest, _lists(smallest), right, len(results))


def _try(checker: Checker, function: Callable, case: Case) -> CaseResult:
    """One call; raises ``NotImplementedError`` if the function does."""
    arguments = copy.deepcopy(case.inputs)
    expected = parts(checker.reference(*copy.deepcopy(case.inputs)))
    given = dict(zip(_names(checker, function, len(arguments)), case.inputs, strict=True))
    try:
        answer = function(*arguments)
    except NotImplementedError:
        raise
    except Remark as error:
        return CaseResult(case, (), expected, given, str(error))
    except Exception as error:
        said = _complaint(error, function)
        return CaseResult(case, (), expected, given, said, crashed=True)
    yours = parts(answer, len(checker.returns))
    remark = RETURNED_NOTHING
    if not _is_open(yours):
        remark = _changed(checker, given, arguments) or _formal_remark(checker, yours, expected)
        if checker.requirement and not remark:
            remark = checker.requirement(*case.inputs, *yours)
            expected = yours  # any answer that meets the requirement is right
    return CaseResult(case, yours, expected, given, remark)


def _written(function: Callable) -> Callable:
    """What a learner wrote of an answer: the ``forward`` of a module, else the function itself."""
    return getattr(function, "forward", function)


def _names(checker: Checker, function: Callable, count: int) -> list[str]:
    """What the learner calls the inputs, else what the reference does, else their numbers."""
    for code in (getattr(function, "forward", function), checker.reference):
        try:
            parameters = inspect.signature(code).parameters.values()
        except (TypeError, ValueError):  # some built-in functions have no signature
            continue
        names = [
            p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
        if len(names) >= count:
            return names[:count]
    return [f"argument {place + 1}" for place in range(count)]


def _is_open(yours: tuple[Any, ...]) -> bool:
    return bool(yours) and any(part is None or part is Ellipsis for part in yours)


def _complaint(error: Exception, function: Callable) -> str:
    """What the learner's code raised, and the learner's own line that did."""
    code = getattr(_written(function), "__code__", None)
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if code and frame.filename == code.co_filename]
    line = linecache.getline(own[-1].filename, own[-1].lineno).strip() if own else ""
    place = f" in your line `{line}`" if line else ""
    return f"your code raised {type(error).__name__}{place}: {str(error).rstrip('.')}."


def _changed(checker: Checker, given: dict[str, Any], arguments: tuple[Any, ...]) -> str:
    """What to say if the learner's function changed an input, or nothing."""
    for place, (name, before) in enumerate(given.items()):
        if place not in checker.changes and not same(arguments[place], before):
            return (
                f"the input {name} was changed in place: work on a copy, since whoever calls you "
                "still needs it."
            )
    return ""


def _formal_remark(checker: Checker, yours: tuple[Any, ...], expected: tuple[Any, ...]) -> str:
    """What is wrong with an answer before its numbers matter, or nothing."""
    if len(yours) != len(expected):
        names = ", ".join(checker.returns)
        return f"{len(expected)} results are expected ({names}), you returned {len(yours)}."
    of_parts = zip(checker.returns, yours, expected, strict=True)
    remarks = (_remark_on_part(*part, checker.shapes) for part in of_parts)
    return next(filter(None, remarks), "")


def _remark_on_part(name: str, part: Any, right: Any, shapes: str) -> str:
    if not isinstance(right, Tensor):
        if type(part) is type(right):
            return ""
        one = is_number(part) or (isinstance(part, Tensor) and part.numel() == 1)
        hint = " int(…) makes one of it." if isinstance(right, int) and one else ""
        return f"{name} is {_kind(part)}, expected {_kind(right)}.{hint}"
    if is_number(part) and right.dim() == 0:
        return ""
    shape = tuple(right.shape)
    if not isinstance(part, Tensor):
        wanted = f"a tensor of shape {shape}" if shape else "a number"
        return f"{name} is {_kind(part)}, expected {wanted}."
    if not is_readable(part):
        return f"{name} is {_kind(part)}, {DENSE}."
    if part.shape != right.shape:
        hint = f": {shapes}" if shapes else ""
        return f"{name} has shape {tuple(part.shape)}, expected {shape}{hint}."
    one_number = right.dim() == 0 and part.is_floating_point() == right.is_floating_point()
    if part.dtype != right.dtype and not one_number:  # the precision of a number is free
        return f"{name} has dtype {part.dtype}, expected {right.dtype}."
    return ""


def _kind(value: Any) -> str:
    """``a list``, ``an int``, ``a numpy.ndarray``."""
    if isinstance(value, Tensor):
        if value.device.type != "cpu":
            return f"a tensor on the device {value.device.type!r}"
        return "a tensor" if is_readable(value) else "a sparse or nested tensor"
    kind = f"{type(value).__module__}.{type(value).__name__}".removeprefix("builtins.")
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def _diagnose(checker: Checker, results: list[CaseResult], smallest: CaseResult) -> list[str]:
    """The sentences: what is wrong, and the numbers where no drawing shows them."""
    numbers = _difference(checker, smallest)
    for mistake, message in checker.mistakes:
        if all(_agrees(mistake, result) for result in results):
            return [message, *([] if smallest.remark or _answers_drawn(smallest) else [numbers])]
    if smallest.remark:
        return [smallest.remark]
    if said := next(filter(None, _explanations(checker, results, smallest)), None):
        return [said, *([] if _answers_drawn(smallest) else [numbers])]
    return [numbers, f"{NOT_KNOWN} {checker.start}"]


def _explanations(
    checker: Checker, results: list[CaseResult], smallest: CaseResult
) -> Iterator[str | None]:
    """A generic slip that explains all cases, then what the exercise's diagnoses find."""
    if not checker.requirement:
        yield relation(checker.reference, checker.returns, results)
    for diagnosis in checker.diagnoses:
        yield diagnosis(smallest)


def _agrees(mistake: Callable, result: CaseResult) -> bool:
    answer = parts(mistake(*copy.deepcopy(result.case.inputs)), len(result.expected))
    return len(answer) == len(result.yours) and all(map(same, result.yours, answer))


def _difference(checker: Checker, result: CaseResult) -> str:
    part = result.wrong
    if part is None or result.remark:
        return ""
    name, yours, expected = checker.returns[part], result.yours[part], result.expected[part]
    if not drawable(expected) or not isinstance(expected, Tensor):
        return case_in_words.difference(result.given, name, yours, expected)
    off = (yours.double() - expected.double()).abs().nan_to_num(torch.inf)  # bool, too
    place = largest(off)
    return f"{name} at {place} is {yours[place]:.4g}, expected {expected[place]:.4g}."


def _answers_drawn(result: CaseResult) -> bool:
    """Whether the answers are tensors of several numbers, side by side in the figure."""
    both = result.yours[result.wrong], result.expected[result.wrong]
    return all(isinstance(answer, Tensor) and drawable(answer) for answer in both)


def _lists(result: CaseResult) -> str:
    part = result.wrong
    if result.remark or part is None:
        return ""
    return case_in_words.side_by_side(result.given, result.yours[part], result.expected[part])


def result_figure(checker: Checker, result: CaseResult) -> Figure | None:
    """The inputs of a failing case, with yours and the expected answer where both have cells.

    None if nothing has any, and where an exception or an input changed in place is the matter.
    """
    part = result.wrong
    if part is None or len(result.yours) != len(result.expected):
        return None
    if not _answers_drawn(result):
        return case_figure(result.given)
    yours, expected = result.yours[part], result.expected[part]
    same = yours.shape == expected.shape
    wrong = ~close(yours.detach().double(), expected.double()) if same else None
    return case_figure(result.given, checker.returns[part], yours, expected, wrong)
