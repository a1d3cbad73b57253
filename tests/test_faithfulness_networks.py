"""Every family of networks under the tests of faithfulness: as a function of documents, its
gradients, its attention as word importances and as something to be replaced."""

from functools import cache

import numpy as np
import pytest
import torch
from strategies import cuda

from course_lib import faithfulness
from course_lib.data.corpus import load_corpus
from course_lib.faithfulness.document_model import DocumentModel, scaled_vectors
from course_lib.faithfulness.word_attention import iram_steps
from course_lib.models.iram import NGRAM_WIDTH
from course_lib.runs.run import split_rows
from course_lib.runs.settings import with_overrides
from course_lib.runs.systems import NeuralSystem, known_systems

FAMILIES = sorted(  # MiniLM needs files of its own: test_minilm
    name
    for name, system in known_systems().items()
    if issubclass(system, NeuralSystem) and name != "minilm"
)
families = pytest.mark.parametrize("family", FAMILIES)
NO_ATTENTION = {
    "sanet": {"model.attention": False},
    "iram": {"model.steps": 0, "model.penalty": 0.0},
    "agt": {"model.attention": False},
}


@cache
def rows():
    return split_rows(load_corpus("toy"))


def untrained(family, **changes):
    """A small network before training, in evaluation mode; in double precision, so that slopes can
    be compared with small differences."""
    corpus = load_corpus("toy")
    settings = with_overrides(known_systems()[family].presets["small"], changes)
    system = known_systems()[family](settings, corpus.card.classes, "untrained")
    system.build(rows(), seed=0)
    system.model.double().eval()
    return system


@cache
def function_of(family):
    return DocumentModel(untrained(family))


@cache
def texts(family, count=12):
    return function_of(family).documents(rows()["test"].select(range(count)))


def log_odds(model, documents, classes, scale=1.0):
    with scaled_vectors(model.system, scale):
        p = model(documents)
    own = p[np.arange(len(p)), classes]
    return np.log(own) - np.log1p(-own)


@families
def test_it_predicts_what_the_system_predicts(family):
    model = function_of(family)
    looked_at = model.system.evaluate(rows()["test"].select(range(12)), attention=False)
    expected = looked_at.predictions.probabilities
    np.testing.assert_allclose(model(texts(family)), expected, atol=1e-6)
    words = [len(faithfulness.words_of(text)) for text in texts(family)]
    by_sentence = known_systems()[family].reads_sentences
    assert (isinstance(texts(family)[0][0], str), min(words) > 1) == (not by_sentence, True)


@families
def test_what_is_removed_is_no_longer_read(family):
    """An unknown word stands for a masked one, and a text without words has a prediction."""
    model, (text, *_) = function_of(family), texts(family)
    scores = faithfulness.leave_one_out(model, [text])[0]
    place = np.abs(scores).argmax()
    gone = np.arange(len(scores)) == place
    (full,), j = model([text]), model([text]).argmax()
    for filler in (None, "⟨unknown⟩"):
        (left,) = model([faithfulness.without(text, gone, filler)])
        (masked,) = faithfulness.leave_one_out(model, [text], filler)
        assert masked[place] == pytest.approx(full[j] - left[j], abs=1e-6)
    assert np.isfinite(model([faithfulness.without(text, gone | ~gone)])).all()


@families
def test_a_network_in_training_mode_is_refused(family):
    model = DocumentModel(untrained(family))
    model.system.model.train()
    documents = texts(family)[:1]
    for test in (
        lambda: model(documents),
        lambda: model.gradients(documents, np.array([0])),
        lambda: model.attention(documents),
        lambda: model.attended(documents[0]),
    ):
        with pytest.raises(ValueError, match="training mode"):
            test()


@families
@pytest.mark.parametrize("detached", [False, True])
def test_gradients_of_a_document_do_not_depend_on_its_neighbours(family, detached):
    model, classes = function_of(family), np.array([0, 1, 0, 1])
    together = model.gradients(texts(family)[:4], classes, detached=detached)
    for text, j, (x, slope) in zip(texts(family), classes, together, strict=False):
        ((alone, alone_slope),) = model.gradients([text], np.array([j]), detached=detached)
        assert x.shape == slope.shape and len(x) == len(faithfulness.words_of(text))
        np.testing.assert_allclose(alone, x, atol=1e-6)
        np.testing.assert_allclose(alone_slope, slope, atol=1e-5)


@families
def test_gradients_are_the_slope_of_the_log_odds(family):
    """Along all vectors together, the slope is Σ x · ∂/∂x: against a difference."""
    model, documents = function_of(family), texts(family)
    classes = model(documents).argmax(1)
    for scale in (1.0, 0.7):
        found = model.gradients(documents, classes, scale)
        slopes = [float((x * slope).sum()) for x, slope in found]
        above, below = (log_odds(model, documents, classes, scale + d) for d in (1e-6, -1e-6))
        np.testing.assert_allclose(slopes, (above - below) / 2e-6, atol=1e-6, rtol=1e-4)


