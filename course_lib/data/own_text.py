"""Labelled texts of one's own as a dataset: its card is made from what stands in the file.

``own_texts("reviews.csv")`` reads the file twice, from front to back: once to learn its classes and
to split it, once to store it as the catalog's datasets are stored. Its name for settings is
``reviews.csv@0123456789ab``, and everything else works as for a dataset of the catalog.
"""

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from course_lib.data.catalog import CARDS
from course_lib.data.corpus import Corpus, Provenance, prepare
from course_lib.data.own import OWN, TEXT_FORMAT, own_name, texts_folder, unchanged_digest
from course_lib.data.own_hub import HUB, hub_parts
from course_lib.data.own_survey import DEFAULT, Columns, Part, Survey
from course_lib.data.tables import FORMS, check_encoding, detected_encoding, placed, read_table
from course_lib.data.text import TOKENISERS, fetch_punkt
from course_lib.files import DataError, check_space

NAMES = {
    "train": ("train", "training"),
    "validation": ("validation", "valid", "val", "dev"),
    "test": ("test", "testing"),
}
FOREIGN = 0.1  # share of letters beyond a to z above which the other tokeniser is mentioned
OFFERED = ("english", "unicode")  # of the tokenisers
SPACE = 8  # bytes that preparing takes at its peak for each byte of the files


class Found(NamedTuple):
    """What is to be read: its ``title``, its tables, the digest and encoding of each by its name,
    their ``size`` in bytes where that is known, and where they are ``from_``."""

    title: str
    parts: list[Part]
    digests: dict[str, str]
    encodings: dict[str, str | None]
    size: int
    from_: str


def own_texts(source: str | Path, columns: Columns = DEFAULT, root: Path | None = None) -> str:
    """The name of labelled texts of one's own, prepared on first use.

    ``source`` is a file, a folder with files named train, test and perhaps validation, or ``hf:``
    and the name of a dataset of the Hugging Face hub. ``DataError`` names file, row and column of
    what cannot be used.
    """
    if columns.tokeniser not in OFFERED:
        raise DataError(f"no tokeniser {columns.tokeniser!r}; there are: {', '.join(OFFERED)}")
    found = _on_hub(source, columns) if str(source).startswith(HUB) else _on_disk(source, columns)
    reading = {
        "columns": {"text": columns.text, "label": columns.label},
        "encoding": found.encodings,
    }
    about = json.dumps([found.digests, reading, columns.tokeniser, TEXT_FORMAT], sort_keys=True)
    name = own_name(found.title, hashlib.sha256(about.encode()).hexdigest())
    folder = texts_folder(name, root)
    if not folder.exists():
        check_space(folder.parent, SPACE * found.size)
        _prepare(name, found, columns, reading, folder, root)
    return name


def _prepare(
    name: str,
    found: Found,
    columns: Columns,
    reading: dict[str, Any],
    folder: Path,
    root: Path | None,
) -> None:
    """Read all tables twice: what they hold, then the texts themselves, into ``folder``."""
    survey = Survey(columns)
    for part in found.parts:
        survey.add(part)
    survey.count(found.title, given=found.parts[0].split is not None)
    card = survey.card(name, found.title)
    counts = {split: dict(zip(card.classes, sizes)) for split, sizes in card.sizes.items()}
    told = reading | {"tokeniser": columns.tokeniser, "counts": counts, **survey.told()}
    origin = Provenance(name, found.from_, found.digests, content="", reading=told)
    punkt = fetch_punkt(root) if columns.tokeniser == "english" else None
    prepare(card, lambda: survey.rows(found.parts), origin, folder, punkt)


def named_texts(value: str, base: Path = Path(), columns: Columns = DEFAULT) -> str:
    """A dataset's name, in which a path, relative to ``base``, has become the name of its texts.

    Names of the catalog, and what is neither a name nor a path, stay. ``DataError`` as
    ``own_texts``.
    """
    if value in CARDS or OWN.fullmatch(value):
        return value
    if value.startswith(HUB):
        return own_texts(value, columns)
    path = base / value
    own = path.exists() or path.suffix.lower() in FORMS
    return own_texts(path, columns) if own else value


def told_of(corpus: Corpus) -> list[str]:
    """What was found in texts of one's own, in sentences."""
    card, reading = corpus.card, corpus.provenance.reading
    encodings = {name for name in reading["encoding"].values() if name}
    sizes = {split: sum(counts) for split, counts in card.sizes.items()}
    totals = np.sum(list(card.sizes.values()), axis=0)
    classes = ", ".join(f"{name} {count:,}" for name, count in zip(card.classes, totals))
    split = ", ".join(f"{count:,} {name}" for name, count in sizes.items())
    how = "as the files are" if reading["split"] == "given" else "by us, at random, by class"
    lines = [
        f"{card.title}: {sum(sizes.values()):,} texts in {len(card.classes)} classes ({classes})"
        + (f", read as {' and '.join(sorted(encodings))}" if encodings else ""),
        f"split {how}: {split}",
        f"words: {TOKENISERS[card.tokeniser]}",
    ]
    if reading["empty"]:
        lines.append(f"{reading['empty']:,} texts are empty")
    if reading["repeated"]:
        lines.append(f"{reading['repeated']:,} texts repeat another one")
    if reading["two_labels"]:
        lines.append(f"{reading['two_labels']:,} texts occur with more than one label")
    if reading["across_splits"]:
        lines.append(
            f"{reading['across_splits']:,} texts stand in more than one split: test results are "
            "too good by as much as the network remembers them"
        )
    if reading["foreign_letters"] > FOREIGN and card.tokeniser == "english":
        lines.append(
            f"{reading['foreign_letters']:.0%} of the letters are not a to z: if this is not "
            "English, read it with --words unicode"
        )
    return lines


def _on_hub(source: str | Path, columns: Columns) -> Found:
    parts, digests = hub_parts(str(source), columns)
    return Found(str(source).removeprefix(HUB), parts, digests, {}, 0, "Hugging Face hub")


def _on_disk(source: str | Path, columns: Columns) -> Found:
    path = Path(source)
    files = _files(path)
    digests = {file.name: f"sha256:{unchanged_digest(file)}" for file in files}
    encodings = {file.name: _encoding(file, columns) for file in files}
    parts = [_part(file, split, columns, encodings[file.name]) for file, split in files.items()]
    size = sum(file.stat().st_size for file in files)
    return Found(path.resolve().name, parts, digests, encodings, size, "own file")


def _files(path: Path) -> dict[Path, str | None]:
    """The files to read and the split that each is; ``DataError`` for what has none."""
    if path.is_file():
        return {path: None}
    if not path.is_dir():
        raise DataError(f"{path}: no such file of texts, and no dataset of that name")
    found: dict[str, Path] = {}
    for file in sorted(path.iterdir()):
        for split, names in NAMES.items():
            if file.stem.lower() in names and file.suffix.lower() in FORMS:
                if split in found:
                    raise DataError(f"{path}: {found[split].name} and {file.name} are both {split}")
                found[split] = file
    for split in ("train", "test"):
        if split not in found:
            raise DataError(f"{path}: has no file named {split} ({', '.join(FORMS)})")
    return {found[split]: split for split in NAMES if split in found}


def _encoding(path: Path, columns: Columns) -> str | None:
    detected = detected_encoding(path)
    return (
        detected if detected is None or not columns.encoding else check_encoding(columns.encoding)
    )


def _part(path: Path, split: str | None, columns: Columns, encoding: str | None) -> Part:
    wanted = columns.text, columns.label
    return Part(
        split, lambda: read_table(path, wanted, encoding), lambda number: placed(path, number)
    )
