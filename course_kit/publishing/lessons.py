"""Running and checking the lessons, and the form in which their outputs are committed."""

import logging
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import nbformat
import zmq
from jupyter_client.asynchronous import AsyncKernelClient
from jupyter_client.asynchronous.client import AsyncZMQSocketChannel
from jupyter_client.manager import AsyncKernelManager
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook

from course_lib.files import REPOSITORY, WORKROOM
from course_lib.terminal import plain

LESSONS = REPOSITORY / "notebooks"
STUDY = LESSONS / "experiments" / "faithful"
SECOND_PAPER = STUDY / "paper_2.md"
REPORTED = ("report", "extensions", "faithful/results", "faithful/results_2")
REPORTS = tuple(LESSONS / "experiments" / f"{name}.ipynb" for name in REPORTED)
EXECUTED = REPOSITORY / "runs" / "lessons"
CORPUS_TEXT = "corpus-text"  # the tag of cells whose output may not be committed
WIDGET = "application/vnd.jupyter.widget-view+json"
TRACEBACK = "Traceback (most recent call last)"
CELL_SECONDS = 600  # a cell that has not answered by then never will
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


class WatchfulChannel(AsyncZMQSocketChannel):
    """A channel to a kernel that still sees a reply which arrives while it sends.

    nbclient answers an output widget while it waits for the cell's reply. Sending takes the
    socket's only signal that the reply is there, and the wait would last until the cell's time is
    up (nbclient's issue 312). Asking the socket for its events makes it look again.
    """

    def send(self, msg: dict[str, Any]) -> None:
        """Send a message, and look whether one has come."""
        super().send(msg)
        self.socket.get(zmq.EVENTS)


class _Client(AsyncKernelClient):
    shell_channel_class = WatchfulChannel


class WatchfulKernel(AsyncKernelManager):
    """Starts a kernel whose client asks through a ``WatchfulChannel``."""

    client_factory = _Client


@dataclass(frozen=True)
class Outcome:
    """How one lesson went: seconds, and what went wrong, cell by cell."""

    lesson: str
    seconds: float
    errors: list[str]


def execute(lesson: Path, output: Path, profile: str, cells: TextIO | None = None) -> Outcome:
    """Execute a lesson through papermill; the executed copy is kept even when a cell fails.

    It gets its name when it is finished: an interrupt leaves none. ``cells`` gets papermill's
    progress, as ``done/all``.
    """
    import papermill  # here: it takes a while

    output.parent.mkdir(parents=True, exist_ok=True)
    output.unlink(missing_ok=True)  # that of an earlier run
    start = time.perf_counter()
    bar = {"file": cells, "bar_format": "{n_fmt}/{total_fmt}", "mininterval": 0, "leave": False}
    with tempfile.TemporaryDirectory(prefix=WORKROOM, dir=output.parent) as workroom:
        made = Path(workroom) / output.name
        try:
            papermill.execute_notebook(
                lesson,
                made,
                parameters={"profile": profile},
                cwd=str(lesson.parent),
                kernel_name="python3",
                kernel_manager_class=WatchfulKernel,
                progress_bar=bar if cells else False,
                execution_timeout=None if profile == "full" else CELL_SECONDS,
                iopub_timeout=60,  # seconds; the four of nbclient are too few on a busy machine
                coalesce_streams=True,  # from a busy machine a message comes in parts
                shutdown_kernel="immediate",  # a computing kernel does not hear that it should end
            )
            errors = errors_in(nbformat.read(made, as_version=4))
        except papermill.PapermillExecutionError as error:
            errors = [f"cell {error.cell_index}: {error.ename}: {error.evalue}"]
        except KeyboardInterrupt:
            logging.getLogger("asyncio").disabled = True  # the kernel's client leaves tasks behind
            raise
        except Exception as error:  # it cannot be read, its kernel died, or a cell never answered
            errors = [f"{type(error).__name__}: {error}"]
        if made.exists():
            made.replace(output)
    return Outcome(lesson.stem, time.perf_counter() - start, errors)


def joined(notebooks: list[Path], kernels: int) -> list[Path]:
    """Write the cells of ``notebooks`` into at most ``kernels`` notebooks below ``EXECUTED``: one
    kernel then imports everything once. Each starts in its own folder, without earlier names; a
    comment in each cell says where it is from, since a failure shows the source."""
    (folder := EXECUTED / "joined").mkdir(parents=True, exist_ok=True)
    written = []
    for number in range(min(kernels, len(notebooks))):
        cells = []
        for path in notebooks[number::kernels]:
            cells.append(new_code_cell(f"import os; os.chdir({str(path.parent)!r})\n%reset -f"))
            for index, cell in enumerate(nbformat.read(path, as_version=4).cells):
                if cell.cell_type == "code":
                    cell.source = f"# {path.name}, cell {index}\n{cell.source}"
                cells.append(cell)
        for place, cell in enumerate(cells):
            cell["id"] = str(place)  # two notebooks may have the same
        written.append(folder / f"{number}.ipynb")
        nbformat.write(new_notebook(cells=cells, metadata=METADATA), written[-1])
    return written


def errors_in(notebook: NotebookNode) -> list[str]:
    """Every error among a notebook's outputs, those captured inside widgets included.

    An error in a widget's callback ends up in an output widget's state, or as a traceback on
    stderr, and papermill looks at neither.
    """
    places = [(f"cell {index}", cell) for index, cell in enumerate(notebook.cells)]
    widgets = notebook.metadata.get("widgets", {})
    states = widgets.get("application/vnd.jupyter.widget-state+json", {}).get("state", {})
    places += [("inside a widget", model.get("state", {})) for model in states.values()]
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
    notebook = nbformat.from_dict(notebook | {"metadata": METADATA})
    tagged = [(cell, cell.metadata.get("tags", [])) for cell in notebook.cells]
    notebook.cells = [cell for cell, tags in tagged if "injected-parameters" not in tags]
    count = 0
    for cell in notebook.cells:
        ours = {name: cell.metadata.get(name) for name in ("nbgrader", "jupyter", "tags")}
        cell.metadata = nbformat.from_dict({name: ours[name] for name in ours if ours[name]})
        if cell.cell_type != "code":
            continue
        count += 1
        cell.execution_count = count
        hidden = CORPUS_TEXT in cell.metadata.get("tags", [])
        cell.outputs = [] if hidden else list(filter(_is_ours, cell.outputs))
        for output in cell.outputs:
            if "execution_count" in output:
                output.execution_count = count
            if "image/png" in output.get("data", {}):
                output.data.pop("text/html", None)  # a heatmap's page of its own: the site shows it
    return notebook


def _is_ours(output: NotebookNode) -> bool:
    """Whether an output is no widget, progress bar or warning of this machine."""
    return output.get("name") != "stderr" and WIDGET not in output.get("data", {})


def lesson_paths() -> list[Path]:
    """The numbered lessons, in order."""
    return sorted(LESSONS.glob("[0-9][0-9]_*.ipynb"))


def side_notes() -> list[Path]:
    """The side notes to lessons."""
    return sorted((LESSONS / "further").glob("*.ipynb"))


def summary(outcomes: list[Outcome]) -> str:
    """One line a lesson, by name: its time, and what went wrong."""
    return "\n".join(
        f"{each.lesson:<28}  {each.seconds:6.1f} s  {plain('; '.join(each.errors)) or 'ok'}"
        for each in sorted(outcomes, key=lambda each: each.lesson)
    )
