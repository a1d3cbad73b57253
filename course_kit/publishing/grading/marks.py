"""Marks for a folder of submissions: points for each exercise, and what a submission tried.

What is defended: the teacher's machine, the other submissions, and the verdict. A submission runs
in a sandbox without network, on a read-only tree, with the other submissions hidden and time,
memory and file size limited. Only its answers leave it, and they are compared outside. Its saved
outputs and its check cells are never read for marks: the cases are those of our lessons.

What is not: nothing here tells who wrote an answer, and our solutions are public. A call of our
solution is named and earns nothing, but whoever sets out to deceive the watcher inside the sandbox
can hide it. A submission can read what you can outside your home folder. The kernel is trusted.
"""

import argparse
import base64
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pandas as pd
import safetensors.torch
from nbformat import NotebookNode

from course_kit import exercises
from course_kit.exercises.judge import Remark, judge
from course_kit.publishing.grading import isolation
from course_kit.publishing.lessons import lesson_paths
from course_kit.publishing.students import find_exercises, read_notebook
from course_lib.files import DataError, atomic_path
from course_lib.terminal import plain

CHECK = re.compile(r"exercises\.check_(\w+)\((.+)\)")
FEW = 0.5  # of the points: the class failed an exercise in which it has less
WAIT = 10  # times as long as it may compute may a submission wait, for a busy machine
ENDS = {"Late": "took too long and was stopped", "SystemExit": "called exit"}


@dataclass(frozen=True)
class Task:
    """An exercise of a lesson: what checks it, on which ``answer`` of the notebook, for how many
    ``points``, and the words of our solution's cell."""

    lesson: str
    id: str
    checker: str
    answer: str
    points: float
    words: list[str]
    check: str

    @property
    def column(self) -> str:
        """Its name in the table."""
        return f"{self.lesson[:2]} {self.id}"


@dataclass
class Marked:
    """What one submission earned, by exercise, and what is to be told."""

    points: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def all_tasks() -> list[Task]:
    """The exercises of all lessons."""
    found = []
    for path in lesson_paths():
        notebook = read_notebook(path)
        for each in find_exercises(notebook, path.name):
            cell, check = notebook.cells[each.solution], notebook.cells[each.check]
            name, answer = CHECK.fullmatch(check.source).groups()
            words, points = re.findall(r"\w+", cell.source), check.metadata.nbgrader.points
            given = (path.stem, each.grade_id, name, answer, points, words, check.source)
            found.append(Task(*given))
    return found


def mark(
    notebook: NotebookNode, tasks: list[Task], hidden: Path, seconds: int, isolated: bool = True
) -> Marked:
    """Run a submission of a lesson with these exercises, and judge what it answers."""
    marked = Marked()
    plan = {"seconds": seconds, "checkers": [task.checker for task in tasks]}
    plan["steps"] = list(_steps(notebook, tasks, marked.notes))
    ended = isolation.sandboxed(plan, hidden, WAIT * seconds, isolated)
    marked.notes += _happened(ended)
    for task in tasks:
        own = [each for each in ended.said if each.get("of") == task.id]
        called = sorted({_short(each["calls"]) for each in own if "calls" in each})
        answers = [each for each in own if "calls" not in each]
        marked.points[task.id] = 0.0 if called else _earned(task, answers)
        marked.notes += [f"{task.id}: calls our {name}" for name in called]
    return marked


def _steps(notebook: NotebookNode, tasks: list[Task], notes: list[str]) -> Iterator[dict]:
    """The submission's code cells with our checks in the place of its own."""
    left, checks = {task.id: task for task in tasks}, {f"{task.id}-check": task for task in tasks}
    for place, cell in enumerate(notebook.cells):
        graded, tags = cell.metadata.get("nbgrader", {}), cell.metadata.get("tags", [])
        if graded.get("grade"):
            task = checks.get(graded.get("grade_id"))
            if task and "".join(cell.source.split()) != "".join(task.check.split()):
                notes.append(f"{task.id}: the check cell was changed; ours ran instead")
        elif cell.cell_type == "code":
            settings = 'profile, seed = "smoke", 0' if "parameters" in tags else cell.source
            yield {"place": f"cell {place}", "run": settings}
        if graded.get("solution") and (task := left.pop(graded.get("grade_id"), None)):
            yield {"place": f"the check of {task.id}", "checker": task.checker, "id": task.id,
                   "answer": task.answer, "words": task.words}  # fmt: skip
        if not left:
            return  # nothing further down earns anything
    notes += [f"{task.id}: its cell is missing" for task in left.values()]


def _happened(ended: isolation.Ended) -> list[str]:
    """What went wrong or should not have been tried, in words."""
    notes, at = [], "the start"
    for each in ended.said:
        at = _short(each.get("begin", at))
        if "tried" in each:
            notes.append(f"tried to {_short(each['tried'])}")
        if "error" in each:
            kind = _short(each["error"])
            notes.append(f"{at} {ENDS.get(kind, f'raised {kind}')}")
    if ended.late or (ended.status and ended.status % 128 in (9, 24)):  # SIGKILL, SIGXCPU
        notes.append(f"stopped in {at}: it took too long, or too much memory")
    elif not any("end" in each for each in ended.said):
        notes.append(f"ended its own process in {at}, with status {ended.status}")
    return list(dict.fromkeys(notes))


