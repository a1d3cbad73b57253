from dataclasses import replace
from itertools import islice

import datasets
import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from course_lib.data import encoding
from course_lib.data.batches import Batches, Documents
from course_lib.data.encoding import encode_documents
from course_lib.data.vocabulary import Vocabulary

VOCABULARY = Vocabulary(("a", "b", "c", "d"))
IDS = {"a": 2, "b": 3, "c": 4, "d": 5}
SENTENCES = st.lists(st.lists(st.sampled_from("abcdxyz"), min_size=1, max_size=6), max_size=5)
CORPORA = st.lists(st.tuples(SENTENCES, st.integers(0, 4)), max_size=25)
LIMITS = st.none() | st.integers(1, 6)
SIZES = st.integers(1, 9)
SEEDS = st.none() | st.integers(0, 5)


def rows_of(corpus):
    """A corpus [(sentences, label)] as the tokenised rows that floor 0 makes of it."""
    features = datasets.Features(
        {
            "label": datasets.Value("int64"),
            "tokens": datasets.List(datasets.Value("string")),
            "sentence_lengths": datasets.List(datasets.Value("int32")),
        }
    )
    columns = {
        "label": [label for _, label in corpus],
        "tokens": [[word for sentence in text for word in sentence] for text, _ in corpus],
        "sentence_lengths": [[len(sentence) for sentence in text] for text, _ in corpus],
    }
    return datasets.Dataset.from_dict(columns, features=features)


def cut(corpus, max_sentences=None, max_words=None):
    """The ids that should come out of a batch, computed one document at a time."""
    return [
        [[IDS.get(word, 1) for word in sentence[:max_words]] for sentence in text[:max_sentences]]
        for text, _ in corpus
    ]


def documents_in(batch):
    """The sentences under the mask, document after document."""
    return [
        [words[real].tolist() for words, real in zip(tokens, mask, strict=True) if real.any()]
        for tokens, mask in zip(batch.tokens, batch.mask, strict=True)
    ]


def corpus_of(lengths):
    """One document of one sentence for each length."""
    return [([["a"] * length] if length else [], i % 2) for i, length in enumerate(lengths)]


def documents_of(lengths):
    return encode_documents(rows_of(corpus_of(lengths)), VOCABULARY)


def indices(batches):
    return [batch.index.tolist() for batch in batches]


@given(CORPORA, LIMITS, LIMITS, SIZES, SEEDS, st.integers(0, 3))
def test_every_document_comes_out_once_with_its_cut_text_and_label(
    corpus, max_sentences, max_words, size, seed, epoch
):
    documents = encode_documents(rows_of(corpus), VOCABULARY, max_sentences, max_words)
    batches = Batches(documents, size, seed)
    expected = cut(corpus, max_sentences, max_words)
    seen = []
    for batch in batches.epoch(epoch):
        places = batch.index.tolist()
        seen += places
        assert documents_in(batch) == [expected[i] for i in places]
        assert batch.labels.tolist() == [corpus[i][1] for i in places]
    assert sorted(seen) == list(range(len(corpus)))


@given(CORPORA, LIMITS, LIMITS, SIZES, SEEDS)
def test_mask_is_false_exactly_on_padding_and_padding_stands_last(
    corpus, max_sentences, max_words, size, seed
):
    documents = encode_documents(rows_of(corpus), VOCABULARY, max_sentences, max_words)
    for batch in Batches(documents, size, seed).epoch():
        assert batch.tokens.shape == batch.mask.shape
        assert torch.equal(batch.mask, batch.tokens != 0)
        assert batch.mask.dtype == torch.bool
        assert batch.tokens.dtype == batch.labels.dtype == batch.index.dtype == torch.int64
        steps = batch.mask.int().diff(dim=2)
        assert (steps <= 0).all()
        assert (batch.mask.any(2).int().diff(dim=1) <= 0).all()


@given(CORPORA, LIMITS, LIMITS, SIZES, SEEDS)
def test_no_padding_beyond_the_longest_sentence_and_the_most_sentences_of_the_batch(
    corpus, max_sentences, max_words, size, seed
):
    documents = encode_documents(rows_of(corpus), VOCABULARY, max_sentences, max_words)
    expected = cut(corpus, max_sentences, max_words)
    for batch in Batches(documents, size, seed).epoch():
        texts = [expected[i] for i in batch.index.tolist()]
        most = max(1, *(len(text) for text in texts), 1)
        longest = max([len(sentence) for text in texts for sentence in text] + [1])
        assert batch.tokens.shape == (len(texts), most, longest)


