"""Each specimen of the museum fails exactly the invariants it should, and the healthy one none."""

from types import SimpleNamespace

import pytest
import torch
from strategies import WORDS, ragged_batch

from course_kit.exercises import check_han
from course_kit.exercises.bugs import (
    HEALTHY,
    HOLDS,
    MUSEUM,
    MaxPooling,
    NamedHAN,
    Pooling,
    diagnose,
    museum,
    probe,
    verdict_table,
)
from course_lib.models.han import HAN, HANConfig
from course_lib.models.layers import AttentionPooling

CONFIG = HANConfig(embedding=4, hidden=16, attention=10)
ALL = {
    "attention",
    "padding",
    "neighbours",
    "stateless",
    "word order",
    "gradients",
    "pooling",
    "concentration",
    "extremes",
    "rows",
    "both directions",
}
every_specimen = pytest.mark.parametrize("specimen", MUSEUM, ids=lambda specimen: specimen.wrong)


def built(specimen, seed=0, config=CONFIG, vocabulary=WORDS):
    torch.manual_seed(seed)
    return specimen.build(config, vocabulary, 2)


@pytest.mark.full
@every_specimen
@pytest.mark.parametrize("seed", range(2))
def test_a_specimen_fails_exactly_what_it_should(specimen, seed):
    found = diagnose(built(specimen, seed), *probe(WORDS, seed))
    assert {name for name, says in found.items() if says} == specimen.caught_by
    missing = {"attention", "pooling", "concentration", "extremes", "rows"}
    assert set(found) == (ALL - missing if "max pooling" in specimen.wrong else ALL)


def test_the_open_pooling_is_the_librarys():
    torch.manual_seed(0)
    pooling = AttentionPooling(6, 5)
    h, mask = torch.randn(3, 4, 6), torch.arange(4) < torch.tensor([[4], [2], [0]])
    expected = pooling(h, mask)
    open_pooling = Pooling(6, 5)
    open_pooling.load_state_dict(pooling.state_dict())
    for ours, theirs in zip(open_pooling(h, mask), expected, strict=True):
        assert torch.allclose(ours, theirs, atol=1e-6)


@every_specimen
def test_all_start_from_the_same_weights_and_draw_the_same_numbers(specimen):
    if specimen.build is MaxPooling:
        return
    if "projection" in specimen.wrong:  # its attention is as wide as its states
        assert built(specimen).words.pooling.projection.out_features == 2 * CONFIG.hidden
        return
    healthy, next_draw = built(HEALTHY).state_dict(), torch.rand(3)
    sick = built(specimen).state_dict()
    assert torch.equal(torch.rand(3), next_draw), "training would draw another dropout"
    assert healthy.keys() == sick.keys()
    assert all(torch.equal(healthy[name], sick[name]) for name in healthy)


def test_a_model_of_ones_own_is_diagnosed_by_what_it_shows():
    tokens, mask = probe(WORDS)

    def counts(tokens, mask):
        return SimpleNamespace(logits=tokens.sum((1, 2)).float()[:, None] * torch.ones(2))

    found = diagnose(counts, tokens, mask)
    assert set(found) == {"padding", "neighbours", "stateless", "word order"}
    assert {name for name, says in found.items() if says} == {"word order"}


def test_other_batches_and_hops_are_diagnosed_and_modes_and_hooks_stay():
    batch = ragged_batch([[3, 5], [2], [4, 4, 2], []], seed=1)
    assert not any(diagnose(built(HEALTHY), *batch).values())
    torch.manual_seed(0)
    model = HAN(HANConfig(embedding=4, hidden=8, attention=10, hops=3), WORDS, 2).train()
    assert not any(diagnose(model, *probe(WORDS)).values())
    for module in model.modules():
        assert module.training and not module._forward_pre_hooks


@pytest.mark.full
def test_the_table_marks_what_each_network_of_the_museum_fails():
    networks, batch = museum(), probe()
    ours = check_han.ours(50, 50, 4, 6, 2)  # behind the interface of a learner's class
    networks["yours"] = NamedHAN(ours)
    found = {name: diagnose(network, *batch) for name, network in networks.items()}
    head, _, *rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in verdict_table(found).split("\n")
    ]
    assert head[2:] == [*map(str, range(1, 11)), "yours"]
    assert [row[0] for row in rows] == list(HOLDS) and set(HOLDS) == ALL
    for place, specimen in enumerate(MUSEUM):
        assert {row[0] for row in rows if row[2 + place] == "✗"} == specimen.caught_by
        assert {row[0] for row in rows if row[2 + place]} == found[specimen.name].keys()
    assert all(row[-1] == "·" for row in rows)
