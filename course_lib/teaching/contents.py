"""The table of contents: what each lesson is about, in the order in which to read them.

What a lesson's notebook says itself (its title, minutes, number of exercises) is read from it.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from course_lib.teaching.lessons import LESSONS, lesson_paths
from course_lib.teaching.students import find_exercises, title_of


@dataclass(frozen=True)
class About:
    """What we say of a lesson: its name on the map, a sentence, which lessons it needs, and which
    help."""

    short: str
    sentence: str
    needs: tuple[str, ...] = ()
    helps: tuple[str, ...] = ()


ABOUT = {
    "00_start_here": About(
        "Start here",
        "Read a network's attention on a film review, change a word, and find a first reason to "
        "doubt what you see.",
    ),
    "01_gru": About(
        "The GRU",
        "Compute a step of a gated recurrent unit by hand, prove what nn.GRU computes, and watch "
        "its gates over a sentence.",
        helps=("00_start_here",),
    ),
    "02_attention": About(
        "Attention",
        "Derive four forms of attention, measure how sparse and how local each is, and find broken "
        "ones by their behaviour.",
        helps=("00_start_here",),
    ),
    "03_han_imdb": About(
        "HAN",
        "Train a hierarchical attention network on film reviews, redraw the figures of a published "
        "report, and find what the network cannot see.",
        needs=("02_attention",),
        helps=("01_gru",),
    ),
    "04_sanet_zhang": About(
        "SANet",
        "Build self-attention in four versions, and measure its matrices beside untrained and "
        "uniform ones.",
        needs=("02_attention",),
    ),
    "05_iram_regularization": About(
        "IRAM",
        "Attend in steps, keep the steps apart with a penalty, and catch the network when it fools "
        "that penalty.",
        needs=("02_attention",),
        helps=("01_gru",),
    ),
    "06_agt_compositionality": About(
        "AGT",
        "Turn a highway layer into an attention gate, read a table of words and layers, and test a "
        "claim about composition.",
        needs=("01_gru", "02_attention"),
    ),
    "07_is_attention_an_explanation": About(
        "Is it an explanation?",
        "Put attention to the test: erase words, compare rankings, shuffle weights and point them "
        "at commas, and learn what each test cannot tell.",
        needs=("03_han_imdb",),
        helps=("04_sanet_zhang", "05_iram_regularization", "06_agt_compositionality"),
    ),
    "08_when_it_does_not_come_out": About(
        "Debugging",
        "Debug a replication from its records: curves and chance lines, one change at a time, "
        "positive controls, unknown words, shifted classes, and what a seed is worth.",
        needs=("03_han_imdb",),
        helps=("04_sanet_zhang", "05_iram_regularization", "06_agt_compositionality"),
    ),
    "report": About(
        "The report",
        "Every table and sweep of the four papers beside our recorded runs, each difference with "
        "its interval.",
    ),
}

_READING = re.compile(r"\*\*Reading\*\* (\d+) minutes")


@dataclass(frozen=True)
class Entry:
    """A page of the course: ``minutes`` to read it without its ``exercises`` (0: not said)."""

    stem: str
    number: str
    title: str
    about: About
    minutes: int
    exercises: int


def read_entry(notebook: NotebookNode, stem: str) -> Entry:
    """What a lesson's notebook and ``ABOUT`` say of it; of a notebook not in it, its first line."""
    first = notebook.cells[0].source if notebook.cells else ""
    number, _, title = title_of(notebook, stem).partition(" · ")
    if not title:
        number, title = "", number
    reading = _READING.search(first)
    return Entry(
        stem,
        number,
        title,
        ABOUT.get(stem, About(title, "")),
        int(reading[1]) if reading else 0,
        len(find_exercises(notebook, stem)),
    )


def entries() -> list[Entry]:
    """The lessons, in the order in which to read them."""
    return [read_entry(nbformat.read(path, as_version=4), path.stem) for path in lesson_paths()]


def lesson_named(number: str) -> Path | None:
    """The lesson with this number, such as ``"03"``."""
    return next(iter(sorted(LESSONS.glob(f"{number}_*.ipynb"))), None)
