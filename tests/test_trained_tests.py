"""What lesson 08 trains, where we know what must come out: a network that ignores its attention."""

from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
import torch

from course_kit import exercises
from course_kit.research import trained_tests
from course_kit.research.sanity_checks import synthetic
from course_kit.research.trained_tests import attention_of, distance, setup_of
from course_lib import faithfulness
from course_lib.metrics.invariants import check_padding
from course_lib.models.bilstm import BiLSTMOutput
from course_lib.models.layers import masked_softmax
from course_lib.runs.settings import SpecError
from course_lib.training.config import TrainingError

pytestmark = pytest.mark.full  # networks are trained


@cache
def small():
    return setup_of("planted")


@cache
def base():
    return small().fit(small().untrained(0), 0)


def taught(setup, start, model, weight):
    """An adversary, taught as lesson 08 does it."""

    def loss(output, batch):
        with torch.no_grad():
            wanted = start(batch.tokens, batch.mask)
        y, y_base = (each.logits.softmax(1) for each in (output, wanted))
        reference = exercises.check_adversary_loss.reference
        return reference(y, y_base, output.attention, wanted.attention, weight)

    return setup.teach(model, loss, 0, "adversary")


def test_a_guide_gives_its_networks_attention_and_leaves_the_network_as_it_is():
    encoded = synthetic.encode_texts(small().texts.test, small().system.vocabulary)
    tokens, mask = encoded.batch(np.arange(4))[:2]
    check_padding(base(), tokens, mask)
    assert torch.equal(attention_of(base())(tokens, mask), base()(tokens, mask).attention)
    assert not attention_of(base())(tokens, mask).requires_grad
    assert not base().training  # dropout would change what it attends to
    assert torch.equal(trained_tests.uniform(tokens, mask), mask.float())


def test_a_loss_that_is_no_number_stops_the_training():
    with pytest.raises(TrainingError, match="some words: the loss is nan in batch 1"):
        small().teach(
            small().untrained(0), lambda output, _: output.logits.sum(1) * np.nan, 0, "some words"
        )


def test_what_is_learned_does_not_depend_on_the_progress_bar(monkeypatch):
    """The learning rate once fell by the bar's count, which is 0 where bars are switched off."""
    texts = small().texts._replace(train=small().texts.train[:64])
    setup, states = replace(small(), texts=texts), []
    for disable in (False, True):
        bar = partial(trained_tests.progress, disable=disable)
        monkeypatch.setattr(trained_tests, "progress", bar)
        states.append(taught(setup, base(), setup.untrained(1), 0.1).state_dict())
    assert all(torch.equal(value, states[1][name]) for name, value in states[0].items())


class IgnoresAttention(torch.nn.Module):
    """Sums what its words say, and attends to them by a number each, for nothing."""

    def __init__(self, seed):
        super().__init__()
        torch.manual_seed(seed)
        words = len(small().system.vocabulary)
        self.says = torch.nn.Embedding(words, 2, padding_idx=0)
        self.scores = torch.nn.Embedding(words, 1, padding_idx=0)
        torch.nn.init.zeros_(self.says.weight)
        torch.nn.init.normal_(self.scores.weight, std=0.1)

    def forward(self, tokens, mask):
        alpha = masked_softmax(10 * self.scores(tokens).squeeze(2), mask)
        return BiLSTMOutput(self.says(tokens).sum(1), alpha)


def test_where_attention_is_ignored_an_adversary_reaches_any_other_at_no_cost():
    start = small().fit(IgnoresAttention(0), 0)
    other = taught(small(), start, IgnoresAttention(1), 0.1)
    found = {name: values.mean() for name, values in distance(small(), other, start).items()}
    assert found["TVD to the base"] < 0.02 and found["accuracy"] > 0.98
    furthest = [
        faithfulness.jensen_shannon(alpha, np.eye(len(alpha))[alpha.argmin()])
        for alpha in small().attention(start)
    ]
    assert found["JSD to the base"] > 0.8 * np.mean(furthest)


def test_an_unknown_setup_is_refused_with_a_list_of_those_there_are():
    with pytest.raises(SpecError, match="no setup 'nowhere'; there are: planted, "):
        setup_of("nowhere")
