"""Turn a corpus's name into tokenised splits: obtain, read, verify, order, tokenise, cache.

The cache is an Arrow dataset that is memory-mapped when used, so neither preparing a corpus nor
reading it needs memory that grows with it.
"""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from course_lib.data.catalog import CARDS, Card, card, read_card, write_card
from course_lib.data.naming import CUSTOM, custom_folder
from course_lib.data.readers import READERS, Row, order_key
from course_lib.data.sources import NotObtained, at_hand, largest_download, obtain
from course_lib.data.text import fetch_punkt, tokeniser
from course_lib.data.toy import read_toy
from course_lib.files import (
    DataError,
    atomic_path,
    file_digest,
    prepared_folder,
    unchanged_digest,
    undamaged,
)
from course_lib.front_end import one_bar

FORMAT = 1  # raise it when the cached columns, or how they are made, change
CHUNK = 500
READ = 5_000  # rows that are read at a time
TEST_ROWS = 1_000  # of the test half, where only the first rows are asked for
HALVES = ("train", "test")
TABLES = "tables.json"  # in a prepared folder: the sha256 of each of its tables
COLUMNS = pa.schema(
    {"split": pa.string(), "text": pa.large_string(), "label": pa.int64(), "key": pa.uint64()}
)


@dataclass(frozen=True)
class Provenance:
    """Where the rows of a corpus come from."""

    dataset: str
    source: str
    files: dict[str, str]  # the digest of each
    content: str  # see content_digest; of all rows, even if only the first are kept
    subset: bool = False  # it holds fewer rows than the dataset: never report it as the whole
    reading: dict[str, Any] | None = None  # how one's own file was read, what was counted in it


@dataclass(frozen=True)
class Corpus:
    """Splits with columns text, label, tokens and sentence_lengths, in an order that stays.

    The splits are train and test, and validation where the dataset has one. The order is random
    with respect to the content, so the first n rows are a fair sample. The card describes the whole
    dataset even if ``provenance.subset`` says that this is less.
    """

    card: Card
    splits: dict[str, datasets.Dataset]
    provenance: Provenance


def load_corpus(name: str, first: int | None = None, test: int = TEST_ROWS) -> Corpus:
    """Open the corpus of that name, which is prepared on first use by a process on each core.

    With ``first`` the training and the test half hold only that many rows, the first ones, and the
    test half at most ``test``; where the whole is not prepared, only these are tokenised, or taken
    from a part that was. A prepared whole dataset takes precedence over a prepared subset. Raises
    ``DataError`` when it cannot be obtained, read, verified or written, ``ValueError`` for less
    than one row.
    """
    for argument, rows in (("first", first), ("test", test)):
        if rows is not None and rows < 1:
            raise ValueError(f"{argument} takes a number of rows from 1, got {rows}")
    most = first and dict(zip(HALVES, (first, min(first, test)), strict=True))
    corpus_card = card(name, "corpus")
    if folder := _prepared(name):
        return _beginning(open_corpus(folder), most)
    if most and corpus_card.sources:
        return _load_first(corpus_card, most)
    return _beginning(_load_whole(corpus_card), most)


def load_first_at_hand(
    names: Sequence[str], most_bytes: int, first: int | None = None, test: int = TEST_ROWS
) -> Corpus:
    """Open the first of these corpora that is here, or takes a download of at most ``most_bytes``.

    ``first`` and ``test`` are those of ``load_corpus``. ``NotObtained`` names all of them if there
    is none.
    """
    for name in names:
        of_name = card(name, "corpus")
        here = _prepared(name) or at_hand(of_name)
        if here or largest_download(of_name) <= most_bytes:
            with suppress(NotObtained):
                return load_corpus(name, first, test)
    raise NotObtained(
        f"none of {', '.join(names)} could be had with a download of at most "
        f"{most_bytes / 1e6:.0f} MB"
    )


def _load_first(corpus_card: Card, first: dict[str, int]) -> Corpus:
    """The first rows, of the smallest prepared part that has them."""
    train, test = asked = tuple(first.values())
    form = f"{corpus_card.name}-first-{{}}-{{}}-v{FORMAT}"
    found = (part.name.split("-")[-3:-1] for part in prepared_folder("").glob(form.format(*"**")))
    parts = [tuple(map(int, rows)) for rows in found if all(map(str.isdecimal, rows))]
    enough = [part for part in parts if part[0] >= train and part[1] >= test]
    folder = prepared_folder(form.format(*min(enough, default=asked)))
    if not enough:
        _prepare_from_source(corpus_card, folder, folder, first)
    return _beginning(open_corpus(folder), first)


