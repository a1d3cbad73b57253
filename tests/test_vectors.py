import hashlib

import numpy as np
import pytest
import torch

from course_lib.data import catalog
from course_lib.data.catalog import GLOVE_50D, Card, DataError, Download, Source
from course_lib.data.vectors import convert, load_vectors
from course_lib.data.vocabulary import Vocabulary

MEMBER = "folder/vectors.txt"
TEXT = "the 1 2 3\nfilm -0.5 0.25 1e-3\nUS 7 8 9\nus 4 5 6\nété 0.1 0.2 0.3\n".encode()
MATRIX = [[1, 2, 3], [-0.5, 0.25, 1e-3], [7, 8, 9], [4, 5, 6], [0.1, 0.2, 0.3]]


def card_for(text, package=None):
    digest = hashlib.sha256(package.read_bytes()).hexdigest() if package else ""
    sources = (Source("made-up", MEMBER, (Download("vectors.zip", f"sha256:{digest}", 1),)),)
    content = hashlib.sha256(text).hexdigest()
    return Card("tiny", "Tiny vectors", "", "", "", sources=sources, content=content)


@pytest.fixture
def package(tmp_path, make_zip, monkeypatch):
    """Puts a zip of that text into the cache, as what the catalog calls "tiny"."""

    def make(text):
        (tmp_path / "downloads").mkdir()
        path = make_zip(tmp_path / "downloads" / "vectors.zip", {MEMBER: text})
        monkeypatch.setitem(catalog.CARDS, "tiny", card_for(text, path))
        return path

    return make


@pytest.fixture
def tiny(package, tmp_path):
    package(TEXT)
    return load_vectors("tiny", tmp_path)


def test_words_and_vectors_are_those_of_the_text(tiny):
    assert tiny.words.to_pylist() == ["the", "film", "US", "us", "été"]
    assert tiny.matrix.dtype == np.float32
    np.testing.assert_array_equal(tiny.matrix, np.array(MATRIX, np.float32))


def test_converted_vectors_are_memory_mapped_and_need_the_package_no_more(tiny, tmp_path):
    (tmp_path / "downloads" / "vectors.zip").unlink()
    again = load_vectors("tiny", tmp_path)
    assert isinstance(again.matrix, np.memmap)
    assert again.words.equals(tiny.words)
    np.testing.assert_array_equal(again.matrix, tiny.matrix)


@pytest.mark.parametrize("text", [TEXT, TEXT.rstrip(b"\n"), b"one 1 2\n"])
def test_last_line_may_end_with_or_without_a_line_break(package, tmp_path, text):
    package(text)
    vectors = load_vectors("tiny", tmp_path)
    assert len(vectors.words) == len(vectors.matrix) == len(text.splitlines())


def test_word_is_looked_up_exactly_and_else_in_lower_case(tiny):
    words = ("US", "us", "Us", "The", "FILM", "film", "ÉTÉ", "zebra", "Zebra")
    assert tiny.rows_of(words).tolist() == [2, 3, 3, 0, 1, 1, 4, -1, -1]
    assert tiny.rows_of(()).tolist() == []


def test_embedding_holds_the_vectors_of_known_words_and_the_share_it_covers(tiny):
    vocabulary = Vocabulary(("Film", "zebra", "the", "US", "The"))
    embedding, coverage = tiny.embedding_for(vocabulary, seed=3)
    assert embedding.shape == (7, 3) and embedding.dtype == torch.float32
    expected = torch.tensor([MATRIX[1], MATRIX[0], MATRIX[2], MATRIX[0]])
    assert torch.equal(embedding[[2, 4, 5, 6]], expected)
    assert coverage == pytest.approx(4 / 5)


def test_padding_row_is_zero_and_no_other_is(tiny):
    embedding, _ = tiny.embedding_for(Vocabulary(("zebra", "the", "cow")), seed=0)
    assert embedding.abs().sum(1).gt(0).tolist() == [False, True, True, True, True]


def test_unknown_words_are_drawn_from_the_seed_alone(tiny):
    vocabulary = Vocabulary(("zebra", "the", "cow"))
    torch.manual_seed(1)
    first, _ = tiny.embedding_for(vocabulary, seed=5)
    torch.manual_seed(2)
    again, _ = tiny.embedding_for(vocabulary, seed=5)
    other, _ = tiny.embedding_for(vocabulary, seed=6)
    assert torch.equal(first, again)
    assert torch.equal(first[3], other[3])
    assert not any(torch.equal(first[row], other[row]) for row in (1, 2, 4))
    assert not torch.equal(first[2], first[4])


