"""Extensions: an AGT that sees order, an IRAM that halts, a SANet with distances; and what is
recorded of their readings."""

import json

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import WORDS, batch, check_independence, every_device, row_lengths, seeds
from torch import nn

from course_kit.research.extensions.adaptive_iram import (
    AdaptiveIRAM,
    AdaptiveIRAMConfig,
    halt_by_overlap,
    halt_by_probability,
)
from course_kit.research.extensions.near_sanet import NearSANet, NearSANetConfig
from course_kit.research.extensions.ordered_agt import OrderedAGT, OrderedAGTConfig
from course_lib import cli
from course_lib.explore import count_repeats
from course_lib.explore.steps import NEGATORS
from course_lib.metrics import invariants
from course_lib.models.agt import AGT, AGTConfig
from course_lib.models.iram import step_penalty, visible
from course_lib.models.sanet import SANet, SANetConfig
from course_lib.runs.run import load_run, split_rows, train
from course_lib.runs.spec import RunSpec
from course_lib.runs.systems import known_systems

IRAM_SIZES = {"embedding": 6, "hidden": 8, "steps": 4, "initial_std": 0.4}
LENGTHS = [5, 3, 1, 0, 4]


def ordered_agt(seed=0, **changes):
    torch.manual_seed(seed)
    sizes = {"embedding": 6, "hidden": 8, "layers": 4, "frozen": False}
    return OrderedAGT(OrderedAGTConfig(**sizes | changes), WORDS, 3).eval()


def adaptive_iram(seed=0, **changes):
    torch.manual_seed(seed)
    return AdaptiveIRAM(AdaptiveIRAMConfig(**IRAM_SIZES | changes), WORDS, 3).eval()


def near_sanet(seed=0, **changes):
    torch.manual_seed(seed)
    model = NearSANet(NearSANetConfig(**{"embedding": 6, "hidden": 8} | changes), WORDS, 3).eval()
    for block in model.blocks:
        if block.mixer.bias is not None:
            nn.init.normal_(block.mixer.bias.weight)
    return model


def shown(model, tokens, mask):
    """Attention ``(batch, rows, columns)`` and where it may go."""
    if isinstance(model, NearSANet):
        attention = model(tokens, mask, return_attention=True).attention
        pairs = (mask.unsqueeze(1) & mask.unsqueeze(2)).unsqueeze(1)
        return attention, pairs.expand_as(attention)
    attention = model(tokens, mask).attention
    if isinstance(model, AdaptiveIRAM):
        return attention, visible(mask, attention.shape[1])
    return attention, mask.unsqueeze(1).expand_as(attention)


variants = pytest.mark.parametrize(
    ("make", "changes"),
    [
        (ordered_agt, {"order": "gru"}),
        (ordered_agt, {"order": "positions"}),
        (adaptive_iram, {}),
        (adaptive_iram, {"halting": "overlap"}),
        (near_sanet, {"heads": 2}),
        (near_sanet, {"relative": 2}),
        (near_sanet, {"heads": 2, "relative": 2, "blocks": 2, "scaled": True}),
    ],
    ids=lambda value: value.__name__ if callable(value) else str(value),
)


@every_device
@variants
@settings(max_examples=8)
@given(lengths=row_lengths(), seed=seeds)
def test_all_invariants_hold_on_any_ragged_batch(device, make, changes, lengths, seed):
    model = make(seed, dropout=0.3, **changes).to(device)
    tokens, mask = (part.to(device) for part in batch(lengths, seed))
    with torch.backends.cudnn.flags(allow_tf32=False):
        attention, there = shown(model, tokens, mask)
        invariants.check_attention(attention, there)
        check_independence(model, tokens, mask, 1e-5)


@variants
def test_gradients_reach_every_parameter_and_order_matters(make, changes):
    frozen = {"frozen": False} if make is adaptive_iram else {}
    tokens, mask = batch(LENGTHS)
    model = make(**changes | frozen)
    invariants.check_gradients(model, tokens, mask)
    invariants.check_permutation(model, tokens, mask, matters=True)


def test_an_agt_is_blind_to_order_and_these_are_not():
    """The invariant that AGT passes must fail here, or the variants would see nothing."""
    torch.manual_seed(0)
    tokens, mask = batch([5, 4])
    invariants.check_order_blindness(AGT(AGTConfig(6, 8, 4), WORDS, 3).eval(), tokens, mask)
    for order in ("gru", "positions"):
        with pytest.raises(AssertionError):
            invariants.check_order_blindness(ordered_agt(order=order), tokens, mask)
        with pytest.raises(ValueError, match="depend on its place"):
            ordered_agt(order=order).word_scores(tokens[0])