def test_the_n_grams_of_a_word_belong_to_its_vector():
    changes = {"model.ngrams": 64, "model.embedding_highway": 1, "model.frozen": False}
    model = DocumentModel(untrained("iram", **changes))
    ((x, slope),) = model.gradients(texts("iram")[:1], np.array([1]))
    assert x.shape[1] == model.system.model.embedding.embedding_dim + NGRAM_WIDTH
    assert np.abs(slope[:, -NGRAM_WIDTH:]).max() > 0


def test_detached_attention_takes_part_in_no_gradient():
    """Of an AGT with one layer: words are as important as the weighted mean makes them."""
    model = DocumentModel(untrained("agt", **{"model.layers": 1}))
    documents, classes = texts("agt")[:3], np.array([0, 1, 1])
    network = model.system.model
    attached, detached = (model.gradients(documents, classes, detached=d) for d in (False, True))
    for text, j, (_, slope), (_, other) in zip(documents, classes, attached, detached):
        tokens, mask = model.system.batch([[text]])
        x = network.embedding(tokens).detach().requires_grad_()
        b = torch.tanh(network.projection(x))
        weights = network(tokens, mask).attention.detach()
        z = network.classifier((weights @ b)[:, 0])[0]
        (expected,) = torch.autograd.grad(z[j] - z[1 - j], x)
        np.testing.assert_allclose(other, expected[0], atol=1e-6)
        assert np.abs(slope - other).max() > 1e-4


def on_words(family, weights, real, words):
    """The weights on each word, all rows, without those on summaries; and as many places."""
    if known_systems()[family].reads_sentences:
        return weights[real][None]
    return weights[..., :words].reshape(-1, words)


@families
def test_a_weight_times_its_slope_is_what_the_log_odds_lose_without_it(family):
    """Moving a hair of a weight to the others of its row costs its slope; numbers of a row sum
    to 0, unless some of the row is on summaries."""
    model, text = function_of(family), texts(family)[0]
    words, j = len(faithfulness.words_of(text)), np.array([1])
    attention, real, answer = model.attended(text)
    ((alpha, slope),) = model.attention_gradients([text], j)
    np.testing.assert_allclose(alpha, on_words(family, attention, real, words), atol=1e-12)
    random, step = np.random.default_rng(0), 1e-5
    places = random.choice(np.argwhere(real & (attention > 0)), 6, replace=False)
    for place in map(tuple, places):
        one = np.zeros_like(attention)
        one[place] = step
        (up,), (down,) = answer((attention + one)[None]), answer((attention - one)[None])
        expected = (np.log(up[1] / up[0]) - np.log(down[1] / down[0])) / (2 * step)
        at = on_words(family, one, real, words)
        if at.any():
            assert slope[at > 0].item() == pytest.approx(expected, abs=1e-5)
    if "iram" not in family:
        assert (alpha * slope).sum() == pytest.approx(0, abs=1e-9)
    (ranking,) = faithfulness.attention_times_gradient(model.attention_gradients, model, [text])
    ((alpha, slope),) = model.attention_gradients([text], model([text]).argmax(1))
    np.testing.assert_allclose(ranking, (alpha * slope).sum(0), atol=1e-9)
    assert ranking.shape == (words,) and np.abs(ranking).max() > 0


@families
def test_attention_is_reduced_to_the_words_in_reading_order(family):
    model = function_of(family)
    found = model.attention(texts(family))
    assert next(iter(found)) == "attention"
    for name, per_document in found.items():
        for text, words in zip(texts(family), per_document, strict=True):
            assert len(words) == len(faithfulness.words_of(text))
            if name == "attention":
                assert words.sum() == pytest.approx(1, abs=1e-5)
    if family == "han":
        reading = model.system.read(rows()["test"][0])
        alpha, beta = (reading.attention[name].weights[0] for name in ("words", "sentences"))
        expected = alpha * np.repeat(beta, reading.sentence_lengths)
        np.testing.assert_allclose(found["attention"][0], expected, atol=1e-6)
    losses = faithfulness.comprehensiveness(model, texts(family), found["attention"])
    assert losses.shape == (12, 5) and np.isfinite(losses).all()


@families
def test_its_attention_can_be_replaced(family):
    model, text = function_of(family), texts(family)[0]
    attention, real, answer = model.attended(text)
    assert attention.shape == real.shape and not attention[~real].any()
    (expected,) = model([text])
    np.testing.assert_allclose(answer(np.stack([attention] * 3)), [expected] * 3, atol=1e-6)
    uniform = real / np.maximum(1, real.sum(-1, keepdims=True))
    assert faithfulness.permutation_change(answer, uniform, real, shuffles=3) < 1e-6
    change = faithfulness.permutation_change(answer, attention, real, shuffles=5)
    assert 0 < change < 1
    if family not in ("sanet", "transformer"):  # a search over squares of weights takes long
        found = faithfulness.adversarial_attention(answer, attention, real)
        assert found.change <= 0.05 and found.divergence > 0.05
        moved = answer(np.stack([found.attention]))[0]
        assert faithfulness.total_variation(moved, expected) == pytest.approx(
            found.change, abs=1e-6
        )