def _short(said: Any) -> str:
    return plain(str(said))[:80]


def _earned(task: Task, answers: list[dict]) -> float:
    """The share of the points that the cases answered rightly bring."""
    try:
        verdict = judge(getattr(exercises, f"check_{task.checker}"), _replay(answers))
    except Exception:  # an answer of a kind that nobody has thought of
        return 0.0
    return round(task.points * verdict.right / max(1, verdict.tried), 2)


def _replay(answers: list[dict]) -> Callable:
    """A function that gives, call after call, what a submission answered to our cases."""
    number = count()

    def answer(*given: Any) -> Any:
        said = dict(enumerate(answers)).get(next(number), {"remark": "no answer came."})
        if "open" in said:
            raise NotImplementedError
        if "remark" in said:
            raise Remark(_short(said["remark"]))
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
        return safetensors.torch.load(base64.b64decode(value["tensor"]))[""]
    for kind in (list, tuple):
        if kind.__name__ in value:
            return kind(decode(each) for each in value[kind.__name__])
    return ... if "ellipsis" in value else type(str(value.get("other")), (), {})()


def submissions(folder: Path) -> Iterator[tuple[str, Path]]:
    """Each notebook in a folder with its learner: the subfolder's name, or the file's without the
    lesson's, as in ``ann/02_attention.ipynb`` and ``ann_02_attention.ipynb``."""
    stems = "|".join(path.stem for path in lesson_paths())
    for path in sorted(folder.rglob("*.ipynb")):
        inside = path.relative_to(folder).parts
        name = inside[0] if len(inside) > 1 else re.sub(rf"[_ -]*(?:{stems})", "", path.stem)
        if path.is_file() and not path.is_symlink() and not any(p[0] == "." for p in inside):
            yield plain(name) or path.stem, path


def grade(folder: Path, seconds: int, isolated: bool = True) -> pd.DataFrame:
    """Mark every submission: one row a learner, a column for each exercise of a lesson that anybody
    handed in, their sum, and notes; of two files with the same exercise the better one counts."""
    tasks, asked = all_tasks(), []
    points: dict[str, dict[str, float]] = defaultdict(dict)
    notes: dict[str, list[str]] = defaultdict(list)
    for learner, path in submissions(folder):
        print(f"{learner}: {path.name} …", flush=True)
        own = points[learner]
        try:
            notebook = read_notebook(path)
            ids = {cell.metadata.get("nbgrader", {}).get("grade_id") for cell in notebook.cells}
            lessons = [task.lesson for task in tasks if task.id in ids]
            lesson = max(lessons, key=lessons.count)
        except (ValueError, RecursionError, OSError):
            notes[learner].append(f"{path.name} is no notebook with exercises of the course")
            continue
        mine = [task for task in tasks if task.lesson == lesson]
        marked = mark(notebook, mine, folder, seconds, isolated)
        notes[learner] += [f"{lesson[:2]} {note}" for note in marked.notes]
        for task in mine:
            own[task.column] = max(marked.points[task.id], own.get(task.column, 0))
        asked += [task for task in mine if task not in asked]
    most = {task.column: task.points for task in tasks if task in asked}
    table = pd.DataFrame.from_dict(points, orient="index").reindex(columns=[*most])
    table.insert(0, "points", table.sum(axis=1).round(2))
    table.insert(1, "of", sum(most.values()))
    table["notes"] = ["; ".join(notes[learner]) for learner in table.index]
    table.attrs["most"] = most
    return table.rename_axis("learner")


def summary(table: pd.DataFrame) -> str:
    """How the class did in each exercise, and in which ones it failed."""
    lines = []
    for column, most in table.attrs["most"].items():
        share = table[column].fillna(0) / most
        failed = "   ← the class failed this one" if share.mean() < FEW else ""
        solved = f"{(share == 1).sum():>3} of {len(share)} solved"
        lines.append(f"{column:<28}{solved}, {share.mean():4.0%} of the points{failed}")
    return "\n".join(lines)


def command(options: argparse.Namespace) -> int:
    """Write the marks of a folder of submissions."""
    if not any(submissions(options.folder)):
        raise DataError(f"{options.folder}: no notebooks there")
    if not options.without_isolation:
        isolation.prove(options.folder)
    table = grade(options.folder, 60 * options.minutes, not options.without_isolation)
    print(f"\n{summary(table)}\n\n{len(table)} learners are in {options.csv}")
    # a name that a spreadsheet would take for a formula stays text
    table = table.rename(index=lambda name: re.sub(r"^(?=[=+@-])", "'", name))
    with atomic_path(options.csv) as temporary:
        table.to_csv(temporary)
    return 0
