"""The context-aware HAN: invariants, its equations in NumPy, and what knows of which sentence."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from strategies import check_independence, document_lengths, every_device, ragged_batch, seeds
from test_han import numpy_states

from course_kit.research.extensions.context_han import ContextHAN, ContextHANConfig
from course_lib.metrics.invariants import check_attention, check_gradients, check_permutation
from course_lib.models.han import HAN, HANConfig

VARIANTS = [
    {"both": both, "mean": mean, "gated": gated}
    for both in (False, True)
    for mean in (False, True)
    for gated in (False, True)
]
every_variant = pytest.mark.parametrize(
    "variant", VARIANTS, ids=lambda v: "-".join(name for name, on in v.items() if on) or "plain"
)
DOCUMENTS = [[3, 2, 5], [4], [2, 0, 3], [], [1, 1, 1, 6]]


def tiny(seed=0, words=12, **settings_):
    torch.manual_seed(seed)
    sizes = {"embedding": 4, "hidden": 3, "attention": 4}
    return ContextHAN(ContextHANConfig(**sizes | settings_), words, 2).eval()


@every_device
@every_variant
@settings(max_examples=8)
@given(documents=document_lengths(), seed=seeds)
def test_all_invariants_hold_on_any_ragged_batch(device, variant, documents, seed):
    model = tiny(seed, words=60, dropout=0.3, **variant).to(device)
    tokens, mask = (part.to(device) for part in ragged_batch(documents, seed))
    with torch.backends.cudnn.flags(allow_tf32=False):
        output = model(tokens, mask)
        check_attention(output.word_attention, mask)
        check_attention(output.sentence_attention, mask.any(2))
        check_independence(model, tokens, mask, 1e-6 if device == "cpu" else 1e-5)


@every_variant
def test_gradients_reach_every_parameter_and_order_matters(variant):
    tokens, mask = ragged_batch(DOCUMENTS)
    model = tiny(words=60, **variant)
    check_gradients(model, tokens, mask)
    check_permutation(model, tokens, mask, matters=True)


def numpy_direction(state, pooling, states, variant):
    """Sentence vectors and attention of one direction, over the word states of each sentence."""
    name = f"words.pooling.{pooling}."
    said, found = np.zeros(states[0].shape[1]), []
    for step, h in enumerate(states):
        c = said / max(step, 1) if variant["mean"] else said
        told = np.tile(state[name + "of_context.weight"] @ c, (len(h), 1))
        if variant["gated"]:
            both = np.concatenate([h, np.tile(c, (len(h), 1))], 1)
            gate = both @ state[name + "gate.weight"].T + state[name + "gate.bias"]
            told = told / (1 + np.exp(-gate))
        u = h @ state[name + "projection.weight"].T + state[name + "projection.bias"] + told
        weights = np.exp(np.tanh(u) @ state[name + "context"])
        alpha = weights / weights.sum()
        found.append((alpha @ h, alpha))
        said = said + alpha @ h
    return found


@every_variant
def test_sentence_vectors_and_attention_are_the_papers_equations(variant):
    model = tiny(words=60, **variant)
    tokens, mask = ragged_batch([[3, 2, 5]])
    state = {name: value.double().numpy() for name, value in model.state_dict().items()}
    states = [
        numpy_states(state, "words", state["embedding.weight"][sentence[real].numpy()])
        for sentence, real in zip(tokens[0], mask[0], strict=True)
    ]
    expected = [numpy_direction(state, 0, states, variant)]
    if variant["both"]:
        expected.append(numpy_direction(state, 1, states[::-1], variant)[::-1])
    vectors, alpha = model.encode_sentences(tokens, mask, None)
    for sentence in range(3):
        found = np.concatenate([direction[sentence][0] for direction in expected])
        np.testing.assert_allclose(vectors[sentence].detach().numpy(), found, atol=1e-5)
        for row, direction in enumerate(expected):
            shown = alpha[sentence, row, : len(direction[sentence][1])].detach().numpy()
            np.testing.assert_allclose(shown, direction[sentence][1], atol=1e-5)


def attention_of_last(model, first):
    """Attention within the last of three sentences, whose first is given."""
    tokens = torch.tensor([[first, [5, 6, 7], [8, 9, 4]]])
    return model(tokens, torch.ones_like(tokens, dtype=torch.bool)).word_attention[0, 2]


def test_a_sentence_knows_what_was_said_before_it_which_in_han_it_does_not():
    torch.manual_seed(0)
    han = HAN(HANConfig(embedding=4, hidden=3, attention=4), 12, 2).eval()
    said, other = [2, 2, 2], [3, 3, 3]
    assert torch.equal(attention_of_last(han, said), attention_of_last(han, other))
    for both in (False, True):
        model = tiny(both=both)
        difference = attention_of_last(model, said) - attention_of_last(model, other)
        assert difference.abs().max() > 1e-4


def test_read_from_left_to_right_no_sentence_knows_a_later_one():
    tokens = torch.tensor([[[2, 3, 4], [5, 6, 7]], [[2, 3, 4], [8, 9, 10]]])
    mask = torch.ones_like(tokens, dtype=torch.bool)
    first, second = tiny(both=False)(tokens, mask).word_attention[:, 0]
    torch.testing.assert_close(first, second)
    first, second = tiny(both=True)(tokens, mask).word_attention[:, 0]
    assert (first - second).abs().max() > 1e-4


def test_without_context_it_scores_as_han_does():
    model = tiny(both=False)
    model.words.pooling[0].of_context.weight.data.zero_()
    tokens, mask = ragged_batch([[3, 2, 5]])
    torch.manual_seed(0)
    han = HAN(HANConfig(embedding=4, hidden=3, attention=4), 12, 2).eval()
    han.embedding, han.words.gru = model.embedding, model.words.gru
    han.words.pooling.projection = model.words.pooling[0].projection
    han.words.pooling.contexts.data[0] = model.words.pooling[0].context.data
    tokens = tokens.clamp(max=11)
    expected, found = (net.encode_sentences(tokens, mask, None) for net in (han, model))
    for one, other in zip(expected, found, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("wrong", [{"hops": 2}, {"penalty": 0.1}, {"gated": 1}])
def test_what_it_cannot_have_is_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong)).replace("penalty", "hops")):
        ContextHANConfig(**wrong)