# where a network has what its first attention made of the states
POOLED = {
    "han": lambda model: (model.words, lambda inputs, output: output[0]),
    "bilstm": lambda model: (model.pooling, lambda inputs, output: output[0]),
    "iram": lambda model: (model.steps.refine, lambda inputs, output: inputs[0]),
    "agt": lambda model: (model.stack, lambda inputs, output: inputs[0]),
}


@pytest.mark.parametrize("family", POOLED)
def test_states_are_what_attention_weighs(family):
    model, some = function_of(family), texts(family)[:4]
    module, pooled = POOLED[family](model.system.model)
    seen = []
    hook = module.register_forward_hook(lambda _, i, o: seen.append(pooled(i, o)))
    for text, states in zip(some, model.states(some)):
        attention, real, _ = model.attended(text)
        seen.clear()
        model([text])
        if family == "han":  # a row a sentence, each over its own words
            ends = real.sum(1).cumsum()[:-1]
            weights = [row[places] for row, places in zip(attention, real)]
            sums = [w @ part for w, part in zip(weights, np.split(states, ends))]
        else:
            sums = [np.atleast_2d(attention)[0, : len(states)] @ states]
        np.testing.assert_allclose(np.stack(sums), seen[0].reshape(len(sums), -1), atol=1e-6)
    hook.remove()


def test_states_of_sanet_are_what_its_first_block_reads():
    model, (text, *_) = function_of("sanet"), texts("sanet")
    tokens, _ = model.system.batch([[text]])
    expected = model.system.model.embed(tokens)[0].detach().numpy()
    np.testing.assert_allclose(model.states([text])[0], expected[: len(text)], atol=1e-6)


def test_a_network_without_attention_weighs_no_states():
    with pytest.raises(ValueError, match="IRAM has no states that attention weighs"):
        DocumentModel(untrained("iram", **NO_ATTENTION["iram"])).states(texts("iram"))


def test_sentences_keep_their_weights_when_those_of_words_are_replaced():
    model, (text, *_) = function_of("han"), texts("han")
    attention, real, answer = model.attended(text)
    other = faithfulness.zeroed(attention, np.arange(real.shape[1]) == 0)
    inputs = model.system.batch([text])
    with torch.no_grad():
        sentences = model.system.model(*inputs).sentence_attention
        given = torch.from_numpy(other)[None], sentences
        expected = model.system.model(*inputs, attention=given).logits.softmax(1)
    np.testing.assert_allclose(answer(other[None]), expected, atol=1e-12)


def test_steps_see_words_and_earlier_summaries_and_the_last_one_ranks_the_words():
    model, (text, *_) = function_of("iram"), texts("iram")
    attention, real, _ = model.attended(text)
    assert real.sum(1).tolist() == [len(text) + step for step in range(len(attention))]
    unrolled = iram_steps(torch.from_numpy(attention)[None], torch.ones(1, len(text)).bool())
    found = model.attention([text])["attention"][0]
    np.testing.assert_allclose(found, unrolled[0, -1], atol=1e-12)


@pytest.mark.parametrize("family", NO_ATTENTION)
def test_a_baseline_has_no_attention_to_replace(family):
    model = DocumentModel(untrained(family, **NO_ATTENTION[family]))
    documents = texts(family)[:2]
    assert "attention" not in model.attention(documents) and model.attention([]) == {}
    classes = np.zeros(2, dtype=int)
    for asked in (
        lambda: model.attended(documents[0]),
        lambda: model.gradients(documents, classes, detached=True),
        lambda: model.attention_gradients(documents, classes),
    ):
        with pytest.raises(ValueError, match="no attention"):
            asked()
    assert len(model.gradients(documents, classes)) == 2


def test_what_a_network_of_another_kind_calls_its_encoder_is_left_alone():
    """Only a system knows whether such a module encodes a text, and what that returns."""
    model = DocumentModel(untrained("sanet"))
    (text, *_) = model.documents(rows()["test"].select(range(1)))
    attention, real, answer = model.attended(text)
    candidates = np.stack([attention, real / real.sum(-1, keepdims=True)])
    expected = answer(candidates)
    model.system.model.encoder = model.system.model.embedding
    np.testing.assert_array_equal(model.attended(text).answer(candidates), expected)


def test_words_where_sentences_are_read_are_refused():
    with pytest.raises(ValueError, match="reads sentences"):
        function_of("han")([["a", "b"]])


@cuda
@families
def test_gradients_in_evaluation_mode_on_a_gpu(family):
    """cuDNN refuses a recurrent layer's backward pass there, so it stays off."""
    model = DocumentModel(untrained(family))
    expected = model.gradients(texts(family)[:4], np.array([0, 1, 0, 1]))
    model.system.model.to("cuda")
    found = model.gradients(texts(family)[:4], np.array([0, 1, 0, 1]))
    for (x, slope), (y, other) in zip(expected, found, strict=True):
        np.testing.assert_allclose(y, x, atol=1e-6)
        np.testing.assert_allclose(other, slope, atol=1e-4)
