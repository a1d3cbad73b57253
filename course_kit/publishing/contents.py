"""The table of contents: what each lesson is about, in the order in which to read them.

What a lesson's notebook says itself is read from it: its title, how long it runs, its exercises and
their minutes. The minutes to read it are its words at an ordinary reading speed.
"""

import math
import re
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from course_kit.publishing.lessons import LESSONS, lesson_paths
from course_kit.publishing.students import find_exercises, title_of


@dataclass(frozen=True)
class About:
    """What we say of a lesson: its name on the map, a sentence, which lessons it needs, which help,
    and the ``question`` that it answers."""

    short: str
    sentence: str
    needs: tuple[str, ...] = ()
    helps: tuple[str, ...] = ()
    question: str = ""


ABOUT = {
    "00_start_here": About(
        "Start here",
        "Read a network's attention on a film review, change a word, and find a first reason to "
        "doubt what you see.",
        question="What does a network look at, and should you believe it?",
    ),
    "01_gru": About(
        "The GRU",
        "Compute a step of a gated recurrent unit by hand, prove what nn.GRU computes, and watch "
        "its gates over a sentence.",
        helps=("00_start_here",),
        question="How does a network carry a word along a sentence, and what do gates do for it?",
    ),
    "02_attention": About(
        "Attention",
        "Derive attention from a plain mean, with masks, scale, word order and two heads, and "
        "measure how sparse and how local it is.",
        helps=("00_start_here",),
        question="Which forms does attention take, and what do its mask, scale and heads do?",
    ),
    "03_han_imdb": About(
        "HAN",
        "Train a hierarchical attention network on film reviews, redraw the figures of a published "
        "report, and find what the network cannot see.",
        needs=("02_attention",),
        helps=("01_gru",),
        question="What do words weigh in a film review, and does the IMDb report hold?",
    ),
    "04_sanet_zhang": About(
        "SANet",
        "Build self-attention in four versions, and measure its matrices beside untrained and "
        "uniform ones.",
        needs=("02_attention",),
        question="What do words weigh for each other, and which of a paper's numbers were learned?",
    ),
    "05_iram_regularization": About(
        "IRAM",
        "Attend in steps, keep the steps apart with a penalty, and catch the network when it fools "
        "that penalty.",
        needs=("02_attention",),
        helps=("01_gru",),
        question="Does a network that attends in steps use them?",
    ),
    "06_agt_compositionality": About(
        "AGT",
        "Turn a highway layer into an attention gate, read a table of words and layers, and test a "
        "claim about composition.",
        needs=("01_gru", "02_attention"),
        question="Do fifteen layers of attention compose phrases, or only select words?",
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
        question="Why does a replication fail, and how do you find out?",
    ),
    "09_to_transformers": About(
        "To Transformers",
        "Train a small Transformer, look into its heads and layers, follow words through them by "
        "rollout, and learn what carries over to pre-trained models.",
        needs=("02_attention", "07_is_attention_an_explanation"),
        helps=("04_sanet_zhang",),
        question="What of all this holds for Transformers, and what changes?",
    ),
    "report": About(
        "The report",
        "Every table and sweep of the four papers beside our recorded runs, each difference with "
        "its interval.",
    ),
    "left_open": About(
        "Left open",
        "What the papers leave for later, tried: context for HAN, steps that IRAM counts itself, "
        "distances for SANet, the order of words for AGT.",
    ),
}

WORDS_A_MINUTE, STEP = 200, 5  # minutes are rounded up to steps of five
_RUNNING = re.compile(r"\*\*running\*\*\s+(.*?)\s+on\s+two\s+cores", re.DOTALL)
_PRACTICE = re.compile(r"^### Exercise [^\n]*?· (\d+) minutes", re.MULTILINE)
_NOT_PROSE = re.compile(
    r"```.*?```|`[^`]*`|\$\$.*?\$\$|\$[^$]*\$|<details>.*?</details>|<!--.*?-->|<[^>]*>|\]\([^)]*\)",
    re.DOTALL,
)


@dataclass(frozen=True)
class Entry:
    """A page of the course: ``minutes`` to read it, ``exercises`` and their minutes of
    ``practice``, and how long it is ``running``. The minutes of a page without a number are 0."""

    stem: str
    number: str
    title: str
    about: About
    minutes: int
    exercises: int
    practice: int
    running: str


def read_entry(notebook: NotebookNode, stem: str) -> Entry:
    """What a lesson's notebook and ``ABOUT`` say of it; of a notebook not in it, its first line."""
    first = notebook.cells[0].source if notebook.cells else ""
    number, _, title = title_of(notebook, stem).partition(" · ")
    if not title:
        number, title = "", number
    running = _RUNNING.search(first)
    prose = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    return Entry(
        stem,
        number,
        title,
        ABOUT.get(stem, About(title, "")),
        _rounded_up(words_of(notebook) / WORDS_A_MINUTE) if number else 0,
        len(find_exercises(notebook, stem)),
        sum(map(int, _PRACTICE.findall(prose))),
        running[1] if running else "",
    )


def words_of(notebook: NotebookNode) -> int:
    """How many words of prose a lesson has, without formulas, code and folded hints."""
    prose = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    return len(re.findall(r"\b\w[\w’'-]*", _NOT_PROSE.sub(" ", prose)))


def _rounded_up(minutes: float) -> int:
    return STEP * math.ceil(minutes / STEP)


def entries() -> list[Entry]:
    """The lessons, in the order in which to read them."""
    return [read_entry(nbformat.read(path, as_version=4), path.stem) for path in lesson_paths()]


def lesson_named(number: str) -> Path | None:
    """The lesson with this number, such as ``"03"``."""
    return next(iter(sorted(LESSONS.glob(f"{number}_*.ipynb"))), None)
