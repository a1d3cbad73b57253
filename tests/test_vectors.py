"""Word vectors: every form of file gives the same ones, what is wrong is named, and what is made
of them is an embedding."""

import gzip
import hashlib
import pickle
import re
from functools import partial

import numpy as np
import pytest
import torch
from archives import saved, tar_of, zip_of

from course_lib.data import catalog, sources, vector_files
from course_lib.data.catalog import Card, Source
from course_lib.data.sources import NotObtained
from course_lib.data.vector_files import convert, custom_vectors, named_vectors
from course_lib.data.vectors import SideBySide, all_but_the_top, common_part, load_vectors
from course_lib.data.vocabulary import Vocabulary
from course_lib.files import DataError

WORDS = ["the", "film", "US", "us", "été", ". . ."]
MATRIX = np.array(
    [[1, 2, 3], [-0.5, 0.25, 1e-3], [7, 8, 9], [4, 5, 6], [0.1, 0.2, 0.3], [-1, 0, 1]], np.float32
)
LINES = [f"{word} {' '.join(map(str, row))}" for word, row in zip(WORDS, MATRIX.tolist())]
TEXT = ("\n".join(LINES) + "\n").encode()
HEADER = b"6 3\n"
MEMBER = "folder/vectors.txt"
compressed = partial(gzip.compress, mtime=0)  # bytes name their test: without the time of day


@pytest.fixture
def put(tmp_path):
    """``put(data, name)`` is a file of that name, of bytes or an .npz of arrays."""

    def write(data, name="mine.txt"):
        path = tmp_path / name
        if isinstance(data, dict):
            np.savez_compressed(path.with_suffix(".npz"), **data)
            return path.with_suffix(".npz")
        path.write_bytes(data)
        return path

    return write


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_DATA_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def tiny(put, cache):
    return load_vectors(custom_vectors(put(TEXT, "tiny")))


@pytest.mark.parametrize(
    "data",
    [
        *(TEXT, TEXT.rstrip(b"\n"), HEADER + TEXT, (HEADER + TEXT).replace(b"\n", b"\r\n")),
        TEXT.replace(b"\n", b" \n"),  # as word2vec ends its lines
        *(b"\xef\xbb\xbf" + TEXT, compressed(TEXT), compressed(HEADER + TEXT)),
        *(
            {"words": words, "vectors": MATRIX.astype(kind)}
            for words in (np.array(WORDS), np.array([word.encode() for word in WORDS]))
            for kind in (np.float32, np.float64, ">f4")
        ),
    ],
)
def test_every_form_gives_the_same_vectors(put, cache, data):
    vectors = load_vectors(custom_vectors(put(data, "no.suffix")))
    assert vectors.words.to_pylist() == WORDS
    np.testing.assert_array_equal(vectors.matrix, MATRIX)
    assert isinstance(vectors.matrix, np.memmap) and vectors.matrix.dtype == np.float32


def test_a_name_says_nothing_of_the_machine_and_the_file_is_needed_only_once(
    put, cache, monkeypatch
):
    path = put(TEXT, "my größte+list (1).txt")
    name = custom_vectors(path)
    digest = hashlib.sha256(TEXT).hexdigest()
    assert name == f"my_größte_list__1_.txt@{digest[:12]}"
    monkeypatch.setattr(vector_files, "_entries", None)
    assert custom_vectors(path) == name
    assert custom_vectors(put(TEXT, "copy.txt")) == f"copy.txt@{digest[:12]}"
    monkeypatch.undo()
    monkeypatch.setenv("COURSE_DATA_DIR", str(cache))
    path.write_bytes(TEXT + b"more 1 1 1\n")
    changed = custom_vectors(path)
    path.unlink()
    assert load_vectors(name).provenance == [
        {"name": name, "sha256": digest, "words": 6, "width": 3}
    ]
    assert len(load_vectors(changed).words) == 7
    with pytest.raises(DataError, match=r"^mine\.txt@0123456789ab: not in the cache here; .*path"):
        load_vectors("mine.txt@0123456789ab")