def test_unknown_words_spread_like_the_vectors_that_were_found(tiny):
    vocabulary = Vocabulary(("the", "us", *(f"zebra{i}" for i in range(4000))))
    embedding, _ = tiny.embedding_for(vocabulary, seed=0)
    drawn = embedding[4:]
    assert drawn.std().item() == pytest.approx(np.std([1, 2, 3, 4, 5, 6]), rel=0.05)
    assert drawn.mean().item() == pytest.approx(0, abs=0.1)


def test_vocabulary_without_any_known_word_gets_finite_vectors_and_coverage_0(tiny):
    embedding, coverage = tiny.embedding_for(Vocabulary(("zebra", "cow")), seed=0)
    assert coverage == 0
    assert embedding.isfinite().all()


def test_drawing_never_changes_the_vectors_on_disk(tiny, tmp_path):
    embedding, _ = tiny.embedding_for(Vocabulary(("the", "film", "zebra")), seed=0)
    embedding += 1
    np.testing.assert_array_equal(load_vectors("tiny", tmp_path).matrix[0], [1, 2, 3])


@pytest.mark.parametrize(
    "line",
    [
        b"short 1 2\n", b"long 1 2 3 4\n", b"text 1 two 3\n", b" 1 2 3\n", b"\n", b"alone\n",
        b"caf\xe9 1 2 3\n", b"double  1 2 3\n", b"trailing 1 2 3 \n",
    ],
)  # fmt: skip
def test_malformed_line_is_named_by_its_number_and_nothing_is_kept(package, tmp_path, line):
    path = package(TEXT + line + b"after 1 2 3\n")
    with pytest.raises(DataError) as error:
        load_vectors("tiny", tmp_path)
    assert f"{path}: {MEMBER} line 6: " in str(error.value)
    assert list((tmp_path / "prepared").iterdir()) == []


def test_text_with_another_digest_is_refused_and_nothing_is_kept(package, tmp_path):
    path = package(TEXT)
    with pytest.raises(DataError, match=r"vectors\.zip: folder/vectors\.txt: sha256 is .*expected"):
        convert(path, MEMBER, tmp_path / "prepared" / "tiny", card_for(TEXT + b"more 1 2 3\n"))
    assert list((tmp_path / "prepared").iterdir()) == []


def test_package_without_the_vectors_is_named(tmp_path, make_zip):
    path = make_zip(tmp_path / "other.zip", {"else.txt": TEXT})
    with pytest.raises(DataError, match=r"other\.zip: cannot be read.*vectors\.txt"):
        convert(path, MEMBER, tmp_path / "prepared" / "tiny", card_for(TEXT))
    assert list((tmp_path / "prepared").iterdir()) == []


def test_full_disk_while_converting_names_the_folder_and_leaves_nothing(
    package, tmp_path, full_disk
):
    package(b"".join(b"word%d 1 2 3 4 5 6 7 8 9 10\n" % i for i in range(4000)))
    folder = tmp_path / "prepared" / "tiny"
    with full_disk(50_000), pytest.raises(DataError, match=f"cannot write {folder}: File too"):
        load_vectors("tiny", tmp_path)
    assert list(folder.parent.iterdir()) == []
    assert len(load_vectors("tiny", tmp_path).words) == 4000


def cut(path, size):
    path.write_bytes(path.read_bytes()[:size])


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "words.txt").unlink(),
        lambda folder: (folder / "vectors.f32").unlink(),
        lambda folder: cut(folder / "vectors.f32", 0),
        lambda folder: cut(folder / "vectors.f32", 4 * 7),
        lambda folder: cut(folder / "vectors.f32", 13),
        lambda folder: (folder / "words.txt").write_bytes(b"\xff\xfe"),
    ],
)
def test_damaged_prepared_vectors_are_named(tiny, tmp_path, damage):
    folder = tmp_path / "prepared" / "tiny"
    damage(folder)
    with pytest.raises(DataError) as error:
        load_vectors("tiny", tmp_path)
    assert str(folder) in str(error.value)


def test_real_glove_has_400_000_words_and_the_published_first_numbers(
    real_file, tmp_path, monkeypatch
):
    (item,) = GLOVE_50D.sources[0].downloads
    monkeypatch.setenv("COURSE_DATA_MIRROR", str(real_file(item.filename).parent))
    glove = load_vectors("glove.6B.50d", tmp_path)
    assert glove.matrix.shape == (400_000, 50)
    the = glove.matrix[glove.rows_of(("The",))[0]]
    np.testing.assert_allclose(the[:3], [0.418, 0.24968, -0.41242], rtol=1e-6)
