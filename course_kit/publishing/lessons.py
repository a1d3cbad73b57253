"""Running and checking the lessons, and the form in which their outputs are committed."""

import logging
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import papermill
from nbformat import NotebookNode
from papermill.exceptions import PapermillExecutionError

from course_lib.data.catalog import CARDS
from course_lib.data.corpus import load_corpus
from course_lib.data.sources import NotObtained
from course_lib.data.vectors import load_vectors
from course_lib.files import REPOSITORY, DataError, atomic_path
from course_lib.profile import PROFILES
from course_lib.terminal import plain

LESSONS = REPOSITORY / "notebooks"
REPORT = LESSONS / "experiments" / "report.ipynb"
LEFT_OPEN = LESSONS / "experiments" / "left_open.ipynb"
REPORTS = (REPORT, LEFT_OPEN)  # filled from records alone
EXECUTED = REPOSITORY / "runs" / "lessons"
STUDENTS = REPOSITORY / "students"
CORPUS_TEXT = "corpus-text"  # the tag of cells whose output may not be committed
WIDGET = "application/vnd.jupyter.widget-view+json"
TRACEBACK = "Traceback (most recent call last)"
CELL_SECONDS = 600  # a cell that has not answered by then never will


@dataclass(frozen=True)
class Outcome:
    """How one lesson went: seconds, and what went wrong, cell by cell."""

    lesson: str
    seconds: float
    errors: list[str]


def prepare_data() -> None:
    """Fetch and prepare the datasets and vectors of the catalog, except those fetched on demand.

    A dataset with a stand-in may be missing; the lessons then use the stand-in.
    """
    for name, card in CARDS.items():
        if card.sizes and not card.on_demand:
            print(f"preparing {name} …", file=sys.stderr)
            try:
                load_corpus(name)
            except NotObtained as reason:
                if not card.fallback:
                    raise
                print(f"{reason}\nThe lessons use {card.fallback} instead.", file=sys.stderr)
        elif card.kind == "vectors" and not card.on_demand:
            print(f"preparing {name} …", file=sys.stderr)
            load_vectors(name)


class ParameterError(ValueError):
    """A parameter that the notebook does not have, or a profile that does not exist."""


def parameter_names(notebook: Path) -> list[str]:
    """The names that the cell tagged ``parameters`` sets, one assignment per line."""
    return list(papermill.inspect_notebook(str(notebook)))


def check_parameters(notebook: Path, parameters: dict[str, Any]) -> None:
    """Raise ``ParameterError`` for what papermill would only warn of, or not notice."""
    names = parameter_names(notebook)
    unknown = [name for name in parameters if name not in names]
    if unknown:
        raise ParameterError(
            f"{notebook.name} has no parameter {', '.join(unknown)}; "
            f"its parameters cell sets {', '.join(names) or 'none'}"
        )
    profile = parameters.get("profile", PROFILES[0])
    if profile not in PROFILES:
        raise ParameterError(f"no profile {profile!r}; there are {', '.join(PROFILES)}")


@contextmanager
def views_shown(form: str) -> Iterator[None]:
    """Views show themselves in that form, in whatever program we run; ``COURSE_HEATMAP`` wins."""
    before = os.environ.get("COURSE_HEATMAP")
    os.environ["COURSE_HEATMAP"] = before or form
    try:
        yield
    finally:
        if before is None:
            del os.environ["COURSE_HEATMAP"]


def execute(lesson: Path, output: Path, profile: str, bar: str = "", **others: Any) -> Outcome:
    """Execute a lesson through papermill; the executed copy is kept even when a cell fails.

    ``others`` are parameters beside the profile; one that the lesson does not have is an error of
    the outcome, and nothing is run. On a terminal papermill's progress is a ``bar`` of that name.
    """
    output.parent.mkdir(parents=True, exist_ok=True)
    output.unlink(missing_ok=True)  # that of an earlier run
    start, parameters = time.perf_counter(), {"profile": profile} | others
    try:
        check_parameters(lesson, parameters)
        papermill.execute_notebook(
            lesson,
            output,
            parameters=parameters,
            cwd=str(lesson.parent),
            kernel_name="python3",
            progress_bar={"desc": bar, "disable": None} if bar else False,  # None: no terminal
            execution_timeout=None if profile == "full" else CELL_SECONDS,
        )
        errors = errors_in(nbformat.read(output, as_version=4))
    except PapermillExecutionError as error:
        errors = [f"cell {error.cell_index}: {error.ename}: {error.evalue}"]
    except KeyboardInterrupt:
        logging.getLogger("asyncio").disabled = True  # the kernel's client leaves tasks behind
        raise
    except Exception as error:  # it cannot be read, its kernel died, or a cell never answered
        errors = [f"{type(error).__name__}: {error}"]
    return Outcome(lesson.stem, time.perf_counter() - start, errors)


