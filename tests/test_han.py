"""HAN: empty sentences, the penalty of its hops, dropout, and what it attends to."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from strategies import (
    document_lengths,
    ragged_batch,
    seeds,
    tiny_han,
    toy_documents,
    toy_vocabulary,
)

from course_lib.data.toy import BAD, GOOD
from course_lib.models.han import HAN, HANConfig
from course_lib.training.config import TrainingConfig
from course_lib.training.loop import fit


def test_an_empty_document_gets_the_logits_of_a_zero_vector():
    model = tiny_han()
    output = model(*ragged_batch([[3, 2], [], [0, 0]]))
    for row in (1, 2):
        assert torch.equal(output.logits[row], model.classifier.bias)
        assert output.sentence_attention[row].eq(0).all() and output.word_attention[row].eq(0).all()
    assert not torch.equal(output.logits[0], model.classifier.bias)


@pytest.mark.parametrize(
    ("with_gaps", "without"),
    [([3, 0, 5], [3, 5]), ([3, 5, 0], [3, 5]), ([0, 0, 4], [4]), ([2, 0, 0, 1, 0], [2, 1])],
)
def test_an_empty_sentence_changes_nothing_wherever_it_stands(with_gaps, without):
    model = tiny_han()
    tokens, mask = ragged_batch([with_gaps, [2] * len(with_gaps)])
    full = mask[:1].any(2)
    gaps = model(tokens, mask)
    packed = model(tokens[:1][full][None], mask[:1][full][None])
    assert int(full.sum()) == len(without)
    torch.testing.assert_close(gaps.logits[:1], packed.logits)
    torch.testing.assert_close(gaps.sentence_attention[:1][full], packed.sentence_attention[0])
    torch.testing.assert_close(gaps.word_attention[:1][full], packed.word_attention[0])
    assert gaps.sentence_attention[:1][~full].eq(0).all()
    assert gaps.word_attention[:1][~full].eq(0).all()


@settings(max_examples=15)
@given(documents=document_lengths(), seed=seeds)
def test_a_documents_penalty_is_its_own(documents, seed):
    """So the mean over a batch is the mean over its slices, weighted by their documents."""
    model = tiny_han(seed % 7, hops=3, penalty=0.5)
    tokens, mask = ragged_batch(documents, seed)
    penalty = model(tokens, mask).penalty
    assert not penalty[~mask.any((1, 2))].any()
    padded = [torch.nn.functional.pad(part, (0, 0, 0, 2)) for part in (tokens, mask)]
    torch.testing.assert_close(model(*padded).penalty, penalty)
    for size in (1, 2):
        slices = [
            model(*part).penalty for part in zip(tokens.split(size), mask.split(size), strict=True)
        ]
        torch.testing.assert_close(torch.cat(slices), penalty)
        weighted = sum(part.mean() * len(part) for part in slices) / len(penalty)
        torch.testing.assert_close(weighted, penalty.mean())


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


@pytest.fixture(scope="module")
def trained():
    """A HAN after four epochs on the toy corpus (below a second)."""
    torch.manual_seed(0)
    sizes = {"embedding": 16, "hidden": 8, "attention": 16}
    model = HAN(HANConfig(**sizes), len(toy_vocabulary()), 2)
    config = TrainingConfig(epochs=4, learning_rate=1e-2, patience=9)
    train, validation = toy_documents("train", 60, 600), toy_documents("train", 0, 60)
    fit(model, train, validation, config, device=torch.device("cpu"))
    return model.eval()


@pytest.fixture(scope="module")
def read(trained):
    """The toy test half and what the trained model makes of it."""
    batch = toy_documents("test").batch(np.arange(200))
    with torch.no_grad():
        return batch, trained(batch.tokens, batch.mask)


def test_the_sentence_with_the_judgement_gets_most_attention(read):
    """Six seeds found it in 79 to 100 % of the documents, chance is 32 %."""
    batch, output = read
    judgement = torch.from_numpy(toy_vocabulary().encode([*GOOD, *BAD]).astype(np.int64))
    decisive = torch.isin(batch.tokens, judgement).any(2)
    assert decisive.sum(1).eq(1).all()
    found = decisive.gather(1, output.sentence_attention.argmax(1, keepdim=True)).float().mean()
    chance = (1 / batch.mask.any(2).sum(1)).mean()
    assert chance < 0.45
    assert found > 0.65
    assert (output.sentence_attention * decisive).sum(1).mean() > chance + 0.15