def test_paths_become_names_and_names_stay(put, cache, tmp_path):
    name = custom_vectors(put(TEXT))
    assert named_vectors("mine.txt", tmp_path) == name
    assert named_vectors(str(tmp_path / "mine.txt")) == name
    assert named_vectors(f"glove.6B.50d+{tmp_path}/mine.txt") == f"glove.6B.50d+{name}"
    plus = custom_vectors(put(TEXT, "a+b.txt"))
    assert named_vectors("a+b.txt", tmp_path) == plus
    put(TEXT, "none")
    for kept in ("none", "glove.6B.50d", "glov", name, f"{name}+glove.840B.300d"):
        assert named_vectors(kept, tmp_path) == kept
    for path, says in ((tmp_path, "is no file"), ("no/mine.txt", "no such file of vectors")):
        with pytest.raises(DataError, match=f"{path}: {says}"):
            named_vectors(str(path))


@pytest.fixture
def refused(put, cache):
    """``refused(data, says)``: the file is refused by one line that begins so; nothing is kept."""

    def check(data, says):
        path = put(data)
        with pytest.raises(DataError) as error:
            custom_vectors(path)
        assert str(error.value).startswith(f"{path}: {says}")
        assert "\n" not in str(error.value) and list((cache / "prepared").iterdir()) == []

    return check


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"short 1 2", "2 numbers, expected a word and 3"),
        (b"text 1 two 3", "could not convert string to float"),
        (b"x 1 1e39 3", "a number of 'x' is not finite (NaN or infinity)"),
        (b"x 1 nan 3", "a number of 'x' is not finite (NaN or infinity)"),
        (b"film 1 2 3", "the word 'film' stands in the file before"),
        (b"caf\xe9 1 2 3", "not UTF-8 (unexpected end of data)"),
    ],
)
def test_a_line_that_is_no_word_with_its_vector_is_named(refused, line, says):
    refused(TEXT + line + b"\n", f"line 7: {says}")
    refused(b"7 3\n" + TEXT + line + b"\n", f"line 8: {says}")


def test_a_file_holds_what_its_first_line_promises(refused):
    refused(b"7 3\n" + TEXT, "line 1: promises 7 words, and the file holds 6")
    refused(HEADER + TEXT + b"one 1 2 3\n", "line 1: promises 6 words, and the file holds 7")
    refused(b"6 4\n" + TEXT, "line 2: 3 numbers, expected a word and 4")
    refused(b"the 1 two 3\n" + TEXT, "line 2: 3 numbers, expected a word and 1")
    refused(b"0 3\n", "holds no words")


def test_a_file_in_another_form_is_told_which_forms_are_read(refused):
    binary = b"2 3\nthe " + MATRIX[0].tobytes() + b"film " + MATRIX[1].tobytes()
    for data in (binary, compressed(binary), pickle.dumps([1.0]), b"Dear diary,\nthe film was\n"):
        refused(data, "is in no form that can be read here: GloVe text or word2vec text, ")
    refused(TEXT.replace(b"\n", b"\r"), "its lines end in CR alone")
    refused(b"", "is empty")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"words": np.array(WORDS[:5])}, "expected words (n,), vectors (n, width) and scale (n,)"),
        ({"vectors": MATRIX.astype(np.int8), "scale": np.ones(5)}, "expected words (n,), vectors"),
        ({"vectors": MATRIX.astype(np.int8)}, "cannot be read, truncated or damaged"),
        ({"words": np.array(WORDS, object)}, "Object arrays cannot be loaded"),
        ({"vectors": MATRIX * [[1], [np.inf], [1], [1], [1], [1]]}, "row 1: a number of 'film' is"),
        ({"words": np.array([*"abcde", "a"])}, "row 5: the word 'a' stands in the file before"),
        ({"words": np.array(["two\nlines", *"abcde"])}, "row 0: 'two\\nlines' is not a word"),
    ],
)
def test_arrays_that_do_not_fit_each_other_are_refused(refused, change, says):
    refused({"words": np.array(WORDS), "vectors": MATRIX} | change, says)


