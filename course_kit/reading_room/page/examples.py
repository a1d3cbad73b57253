"""The six texts that the pages begin with."""

from dataclasses import dataclass, replace

HAN, IRAM, AGT = "han-imdb-compact-s0", "iram-sst2-compact-s0", "agt-sst5-compact-s0"
FILMS, NEWS = "sanet-imdb-compact-s0", "sanet-ag_news-compact-s0"
TRANSFORMER = "transformer-movies2-lesson-s0"
READERS = (HAN, FILMS, IRAM, AGT, TRANSFORMER)
RECORDED = (HAN, FILMS, NEWS, IRAM, AGT, TRANSFORMER)


@dataclass(frozen=True)
class Example:
    """A text of ours: its ``name`` in addresses, a ``title``, what to ``watch``, who reads it.

    ``beside`` is a second text to compare it with.
    """

    name: str
    title: str
    text: str
    watch: str
    readers: tuple[str, ...] = READERS
    beside: str = ""


EXAMPLES = (
    Example(
        "negation",
        "Negation",
        "This film is not bad at all.",
        "The sentence is mild praise. HAN, SANet and the Transformer answer “negative” because of "
        "“bad”. Erase “not” and see whether they notice. Then erase “bad”.",
    ),
    Example(
        "irony",
        "Irony",
        "Oh great, another two hours of my life I will never get back.",
        "HAN, SANet and the Transformer take “great” at its word. IRAM attends most to “never”. "
        "Switch the tint to leave-one-out and see which words each answer needs.",
    ),
    Example(
        "order",
        "The order swapped",
        "The beginning is dull, but the ending is wonderful.",
        "The pinned text has the two halves the other way round. AGT gives both exactly the same "
        "probabilities, because nothing in it knows where a word stands. The others change.",
        beside="The ending is wonderful, but the beginning is dull.",
    ),
    Example(
        "two-facts",
        "Two facts",
        "The music is beautiful and the story is a mess.",
        "One fact speaks for the film, one against it. All five attend most to “beautiful” and "
        "“mess”, but the answers of HAN and IRAM hang on “mess” alone. Erase each in turn.",
    ),
    Example(
        "topics",
        "Topic words",
        "The striker scored twice before shares in the club fell on Wall Street.",
        "SANet was trained on news here and has to choose between sport and business. Its "
        "attention is highest on “shares”, and its answer is the other topic.",
        readers=(NEWS, HAN, IRAM, AGT, TRANSFORMER),
    ),
    Example(
        "review",
        "A review of four sentences",
        "I went in without hope. The first hour is slow and the jokes are stale. Then the two "
        "sisters meet, and every scene between them is warm, funny and true. I left the cinema "
        "happy.",
        "HAN reads sentence by sentence and weighs the sentences, too: open its rows. It answers "
        "“negative” to a review that ends well.",
    ),
)

READ_BY_MINILM = {
    "negation": "The sentence is mild praise, and MiniLM takes it as such. Erase “not”, put it "
    "back and erase “bad”: the answer needs both words.",
    "irony": "A pre-trained Transformer takes “great” at its word, too. Switch the tint to "
    "leave-one-out: no other word matters much.",
    "order": "The pinned text has the two halves the other way round, and MiniLM knows the order. "
    "It wavers here, and has no doubt where the beginning comes last.",
    "two-facts": "One fact speaks for the film, one against it. “mess” gets most of the attention, "
    "and decides; without “beautiful” the answer is surer still.",
    "topics": "Nothing in this sentence praises or blames, and MiniLM has only these two answers. "
    "See how sure it is, and which word that hangs on.",
    "review": "Two sentences are against the film and two for it. The top layer attends most to "
    "“left”, and the answer needs “happy” more. Open the rows and compare heads.",
}


def read_by(name: str) -> tuple[Example, ...]:
    """The same texts as one pre-trained network reads them."""
    return tuple(
        replace(each, readers=(name,), watch=READ_BY_MINILM[each.name]) for each in EXAMPLES
    )
