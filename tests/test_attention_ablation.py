"""Attention ablation: attention kept uniform or untrained while everything else trains as usual."""

import numpy as np
import pytest
import torch
from networks import attentions, places

from course_lib.data.corpus import load_corpus
from course_lib.metrics.invariants import check_attention, check_padding
from course_lib.models.layers import renormalised
from course_lib.runs.run import split_rows, system_of
from course_lib.runs.spec import RunSpec

WEIGHTS = "control.attention_weights"
SCORERS = {  # by the beginnings of their parameters' names
    "han": {"words.pooling", "sentences.pooling"},
    "sanet": {"blocks.0.mixer.w_qk", "blocks.1.mixer.w_qk"},
    "iram": {"steps.attend", "steps.controller", "refine_query", "encoder.layers.1"},
    "agt": {"attention"},
    "bilstm": {"pooling"},
}
MORE = {  # so that every kind of scorer occurs
    "sanet": {"model.blocks": 2},
    "iram": {"model.query_layers": 1, "model.query_highway": True},
}
systems = pytest.mark.parametrize("name", SCORERS)
controls = pytest.mark.parametrize("weights", ["uniform", "untrained"])


def spec_of(name, weights="learned"):
    overrides = {"training.epochs": 1, WEIGHTS: weights} | MORE.get(name, {})
    return RunSpec(name, "toy", "small", overrides, device="cpu", threads=1, limit=100)


def built(name, weights="learned"):
    """A system before training, and its rows."""
    spec, corpus = spec_of(name, weights), load_corpus("toy")
    system, rows = system_of(spec, corpus), split_rows(corpus, spec.limit)
    system.build(rows, spec.seed)
    return system, rows


def some_texts(system, rows):
    """Word ids and mask of twelve texts of different lengths, the first one empty."""
    tokens, mask, *_ = system.encode(rows["test"]).batch(np.arange(12))
    mask[0] = False
    return tokens.masked_fill(~mask, 0), mask


def scores_of(name):
    return tuple(f"{module}." for module in SCORERS[name])


@systems
def test_scorers_are_what_no_longer_matters_once_attention_is_given(name):
    """They compute the attention and nothing else; all other parameters do something else."""
    system, rows = built(name)
    model, (tokens, mask) = system.model.eval(), some_texts(system, rows)
    there = [torch.ones_like(a) for a in attentions(system.forward(tokens, mask))]
    given = tuple(there) if name == "han" else there[0]
    model(tokens, mask, attention=given).logits.square().sum().backward()
    idle = {n for n, p in model.named_parameters() if p.grad is None or not p.grad.any()}
    assert idle == {n for n, _ in model.named_parameters() if n.startswith(scores_of(name))}
    named = set(system.scorers(model))
    assert {n for n, module in model.named_modules() if module in named} == SCORERS[name]


@controls
@systems
def test_scorers_stay_as_they_are_and_everything_else_learns(name, weights):
    """Attention kept uniform is uniform over what is there."""
    system, rows = built(name, weights)
    before = {n: values.clone() for n, values in system.model.state_dict().items()}
    for n, values in built(name)[0].model.state_dict().items():
        scores = n.startswith(scores_of(name))
        same = torch.zeros_like(values) if scores and weights == "uniform" else values
        assert torch.equal(before[n], same), n  # the learned twin starts from the same weights
    system.fit(rows, seed=0, device=torch.device("cpu"))
    moved = {n for n, p in system.model.named_parameters() if not torch.equal(p, before[n])}
    others = {n for n in before if not n.startswith(scores_of(name))}
    assert moved == others and len(others) < len(before)
    tokens, mask = some_texts(system, rows)
    check_padding(system.model, tokens, mask, tolerance=1e-5)
    with torch.inference_mode():
        output = system.forward(tokens, mask)
    for attention, there in zip(attentions(output), places(system.model, mask), strict=True):
        assert there.any(-1).any() and not there.any(-1).all()  # some rows attend to nothing
        check_attention(attention, there)
        even = renormalised(torch.ones_like(attention), there)
        assert torch.allclose(attention, even, atol=1e-6) == (weights == "uniform")