@given(CORPORA, LIMITS, SIZES, SEEDS)
def test_flat_documents_are_one_sequence_cut_at_its_end(corpus, max_tokens, size, seed):
    documents = encode_documents(rows_of(corpus), VOCABULARY, flat=True, max_tokens=max_tokens)
    expected = [[i for sentence in text for i in sentence][:max_tokens] for text in cut(corpus)]
    assert documents.lengths.tolist() == [len(text) for text in expected]
    seen = []
    for batch in Batches(documents, size, seed).epoch():
        places = batch.index.tolist()
        seen += places
        texts = [expected[i] for i in places]
        assert batch.tokens.shape == (len(texts), max([len(text) for text in texts] + [1]))
        assert torch.equal(batch.mask, batch.tokens != 0)
        assert (batch.mask.int().diff(dim=1) <= 0).all()
        rows = zip(batch.tokens, batch.mask, strict=True)
        assert [tokens[mask].tolist() for tokens, mask in rows] == texts
        assert batch.labels.tolist() == [corpus[i][1] for i in places]
    assert sorted(seen) == list(range(len(corpus)))


@given(CORPORA, SIZES, SEEDS)
def test_flat_batches_come_in_the_order_of_those_with_sentences(corpus, size, seed):
    orders = [
        indices(
            Batches(encode_documents(rows_of(corpus), VOCABULARY, flat=flat), size, seed).epoch()
        )
        for flat in (False, True)
    ]
    assert orders[0] == orders[1]


def test_cut_of_the_other_kind_is_refused():
    rows = rows_of([([["a", "b"]], 0)])
    for cuts in ({"max_sentences": 1}, {"max_words": 1}):
        with pytest.raises(ValueError, match="cut them by max_tokens"):
            encode_documents(rows, VOCABULARY, flat=True, **cuts)
    with pytest.raises(ValueError, match="max_tokens cuts flat documents"):
        encode_documents(rows, VOCABULARY, max_tokens=1)
    assert encode_documents(rows, VOCABULARY, flat=True, max_tokens=0).lengths.tolist() == [2]


