import hashlib
from dataclasses import replace

import numpy as np
import pytest
import torch

from course_lib.data import catalog, sources
from course_lib.data.catalog import Card, Download, Source
from course_lib.data.sources import NotObtained
from course_lib.data.vector_store import convert
from course_lib.data.vectors import SideBySide, all_but_the_top, common_part, load_vectors
from course_lib.data.vocabulary import Vocabulary
from course_lib.files import DataError

MEMBER = "folder/vectors.txt"
TEXT = "the 1 2 3\nfilm -0.5 0.25 1e-3\nUS 7 8 9\nus 4 5 6\nété 0.1 0.2 0.3\n".encode()
MATRIX = [[1, 2, 3], [-0.5, 0.25, 1e-3], [7, 8, 9], [4, 5, 6], [0.1, 0.2, 0.3]]


def card_for(text, package=None):
    digest = hashlib.sha256(package.read_bytes()).hexdigest() if package else ""
    file = Download("vectors.zip", f"sha256:{digest}", 1)
    return Card(
        "tiny",
        "Tiny vectors",
        *("", "", ""),
        kind="vectors",
        sources=(Source("made-up", (file,), member=MEMBER),),
        content=hashlib.sha256(text).hexdigest(),
    )


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


@pytest.mark.parametrize("name", ["imdb", "punkt_tab", "glov"])
def test_what_are_no_vectors_is_refused_before_any_download(tmp_path, no_network, name):
    with pytest.raises(DataError, match=f"no vectors '{name}'; the catalog has: glove.6B.50d, "):
        load_vectors(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


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


def test_words_without_a_vector_are_zero_where_that_is_asked(tiny):
    vocabulary = Vocabulary(("zebra", "the", "cow"))
    embedding, coverage = tiny.embedding_for(vocabulary, seed=0, without_vector="zero")
    expected = torch.zeros(5, 3)
    expected[3] = torch.tensor(MATRIX[0])
    assert torch.equal(embedding, expected) and coverage == pytest.approx(1 / 3)


def test_the_vocabulary_of_vectors_is_their_words_in_order_each_once(tiny):
    assert tiny.vocabulary == Vocabulary(tuple(tiny.words.to_pylist()), folded=True)
    both = SideBySide([tiny, tiny])
    assert both.vocabulary == tiny.vocabulary
    embedding, coverage = both.embedding_for(tiny.vocabulary, 0, without_vector="zero")
    assert coverage == 1
    np.testing.assert_array_equal(embedding[2:], np.hstack([tiny.matrix, tiny.matrix]))


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


def test_a_vocabulary_without_any_known_word_is_refused_with_words_of_both(tiny):
    with pytest.raises(DataError, match=r"tiny: none of the 2 words .* 'zebra', has .* 'the'$"):
        tiny.embedding_for(Vocabulary(("zebra", "cow")), seed=0)


@pytest.mark.parametrize(
    "line",
    [
        b"short 1 2\n", b"long 1 2 3 4\n", b"text 1 two 3\n", b" 1 2 3\n", b"\n", b"alone\n",
        b"caf\xe9 1 2 3\n", b"nan 1 nan 3\n", b"large 1 1e39 3\n", b"a word 1 2 3 4\n",
    ],
)  # fmt: skip
def test_malformed_line_is_named_by_its_number_and_nothing_is_kept(package, tmp_path, line):
    path = package(TEXT + line + b"after 1 2 3\n")
    with pytest.raises(DataError) as error:
        load_vectors("tiny", tmp_path)
    assert f"{path}: {MEMBER}: line 6: " in str(error.value)
    assert list((tmp_path / "prepared").iterdir()) == []


def test_text_with_another_digest_is_refused_and_nothing_is_kept(package, tmp_path):
    path = package(TEXT)
    with pytest.raises(DataError, match=r"vectors\.zip: folder/vectors\.txt: sha256 is .*expected"):
        convert(path, tmp_path / "prepared" / "tiny", MEMBER, "another digest")
    assert list((tmp_path / "prepared").iterdir()) == []


def test_package_without_the_vectors_is_named(tmp_path, make_zip):
    path = make_zip(tmp_path / "other.zip", {"else.txt": TEXT})
    with pytest.raises(DataError, match=r"other\.zip: cannot be read.*vectors\.txt"):
        convert(path, tmp_path / "prepared" / "tiny", MEMBER)
    assert list((tmp_path / "prepared").iterdir()) == []


@pytest.fixture(scope="module")
def stretched():
    """25,000 vectors of 6 dimensions (more than one chunk) that vary most along known axes."""
    random = np.random.default_rng(0)
    axes, _ = np.linalg.qr(random.normal(size=(6, 6)))
    spread = np.array([9, 5, 2, 1, 0.5, 0.2])
    mean = np.array([3, -1, 0.5, 2, 0, -7])
    values = random.normal(size=(25_000, 6)) * spread @ axes.T + mean
    return values.astype(np.float32), axes, mean


@pytest.mark.parametrize("count", [0, 1, 2, 6])
def test_all_but_the_top_has_mean_zero_and_nothing_left_in_the_leading_directions(stretched, count):
    values, _, _ = stretched
    common = common_part(values, count)
    rest = all_but_the_top(values, common)
    assert rest.dtype == np.float32 and rest.shape == values.shape
    np.testing.assert_allclose(rest.mean(0), 0, atol=1e-4)
    spread = np.linalg.svd(rest - rest.mean(0), compute_uv=False) / len(values) ** 0.5
    expected = [9, 5, 2, 1, 0.5, 0.2][count:] + [0] * count
    np.testing.assert_allclose(spread, expected, rtol=0.03, atol=1e-4)
    np.testing.assert_allclose(rest @ common.directions.T, 0, atol=1e-3)


def test_directions_are_those_of_an_independent_decomposition_strongest_first(stretched):
    values, axes, mean = stretched
    common = common_part(values, 3)
    _, _, rows = np.linalg.svd(values - values.mean(0, dtype=np.float64), full_matrices=False)
    np.testing.assert_allclose(abs((common.directions * rows[:3]).sum(1)), 1, atol=1e-6)
    np.testing.assert_allclose(abs((common.directions * axes.T[:3]).sum(1)), 1, atol=1e-2)
    np.testing.assert_allclose(common.mean, mean, atol=0.2)


@pytest.mark.parametrize(
    ("dimensions", "expected"), [(2, 1), (50, 1), (100, 1), (200, 2), (300, 3)]
)
def test_a_hundredth_of_the_dimensions_goes_unless_told_otherwise(dimensions, expected):
    values = np.random.default_rng(1).normal(size=(400, dimensions))
    assert common_part(values).directions.shape == (expected, dimensions)


@pytest.mark.parametrize("count", [-1, 4])
def test_more_directions_than_dimensions_are_refused(count):
    with pytest.raises(ValueError, match=f"0 to 3 directions, got {count}"):
        common_part(np.eye(3), count)


def test_standardised_embedding_changes_the_words_that_have_vectors_alone(tiny):
    vocabulary = Vocabulary(("Film", "zebra", "the", "US", "us", "été"))
    plain, coverage = tiny.embedding_for(vocabulary, seed=3)
    changed, same = tiny.embedding_for(vocabulary, seed=3, standardise=True)
    assert same == coverage
    assert changed[0].eq(0).all()
    found = [2, 4, 5, 6, 7]  # all five words of the file, so their own mean is the file's
    assert changed[found].mean(0).abs().max() < 1e-6
    assert torch.linalg.svdvals(changed[found])[2] < 1e-6  # three dimensions less one
    for row in (1, 3):  # drawn, as before but for the spread
        torch.testing.assert_close(changed[row] / changed[found].std(correction=0),
                                   plain[row] / plain[found].std(correction=0))  # fmt: skip
    assert torch.equal(plain, tiny.embedding_for(vocabulary, seed=3)[0])


def test_common_part_is_that_of_all_words_not_of_the_vocabulary(tiny):
    short, _ = tiny.embedding_for(Vocabulary(("film", "us")), 0, standardise=True)
    long, _ = tiny.embedding_for(
        Vocabulary(("us", "the", "US", "film", "été")), 0, standardise=True
    )
    assert torch.equal(short[2:4], long[[5, 2]])


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
        lambda folder: (folder / "words.txt").write_bytes(b""),
        lambda folder: cut(folder / "words.txt", len("the\nfilm\n")),
    ],
)
def test_damaged_prepared_vectors_are_named(tiny, tmp_path, damage):
    folder = tmp_path / "prepared" / "tiny"
    damage(folder)
    with pytest.raises(DataError) as error:
        load_vectors("tiny", tmp_path)
    assert str(folder) in str(error.value)


