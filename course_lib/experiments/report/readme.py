"""The README's tables, each between two markers that name it."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from course_lib.experiments.report.imdb import imdb_table
from course_lib.experiments.report.sst import sst_table
from course_lib.experiments.report.zhang import sanet_attention_table, sanet_error_table
from course_lib.files import REPOSITORY, atomic_path

TABLES: dict[str, Callable[[], str]] = {
    "imdb": imdb_table,
    "treebank": partial(sst_table, compact=True),
    "sanet errors": partial(sanet_error_table, compact=True),
    "sanet attention": partial(sanet_attention_table, compact=True),
}
TABLE = re.compile(r"(<!-- table: ([\w ]+) -->\n).*?(<!-- end of table -->)", re.DOTALL)


def write_readme(path: Path = REPOSITORY / "README.md") -> None:
    """Put the current tables between their markers; ``KeyError`` for an unknown table."""
    text = path.read_text(encoding="utf-8")
    new_text = TABLE.sub(lambda match: f"{match[1]}{TABLES[match[2]]()}\n{match[3]}", text)
    with atomic_path(path) as temporary:
        temporary.write_text(new_text, encoding="utf-8")