def one_text(h):
    """Graves' §2 for one text, step by step: how much each step counts, and N + R."""
    p, total = [], 0.0
    for n, probability in enumerate(h, start=1):
        if total + probability >= 0.99 or n == len(h):
            p.append(1 - total)
            return p + [0.0] * (len(h) - n), n + 1 - total
        p.append(probability)
        total += probability


@given(st.lists(st.lists(st.floats(0.001, 0.985), min_size=4, max_size=4), min_size=1, max_size=5))
def test_halting_is_graves_adaptive_computation_time(rows):
    h = np.round(np.array(rows), 3)
    p, price = halt_by_probability(torch.tensor(h))
    for row, found, cost in zip(h, p.numpy(), price.numpy(), strict=True):
        if np.abs(np.cumsum(row) - 0.99).min() < 1e-4:
            continue  # float32 decides such a case either way
        expected, expected_cost = one_text(row)
        np.testing.assert_allclose(found, expected, atol=1e-5)
        assert cost == pytest.approx(expected_cost, abs=1e-4)


def test_the_price_of_a_step_teaches_the_unit_to_halt_sooner():
    h = torch.tensor([[0.3, 0.3, 0.3, 0.3]], requires_grad=True)
    halt_by_probability(h)[1].sum().backward()
    assert (h.grad[0, :3] < 0).all() and h.grad[0, 3] == 0  # a larger h makes R smaller


def test_overlap_halts_before_the_first_step_that_looks_where_one_has_looked():
    attention = torch.tensor(
        [
            [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.95, 0.05, 0.0]],  # the third repeats the first
            [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]],  # the second does
            [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],  # none does
        ]
    )
    expected = torch.eye(3)[[1, 0, 2]]
    torch.testing.assert_close(halt_by_overlap(attention, 0.9), expected)


def test_only_steps_that_are_taken_count():
    tokens, mask = batch([5, 3])
    model = adaptive_iram(halting="overlap", most_overlap=0.0, penalty=1.0)
    output = model(tokens, mask)  # every second step overlaps at least a little
    assert output.halting.tolist() == [[1, 0, 0, 0]] * 2 and output.penalty.tolist() == [0, 0]
    read = model.classifier(output.summaries[:, 0])
    torch.testing.assert_close(output.logits, read)
    all_steps = adaptive_iram(halting="overlap", most_overlap=0.9999, penalty=1.0)(tokens, mask)
    assert all_steps.halting.tolist() == [[0, 0, 0, 1]] * 2
    torch.testing.assert_close(all_steps.penalty, step_penalty(all_steps.attention))


def test_with_one_head_and_no_distances_it_is_sanet():
    torch.manual_seed(0)
    plain = SANet(SANetConfig(embedding=6, hidden=8, blocks=2), WORDS, 3).eval()
    near = near_sanet(blocks=2)
    near.load_state_dict(plain.state_dict())
    tokens, mask = batch(LENGTHS)
    expected = plain(tokens, mask, return_attention=True)
    found = near(tokens, mask, return_attention=True)
    torch.testing.assert_close(found.logits, expected.logits)
    torch.testing.assert_close(found.attention, expected.attention)


def test_heads_and_distances_by_the_formula():
    model, (tokens, mask) = near_sanet(heads=2, relative=1), batch([4])
    mixer, x = model.blocks[0].mixer, model.embed(tokens)[0].detach().double().numpy()
    w, values = (part.weight.detach().double().numpy() for part in (mixer.w_qk, mixer.w_v))
    bias = mixer.bias.weight.detach().double().numpy()  # of −1, 0 and 1 places, by head
    attention = model(tokens, mask, return_attention=True).attention[0].detach().numpy()
    mixed = mixer(model.embed(tokens), mask)[0][0].detach().numpy()
    for head in (0, 1):
        scores = x @ w[8 * head : 8 * head + 8].T @ x.T
        for i in range(4):
            for j in range(4):
                scores[i, j] += bias[int(np.clip(j - i, -1, 1)) + 1, head]
        alpha = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
        np.testing.assert_allclose(attention[head], alpha, atol=1e-5)
        own = slice(4 * head, 4 * head + 4)
        np.testing.assert_allclose(mixed[:, own], alpha @ (x @ values.T)[:, own], atol=1e-5)


