"""Small runs whose weights can be published: over tiny vectors of the catalog, never trained."""

from contextlib import contextmanager

import numpy as np
import pytest

from course_lib.data import catalog
from course_lib.data.catalog import Card, Download, Source
from course_lib.data.corpus import load_corpus
from course_lib.files import file_digest
from course_lib.runs import folders
from course_lib.runs.spec import RunSpec

TEXT = {
    "text.vectors": "tiny.8d",
    "text.vocabulary_from": "vectors",
    "text.without_vector": "zero",
    "training.epochs": 1,
}
FROZEN = {
    "han": {"training.embedding_rate": 0, "model.hidden": 4},
    "sanet": {"training.embedding_rate": 0, "model.hidden": 8},
    "iram": {"model.frozen": True, "model.ngrams": 40},
    "agt": {"model.frozen": True},
    "bilstm": {"training.embedding_rate": 0},
}


def record_file(name):
    """The file of a published record."""
    return next((folders.RESULTS / "runs").glob(f"*/*/{name}.json"))


def spec_of(system, **changes):
    overrides = TEXT | FROZEN.get(system, {}) | changes
    return RunSpec(system, "toy", "small", overrides, device="cpu", threads=1)


@contextmanager
def tiny_vectors(folder):
    """Vectors in the catalog, committed like ours: some of the toy's words, in lower case."""
    rows = load_corpus("toy").splits["train"]
    words = sorted({word.lower() for tokens in rows["tokens"] for word in tokens})[::2]
    path = folder / "tiny.npz"
    vectors = np.random.default_rng(0).normal(size=(len(words), 8)).astype(np.float32)
    np.savez(path, words=np.array(words), vectors=vectors)
    digest = f"sha256:{file_digest(path)}"
    file = Download(path.name, digest, path.stat().st_size, committed=str(path))
    source = Source("this repository", (file,))
    card = Card(
        "tiny.8d", "Tiny vectors", "", "Terms of tiny.", "Tiny (2000).", (source,), kind="vectors"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(catalog.CARDS, card.name, card)
        yield card
