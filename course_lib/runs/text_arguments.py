"""Texts of one's own on the command line: how a file is read, and what was found in it."""

import argparse
import sys

from course_lib.data.corpus import load_corpus
from course_lib.data.custom_data import DEFAULT, OFFERED, Columns, named_texts, summary_of
from course_lib.data.naming import CUSTOM
from course_lib.runs.settings import SpecError


def add_column_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments that say how a file of texts is read."""
    group = parser.add_argument_group("a file of your own (data/README.md, Your own text)")
    group.add_argument("--text", metavar="COLUMN", help=f"of the texts (default: {DEFAULT.text})")
    group.add_argument("--label", metavar="COLUMN", help=f"of the labels ({DEFAULT.label})")
    group.add_argument("--encoding", help="of the file, such as cp1252 (default: detected)")
    group.add_argument("--words", choices=OFFERED, help="how texts become words (english)")


def prepared_texts(dataset: str, options: argparse.Namespace) -> str:
    """The name of a dataset for a spec; of texts of one's own, what was found in them is told on
    stderr. ``SpecError`` for columns of a dataset that is no file."""
    columns = Columns(
        options.text or DEFAULT.text,
        options.label or DEFAULT.label,
        options.encoding,
        options.words or DEFAULT.tokeniser,
    )
    name = named_texts(dataset, columns=columns)
    if CUSTOM.fullmatch(name) and dataset != name:
        print(*summary_of(load_corpus(name)), sep="\n", file=sys.stderr)
    elif given := [x for x in ("text", "label", "encoding", "words") if getattr(options, x)]:
        raise SpecError(f"--{given[0]} is for a file of your own, and {dataset} is none")
    return name
