"""Running a notebook by papermill, and telling what its kernel does meanwhile."""

import asyncio
import html
import os
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import papermill
from nbclient.exceptions import DeadKernelError
from nbformat import NotebookNode
from papermill.clientwrap import PapermillNotebookClient
from papermill.engines import NBClientEngine, NotebookExecutionManager, papermill_engines

from course_lib.terminal import plain

ENGINE = "watched"
TEXT_BAR = re.compile(r"(?:([^\r\n\x1b]+?): +)?(\d+)%\|")
WIDGET_BAR = re.compile(r"([^<>]+?):\s*(\d+)%")  # the left of tqdm's three widgets
HEAR_SECONDS = 2  # for a kernel's last words; a process that it left behind may hold the pipe


class KernelDied(RuntimeError):
    """The process that ran the notebook's cells ended; the message names the cell."""


class Watch:
    """What is told while notebooks run; this one passes on the kernels' own messages only."""

    def preparing(self, name: str) -> None:
        """A dataset is being fetched and prepared."""

    def begin(self, lesson: Path) -> None:
        """A lesson starts."""

    def cell(self, number: int, last: int) -> None:
        """A cell starts, counted from 0 as in messages of errors."""

    def bar(self, name: str, percent: int) -> None:
        """A progress bar has moved."""

    def message(self, text: str) -> None:
        """The kernel's process has said something, outside of any cell's output."""
        print(plain(text), file=sys.stderr)

    def end(self, lesson: Path, seconds: float, errors: list[str]) -> None:
        """A lesson has ended."""


QUIET = Watch()


def text_bars(text: str) -> list[tuple[str, int]]:
    """Name and percentage of the progress bars that tqdm has written into a text."""
    return [(plain(name), int(percent)) for name, percent in TEXT_BAR.findall(text)]


def run_notebook(
    source: Path,
    output: Path,
    parameters: dict[str, Any],
    cell_seconds: int | None = None,
    watch: Watch = QUIET,
) -> None:
    """Execute a notebook with parameters; the executed copy is kept even when a cell fails.

    Raises ``PapermillExecutionError`` for a cell that fails and ``KernelDied``.
    """
    papermill_engines.register(ENGINE, _Engine)  # papermill takes an engine by its name only
    papermill.execute_notebook(
        source,
        output,
        parameters=parameters,
        engine_name=ENGINE,
        cwd=str(source.parent),
        kernel_name="python3",
        progress_bar=False,
        execution_timeout=cell_seconds,
        watch=watch,
    )


class _Engine(NBClientEngine):
    """papermill's engine with a client that watches."""

    @classmethod
    def execute_managed_notebook(
        cls,
        nb_man: NotebookExecutionManager,
        kernel_name: str,
        *,
        watch: Watch,
        start_timeout: int,
        execution_timeout: int | None,
        **others: Any,
    ) -> NotebookNode:
        """Run all cells in a new kernel, whose process is heard."""
        client = _Client(
            nb_man,
            watch,
            kernel_name=kernel_name,
            startup_timeout=start_timeout,
            timeout=execution_timeout,
        )
        with _pipe(watch) as pipe:
            try:
                return client.execute(stdout=pipe, stderr=pipe)
            except DeadKernelError as error:
                raise KernelDied(f"cell {client.number}: the kernel died") from error


class _Client(PapermillNotebookClient):
    """papermill's client, which also tells of cells and progress bars as they come."""

    def __init__(self, nb_man: NotebookExecutionManager, watch: Watch, **options: Any) -> None:
        super().__init__(nb_man, on_cell_execute=self._begin_cell, **options)
        self.watch = watch
        self.number = 0
        self.loop: asyncio.AbstractEventLoop | None = None

    def _begin_cell(self, cell: NotebookNode, cell_index: int) -> None:
        self.number, self.loop = cell_index, asyncio.get_running_loop()
        self.watch.cell(cell_index, len(self.nb.cells) - 1)

    def execute_cell(self, cell: NotebookNode, cell_index: int, **options: Any) -> NotebookNode:
        """What nbclient does; an interruption ends the kernel at once and leaves no task behind."""
        try:
            return super().execute_cell(cell, cell_index, **options)
        except KeyboardInterrupt:
            self.shutdown_kernel = "immediate"
            if self.loop:
                _abandon_tasks(self.loop)
            raise

    def process_message(
        self, msg: dict[str, Any], cell: NotebookNode, cell_index: int
    ) -> NotebookNode | None:
        """What nbclient does with a message, after a look for progress bars."""
        for name, percent in _bars(msg):
            self.watch.bar(name, percent)
        return super().process_message(msg, cell, cell_index)


def _abandon_tasks(loop: asyncio.AbstractEventLoop) -> None:
    """Cancel what a loop still has to do, so that it is not reported as forgotten at exit."""
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))


def _bars(message: dict[str, Any]) -> list[tuple[str, int]]:
    """The progress bars of a kernel's message: tqdm's text on stderr, or the text of its widget."""
    content = message["content"]
    if message["msg_type"] == "stream" and content["name"] == "stderr":
        return text_bars(content["text"])
    if message["msg_type"] == "comm_msg":
        value = content["data"].get("state", {}).get("value")
        if isinstance(value, str) and (found := WIDGET_BAR.fullmatch(html.unescape(value))):
            return [(plain(found[1]), int(found[2]))]
    return []


@contextmanager
def _pipe(watch: Watch) -> Iterator[int]:
    """A descriptor for a process to write to; whole lines of it are told."""
    reading, writing = os.pipe()

    def listen() -> None:
        with os.fdopen(reading, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if line.strip():
                    watch.message(line)

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    try:
        yield writing
    finally:
        os.close(writing)
        listener.join(HEAR_SECONDS)
