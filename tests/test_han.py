"""HAN: documents without a word, dropout, and its preset."""

import torch
from strategies import ragged_batch, tiny_han

from course_lib.models.han import HAN, HANConfig


def test_an_empty_document_gets_the_logits_of_a_zero_vector():
    model = tiny_han(hops=3, penalty=0.5)
    output = model(*ragged_batch([[3, 2], [], [0, 0]]))
    assert not output.penalty[1:].any()
    for row in (1, 2):
        assert torch.equal(output.logits[row], model.classifier.bias)
        assert output.sentence_attention[row].eq(0).all() and output.word_attention[row].eq(0).all()
    assert not torch.equal(output.logits[0], model.classifier.bias)


def test_dropout_acts_on_the_document_vector_too():
    """Without the two below it, equal documents still get logits of their own."""
    model = tiny_han(dropout=0.5).train()
    model.words.dropout.rate = model.sentences.dropout.rate = 0.0
    tokens, mask = ragged_batch([[3, 2]])
    logits = model(tokens.expand(64, -1, -1), mask.expand(64, -1, -1)).logits
    assert len(logits.unique(dim=0)) > 16


def test_the_preset_has_as_many_parameters_as_the_report_says():
    """Yang's sizes over 50-d vectors: a GRU has three gates, and PyTorch's two biases for each."""
    model = HAN(HANConfig.imdb(), 1000, 2)
    gru = lambda inputs: 2 * 3 * (inputs * 50 + 50 * 50 + 2 * 50)  # noqa: E731
    attention = 100 * 100 + 100 + 100  # W, b and the context vector
    expected = 1000 * 50 + gru(50) + gru(100) + 2 * attention + 100 * 2 + 2
    assert sum(p.numel() for p in model.parameters()) == expected
    assert {m.p if hasattr(m, "p") else m.rate for m in model.modules()
            if "Dropout" in type(m).__name__} == {0.4}  # fmt: skip
    assert HANConfig.imdb(dropout=0.0, hidden=7) == HANConfig(hidden=7)