def test_canonical_sizes_come_out_of_one_archive_that_is_fetched_once(
    tmp_path, make_zip, monkeypatch, no_network
):
    sizes = (50, 100, 200, 300)
    texts = {f"glove.6B.{n}d.txt": b"the" + b" 0.5" * n + b"\n" for n in sizes}
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    archive = make_zip(mirror / "glove.6B.zip", texts)
    digest = f"sha256:{hashlib.sha256(archive.read_bytes()).hexdigest()}"
    for name in (f"glove.6B.{n}d" for n in sizes[1:]):
        (source,) = catalog.CARDS[name].sources
        (item,) = source.downloads
        assert (
            catalog.CARDS[name].on_demand
            and item == catalog.CARDS["glove.6B.50d"].sources[1].downloads[0]
        )
        source = replace(source, downloads=(replace(item, digest=digest),))
        monkeypatch.setitem(catalog.CARDS, name, replace(catalog.CARDS[name], sources=(source,)))
    monkeypatch.setenv("COURSE_DATA_MIRROR", str(mirror))
    assert load_vectors("glove.6B.100d", tmp_path).matrix.shape == (1, 100)
    archive.unlink()
    for n in sizes[1:]:
        (about,) = load_vectors(f"glove.6B.{n}d", tmp_path).provenance
        text = hashlib.sha256(texts[f"glove.6B.{n}d.txt"]).hexdigest()
        assert about == {"name": f"glove.6B.{n}d", "sha256": text, "words": 1, "width": n}