def test_a_truncated_file_is_refused(refused):
    refused(compressed(TEXT * 50)[:-20], "cannot be read, truncated or damaged")


def test_a_canonical_file_is_as_it_is_and_verified(cache, monkeypatch):
    """A repeated word's first vector counts there, since nobody can mend the file."""
    text, package = TEXT + b"film 0 0 0\nlast 2 2 2 \n", cache / "downloads" / "vectors.zip"
    source = Source("made-up", (saved(package, zip_of({MEMBER: text})),), member=MEMBER)
    content = hashlib.sha256(text).hexdigest()
    card = Card("tiny", *[""] * 4, kind="vectors", sources=(source,), content=content)
    monkeypatch.setitem(catalog.CARDS, "tiny", card)
    vectors = load_vectors("tiny")
    assert vectors.words.to_pylist() == [*WORDS, "last"]
    np.testing.assert_array_equal(vectors.matrix, [*MATRIX, [2] * 3])
    for member, content, says in (
        (MEMBER, "another", f"{MEMBER}: sha256 is .*, expected another"),
        ("else.txt", None, "cannot be read.*else.txt"),
    ):
        with pytest.raises(DataError, match=rf"vectors\.zip: {says}"):
            convert(package, cache / "prepared" / "x", member, content)
    saved(package, zip_of({MEMBER: text + b"short 1 2\n"}))
    with pytest.raises(DataError, match=rf"vectors\.zip: {MEMBER}: line 9: 2 numbers"):
        convert(package, cache / "prepared" / "x", MEMBER)
    package.unlink()
    assert load_vectors("tiny").words.equals(vectors.words)
    assert [path.name for path in (cache / "prepared").iterdir()] == ["tiny"]


@pytest.mark.parametrize("name", ["imdb", "punkt_tab", "glov"])
def test_what_are_no_vectors_is_refused_before_any_download(cache, no_network, name):
    with pytest.raises(DataError, match=f"no vectors '{name}'; the catalog has: glove.6B.50d, "):
        load_vectors(name)
    assert not cache.exists()


def cut(path, size):
    path.write_bytes(path.read_bytes()[:size])


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "words.txt").unlink(),
        lambda folder: (folder / "vectors.f32").unlink(),
        lambda folder: cut(folder / "vectors.f32", 4 * 7),
        lambda folder: (folder / "words.txt").write_bytes(b"\xff\xfe"),
        lambda folder: cut(folder / "words.txt", len("the\nfilm\n")),
        lambda folder: (folder / "origin.json").write_text("{"),
    ],
)
def test_a_damaged_folder_is_named(tiny, cache, damage):
    (folder,) = (cache / "prepared").iterdir()
    damage(folder)
    with pytest.raises(DataError, match=f"{re.escape(str(folder))}.*Delete it"):
        load_vectors(tiny.name)


def test_what_is_not_on_this_machine_is_asked_for_by_file_and_folder(monkeypatch):
    def retrieve(*settings):
        raise OSError(f"certificates: {settings[-1].kwargs['verify']}")

    monkeypatch.setattr(sources.pooch, "retrieve", retrieve)
    says = r"(?s)certificates: True.*needs glove\.840B\.300d\.zip in .*by hand"
    with pytest.raises(NotObtained, match=says):
        load_vectors("glove.840B.300d")


def test_a_word_is_looked_up_exactly_and_else_in_lower_case(tiny):
    words = ("US", "us", "Us", "The", "FILM", "film", "ÉTÉ", "zebra", "Zebra")
    assert tiny.rows_of(words).tolist() == [2, 3, 3, 0, 1, 1, 4, -1, -1]
    assert tiny.rows_of(()).tolist() == []
    assert tiny.vocabulary == Vocabulary(tuple(WORDS), folded=True)


