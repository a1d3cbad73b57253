"""The cards of the datasets: what each is, where it comes from, and how it is verified.

They stand in ``catalog.yaml``, whose fields are those of ``Card``, ``Source`` and ``Download``;
``CARDS`` holds them by name.
"""

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from course_lib.data.naming import CUSTOM, present_folder
from course_lib.files import DataError, undamaged

CARD = "card.json"  # of custom texts, and what stands in it:
WRITTEN = ("name", "title", "task", "terms", "citation", "classes", "sizes", "tokeniser")
CATALOG = Path(__file__).with_name("catalog.yaml")


@dataclass(frozen=True)
class Download:
    """One file to fetch; without ``url``, ``requirement`` or ``committed``, from a mirror alone."""

    filename: str
    # "sha256:…" or "md5:…"; None if only what is read out of it is verified, by Card.content
    digest: str | None = None
    size: int = 0  # bytes; 0: unknown
    url: str | None = None
    requirement: str | None = None  # of a package registry
    committed: str | None = None  # its path in this repository


@dataclass(frozen=True)
class Source:
    """One way to obtain a dataset: its downloads together, and what to do with them.

    A source of a subset has its own ``sizes`` (and ``content``), verified instead of the card's.
    """

    name: str
    downloads: tuple[Download, ...]
    reader: str | None = None  # of a corpus: a name in readers.READERS
    member: str | None = None  # the file or folder inside an archive, where it is no corpus
    sizes: dict[str, tuple[int, ...]] | None = None
    content: str | None = None

    @property
    def subset(self) -> bool:
        """Whether it holds fewer rows than the dataset."""
        return self.sizes is not None


@dataclass(frozen=True)
class Card:
    """A dataset: its task, what to verify after reading it, and its sources in the order tried."""

    name: str
    title: str
    task: str
    terms: str
    citation: str
    sources: tuple[Source, ...] = ()
    classes: tuple[str, ...] = ()
    # of each split, the number of rows of each class
    sizes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    # of a corpus, corpus.content_digest of its rows, whichever source but a subset serves it; of
    # vectors, the sha256 of their text; None: not yet computed
    content: str | None = None
    on_demand: bool = False  # left out of "prepare everything", for its size
    lesson_rows: int | None = None  # the ``first`` of load_corpus that lessons need; None: all
    fallback: str | None = None  # the corpus that lessons use where this one cannot be obtained
    tokenised: bool = False  # its texts are tokens joined by blanks, which are not tokenised again
    tokeniser: str = "english"  # one of text.TOKENISERS
    kind: str = "corpus"  # or word "vectors", a sentence "splitter", a pre-trained "network"
    of_ngrams: bool = False  # vectors of character n-grams

    def served_by(self, source: Source) -> "Card":
        """Return the card with the sizes and content to verify if that source serves it."""
        if not source.subset:
            return self
        return replace(self, sizes=source.sizes, content=source.content)


def read_catalog(path: Path = CATALOG) -> dict[str, Card]:
    """Read the cards of a catalog by their names; ``DataError`` names a card at fault.

    A source names its downloads, which are listed once in a part of their own.
    """
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # PyYAML may lack the one in C
    written = yaml.load(path.read_text(encoding="utf-8"), loader)
    files = {name: Download(name, **values) for name, values in written["downloads"].items()}
    cards = {}
    for name, values in written["cards"].items():
        try:
            sources = []
            for source in map(_with_tuples, values.pop("sources", ())):
                downloads = tuple(files[each] for each in source.pop("downloads"))
                sources.append(Source(downloads=downloads, **source))
            cards[name] = Card(name=name, sources=tuple(sources), **_with_tuples(values))
        except (TypeError, KeyError, AttributeError) as error:
            raise DataError(f"{path.name}: {name}: {error}") from error
    return cards


def _with_tuples(values: dict[str, Any]) -> dict[str, Any]:
    """Turn the lists of YAML and JSON in the fields of a card or a source into tuples."""
    if sizes := values.get("sizes"):
        values["sizes"] = {split: tuple(rows) for split, rows in sizes.items()}
    return values | {"classes": tuple(values["classes"])} if "classes" in values else values


CARDS = read_catalog()


def card(name: str, kind: str | None = None) -> Card:
    """Return the card of that name and ``kind``, of the catalog or of custom texts.

    ``DataError`` lists the names of the catalog if there is none.
    """
    if kind != "vectors" and CUSTOM.fullmatch(name):
        return read_card(present_folder("text", name))
    names = names_of(kind) if kind else list(CARDS)
    if name not in names:
        raise DataError(f"no {kind or 'dataset'} {name!r}; the catalog has: {', '.join(names)}")
    return CARDS[name]


def read_card(folder: Path) -> Card:
    """Read the card in a folder of custom texts; ``DataError`` names a damaged folder."""
    with undamaged(folder):
        return Card(**_with_tuples(json.loads((folder / CARD).read_text(encoding="utf-8"))))


def write_card(card: Card, folder: Path) -> None:
    """Write the card of custom texts beside them."""
    values = {name: getattr(card, name) for name in WRITTEN}
    text = json.dumps(values, indent=1, ensure_ascii=False)
    (folder / CARD).write_text(f"{text}\n", encoding="utf-8")


def names_of(kind: str) -> list[str]:
    """Return the names of all cards of that kind, in the order of the catalog."""
    return [card.name for card in CARDS.values() if card.kind == kind]
