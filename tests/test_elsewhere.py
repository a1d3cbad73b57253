"""Every network on a device that is pretended: what it makes follows its inputs, and it computes
what it computes on the CPU, along the ways that only a GPU takes (PyTorch's packed sequences, fused
attention, its own dropout)."""

import numpy as np
import pytest
import torch
from elsewhere import AnotherDevice, Elsewhere, moved
from networks import has_bfloat16_lstm
from test_faithfulness_networks import FAMILIES, untrained
from torch import nn
from torch.utils._pytree import tree_leaves

from course_lib.data.encoding import encode_sentences
from course_lib.models import fast

OF_A_CPU = [(fast, "packed_gru"), (fast, "bit_cut_dropout")]
# sparse gradients cannot be wrapped; the dense ones are those of the same sums
VARIANTS = [
    ("han", {}),
    ("han", {"model.hops": 2, "model.penalty": 0.1}),
    ("sanet", {"model.sparse": False}),
    ("sanet", {"model.sparse": False, "model.blocks": 2, "model.attention": False}),
    ("iram", {}),
    ("iram", {"model.ngrams": 64, "model.context_layers": 2, "model.query_highway": True}),
    ("iram", {"model.steps": 0}),
    ("agt", {}),
    ("agt", {"model.selection_layers": 2, "model.attention": False}),
    ("bilstm", {}),
    ("bilstm", {"model.encoder": "average", "model.attention": "dot"}),
    ("transformer", {}),
]


def made(name, changes):
    """A system with an untrained network, and a batch with long, short and empty texts."""
    system = untrained(name, **changes)
    system.model.float()
    texts = [[["a", "good", "film"], ["it", "was"]], [], [["dull"]], [["no", "word", "of", "it"]]]
    documents = encode_sentences(texts, system.vocabulary, flat=not system.reads_sentences)
    return system, documents.batch(np.arange(len(texts)))


def answered(system, tokens, mask):
    """All tensors that a reading gives, then the gradients of a step."""
    trained = system.model(tokens, mask)  # without weights that nobody asked for
    loss = trained.logits.square().sum() + getattr(trained, "penalty", trained.logits[:, 0]).sum()
    loss.backward()
    output = system.forward(tokens, mask)
    figures = system.figures(output, mask) if system.has_figures else {}
    told = [trained.logits, output, figures, system.word_attention(output, mask)]
    parts = [part.detach() for part in tree_leaves(told) if part is not None]
    return [*parts, *(parameter.grad for parameter in system.model.parameters())]


def given_attention(system, tokens, mask):
    """The logits for uniform attention, which replaces the network's own; None without any."""
    if system.reads_sentences:
        uniform = mask.float(), mask.any(2).float()
    elif (own := system.forward(tokens, mask).attention) is None:
        return None
    else:
        uniform = torch.ones_like(own)
    return system.model(tokens, mask, attention=uniform).logits


@pytest.mark.parametrize(("name", "changes"), VARIANTS)
def test_a_network_follows_its_inputs_and_computes_the_same(name, changes):
    system, batch = made(name, changes)
    system.model.eval()
    here = batch.tokens, batch.mask
    expected = [*answered(system, *here), given_attention(system, *here)]
    moved(system.model)
    there = Elsewhere(batch.tokens), Elsewhere(batch.mask)
    with AnotherDevice():
        found = [*answered(system, *there), given_attention(system, *there)]
    for one, other in zip(found, expected, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            assert isinstance(one, Elsewhere), "a part of the answer lies on the CPU"
            torch.testing.assert_close(one.value, other, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("name", "changes"), VARIANTS)
def test_a_training_step_takes_no_way_that_is_made_for_a_cpu(name, changes, monkeypatch):
    for place, way in OF_A_CPU:
        monkeypatch.setattr(place, way, None)
    system, batch = made(name, changes)
    moved(system.model).train()
    with AnotherDevice():
        output = system.model(Elsewhere(batch.tokens), Elsewhere(batch.mask))
        nn.functional.cross_entropy(output.logits, Elsewhere(batch.labels)).backward()
    grads = [p.grad for p in system.model.parameters() if p.grad is not None]
    assert grads and all(isinstance(grad, Elsewhere) for grad in grads)


@pytest.mark.parametrize(("name", "changes"), VARIANTS)
def test_a_training_step_runs_in_bfloat16(name, changes):
    system, batch = made(name, changes)
    if not has_bfloat16_lstm() and any(isinstance(m, nn.LSTM) for m in system.model.modules()):
        pytest.skip("torch has no LSTM in bfloat16 for this processor")
    with torch.autocast("cpu", torch.bfloat16):
        output = system.model.train()(batch.tokens, batch.mask)
    nn.functional.cross_entropy(output.logits.float(), batch.labels).backward()
    grads = [p.grad for p in system.model.parameters() if p.grad is not None]
    assert grads and all(grad.isfinite().all() for grad in grads)


@pytest.mark.parametrize(("name", "changes"), VARIANTS)
def test_a_batch_without_a_place_is_answered_like_one_of_padding(name, changes):
    system, batch = made(name, changes)
    tokens, mask = (0 * part[1:3, ..., :1] for part in batch[:2])
    with torch.inference_mode():
        padding = system.model.eval()(tokens, mask.bool()).logits
        nothing = system.model(tokens[..., :0], mask[..., :0].bool()).logits
    torch.testing.assert_close(nothing, padding)


class Watched(AnotherDevice):
    """That device, with the names of what was asked of it."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, function, types, arguments=(), options=None):
        self.names.append(function.overloadpacket.__name__)
        return super().__torch_dispatch__(function, types, arguments, options)


@pytest.mark.parametrize("name", ["transformer", "bilstm"])
def test_a_network_waits_for_no_number_of_a_device(name):
    """Not for whether a batch has padding or a text is too long, where its shape says enough."""
    system, batch = made(name, {})
    moved(system.model).eval()
    with Watched() as watched, torch.no_grad():
        system.model(Elsewhere(batch.tokens), Elsewhere(batch.mask))
    assert watched.names and "_local_scalar_dense" not in watched.names


def test_every_network_is_tried():
    assert {name for name, _ in VARIANTS} == set(FAMILIES)