def test_attention_given_back_changes_nothing():
    tokens, mask = batch(LENGTHS)
    model = near_sanet(heads=2, blocks=2)
    output = model(tokens, mask, return_attention=True)
    again = model(tokens, mask, attention=output.attention)
    torch.testing.assert_close(again.logits, output.logits)
    uniform = model(tokens, mask, attention=torch.ones_like(output.attention))
    assert (uniform.logits - output.logits).abs().max() > 1e-4


@pytest.mark.parametrize(
    ("system", "field", "value"),
    [
        ("ordered_agt", "order", "lstm"),
        ("adaptive_iram", "halting", "never"),
        ("adaptive_iram", "ponder", -1.0),
        ("adaptive_iram", "steps", 0),
        ("near_sanet", "heads", 3),
        ("near_sanet", "relative", -1),
    ],
)
def test_a_wrong_setting_is_named(system, field, value):
    config = known_systems()[system].presets["small"].model
    with pytest.raises(ValueError, match=field):
        type(config)(**vars(config) | {field: value})


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A finished run on made-up reviews, by system."""
    folders = {}
    for name in ("adaptive_iram", "context_han", "sanet"):
        changes = {"training.epochs": 2} | ({"model.steps": 5} if name == "adaptive_iram" else {})
        spec = RunSpec(name, "toy", "small", changes, device="cpu", threads=1)
        folders[name] = tmp_path_factory.mktemp(name)
        train(spec, folders[name])
    return folders


def recorded(folder, *arguments):
    """What the command writes of a run."""
    assert cli.main(["extensions", str(folder), *arguments]) == 0
    return json.loads((folder / "extensions.json").read_text(encoding="utf-8"))


def test_the_record_says_how_many_steps_which_texts_take(runs):
    record = recorded(runs["adaptive_iram"], "--texts", "80", "--seed", "3")
    assert record["command"].endswith("--texts 80 --seed 3") and record["texts"] == 80
    assert {"data", "weights", "environment"} <= record.keys() and record["split"] == "test"
    run = load_run(runs["adaptive_iram"])
    rows = run.corpus.splits["test"]
    chosen = rows.select(np.random.default_rng(3).permutation(len(rows))[:80])
    taken = run.system.evaluate(chosen).figures["steps taken"]
    assert record["steps"]["steps"]["mean"] == pytest.approx(taken.mean().item(), abs=1e-4)
    negated = sum(any(word.lower() in NEGATORS for word in row["tokens"]) for row in chosen)
    quarters = record["steps"]["by_length"]
    assert sum(part["with"]["counted"] for part in quarters) == negated
    assert sum(part["without"]["counted"] for part in quarters) == 80 - negated
    longest = [part["longest"] for part in quarters]
    assert longest == sorted(longest) and longest[-1] == max(len(row["tokens"]) for row in chosen)
    assert sum(part["counted"] for part in record["steps"]["right"].values()) == 80


def test_the_record_says_how_much_of_a_hans_attention_returns(runs):
    record = recorded(runs["context_han"], "--texts", "40")
    run = load_run(runs["context_han"])
    rows = run.corpus.splits["test"]
    chosen = rows.select(np.random.default_rng(0).permutation(len(rows))[:40])
    found = count_repeats(run.system, chosen, 0)
    for name, values in found._asdict().items():
        assert record["repeats"][name]["mean"] == pytest.approx(values.mean(), abs=1e-4)
    assert record["repeats"]["much"]["mean"] == pytest.approx((found.repeated > 0.1).mean())


def test_of_a_run_that_left_the_test_texts_unread_validation_texts_are_read(tmp_path):
    changes = {"training.epochs": 1}
    spec = RunSpec("adaptive_iram", "toy", "small", changes, device="cpu", threads=1, test=False)
    train(spec, tmp_path)
    record = recorded(tmp_path, "--texts", "30")
    rows = split_rows(load_run(tmp_path).corpus)["validation"]
    chosen = rows.select(np.random.default_rng(0).permutation(len(rows))[:30])
    longest = max(len(row["tokens"]) for row in chosen)
    assert record["split"] == "validation"
    assert record["steps"]["by_length"][-1]["longest"] == longest


def test_a_network_of_which_nothing_is_asked_is_refused(runs, capsys):
    assert cli.main(["extensions", str(runs["sanet"])]) == cli.REFUSED
    assert "extensions reads adaptive_iram, context_han, han; " in capsys.readouterr().err