def _beginning(corpus: Corpus, first: dict[str, int] | None) -> Corpus:
    """The corpus with the first rows of its halves alone."""
    if first is None:
        return corpus
    splits = {name: _first_rows(rows, name, first) for name, rows in corpus.splits.items()}
    return replace(corpus, splits=splits, provenance=replace(corpus.provenance, subset=True))


def _first_rows(
    rows: datasets.Dataset, split: str, first: dict[str, int] | None
) -> datasets.Dataset:
    whole = first is None or split not in first
    return rows if whole else rows.select(range(min(first[split], len(rows))))


def _load_whole(corpus_card: Card) -> Corpus:
    name = corpus_card.name
    folder, of_subset = _folders(name)
    if not corpus_card.sources:
        prepare(corpus_card, read_toy, Provenance(name, "generated", {}, content=""), folder)
        return open_corpus(folder)
    return open_corpus(_prepare_from_source(corpus_card, folder, of_subset))


def _prepare_from_source(
    corpus_card: Card, folder: Path, of_subset: Path, first: dict[str, int] | None = None
) -> Path:
    """Prepare what the first source that works serves; returns the folder, ``of_subset`` if that is
    less than the whole."""
    source, archives = obtain(corpus_card)
    folder = of_subset if source.subset else folder
    files = {
        item.filename: item.digest or f"sha256:{file_digest(path)}"
        for item, path in zip(source.downloads, archives, strict=True)
    }
    subset = source.subset or first is not None
    origin = Provenance(corpus_card.name, source.name, files, content="", subset=subset)
    punkt = None if corpus_card.tokenised else fetch_punkt()
    read = partial(READERS[source.reader], *archives)
    prepare(corpus_card.served_by(source), read, origin, folder, punkt, first=first)
    return folder


def _folders(name: str) -> list[Path]:
    """Return the cache's folders for a corpus: for the whole of it, then for a subset."""
    if CUSTOM.fullmatch(name):
        return [custom_folder("text", name)]
    return [prepared_folder(f"{name}{part}-v{FORMAT}") for part in ("", "-subset")]


def _prepared(name: str) -> Path | None:
    return next((folder for folder in _folders(name) if folder.exists()), None)


def prepared_content(name: str) -> str | None:
    """Return the digest of the rows that ``load_corpus`` would open; None if none are prepared."""
    folder = _prepared(name)
    return folder and _provenance(folder).content


def _provenance(folder: Path) -> Provenance:
    with undamaged(folder):
        return Provenance(**json.loads((folder / "provenance.json").read_text()))


def open_corpus(folder: Path) -> Corpus:
    """Open a prepared corpus; ``DataError`` names the folder if it is damaged."""
    provenance = _provenance(folder)
    name = provenance.dataset
    corpus_card = read_card(folder) if CUSTOM.fullmatch(name) else CARDS.get(name)
    with undamaged(folder):
        splits = dict(datasets.load_from_disk(str(folder / "splits")))
        for split in corpus_card.sizes:
            splits[split].select_columns(["text", "label", "tokens", "sentence_lengths"])
        if json.loads((folder / TABLES).read_text()) != _digests(folder):
            raise ValueError("a table is not as it was written")
    return Corpus(corpus_card, splits, provenance)


def _digests(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): unchanged_digest(path)
        for path in sorted(folder.glob("splits/*/*.arrow"))
    }


def prepare(
    card: Card,
    read: Callable[[], Iterator[Row]],
    origin: Provenance,
    folder: Path,
    punkt: Path | None = None,
    workers: int | None = None,
    first: dict[str, int] | None = None,
) -> None:
    """Read, verify, order and tokenise rows into ``folder``, which appears only when complete.

    ``punkt`` is the folder of trained splitter parameters; None takes the splitter without any.
    All rows are verified, even if only the ``first`` ones of each half are tokenised and kept.
    Memory does not grow with the length of the texts; of each row, its order alone is in memory.
    """
    with atomic_path(folder) as temporary:
        rows = temporary.with_suffix(".rows")  # removed with its folder, however this ends
        temporary.mkdir()
        _check_counts(card, _write_rows(card, read(), rows))
        ordered = {split: _in_order(rows, split) for split in card.sizes}
        content = content_digest(ordered)
        if card.content and content != card.content:
            raise DataError(
                f"{card.name} from {origin.source}: the rows hash to {content}, "
                f"the catalog says {card.content}"
            )
        splits = {
            split: _tokenise(_first_rows(texts, split, first), split, card, punkt, workers)
            for split, texts in ordered.items()
        }
        with _without_bars(True):
            datasets.DatasetDict(splits).save_to_disk(str(temporary / "splits"))
        (temporary / TABLES).write_text(json.dumps(_digests(temporary), indent=1))
        provenance = asdict(origin) | {"content": content}
        (temporary / "provenance.json").write_text(json.dumps(provenance, indent=1))
        if CUSTOM.fullmatch(card.name):
            write_card(card, temporary)


