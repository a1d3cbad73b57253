"""The small classifiers and texts of lessons 01 and 02, and the figures that go with them."""

import pytest
import torch

from course_kit.exercises import calls, small_classifiers
from course_kit.exercises.lesson_02 import check_attention_pooling
from course_lib.data import load_corpus
from course_lib.metrics import invariants

TEXTS = [["the", "film", "is", "fine"], ["dull"], ["the", "end"]]


@pytest.fixture(scope="module")
def words():
    rows = load_corpus("toy").splits["train"].select(range(50))
    return small_classifiers.load_words(rows, ["handkerchief"], real=False)


@pytest.fixture(scope="module")
def part(words):
    return words.endings(load_corpus("toy").splits["train"].select(range(120)), 20)


def test_words_are_padded_with_zeros_and_further_ones_are_known(words):
    tokens, mask = words.encode([["handkerchief", "zzzz"], ["the"]])
    assert tokens.shape == mask.shape == (2, 2) and mask.tolist() == [[True, True], [True, False]]
    assert tokens[0, 0] > 1 and tokens[0, 1] == 1 and tokens[1, 1] == 0
    assert words.embedding.shape == (len(words.vocabulary), small_classifiers.WIDTH)


def test_endings_keep_the_last_words(words):
    rows = load_corpus("toy").splits["train"].select(range(3))
    tokens, mask, labels = words.endings(rows, 2)
    assert tokens[0].tolist() == words.encode([rows["tokens"][0][-2:]])[0][0].tolist()
    assert mask.sum(1).tolist() == [2, 2, 2] and labels.tolist() == rows["label"]


@pytest.mark.parametrize("form", (small_classifiers.PLAIN, small_classifiers.CONTEXT))
def test_every_form_pools_real_words_alone(form, words):
    reader = small_classifiers.PoolingReader(form, words.embedding)
    tokens, mask = words.encode(TEXTS)
    output = reader(tokens, mask)
    assert torch.allclose(output.share.sum(1), torch.ones(3), atol=1e-5)
    assert output.share[~mask].eq(0).all()
    invariants.check_permutation(reader, tokens, mask, matters=False, tolerance=1e-4)
    alone = reader(*words.encode(TEXTS[1:2])).logits[0]
    assert torch.allclose(output.logits[1], alone, atol=1e-5)


def test_a_pooling_of_states_may_give_the_weights(words):
    ours = small_classifiers.PoolingReader("context vector", words.embedding)
    theirs = small_classifiers.PoolingReader(
        "context vector", words.embedding, lambda h, mask, c: (h, 2.0 * mask)
    )
    assert torch.equal(theirs(*words.encode(TEXTS)).share, 2.0 * words.encode(TEXTS)[1])
    theirs.pool = check_attention_pooling.reference
    theirs.load_state_dict(ours.state_dict())
    outputs = [each(*words.encode(TEXTS)) for each in (ours, theirs)]
    assert all(torch.allclose(*pair, atol=1e-6) for pair in zip(*outputs, strict=True))


def test_the_plain_mean_is_fitted_to_the_end(words, part):
    reader = small_classifiers.learn("plain mean", words, part, 1, 0)
    loss = torch.nn.functional.cross_entropy(reader(*part[:2]).logits, part[2])
    loss.backward()
    assert reader.classify.weight.grad.abs().max() < 0.02
    other = small_classifiers.learn(
        "plain mean", words, part, 9, 1
    )  # neither epochs nor seed matter
    one, two = (
        small_classifiers.right(each, part).float().mean().item() for each in (reader, other)
    )
    assert one == pytest.approx(two, abs=0.02) and one > 0.7


def test_a_form_learns(words, part):
    before, after = (small_classifiers.learn("context vector", words, part, n, 0) for n in (0, 40))
    accuracies = [small_classifiers.right(each, part).float().mean() for each in (before, after)]
    assert accuracies[1] > max(accuracies[0], 0.7)


def test_the_effect_of_a_word_is_what_happens_without_it(words):
    reader = small_classifiers.PoolingReader("context vector", words.embedding)
    tokens, _ = words.encode(TEXTS[:1])
    effect = small_classifiers.effect_of_each_word(reader, tokens[0])
    with torch.no_grad():
        texts = TEXTS[0], TEXTS[0][:1] + TEXTS[0][2:]
        whole, left = (reader(*words.encode([text])).logits.softmax(1)[0, 1] for text in texts)
    assert effect.shape == (4,) and effect[1] == pytest.approx(abs(whole - left).item(), abs=1e-5)


def test_short_texts_are_left_out_of_the_deletions(words):
    reader = small_classifiers.PoolingReader("context vector", words.embedding)
    hits, moved = small_classifiers.deletion_effects(reader, *words.encode(TEXTS), 0)
    assert len(hits) == 1 and all(len(values) == 1 for values in moved.values())
    assert moved["most effective"][0] >= max(moved["random"][0], moved["most attended"][0])


def test_gates_give_the_states_back(words):
    torch.manual_seed(0)
    reader = small_classifiers.GatedReader(words, hidden=6)
    tokens, _ = words.encode([["the", "film", "is", "fine"]])
    r, z = reader.gates(tokens)
    states, x = reader.states(tokens), reader.embedding(tokens)
    assert states.shape == (1, 5, 6) and states[:, 0].eq(0).all()
    u, w = reader.cell.u(x).chunk(3, -1)[2], reader.cell.w.weight.chunk(3)[2]
    candidate = torch.tanh(u + (r * states[:, :-1]) @ w.T)
    assert torch.allclose((1 - z) * states[:, :-1] + z * candidate, states[:, 1:], atol=1e-5)
    other = reader.other_reset()
    assert other.cell.w.bias.eq(0).all()
    assert not torch.allclose(other.states(tokens)[:, 2:], states[:, 2:], atol=1e-6)
    assert torch.allclose(other.states(tokens)[:, 1], states[:, 1], atol=1e-6)  # from a zero state


def test_documents_of_one_length_end_where_their_rows_do(words):
    rows = load_corpus("toy").splits["train"].select(range(30))
    documents = small_classifiers.same_length(rows, words.vocabulary, 5)
    assert len(documents) == sum(len(tokens) >= 5 for tokens in rows["tokens"])
    longest = next(tokens for tokens in rows["tokens"] if len(tokens) >= 5)
    assert documents.words[:5].tolist() == words.vocabulary.encode(longest[-5:]).tolist()


@pytest.mark.parametrize("longest", [4, 9, 30])
def test_one_call_is_followed_by_the_name_within_every_text(longest):
    found = calls.draw(200, longest, seed=0)
    rows = torch.arange(200)
    assert torch.equal(found.tokens[rows, found.at], calls.FIRST + found.name)
    assert (found.tokens == calls.CALL).sum(1).eq(1).all() and found.mask[rows, found.at].all()
    assert found.tokens[rows, found.at - 1].eq(calls.CALL).all()
    assert torch.equal(found.tokens > 0, found.mask)
    assert found.name.unique().tolist() == [0, 1, 2, 3]
    assert all(map(torch.equal, found, calls.draw(200, longest, seed=0)))
    tokens, mask = calls.encode("rain call Tom")
    assert [calls.WORDS[word] for word in tokens[0]] == ["rain", "call", "Tom"] and mask.all()
