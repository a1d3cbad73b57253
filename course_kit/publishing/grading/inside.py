"""What runs in the sandbox: a submission's cells, and its answers to our cases.

A plan comes in on the standard input. What happened goes out as JSON lines: answers, and never
whether they are right, because nothing that runs beside a submission can be believed about that.
"""

import base64
import contextlib
import copy
import json
import os
import resource
import signal
import socket
import sys
import sysconfig
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import safetensors.torch
import torch
from IPython.core.interactiveshell import InteractiveShell

from course_kit import exercises
from course_kit.exercises import judge
from course_kit.exercises.building import Written
from course_kit.exercises.cases import Case
from course_lib.files import REPOSITORY

CELL = "<ipython-input"  # how the names of cells begin in frames
STANDARD, LIBRARY = sysconfig.get_path("stdlib"), str(REPOSITORY / "course_lib")
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
MOST_NUMBERS = 20_000  # in a tensor; no right answer has as many
LIMITS = {
    resource.RLIMIT_FSIZE: 64 * 2**20,
    resource.RLIMIT_DATA: 6 * 2**30,
    resource.RLIMIT_NPROC: 1000,
    resource.RLIMIT_CORE: 0,
}
TRIED = {
    "socket.connect": "open a connection",
    "subprocess.Popen": "start a program",
    "os.system": "start a program",
    "os.fork": "start a process",
    "os.remove": "remove a file",
    "os.rename": "rename a file",
    "os.kill": "end a process",
}


class Late(BaseException):
    """A cell or a check has taken too long; no ``except Exception`` of a submission stops it."""


def encode(value: Any) -> Any:
    """An answer as JSON; what no exercise asks for becomes the name of its type."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if value is Ellipsis:
        return {"ellipsis": True}
    if isinstance(value, (list, tuple)):
        return {"tuple" if isinstance(value, tuple) else "list": [encode(each) for each in value]}
    if isinstance(value, dict) and all(isinstance(name, str) for name in value):
        return {"dict": [[name, encode(each)] for name, each in value.items()]}
    if isinstance(value, torch.Tensor) and value.layout == torch.strided and not value.is_nested:
        if value.numel() > MOST_NUMBERS:
            return {"other": f"{type(value).__name__} of {value.numel()} numbers"}
        plain = {"": value.detach().cpu().clone().contiguous()}
        saved = base64.b64encode(safetensors.torch.save(plain)).decode()
        return {"tensor": saved, "gradient": value.requires_grad}
    return {"other": type(value).__name__}


def main() -> None:
    """Carry out the plan on the standard input."""
    plan, out = json.load(sys.stdin), os.fdopen(os.dup(1), "w")
    quiet = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):  # nobody reads what a submission prints
        os.dup2(quiet, stream)

    def say(**said: Any) -> None:
        print(json.dumps(said), file=out, flush=True)

    if "probe" in plan:
        say(possible=_possible(**plan["probe"]))
        return
    checkers = {name: getattr(exercises, f"check_{name}") for name in plan["checkers"]}
    shell = InteractiveShell.instance()
    for kind, most in (*LIMITS.items(), (resource.RLIMIT_CPU, plan["seconds"])):
        resource.setrlimit(kind, (most, most))
    signal.signal(signal.SIGPROF, _too_late)
    sys.addaudithook(partial(_watch, say))
    for step in plan["steps"]:
        say(begin=step["place"])
        signal.setitimer(signal.ITIMER_PROF, plan["seconds"] / 4)  # of computing, busy or not
        error = None
        try:
            if "run" in step:
                result = shell.run_cell(step["run"])
                error = result.error_before_exec or result.error_in_exec
            else:
                answer_cases(step, checkers[step["checker"]], shell.user_ns, say)
        except BaseException as raised:
            error = raised
        signal.setitimer(signal.ITIMER_PROF, 0)
        if error is not None:
            say(error=type(error).__name__, place=step["place"])
    say(end=True)


def _too_late(number: int, frame: FrameType | None) -> None:
    raise Late


def answer_cases(step: dict, checker: judge.Checker, names: dict[str, Any], say: Callable) -> None:
    """Say what an exercise's function answers to every case, and what of ours it calls."""
    answer = eval(step["answer"], names)
    if str(getattr(answer, "__module__", "")).startswith(("course_lib", "course_kit")):
        say(calls=f"{answer.__module__}.{getattr(answer, '__qualname__', '')}", of=step["of"])
    function, ours = checker.adapt(answer) if checker.adapt else answer, set()
    solution = getattr(checker.reference, "__code__", None)
    for case in checker.cases() if callable(function) else ():
        given = copy.deepcopy(case.inputs)
        words = {*step["words"], *_handed(function, case)}
        sys.setprofile(partial(_note, words, solution, ours))
        try:
            said = {"answer": encode(function(*given))}
        except NotImplementedError:
            said = {"open": True}
        except Exception as error:
            told = isinstance(error, judge.Remark)
            said = {"remark": str(error) if told else judge._complaint(error, function)}
        finally:
            sys.setprofile(None)
        inputs = dict(zip(judge._names(checker, function, len(given)), case.inputs, strict=True))
        changed = judge._changed(checker, inputs, given) if "answer" in said else ""
        say(of=step["of"], **({"remark": changed} if changed else said))
    for name in sorted(ours):
        say(calls=name, of=step["of"])


def _handed(function: Callable, case: Case) -> set[str]:
    """The names of the layers that a case hands to a learner's class, which may call them."""
    sizes = function.sizes(case.inputs[0]) if isinstance(function, Written) else ()
    return {each.__name__ for each in sizes if isinstance(each, type)}


def _note(
    words: set[str],
    solution: CodeType | None,
    ours: set[str],
    frame: FrameType,
    event: str,
    _: Any,
) -> None:
    """Keep the name of a function of the course that a cell calls and our solution does not."""
    code, back = frame.f_code, frame.f_back
    if event == "call" and back and back.f_code.co_filename.startswith(CELL):
        named = code.co_qualname.partition(".")[0] in words
        if code is solution or (code.co_filename.startswith(LIBRARY) and not named):
            ours.add(f"{frame.f_globals.get('__name__')}.{code.co_qualname}")


def _watch(say: Callable, event: str, given: tuple) -> None:
    """Report what a cell tries that no exercise needs, whether or not the sandbox lets it."""
    tried = TRIED.get(event)
    if event == "open" and isinstance(given[0], str) and given[2] & WRITES:
        inside = given[0].startswith(("/tmp/", "/dev/", os.environ["HOME"]))
        tried = None if inside else f"write {Path(given[0]).name}"
    frame = sys._getframe(1) if tried else None
    while frame and _standard(frame.f_code.co_filename):
        frame = frame.f_back
    if frame and frame.f_code.co_filename.startswith(CELL):
        say(tried=tried)


def _standard(file: str) -> bool:
    """Whether a file is of Python's own library."""
    return file.startswith(("<frozen", STANDARD)) and "site-packages" not in file


def _possible(hidden: str, tree: str) -> list[str]:
    """What should be impossible here and is not."""
    found, probe = [], Path(tree) / "notebooks" / ".written-by-a-probe"
    with contextlib.suppress(OSError):
        probe.write_text("")
        probe.unlink()
        found.append("can write into the course")
    with contextlib.suppress(OSError):
        if any(Path(hidden).iterdir()):
            found.append("can read the submissions")
    if {name for _, name in socket.if_nameindex()} - {"lo"}:
        found.append("has a network")
    if sum(entry.name.isdigit() for entry in Path("/proc").iterdir()) > 4:
        found.append("can see your processes")
    return found


if __name__ == "__main__":
    main()
