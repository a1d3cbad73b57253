"""The points of a submission: it runs in a sandbox, and its answers are judged outside.

What is defended: the teacher's machine, the other submissions, and the verdict. A submission runs
in a sandbox without network, on a read-only tree, with the other submissions hidden and time,
memory and file size limited. Only its answers leave it, and they are compared outside. Its saved
outputs are never read for points, and the cases are those of our lessons, whatever its check cells
say. A saved ✓ that it does not earn is told to the teacher.

What is not: nothing here tells who wrote an answer, and our solutions are public. A call of our
solution is named and earns nothing, but whoever sets out to deceive the watcher inside the sandbox
can hide it. A submission can read what you can outside your home folder. The kernel is trusted.
"""

import base64
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import safetensors.torch
from nbformat import NotebookNode

from course_kit import exercises
from course_kit.exercises.judge import Remark, Verdict, judge
from course_kit.publishing.exercise_progress import SOLVED, state_of
from course_kit.publishing.grading import isolation
from course_kit.publishing.grading.plan import Task, places, steps
from course_lib.terminal import plain

LUCK = 0.5  # of the cases may be right by luck: a share of them earns nothing
WAIT = 10  # times as long as it may compute may a submission wait, for a busy machine
ENDS = {"Late": "took too long and was stopped", "SystemExit": "called exit"}
TOLD_BY_CHECK = "CheckFailed"  # a check that a learner wrote, which says what ours says
STOPPED = (9, 24)  # SIGKILL, SIGXCPU


@dataclass
class Marked:
    """What one submission earned, by exercise, which exercises have an answer, right or wrong, and
    what is to be told."""

    points: dict[str, float] = field(default_factory=dict)
    tried: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)


def mark(
    notebook: NotebookNode, tasks: list[Task], hidden: Path, seconds: int, isolated: bool = True
) -> Marked:
    """Run a submission of a lesson with these exercises, and judge what it answers."""
    made, notes = steps(notebook, tasks)
    plan = {"seconds": seconds, "checkers": [task.checker for task in tasks], "steps": made}
    ended = isolation.sandboxed(plan, hidden, WAIT * seconds, isolated)
    marked = Marked(notes=[*notes, *_happened(ended)])
    for task in tasks:
        checked = [step["of"] for step in made if step.get("id") == task.id]
        judged = [
            _judged(task, [each for each in ended.said if each.get("of") == number])
            for number in checked
        ]
        best = max(judged, key=lambda each: each.points, default=Judged())
        marked.points[task.id] = best.points
        if any(each.tried for each in judged):
            marked.tried.add(task.id)
        called = sorted({name for each in judged for name in each.called})
        marked.notes += [f"{task.id}: calls our {name}" for name in called]
        if best.points < task.points and not called and _saved(notebook, task):
            why = f" ({_short(best.sentence, 160)})" if best.sentence else ""
            marked.notes.append(
                f"{task.id}: the saved ✓ is not earned when the cells run in order{why}"
            )
    marked.notes = list(dict.fromkeys(marked.notes))
    return marked


def _saved(notebook: NotebookNode, task: Task) -> bool:
    """Whether a saved output of its check says that a task is solved."""
    return any(state_of(notebook.cells[place]) == SOLVED for place in places(notebook, task).checks)


def _happened(ended: isolation.Ended) -> list[str]:
    """What went wrong or should not have been tried, in words."""
    notes, at = [], "the start"
    for each in ended.said:
        at = _short(each.get("begin", at))
        if "tried" in each:
            notes.append(f"tried to {_short(each['tried'])}")
        kind = _short(each.get("error", TOLD_BY_CHECK))
        if kind != TOLD_BY_CHECK:
            notes.append(f"{at} {ENDS.get(kind, f'raised {kind}')}")
    if ended.late or abs(ended.status) % 128 in STOPPED:
        notes.append(f"stopped in {at}: it took too long, or too much memory")
    elif not any("end" in each for each in ended.said):
        notes.append(f"ended its own process in {at}, with status {ended.status}")
    return notes


def _short(said: Any, most: int = 80) -> str:
    return plain(str(said))[:most]


@dataclass(frozen=True)
class Judged:
    """What the answers at one check earn, whether there are any, and what is said of them; which
    functions of ours they ``called``."""

    points: float = 0.0
    tried: bool = False
    sentence: str = ""
    called: tuple[str, ...] = ()


def _judged(task: Task, said: list[dict]) -> Judged:
    """What a submission earns by what it said at one check of a task."""
    called = tuple(_short(each["calls"]) for each in said if "calls" in each)
    answers = [each for each in said if "calls" not in each]
    if called or not answers:
        return Judged(tried=bool(called), called=called)
    try:
        verdict = judge(getattr(exercises, f"check_{task.checker}"), _replay(answers))
    except Exception:  # an answer of a kind that nobody has thought of
        return Judged(tried=True, sentence="its answers could not be compared")
    return Judged(_earned(task, verdict), verdict.state != "open", verdict.sentence)


def _earned(task: Task, verdict: Verdict) -> float:
    """All points for all cases, none for half of them or less, in between in proportion."""
    share = verdict.right / max(1, verdict.tried)
    return round(task.points * max(0.0, share - LUCK) / (1 - LUCK), 2)


def _replay(answers: list[dict]) -> Callable:
    """A function that gives, call after call, what a submission answered to our cases."""
    number = count()

    def answer(*given: Any) -> Any:
        said = dict(enumerate(answers)).get(next(number), {"remark": "no answer came."})
        if "open" in said:
            raise NotImplementedError
        if "remark" in said:
            raise Remark(_short(said["remark"], 160))
        try:
            return decode(said.get("answer"))
        except Exception as error:
            raise Remark("its answer could not be read.") from error

    return answer


def decode(value: Any) -> Any:
    """What ``inside.encode`` wrote; tensors come as safetensors, which runs nothing."""
    if not isinstance(value, dict):
        return value
    if "tensor" in value:
        tensor = safetensors.torch.load(base64.b64decode(value["tensor"]))[""]
        return tensor.requires_grad_(value.get("gradient") is True)
    if "dict" in value:
        return {str(name): decode(each) for name, each in value["dict"]}
    for kind in (list, tuple):
        if kind.__name__ in value:
            return kind(decode(each) for each in value[kind.__name__])
    return ... if "ellipsis" in value else type(str(value.get("other")), (), {})()