def test_a_canonical_file_is_as_it_is_and_a_repeated_words_first_vector_counts(package, tmp_path):
    package(TEXT + b". . . 1 1 1\nfilm 0 0 0\nlast 2 2 2 \n")
    vectors = load_vectors("tiny", tmp_path)
    assert vectors.words.to_pylist()[5:] == [". . .", "last"]
    np.testing.assert_array_equal(vectors.matrix, [*np.float32(MATRIX), [1] * 3, [2] * 3])


def test_what_is_not_on_this_machine_is_asked_for_by_file_and_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(sources.pooch, "retrieve", lambda *_: 1 / 0)
    monkeypatch.delenv("COURSE_DATA_MIRROR", raising=False)
    with pytest.raises(NotObtained, match=r"needs glove\.840B\.300d\.zip in .*by hand"):
        load_vectors("glove.840B.300d", tmp_path)


NGRAMS = ["2gram-#BEGIN#n", "2gram-no", "2gram-o#END#", "3gram-#BEGIN#no", "4gram-xxxx"]


def test_a_words_vector_of_character_ngrams_is_the_mean_of_those_that_have_one(tmp_path, make_tar):
    (item,) = catalog.CARDS["charngram.100d"].sources[0].downloads
    matrix = np.random.default_rng(0).normal(size=(5, 100)).round(3)
    lines = [f"{gram} {' '.join(map(str, row))}\n" for gram, row in zip(NGRAMS, matrix)]
    lines.insert(0, "5 100\n")  # whether the real one has this line we could not see
    (tmp_path / "downloads").mkdir()
    archive = tmp_path / "downloads" / item.filename
    make_tar(archive, {"./README": b"", "./charNgram.txt": "".join(lines).encode()})
    vectors = load_vectors("charngram.100d", tmp_path)
    vocabulary = Vocabulary(("no", "n", "zebra"))
    embedding, coverage = vectors.embedding_for(vocabulary, 0, standardise=True)
    assert embedding.shape == (5, 100) and coverage == pytest.approx(2 / 3)
    np.testing.assert_allclose(embedding[2], matrix[:4].mean(0), rtol=1e-5)
    np.testing.assert_allclose(embedding[3], matrix[0], rtol=1e-5)
    assert embedding[0].eq(0).all() and embedding[4].abs().sum() > 0
    with pytest.raises(DataError, match="none of the 1 words"):
        vectors.embedding_for(Vocabulary(("q",)), 0)


def test_real_glove_has_400_000_words_and_the_published_first_numbers(
    real_file, tmp_path, monkeypatch
):
    (item,) = catalog.CARDS["glove.6B.50d"].sources[0].downloads
    monkeypatch.setenv("COURSE_DATA_MIRROR", str(real_file(item.filename).parent))
    glove = load_vectors("glove.6B.50d", tmp_path)
    assert glove.matrix.shape == (400_000, 50)
    the = glove.matrix[glove.rows_of(("The",))[0]]
    np.testing.assert_allclose(the[:3], [0.418, 0.24968, -0.41242], rtol=1e-6)