def execute_all(lessons: list[Path], profile: str) -> Iterator[Outcome]:
    """The outcomes of lessons executed one after the other into ``EXECUTED``."""
    width = max((len(lesson.stem) for lesson in lessons), default=0)
    for number, lesson in enumerate(lessons, 1):
        name = f"{number:>2} of {len(lessons)} · {lesson.stem:<{width}}"
        if not sys.stderr.isatty():
            print(name.rstrip(), file=sys.stderr, flush=True)
        yield execute(lesson, EXECUTED / lesson.name, profile, name)


def errors_in(notebook: NotebookNode) -> list[str]:
    """Every error among a notebook's outputs, those captured inside widgets included.

    An error in a widget's callback ends up in an output widget's state, or as a traceback on
    stderr, and papermill looks at neither.
    """
    places = [(f"cell {index}", cell) for index, cell in enumerate(notebook.cells)]
    states = notebook.metadata.get("widgets", {}).get(
        "application/vnd.jupyter.widget-state+json", {}
    )
    for model in states.get("state", {}).values():
        places.append(("inside a widget", model.get("state", {})))
    return [
        f"{place}: {error}"
        for place, holder in places
        for output in holder.get("outputs", [])
        if (error := _error_of(output))
    ]


def _error_of(output: dict[str, Any]) -> str | None:
    if output["output_type"] == "error":
        return f"{output['ename']}: {output['evalue']}"
    if output["output_type"] == "stream" and output["name"] == "stderr":
        text = "".join(output["text"])
        if TRACEBACK in text:
            return f"on stderr: {text.strip().splitlines()[-1]}"
    return None


def normalise(notebook: NotebookNode) -> NotebookNode:
    """The form we commit: no widget state, no corpus text, no machine details, counts from 1.

    Code and markdown stay as they are; of the outputs, text and pictures that are ours. The counts
    are those of a fresh run from top to bottom: nbval refuses outputs of a cell without one.
    """
    notebook = nbformat.from_dict(notebook)
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
    )
    cells, count = [], 0
    for cell in notebook.cells:
        tags = list(cell.metadata.get("tags", []))
        if "injected-parameters" in tags:
            continue
        ours = {key: cell.metadata[key] for key in ("nbgrader", "jupyter") if key in cell.metadata}
        cell.metadata = nbformat.from_dict(ours | ({"tags": tags} if tags else {}))
        if cell.cell_type == "code":
            count += 1
            cell.execution_count = count
            outputs = [] if CORPUS_TEXT in tags else cell.outputs
            for output in outputs:
                if "execution_count" in output:
                    output.execution_count = count
            cell.outputs = [output for output in map(_clean_output, outputs) if output]
        cells.append(cell)
    notebook.cells = cells
    return notebook


def _clean_output(output: NotebookNode) -> NotebookNode | None:
    if output.output_type == "stream" and output.name == "stderr":
        return None  # progress bars and warnings of this machine
    if WIDGET in output.get("data", {}):
        return None
    if "image/png" in output.get("data", {}):
        output.data.pop("text/html", None)  # a heatmap's page of its own: the site shows it
    return output


def publish_notebooks(lessons: list[Path]) -> list[Outcome]:
    """Execute lessons and store their outputs, normalised, in the source notebooks."""
    for lesson in lessons:
        if not lesson.is_file():
            raise DataError(f"{lesson}: no such notebook")
    with views_shown("png"):
        return [
            _stored(lesson, outcome)
            for lesson, outcome in zip(lessons, execute_all(lessons, "lesson"), strict=True)
        ]


def _stored(lesson: Path, outcome: Outcome) -> Outcome:
    if not outcome.errors:
        notebook = normalise(nbformat.read(EXECUTED / lesson.name, as_version=4))
        with atomic_path(lesson) as temporary:
            nbformat.write(notebook, temporary)
    return outcome


def lesson_paths() -> list[Path]:
    """The numbered lessons, in order."""
    return sorted(LESSONS.glob("[0-9][0-9]_*.ipynb"))


def summary(outcomes: list[Outcome]) -> str:
    """One line a lesson: its time, and what went wrong."""
    width = max((len(outcome.lesson) for outcome in outcomes), default=0)
    lines = [
        f"{outcome.lesson:<{width}}  {outcome.seconds:6.1f} s  "
        f"{plain('; '.join(outcome.errors)) or 'ok'}"
        for outcome in outcomes
    ]
    return "\n".join(lines)
