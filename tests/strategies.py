"""What several test files draw or build: devices, masks, ragged batches, toy documents."""

import hashlib
from collections import Counter
from functools import cache

import pytest
import torch
from hypothesis import strategies as st

from course_lib.data.catalog import Card, Download, Source
from course_lib.data.corpus import Provenance, load_corpus
from course_lib.data.encoding import encode_documents
from course_lib.data.vocabulary import Vocabulary
from course_lib.metrics import invariants
from course_lib.models.han import HAN, HANConfig

DATA = b"a review\n" * 40_000
WORDS = 12  # ids 1 to 11 are words, 0 is padding

cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")
every_device = pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=cuda)])
seeds = st.integers(0, 2**16)


def row_lengths(shortest=0, longest=5, most_rows=4):
    """The real lengths of 1 to ``most_rows`` padded rows."""
    return st.lists(st.integers(shortest, longest), min_size=1, max_size=most_rows)


def document_lengths(shortest=0):
    """Per document the lengths of its sentences; ``shortest`` 0 lets both be empty."""
    return st.lists(
        st.lists(st.integers(shortest, 5), min_size=shortest, max_size=4), min_size=1, max_size=4
    )


def prefix_mask(lengths, width=None):
    """``(rows, width)``, each row's real places first."""
    return (
        torch.arange(max(1, *lengths) if width is None else width) < torch.tensor(lengths)[:, None]
    )


def batch(lengths, seed=0, width=None):
    """Random word ids and their mask, one row a document of that many words."""
    mask = prefix_mask(lengths, width)
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(1, WORDS, mask.shape, generator=generator) * mask, mask


def check_independence(model, tokens, mask, tolerance):
    """A document is read the same whatever its padding, its neighbours and earlier batches."""
    invariants.check_padding(model, tokens, mask, tolerance=tolerance)
    invariants.check_neighbours(model, tokens, mask, tolerance=tolerance)
    invariants.check_stateless(model, tokens, mask, tolerance=tolerance)


def ragged_batch(documents, seed=0):
    """Random word ids and mask ``(documents, sentences, words)`` for lengths of sentences."""
    height = max(1, *map(len, documents))
    padded = [lengths + [0] * (height - len(lengths)) for lengths in documents]
    mask = prefix_mask([length for lengths in padded for length in lengths])
    mask = mask.view(len(documents), height, -1)
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(1, WORDS, mask.shape, generator=generator) * mask, mask


def tiny_han(seed=0, vocabulary=WORDS, classes=2, **settings):
    """A small HAN for ``ragged_batch``, in evaluation mode."""
    torch.manual_seed(seed)
    sizes = {"embedding": 4, "hidden": 3, "attention": 4}
    return HAN(HANConfig(**sizes | settings), vocabulary, classes).eval()


@cache
def toy_vocabulary():
    """The words of the toy training half."""
    return Vocabulary.build(load_corpus("toy").splits["train"])


@cache
def toy_documents(split="train", first=0, last=600):
    """Rows ``first`` to ``last`` of a split of the toy corpus, encoded."""
    rows = load_corpus("toy").splits[split]
    return encode_documents(rows.select(range(first, min(last, len(rows)))), toy_vocabulary())


ORIGIN = Provenance("made-up", "a list", {}, content="")


def made_up_card(rows, **changes):
    """A card that promises exactly these rows."""
    counts = Counter((row.split, row.label) for row in rows)
    sizes = {s: (counts[s, 0], counts[s, 1]) for s in dict.fromkeys(row.split for row in rows)}
    promised = {"classes": ("negative", "positive"), "sizes": sizes} | changes
    return Card("made-up", "Made-up reviews", "", "", "", **promised)


def sha256(data):
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def download(filename="reviews.bin", data=DATA, url=None, requirement=None):
    return Download(filename, sha256(data), len(data), url=url, requirement=requirement)


def card_of(*downloads):
    """A card with one source for each download."""
    sources = tuple(Source(f"source {n}", (item,)) for n, item in enumerate(downloads, start=1))
    return Card("made-up", "Made-up files", "none", "ours", "ours", sources)


def files_below(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
