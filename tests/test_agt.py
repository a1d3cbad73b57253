"""AGT: its first weights, and where its gates and dropout sit."""

import pytest
import torch
from networks import tiny_agt
from strategies import WORDS, batch

from course_kit.research.side_notes.agt_dictionaries import word_scores
from course_lib.models.layers import masked_softmax


def test_weights_start_within_xaviers_limit_for_what_enters():
    """A layer reads [y; s] of 2 · 64 numbers, one above the selecting layers y alone."""
    stack = tiny_agt(hidden=64, layers=4, selection_layers=3).stack
    reading_both = torch.cat([stack.carried[:2], stack.selected])
    for weight, inputs in ((reading_both, 128), (stack.carried[2], 64), (stack.gate, 64)):
        limit = (6 / (inputs + 64)) ** 0.5
        assert 0.99 * limit < weight.abs().max() <= limit


def test_the_gate_bias_is_where_the_gates_start():
    tokens, mask = batch([6, 3], 2)
    means = [tiny_agt(gate_bias=bias)(tokens, mask).gates.mean().item() for bias in (0, 1, 2)]
    assert means == pytest.approx([0.5, 0.731, 0.881], abs=0.03)


def test_a_words_score_is_its_own_in_every_sentence():
    model = tiny_agt(1)
    scores = word_scores(model, torch.arange(WORDS))
    tokens, mask = batch([6, 3, 1], 4)
    attention = model(tokens, mask).attention
    for row in range(3):
        expected = masked_softmax(scores[:, tokens[row]], mask[row].expand(4, -1))
        torch.testing.assert_close(attention[row], expected)