def _write_rows(card: Card, rows: Iterator[Row], path: Path) -> Counter[tuple[str, int]]:
    """Write rows and the keys to order them by into a file; count those of each class."""
    counts: Counter[tuple[str, int]] = Counter()
    total = sum(sum(sizes) for sizes in card.sizes.values())
    look = {"desc": f"{card.name}: read", "unit": " rows", "leave": False}
    with pa.ipc.new_stream(str(path), COLUMNS) as file, one_bar(total=total, **look) as bar:
        while chunk := list(islice(rows, READ)):
            bar.update(len(chunk))
            counts.update((row.split, row.label) for row in chunk)
            keyed = [row._asdict() | {"key": order_key(row.text)} for row in chunk]
            file.write(pa.RecordBatch.from_pylist(keyed, COLUMNS))
    return counts


def _check_counts(card: Card, counts: Counter[tuple[str, int]]) -> None:
    """``DataError`` unless every split has the class counts that the card promises."""
    promised = {
        (split, label): rows
        for split, sizes in card.sizes.items()
        for label, rows in enumerate(sizes)
    }
    for split, label in {**promised, **counts}:
        found, expected = counts[split, label], promised.get((split, label), 0)
        if found != expected:
            raise DataError(
                f"{card.name}: {split} has {found} rows of class {label}, "
                f"the catalog says {expected}"
            )


def _in_order(path: Path, split: str) -> datasets.Dataset:
    """Sort the rows of a split by their key, then label; only these two are in memory."""
    rows = datasets.Dataset.from_file(str(path))
    keys, labels = (rows.data[name].to_numpy() for name in ("key", "label"))
    order = np.lexsort((labels, keys))
    of_split = pc.equal(rows.data["split"], split).to_numpy()[order]
    return rows.select_columns(["text", "label"]).select(order[of_split])


def _tokenise(
    rows: datasets.Dataset, split: str, card: Card, punkt: Path | None, workers: int | None
) -> datasets.Dataset:
    workers = min(workers or os.cpu_count() or 1, max(1, len(rows) // CHUNK))
    words = "untrained" if card.tokeniser == "english" and not punkt else card.tokeniser
    words = "tokens" if card.tokenised else words

    def tokenise_batch(texts: list[str]) -> dict[str, list]:
        documents = list(map(tokeniser(words, punkt), texts))
        return {
            "tokens": [document.tokens for document in documents],
            "sentence_lengths": [document.sentence_lengths for document in documents],
        }

    columns = {
        "tokens": datasets.List(datasets.Value("string")),
        "sentence_lengths": datasets.List(datasets.Value("int32")),
    }
    with _without_bars(len(rows) < READ):
        return rows.map(
            tokenise_batch,
            input_columns="text",
            batched=True,
            batch_size=CHUNK,
            features=datasets.Features(rows.features | columns),
            num_proc=workers if workers > 1 else None,
            desc=f"{card.name}: tokenise {split}",
        )


@contextmanager
def _without_bars(quiet: bool) -> Iterator[None]:
    """Keep ``datasets`` from showing bars of its own, where it is to be ``quiet``."""
    before = datasets.utils.are_progress_bars_disabled()
    if quiet:
        datasets.utils.disable_progress_bars()
    try:
        yield
    finally:
        if quiet and not before:
            datasets.utils.enable_progress_bars()


def content_digest(splits: dict[str, datasets.Dataset]) -> str:
    """Return the sha256 of all split names, texts and labels in order.

    It is equal for every source of equal rows.
    """
    digest = hashlib.sha256()
    for split, rows in splits.items():
        digest.update(f"{split}:{len(rows)}\n".encode())
        for batch in rows.select_columns(["text", "label"]).iter(1000):
            for text, label in zip(batch["text"], batch["label"], strict=True):
                digest.update(f"{label}\t{text}\n".encode())
    return digest.hexdigest()