def test_an_embedding_holds_the_vectors_of_known_words_and_the_share_it_covers(tiny):
    vocabulary = Vocabulary(("Film", "zebra", "the", "US", "The"))
    embedding, coverage = tiny.embedding_for(vocabulary, seed=3)
    assert embedding.shape == (7, 3) and embedding.dtype == torch.float32
    assert coverage == pytest.approx(4 / 5)
    np.testing.assert_array_equal(embedding[[2, 4, 5, 6]], MATRIX[[1, 0, 2, 0]])
    assert embedding.abs().sum(1).gt(0).tolist() == [False] + [True] * 6
    zeros, _ = tiny.embedding_for(vocabulary, seed=3, without_vector="zero")
    assert zeros[[0, 1, 3]].eq(0).all()
    np.testing.assert_array_equal(zeros[[2, 4, 5, 6]], MATRIX[[1, 0, 2, 0]])
    with pytest.raises(DataError, match=r"tiny.*: none of the 2 words .* 'zebra', has .* 'the'$"):
        tiny.embedding_for(Vocabulary(("zebra", "cow")), seed=0)


def test_words_without_a_vector_are_drawn_from_the_seed_with_the_spread_of_the_others(tiny):
    vocabulary = Vocabulary(("the", "us", *(f"zebra{i}" for i in range(4000))))
    first, again, other = (tiny.embedding_for(vocabulary, seed=seed)[0] for seed in (5, 5, 6))
    torch.manual_seed(1)
    assert torch.equal(first, again) and torch.equal(first[2:4], other[2:4])
    assert not (first[4:] == other[4:]).any() and len(first[4:].unique(dim=0)) == 4000
    assert first[4:].std().item() == pytest.approx(np.std([1, 2, 3, 4, 5, 6]), rel=0.05)
    assert first[4:].mean().item() == pytest.approx(0, abs=0.1)


def test_side_by_side_is_one_after_the_other_and_covers_as_the_first(put, cache):
    other = TEXT.replace(b"the 1.0 2.0 3.0", b"zebra 4 5 6")
    names = [custom_vectors(put(data, name)) for data, name in ((TEXT, "a"), (other, "b"))]
    both = load_vectors("+".join(names))
    assert isinstance(both, SideBySide)
    assert [part["name"] for part in both.provenance] == names
    assert both.vocabulary == Vocabulary((*WORDS, "zebra"), folded=True)
    vocabulary = Vocabulary(("zebra", "the", "film"))
    embedding, coverage = both.embedding_for(vocabulary, 0, without_vector="zero")
    parts = [part.embedding_for(vocabulary, 0, without_vector="zero")[0] for part in both.parts]
    assert coverage == pytest.approx(2 / 3) and embedding.equal(torch.hstack(parts))
    np.testing.assert_array_equal(embedding[4], [*MATRIX[1], *MATRIX[1]])


def test_side_by_side_no_two_parts_draw_the_same_numbers(put, cache):
    """The first part of a width draws from the run's seed, as if it stood alone."""
    narrow = b"the 1 2\nfilm 3 4\n"
    files = ((TEXT, "a"), (TEXT.replace(b". . .", b"other"), "b"), (narrow, "c"))
    both = load_vectors("+".join(custom_vectors(put(data, name)) for data, name in files))
    vocabulary = Vocabulary(("the", "zebra", "cow"))
    embedding, _ = both.embedding_for(vocabulary, 3)
    first, second, third = embedding.split([3, 3, 2], dim=1)
    assert torch.equal(first[2], second[2]) and not (first[[1, 3, 4]] == second[[1, 3, 4]]).any()
    for part, drawn in ((both.parts[0], first), (both.parts[2], third)):
        assert torch.equal(part.embedding_for(vocabulary, 3)[0], drawn)


