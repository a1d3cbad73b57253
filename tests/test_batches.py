from dataclasses import replace

import datasets
import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from course_lib.data import encoding
from course_lib.data.batches import Batches
from course_lib.data.encoding import encode_documents, encode_sentences
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
        label=datasets.Value("int64"),
        tokens=datasets.List(datasets.Value("string")),
        sentence_lengths=datasets.List(datasets.Value("int32")),
    )
    columns = {
        "label": [label for _, label in corpus],
        "tokens": [[word for sentence in text for word in sentence] for text, _ in corpus],
        "sentence_lengths": [[len(sentence) for sentence in text] for text, _ in corpus],
    }
    return datasets.Dataset.from_dict(columns, features=features)


def corpus_of(lengths):
    """One document of one sentence for each length."""
    return [([["a"] * length] if length else [], i % 2) for i, length in enumerate(lengths)]


def documents_of(lengths):
    return encode_documents(rows_of(corpus_of(lengths)), VOCABULARY)


def indices(batches):
    return [batch.index.tolist() for batch in batches]


def encoded(corpus, flat, *cuts):
    """The documents, and the sentences of ids that should come out of each, cut at both limits."""
    most, longest = cuts
    if flat:
        documents = encode_documents(rows_of(corpus), VOCABULARY, flat=True, max_tokens=longest)
        corpus, most = (
            [([[word for sentence in text for word in sentence]], label) for text, label in corpus],
            None,
        )
    else:
        documents = encode_documents(rows_of(corpus), VOCABULARY, most, longest)
    return documents, [
        [[IDS.get(word, 1) for word in sentence[:longest]] for sentence in text[:most]]
        for text, _ in corpus
    ]


@given(CORPORA, st.booleans(), LIMITS, LIMITS, SIZES, SEEDS, st.integers(0, 3))
def test_every_document_comes_out_once_padded_to_the_longest_of_its_batch(
    corpus, flat, most, longest, size, seed, epoch
):
    documents, expected = encoded(corpus, flat, most, longest)
    lengths = [sum(map(len, text)) for text in expected]
    assert documents.lengths.tolist() == lengths
    batches, seen, sizes = Batches(documents, size, seed), [], []
    for batch in batches.epoch(epoch):
        places = batch.index.tolist()
        texts = [expected[i] for i in places]
        seen, sizes = seen + places, [*sizes, len(places)]
        widest = max([len(sentence) for text in texts for sentence in text] + [1])
        tallest = () if flat else (max([len(text) for text in texts] + [1]),)
        assert batch.tokens.shape == batch.mask.shape == (len(texts), *tallest, widest)
        assert torch.equal(batch.mask, batch.tokens != 0) and batch.mask.dtype == torch.bool
        assert batch.tokens.dtype == batch.labels.dtype == batch.index.dtype == torch.int64
        assert batch.labels.tolist() == [corpus[i][1] for i in places]
        for text, tokens, mask in zip(texts, batch.tokens, batch.mask, strict=True):
            rows = zip(tokens.reshape(-1, widest), mask.reshape(-1, widest), strict=True)
            found = [words[real].tolist() for words, real in rows]
            assert found == text + [[]] * (len(found) - len(text))  # padding stands last
        assert (batch.mask.int().diff(dim=-1) <= 0).all()
    assert sorted(seen) == list(range(len(corpus)))
    full, rest = divmod(len(corpus), size)
    assert sorted(sizes, reverse=True) == [size] * full + [rest] * bool(rest)
    assert len(sizes) == len(batches)
    if seed is None:  # as they are evaluated
        assert seen == sorted(range(len(corpus)), key=lambda i: -lengths[i])


def test_cut_of_the_other_kind_is_refused():
    rows = rows_of([([["a", "b"]], 0)])
    for cuts in ({"max_sentences": 1}, {"max_words": 1}):
        with pytest.raises(ValueError, match="cut them by max_tokens"):
            encode_documents(rows, VOCABULARY, flat=True, **cuts)
    with pytest.raises(ValueError, match="max_tokens cuts flat documents"):
        encode_documents(rows, VOCABULARY, max_tokens=1)
    assert encode_documents(rows, VOCABULARY, flat=True, max_tokens=0).lengths.tolist() == [2]


@given(st.lists(st.integers(0, 9), max_size=40), SIZES, SEEDS, st.integers(0, 3))
def test_same_seed_and_epoch_give_the_same_batches(lengths, size, seed, epoch):
    documents = documents_of(lengths)
    first = list(Batches(documents, size, seed).epoch(epoch))
    again = list(Batches(documents_of(lengths), size, seed).epoch(epoch))
    assert indices(first) == indices(again)
    assert all(torch.equal(a.tokens, b.tokens) for a, b in zip(first, again, strict=True))


def test_shuffling_does_not_touch_the_global_random_state():
    np.random.seed(0)
    torch.manual_seed(0)
    list(Batches(documents_of(range(1, 50)), 4, seed=9).epoch())
    after = np.random.random(), torch.rand(1)
    np.random.seed(0)
    torch.manual_seed(0)
    assert after == (np.random.random(), torch.rand(1))


def test_training_batches_hold_documents_of_similar_length_in_random_order():
    lengths = np.random.default_rng(0).permutation(np.arange(1, 513))
    batches = Batches(documents_of(lengths), 8, seed=0)
    means, cells = [], 0
    for batch in batches.epoch():
        means.append(batch.mask.sum().item() / len(batch.labels))
        cells += batch.tokens.numel()
    assert cells < 1.1 * lengths.sum()
    assert abs(np.corrcoef(means, np.arange(len(means)))[0, 1]) < 0.5


@given(CORPORA, st.integers(1, 3), st.data())
def test_chunks_and_a_selection_of_rows_change_nothing(corpus, chunk, data):
    assume(corpus)
    chosen = data.draw(st.lists(st.integers(0, len(corpus) - 1), max_size=8))
    whole, _ = encoded([corpus[i] for i in chosen], False, 3, 4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoding, "CHUNK", chunk)
        parts = encode_documents(rows_of(corpus).select(chosen), VOCABULARY, 3, 4)
    assert whole.digest() == parts.digest()


@given(CORPORA, st.booleans())
def test_typed_texts_are_encoded_like_rows(corpus, flat):
    rows, _ = encoded([(text, 0) for text, _ in corpus], flat, None, None)
    typed = encode_sentences([text for text, _ in corpus], VOCABULARY, flat=flat)
    assert typed.digest() == rows.digest()


def test_slices_are_the_batch_in_order_and_none_is_too_large():
    batch = documents_of([3, 1, 4, 1, 5, 9, 2]).batch(np.arange(7))
    each = batch.tokens[0].numel()
    for most, sizes in (
        (0, [7]),
        (7 * each, [7]),
        (7 * each - 1, [6, 1]),
        (3 * each, [3, 3, 1]),
        (1, [1] * 7),
    ):
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
