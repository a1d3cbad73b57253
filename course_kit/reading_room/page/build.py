"""Networks made ready for a page: those that are committed, your own runs, MiniLM."""

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.colors import to_hex

from course_kit.reading_room.pack import PRETRAINED, bundle, open_runs, reads_pieces
from course_kit.reading_room.packed import Packed, write_packed
from course_kit.reading_room.page.assembly import PAGE, PRETRAINED_PAGE, write_page
from course_kit.reading_room.page.examples import EXAMPLES, RECORDED, Example, read_by
from course_kit.reading_room.page.readings import facts, reading
from course_lib.files import DataError, prepared_folder
from course_lib.runs import Run
from course_lib.views.colours import (
    ATTENTION_HEX,
    DARK_THEME,
    NIGHT,
    SIGNED,
    THEME,
    TINTS_HEX,
)

COLOURS = {
    "theme": THEME,
    "dark": DARK_THEME,
    "weights": ATTENTION_HEX,
    "tints": TINTS_HEX,
    "night": NIGHT,
    "signed": [to_hex(SIGNED(share)) for share in np.linspace(0, 1, 61)],
}


def packed(runs: dict[str, Run], examples: Sequence[Example] = EXAMPLES) -> Packed:
    """These runs, by id, as a page with these examples holds them."""
    return Packed(
        bundle([*runs.values()]),
        [facts(run) for run in runs.values()],
        {text: readings for each in examples for text, readings in _readings(each, runs)},
        COLOURS,
        all(map(reads_pieces, runs.values())),
    )


def _readings(example: Example, runs: dict[str, Run]) -> Iterable[tuple[str, dict[str, Any]]]:
    for text in filter(None, [example.text, example.beside]):
        yield text, {name: reading(runs[name], text) for name in example.readers}


def recorded() -> dict[str, Run]:
    """The page's recorded networks by id."""
    return {run.record["id"]: run for run in open_runs(RECORDED)}


def write_own_page(folders: Sequence[Path], target: Path = PAGE) -> Path:
    """Write the page with all recorded networks and the runs in ``folders``; returns its path.

    Raises what ``load_run`` does for a folder that holds no finished run, and ``DataError`` for a
    network that the page cannot run.
    """
    own = {run.record["id"]: run for run in open_runs(folders)}
    return write_page(packed(recorded() | own), target, own=own)


def write_pretrained_page(target: Path = PRETRAINED_PAGE) -> Path:
    """Write the page in which MiniLM reads, which has its files from the data; returns its path.

    ``DataError`` says what to run if they are not there.
    """
    if not prepared_folder("minilm").exists():
        raise DataError(f"{prepared_folder('minilm')} is not there: attention-course data minilm")
    (run,) = open_runs([PRETRAINED])
    examples = read_by(PRETRAINED)
    return write_page(packed({PRETRAINED: run}, examples), target, examples)


def command(options: argparse.Namespace) -> int:
    """Pack the recorded networks again, and say where they are and how large."""
    path = write_packed(packed(recorded()))
    print(f"{path} ({path.stat().st_size / 1e6:.1f} MB)")
    return 0