def test_without_the_common_part_the_mean_is_zero_and_the_leading_direction_is_gone():
    """25,000 vectors of 6 dimensions (more than one chunk) vary most along known axes."""
    random = np.random.default_rng(0)
    axes, _ = np.linalg.qr(random.normal(size=(6, 6)))
    spread = np.array([9, 5, 2, 1, 0.5, 0.2])
    values = random.normal(size=(25_000, 6)) * spread @ axes.T + np.array([3, -1, 0.5, 2, 0, -7])
    stretched = values.astype(np.float32)
    common = common_part(stretched)
    centred = stretched - stretched.mean(0, dtype=np.float64)
    _, spread, directions = np.linalg.svd(centred, full_matrices=False)
    np.testing.assert_allclose(common.mean, stretched.mean(0, dtype=np.float64), atol=1e-9)
    assert abs(common.directions @ directions[0]) == pytest.approx(1, abs=1e-6)
    rest = all_but_the_top(stretched, common)
    assert rest.dtype == np.float32 and rest.shape == stretched.shape
    np.testing.assert_allclose(rest.mean(0), 0, atol=1e-4)
    left = np.linalg.svd(rest, compute_uv=False) / len(rest) ** 0.5
    expected = [*spread[1:] / len(rest) ** 0.5, 0]
    np.testing.assert_allclose(left, expected, rtol=1e-4, atol=1e-4)


def test_a_hundredth_of_the_dimensions_goes():
    for dimensions, expected in ((2, 1), (50, 1), (100, 1), (200, 2), (300, 3)):
        values = np.random.default_rng(1).normal(size=(400, dimensions))
        common = common_part(values)
        assert common.directions.shape == (expected, dimensions)
        along = ((values - common.mean) @ common.directions.T).std(0)
        assert (np.diff(along) < 0).all()  # strongest first


def test_a_standardised_embedding_loses_what_all_words_of_the_file_share(tiny):
    vocabulary = Vocabulary(("Film", "zebra", "the", "us"))
    plain, coverage = tiny.embedding_for(vocabulary, seed=3)
    changed, same = tiny.embedding_for(vocabulary, seed=3, standardise=True)
    assert same == coverage and changed[0].eq(0).all()
    expected = all_but_the_top(MATRIX, common_part(MATRIX))[[1, 0, 3]]
    np.testing.assert_allclose(changed[[2, 4, 5]], expected, atol=1e-6)
    for row in (1, 3):  # drawn, as before but for the spread
        torch.testing.assert_close(
            changed[row] / expected.std(), plain[row] / MATRIX[[1, 0, 3]].std()
        )


NGRAMS = ["2gram-#BEGIN#n", "2gram-no", "2gram-o#END#", "3gram-#BEGIN#no", "4gram-xxxx"]


def test_a_words_vector_of_character_ngrams_is_the_mean_of_those_that_have_one(cache):
    (item,) = catalog.CARDS["charngram.100d"].sources[0].downloads
    matrix = np.random.default_rng(0).normal(size=(5, 100)).round(3)
    lines = [f"{gram} {' '.join(map(str, row))}\n" for gram, row in zip(NGRAMS, matrix)]
    lines.insert(0, "5 100\n")  # whether the real one has this line we could not see
    text = "".join(lines).encode()
    saved(cache / "downloads" / item.filename, tar_of({"./README": b"", "./charNgram.txt": text}))
    vectors = load_vectors("charngram.100d")
    embedding, coverage = vectors.embedding_for(Vocabulary(("no", "n", "zebra")), 0, True)
    assert embedding.shape == (5, 100) and coverage == pytest.approx(2 / 3)
    np.testing.assert_allclose(embedding[2], matrix[:4].mean(0), rtol=1e-5)
    np.testing.assert_allclose(embedding[3], matrix[0], rtol=1e-5)
    assert embedding[0].eq(0).all() and embedding[4].abs().sum() > 0
    with pytest.raises(DataError, match="none of the 1 words"):
        vectors.embedding_for(Vocabulary(("q",)), 0)
    with pytest.raises(DataError, match="n-grams have no words"):
        _ = vectors.vocabulary