@given(CORPORA, SIZES, SEEDS)
def test_number_of_batches_is_known_and_only_one_is_smaller(corpus, size, seed):
    batches = Batches(encode_documents(rows_of(corpus), VOCABULARY), size, seed)
    sizes = [len(batch.labels) for batch in batches.epoch()]
    assert len(sizes) == len(batches)
    assert sorted(sizes, reverse=True)[: len(corpus) // size] == [size] * (len(corpus) // size)
    assert sum(sizes) == len(corpus)


@given(st.lists(st.integers(0, 9), max_size=40), SIZES, SEEDS, st.integers(0, 3), st.integers(0, 9))
def test_same_seed_and_epoch_give_the_same_batches_and_skip_is_slicing(
    lengths, size, seed, epoch, skip
):
    documents = documents_of(lengths)
    first = list(Batches(documents, size, seed).epoch(epoch))
    again = list(Batches(documents_of(lengths), size, seed).epoch(epoch))
    assert indices(first) == indices(again)
    assert all(torch.equal(a.tokens, b.tokens) for a, b in zip(first, again, strict=True))
    assert indices(Batches(documents, size, seed).epoch(epoch, skip)) == indices(first[skip:])


def test_skipped_batches_are_never_made(monkeypatch):
    made = []
    whole = Documents.batch
    monkeypatch.setattr(Documents, "batch", lambda *a: made.append(a) or whole(*a))
    list(islice(Batches(documents_of(range(1, 41)), 4, seed=0).epoch(skip=7), 2))
    assert len(made) == 2


@pytest.mark.parametrize("lengths", [range(1, 101), [3] * 100])
def test_other_epoch_and_other_seed_give_other_orders(lengths):
    documents = documents_of(lengths)
    orders = [
        str(indices(Batches(documents, 8, seed).epoch(epoch)))
        for seed, epoch in [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]
    ]
    assert len(set(orders)) == len(orders)


def test_shuffling_does_not_touch_the_global_random_state():
    np.random.seed(0)
    torch.manual_seed(0)
    list(Batches(documents_of(range(1, 50)), 4, seed=9).epoch())
    after = np.random.random(), torch.rand(1)
    np.random.seed(0)
    torch.manual_seed(0)
    assert after == (np.random.random(), torch.rand(1))


@given(st.lists(st.integers(0, 30), max_size=40), SIZES)
def test_evaluation_comes_by_falling_length_in_every_epoch(lengths, size):
    batches = Batches(documents_of(lengths), size)
    order = [i for batch in batches.epoch() for i in batch.index.tolist()]
    assert order == sorted(range(len(lengths)), key=lambda i: -lengths[i])
    assert indices(batches.epoch(3)) == indices(batches.epoch(0))


def test_training_batches_hold_documents_of_similar_length_in_random_order():
    lengths = np.random.default_rng(0).permutation(np.arange(1, 513))
    batches = Batches(documents_of(lengths), 8, seed=0)
    means, cells = [], 0
    for batch in batches.epoch():
        means.append(batch.mask.sum().item() / len(batch.labels))
        cells += batch.tokens.numel()
    assert cells < 1.1 * lengths.sum()
    assert abs(np.corrcoef(means, np.arange(len(means)))[0, 1]) < 0.5


@given(CORPORA, st.integers(1, 3))
def test_encoding_in_chunks_changes_nothing(corpus, chunk):
    assume(corpus)
    whole = encode_documents(rows_of(corpus), VOCABULARY, 3, 4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoding, "CHUNK", chunk)
        parts = encode_documents(rows_of(corpus), VOCABULARY, 3, 4)
    for name in ("words", "sentence_starts", "document_starts", "labels", "lengths"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(parts, name))


@given(CORPORA, st.data())
def test_selected_rows_are_encoded_in_the_order_of_the_selection(corpus, data):
    assume(corpus)
    chosen = data.draw(st.lists(st.integers(0, len(corpus) - 1), max_size=8))
    documents = encode_documents(rows_of(corpus).select(chosen), VOCABULARY)
    batch = documents.batch(np.arange(len(chosen)))
    expected = cut(corpus)
    assert documents_in(batch) == [expected[i] for i in chosen]


def test_lengths_are_the_words_after_cutting():
    corpus = [([["a"] * 4, ["b"] * 2, ["c"]], 0), ([], 1), ([["d"]], 0)]
    assert encode_documents(rows_of(corpus), VOCABULARY).lengths.tolist() == [7, 0, 1]
    assert encode_documents(rows_of(corpus), VOCABULARY, 2, 3).lengths.tolist() == [5, 0, 1]


def test_documents_without_a_word_are_one_masked_cell():
    batch = documents_of([0, 0]).batch(np.array([1, 0]))
    assert batch.tokens.tolist() == [[[0]], [[0]]]
    assert batch.mask.tolist() == [[[False]], [[False]]]
    assert batch.labels.tolist() == [1, 0]


def test_empty_document_among_others_keeps_its_place():
    batch = documents_of([2, 0, 3]).batch(np.array([0, 1, 2]))
    assert batch.mask.sum((1, 2)).tolist() == [2, 0, 3]
    assert batch.index.tolist() == [0, 1, 2]


def test_corpus_without_documents_has_no_batches():
    for seed in (None, 0):
        batches = Batches(documents_of([]), 4, seed)
        assert len(batches) == 0
        assert list(batches.epoch()) == []


def test_document_of_100_000_words_and_one_of_100_000_sentences_fit():
    corpus = [([["a"] * 100_000], 0), ([["b"]] * 100_000, 1)]
    documents = encode_documents(rows_of(corpus), VOCABULARY)
    assert documents.lengths.tolist() == [100_000, 100_000]
    assert [batch.tokens.shape for batch in Batches(documents, 1).epoch()] == [
        (1, 1, 100_000),
        (1, 100_000, 1),
    ]


def test_slices_are_the_batch_in_order_and_none_is_too_large():
    batch = documents_of([3, 1, 4, 1, 5, 9, 2]).batch(np.arange(7))
    each = batch.tokens[0].numel()
    for most, sizes in ((0, [7]), (7 * each, [7]), (7 * each - 1, [6, 1]), (3 * each, [3, 3, 1]),
                        (1, [1] * 7)):  # fmt: skip
        parts = batch.slices(most)
        assert [len(part.labels) for part in parts] == sizes
        for whole, *pieces in zip(batch, *parts, strict=True):
            assert torch.equal(whole, torch.cat(pieces))
    assert batch.documents(7).slices(0) == batch.documents(7).slices(1) == []


def changed(documents, name, change):
    values = getattr(documents, name).copy()
    change(values)
    return replace(documents, **{name: values})


def test_a_digest_is_of_all_that_the_documents_hold():
    corpus = [([["a", "b"], ["c"]], 0), ([["d"]], 1), ([["a"], ["b", "c"]], 0)]
    documents, again = (encode_documents(rows_of(corpus), VOCABULARY) for _ in range(2))
    others = [
        replace(documents, flat=True),
        replace(documents, labels=1 - documents.labels),
        replace(documents, words=documents.words[::-1].copy()),
        changed(documents, "sentence_starts", lambda starts: starts.__setitem__(1, 1)),
        changed(documents, "document_starts", lambda starts: starts.__setitem__(1, 1)),
    ]
    assert documents.digest() == again.digest()
    assert len({each.digest() for each in [documents, *others]}) == 6
