"""Writes the paper and its figure from the template, the tables and the records."""

from functools import partial
from pathlib import Path

import matplotlib.pyplot as plt

from course_kit.research.crossover_paper import picture, tables
from course_kit.research.crossover_paper.numbers import CORPORA, ENCODERS, Numbers
from course_kit.research.crossover_paper.sources import Sources
from course_kit.research.crossover_study import analysis
from course_kit.research.crossover_study.corpora import FOLDER
from course_kit.research.crossover_study.design import HERE
from course_kit.research.report.template import fill
from course_lib.files import REPOSITORY, DataError
from course_lib.views import plots

TEMPLATE, PAPER = (HERE / name for name in ("paper_2.md.in", "paper_2.md"))
PICTURE = "crossover.png"  # beside the paper
DOTS = 200  # per inch
UNFINISHED = "TODO"
TABLES = (
    tables.hypotheses,
    tables.by_rulers,
    tables.gains,
    tables.windows,
    tables.beyond_gradients,
    tables.beside_others,
    tables.settings,
    tables.rulers,
)


def write(path: Path = PAPER, folder: Path = FOLDER) -> Numbers:
    """Write the paper with its figure beside it; return all numbers that it took.

    ``DataError`` where a made-up table or an unfinished text would come into this repository.
    """
    here = path.resolve().is_relative_to(REPOSITORY.resolve())
    if here and folder.resolve() != FOLDER.resolve():
        raise DataError(f"{path}: a paper from {folder} cannot be written into the repository")
    numbers = Numbers(Sources(folder))
    text = filled(numbers)
    if here and (left := text.count(UNFINISHED)):
        raise DataError(
            f"{TEMPLATE.name} is not finished: it has {left} places marked {UNFINISHED}"
        )
    with plt.rc_context(plots.STYLE):
        figure = picture.draw(numbers)
        figure.savefig(path.parent / PICTURE, dpi=DOTS, metadata={"Software": None})
        plt.close(figure)
    path.write_text(text, encoding="utf-8")
    return numbers


def filled(numbers: Numbers) -> str:
    """The paper's text."""
    words = (picture.sentence, picture.description)
    names = {each.__name__: partial(each, numbers) for each in (*TABLES, *words)}
    return fill(
        TEMPLATE,
        names
        | {
            "figure": numbers,
            "picture": PICTURE,
            "encoders": ENCODERS,
            "corpora": CORPORA,
            "analysis": analysis,
        },
    )
