"""Our encoder with BERT's weights is ``transformers``' own, tiny and random, or the real MiniLM."""

import json

import pytest
import torch
import transformers
from safetensors.torch import load_file

from course_lib.files import prepared_folder
from course_lib.models.bert import BertConfig, from_bert
from course_lib.models.transformer import Transformer
from course_lib.runs import load_recorded, recorded_names

FOLDER = prepared_folder("minilm")  # looked up before a fixture hides it
TINY = BertConfig(layers=3, heads=4, feed_forward=40, width=24, positions=30)


def encoders(config, vocabulary, state=None):
    """``transformers``' encoder of these sizes and ours, with the same weights."""
    torch.manual_seed(0)
    settings = transformers.BertConfig(
        vocab_size=vocabulary,
        hidden_size=config.width,
        num_hidden_layers=config.layers,
        num_attention_heads=config.heads,
        intermediate_size=config.feed_forward,
        max_position_embeddings=config.positions,
        layer_norm_eps=config.norm_epsilon,
        attn_implementation="eager",
    )
    theirs = transformers.BertModel(settings, add_pooling_layer=False).eval()
    if state:
        theirs.load_state_dict(state, strict=False)
    else:  # theirs start so small that an error in a bias or a norm would not show
        for weight in theirs.parameters():
            torch.nn.init.normal_(weight, std=0.3)
    ours = Transformer(config, vocabulary, 2).eval()
    missing, unexpected = ours.load_state_dict(from_bert(theirs.state_dict()), strict=False)
    assert not unexpected and set(missing) == {"classifier.weight", "classifier.bias"}
    return theirs, ours


@torch.inference_mode()
def assert_equal(theirs, ours, texts, longest):
    lengths = torch.randint(1, longest + 1, (texts,))
    lengths[0] = longest
    mask = torch.arange(longest) < lengths[:, None]
    tokens = torch.randint(1, theirs.config.vocab_size, mask.shape).masked_fill(~mask, 0)
    for rows in torch.arange(texts).split(20):
        one = tokens[rows], mask[rows]
        known = theirs(one[0], one[1].long(), output_attentions=True, output_hidden_states=True)
        fused = ours(*one, return_states=True).states  # without storing the weights
        found = ours(*one, return_attention=True, return_states=True)
        real, pairs = one[1][:, None, :, None], (one[1][:, :, None] & one[1][:, None])
        states = torch.stack(known.hidden_states, 1)
        for ours_states in (found.states * real, fused * real):
            torch.testing.assert_close(
                ours_states[:, -1], (states * real)[:, -1], atol=1e-5, rtol=0
            )
            # between blocks one of MiniLM's states, near 5, differs by 1.001e-5
            torch.testing.assert_close(ours_states, states * real, atol=1e-5, rtol=2e-6)
        alpha = torch.stack(known.attentions, 1) * pairs[:, None, None]
        torch.testing.assert_close(found.attention, alpha, atol=1e-5, rtol=0)


def test_a_tiny_random_bert():
    assert_equal(*encoders(TINY, 50), 40, 30)


@pytest.mark.full
def test_minilm():
    """60 texts of random pieces, padded."""
    if not FOLDER.exists():
        pytest.skip("MiniLM is not fetched here")
    sizes = json.loads((FOLDER / "config.json").read_text(encoding="utf-8"))
    config, state = BertConfig(), load_file(FOLDER / "model.safetensors")
    told = sizes["num_attention_heads"], sizes["layer_norm_eps"]  # which no weight's shape tells
    assert told == (config.heads, config.norm_epsilon)
    assert_equal(*encoders(config, sizes["vocab_size"], state), 60, 32)


@pytest.mark.full
def test_recorded_adapters_are_put_into_the_real_network(monkeypatch):
    if not FOLDER.exists():
        pytest.skip("MiniLM is not fetched here")
    monkeypatch.setenv("COURSE_DATA_DIR", str(FOLDER.parents[1]))
    names = [name for name in recorded_names() if name.startswith("minilm")]
    assert names
    for name in names:
        system = load_recorded(name).system
        found = [system.read(f"It is a {word} film.").predicted for word in ("dull", "tender")]
        assert [each.removeprefix("very ") for each in found] == ["negative", "positive"], name
