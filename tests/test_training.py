"""Training: it learns, repeats, does what its settings say and keeps its best epoch."""

import math
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from strategies import every_device, tiny_han, toy_documents, toy_vocabulary
from trainings import CONFIG, CPU, STEPS, OneWord, data, fit, new_model

from course_lib.data.batches import Batches
from course_lib.training.config import TrainingConfig, TrainingError, make_optimizer
from course_lib.training.history import Epoch, History
from course_lib.training.loop import predict


@pytest.mark.full
@every_device
def test_the_loss_falls_on_the_toy_corpus(device):
    sizes = {"embedding": 16, "hidden": 8, "attention": 16}
    model = tiny_han(vocabulary=len(toy_vocabulary()), **sizes)
    documents = toy_documents("train", 60, 600), toy_documents("train", 0, 60)
    config = replace(CONFIG, epochs=4, batch_size=32, learning_rate=1e-2)
    history = fit(model, documents, config, device=torch.device(device))
    losses = [epoch.train_loss for epoch in history.epochs]
    assert losses[0] == pytest.approx(math.log(2), abs=0.15)  # two classes, nothing known
    assert losses[-1] < 0.35
    assert history.epochs[-1].validation_accuracy > 0.85
    assert history.epochs[-1].seconds > 0


def test_an_epochs_figures_are_those_of_the_model_on_the_data(capsys):
    """With one batch an epoch the training loss is that of the weights before the step, and its
    penalty is no part of it. The bar shows both figures."""
    documents = toy_documents("train", 0, 39)  # an odd number: no accuracy of a half
    batches = Batches(documents, 39)
    model = OneWord(penalty=0.5)
    before = predict(model, batches)
    history = fit(model, (documents, documents), replace(CONFIG, epochs=1, batch_size=39))
    after = predict(model, batches)
    for (probabilities, labels), loss, accuracy in (
        (before, history.epochs[0].train_loss, history.epochs[0].train_accuracy),
        (after, history.epochs[0].validation_loss, history.epochs[0].validation_accuracy),
    ):
        rows = probabilities[torch.arange(39), labels].numpy()
        assert loss == pytest.approx(-np.log(rows).mean(), abs=1e-5)
        assert accuracy == pytest.approx(((rows > 0.5).mean()), abs=1e-6)
    epoch, told = history.epochs[0], capsys.readouterr().err
    assert f"accuracy={epoch.train_accuracy:.3f}, loss={epoch.train_loss:.3f}]" in told


@pytest.mark.parametrize(("decay", "shares"), [(True, [0, 0.5, 1, 0.5]), (False, [0, 0.5, 1, 1])])
def test_the_rate_warms_up_and_then_decays(decay, shares):
    config = replace(CONFIG, epochs=4, warmup=0.25, decay=decay)
    assert [config.rate_factor(place, []) for place in (0, 0.5, 1, 2.5)] == shares


@pytest.mark.parametrize("on_disk", [True, False])
def test_it_stops_early_and_keeps_the_best_epoch(tmp_path, on_disk):
    """A learning rate this high gets worse soon; validation documents have their labels wrong."""
    train, validation = data()
    labels = validation.labels.copy()
    labels[::3] = 1 - labels[::3]
    validation = replace(validation, labels=labels)
    model = new_model()
    seen = []
    config = replace(CONFIG, epochs=40, learning_rate=3e-2, patience=3)
    history = fit(
        model,
        (train, validation),
        config,
        folder=tmp_path if on_disk else None,
        after_epoch=lambda history: seen.append(len(history.epochs)),
    )
    losses = [epoch.validation_loss for epoch in history.epochs]
    assert history.best == int(np.argmin(losses))
    assert len(losses) == history.best + 1 + 3 < 40
    assert seen == list(range(1, len(losses) + 1))
    probabilities, labels = predict(model, Batches(validation, 40))
    loss = torch.nn.functional.nll_loss(probabilities.log(), labels).item()
    assert loss == min(losses)
    assert loss != losses[-1]


def test_the_best_epoch_is_the_first_of_the_lowest_loss_or_of_the_highest_accuracy():
    figures = [(0.6, 0.7), (0.5, 0.8), (0.3, 0.8), (0.3, 0.75)]
    epochs = [Epoch(0.0, 0.0, loss, accuracy, 0.0) for loss, accuracy in figures]
    assert History(epochs, best_by="accuracy").best == 1
    assert History(epochs).best == 2 and History().best == -1


SGD = replace(
    CONFIG, optimizer="sgd", momentum=0.9, embedding_rate=0.1, clip_norm=0.0, epochs=2, decay=False
)


def sgd_by_hand(model, documents, config):
    """Two-group SGD as PyTorch defines it: v = 0.9 v + g and w −= rate · v; plain for the words.

    Gradients are those of the mean cross-entropy plus the mean penalty.
    """
    velocity = {name: 0.0 for name, _ in model.named_parameters()}
    batches = Batches(documents[0], config.batch_size, seed=0)
    every = [batch for number in range(config.epochs) for batch in batches.epoch(number)]
    for step, batch in enumerate(every):
        model.zero_grad()
        output = model(batch.tokens, batch.mask)
        error = torch.nn.functional.cross_entropy(output.logits, batch.labels)
        (error + output.penalty.mean()).backward()
        left = 1 - step / len(every) if config.decay else 1.0
        for name, parameter in model.named_parameters():
            words = name.startswith("embedding")
            kept, rate = (0.0, 0.1) if words else (0.9, 1.0)
            velocity[name] = kept * velocity[name] + parameter.grad
            with torch.no_grad():
                parameter -= left * rate * config.learning_rate * velocity[name]
    return model.state_dict()


@pytest.mark.parametrize(
    ("sparse", "decay", "penalty"), [(False, False, 0.5), (True, False, 0.0), (True, True, 0.5)]
)
def test_sgd_with_momentum_spares_the_embedding_and_decays_with_every_step(sparse, decay, penalty):
    model, config = OneWord(sparse, penalty), replace(SGD, decay=decay, learning_rate=0.5)
    expected = sgd_by_hand(OneWord(penalty=penalty), data(), config)
    fit(model, data(), config)
    for name, value in model.state_dict().items():
        torch.testing.assert_close(value, expected[name])


@given(
    losses=st.lists(st.integers(1, 6), max_size=15), after=st.integers(1, 4), decay=st.booleans()
)
def test_the_rate_is_halved_where_pytorchs_scheduler_halves_it(losses, after, decay):
    config = TrainingConfig(epochs=20, decay=decay, halve_after=after)
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(
        optimizer, factor=0.5, patience=after - 1, threshold=0.0, eps=0.0
    )
    for loss in losses:
        scheduler.step(loss)
    left = 1 - len(losses) / 20 if decay else 1.0
    assert config.rate_factor(len(losses), losses) == optimizer.param_groups[0]["lr"] * left
    assert replace(config, halve_after=0).rate_factor(len(losses), losses) == left


class Flat(torch.nn.Module):
    """One number, whose gradient is 1: the loss stays as it is."""

    def __init__(self):
        super().__init__()
        self.number = torch.nn.Parameter(torch.zeros(1))

    def forward(self, tokens, mask):
        logits = torch.zeros(len(tokens), 2)
        return SimpleNamespace(logits=logits, penalty=self.number.expand(len(tokens)))


@pytest.mark.parametrize("after", [0, 1])
def test_training_goes_on_at_half_the_rate_after_an_epoch_that_brought_nothing(after):
    rates, model, before = [], Flat(), 0.0
    config = replace(SGD, epochs=3, momentum=0.0, halve_after=after, patience=9)

    def note(history):
        nonlocal before
        now = model.number.item()
        rates.append((before - now) / (STEPS * config.learning_rate))
        before = now

    fit(model, data(), config, after_epoch=note)
    assert rates == pytest.approx([1, 1, 0.5] if after else [1, 1, 1], rel=1e-4)


@pytest.mark.parametrize(
    ("optimizer", "kind"),
    [
        ("adam", torch.optim.Adam),
        ("amsgrad", torch.optim.Adam),
        ("adadelta", torch.optim.Adadelta),
        ("sgd", torch.optim.SGD),
    ],
)
def test_an_optimiser_is_pytorchs_with_the_settings_asked_for(optimizer, kind):
    config = replace(CONFIG, optimizer=optimizer, weight_decay=0.5, embedding_rate=0.1)
    model = new_model()
    made = make_optimizer(model, config, CPU)
    network, words = made.param_groups
    assert type(made) is kind and made.defaults.get("amsgrad", False) == (optimizer == "amsgrad")
    assert words["params"] == [model.embedding.weight] and words["rate"] == 0.1
    assert len(network["params"]) == len(list(model.parameters())) - 1 and network["rate"] == 1
    assert {group["lr"] for group in made.param_groups} == {config.learning_rate}
    assert {group["weight_decay"] for group in made.param_groups} == {0.5}
    if optimizer != "sgd":
        assert 0 < network["eps"] < 1e-5  # the optimiser's own
        given = make_optimizer(model, replace(config, epsilon=0.25), CPU)
        assert {group["eps"] for group in given.param_groups} == {0.25}
    make_optimizer(model, replace(config, embedding_rate=0.0), CPU)
    assert not model.embedding.weight.requires_grad


def test_a_batch_in_slices_learns_what_the_whole_batch_does():
    """Penalties included: the slices hold different numbers of documents."""
    states = []
    batches = Batches(data()[0], 16, seed=0)
    sizes = [[len(part.labels) for part in batch.slices(300)] for batch in batches.epoch()]
    assert any(len(set(each)) > 1 for each in sizes) and any(len(each) > 2 for each in sizes)
    for most_tokens in (0, 300):
        model = OneWord(penalty=0.5)
        config = replace(SGD, epochs=1, most_tokens=most_tokens, learning_rate=0.5)
        history = fit(model, data(), config)
        states.append((model.state_dict(), history.epochs[0].train_loss))
    for name, value in states[0][0].items():
        torch.testing.assert_close(value, states[1][0][name], atol=1e-6, rtol=1e-5)
    assert states[0][1] == pytest.approx(states[1][1], rel=1e-5)


def test_a_batch_that_is_measured_goes_through_in_slices_too():
    """In training's memory, since without gradients four times as many documents go together."""
    model, sizes = OneWord(), []
    batches = Batches(data()[1], 40)
    whole = predict(model, batches)
    model.register_forward_pre_hook(lambda _, inputs: sizes.append(inputs[0].numel()))
    sliced = predict(model, batches, most_tokens=300)
    assert max(sizes) <= 300 and len(sizes) > 1
    torch.testing.assert_close(sliced.probabilities, whole.probabilities)
    assert torch.equal(sliced.labels, whole.labels)
    sizes.clear()
    fit(model, data(), replace(SGD, epochs=1, most_tokens=300))
    assert max(sizes) <= 300


def test_a_loss_that_is_not_finite_names_epoch_and_batch():
    config = replace(CONFIG, learning_rate=1e38)
    says = r"loss is (nan|inf) in epoch 1, batch 2 \(documents \["
    with pytest.raises(TrainingError, match=says):
        fit(new_model(), data(), config)


def test_weights_that_explode_in_the_last_step_are_noticed():
    """No later batch would show it: its loss came before the step."""
    documents = toy_documents("train", 0, 40)
    config = replace(CONFIG, epochs=1, batch_size=40, learning_rate=1e38)
    with pytest.raises(TrainingError, match=r"validation loss is nan after epoch 1\."):
        fit(new_model(), (documents, documents), config)


def test_a_confident_mistake_costs_much_but_not_infinity():
    """A probability that underflows to 0 would, and strict JSON cannot hold that."""
    model = new_model()
    with torch.no_grad():
        model.classifier.bias.copy_(torch.tensor([500.0, -500.0]))
    history = fit(model, data(), replace(CONFIG, epochs=1, learning_rate=1e-9))
    assert 40 < history.epochs[0].validation_loss < 90


def test_gradients_are_clipped_unless_clip_norm_is_zero():
    """Adam is blind to the gradients' scale until they are far below its epsilon, 1e-8."""
    moved = []
    for clip_norm in (0.0, 1e9, 1e-14):
        model = new_model()
        before = model.classifier.weight.detach().clone()
        fit(model, data(), replace(CONFIG, epochs=1, clip_norm=clip_norm))
        moved.append((model.classifier.weight - before).abs().max().item())
    assert moved[0] == moved[1] > 1e-3 and moved[2] < 1e-6


def test_one_process_trains_in_several_precisions_and_goes_on_in_float32():
    losses = []
    for precision in ("no", "auto", "bf16"):
        model = new_model()
        history = fit(model, data(), replace(CONFIG, epochs=1, precision=precision))
        losses.append(history.epochs[0].train_loss)
    assert losses[0] == losses[1] != losses[2] == pytest.approx(losses[0], abs=0.02)
    fresh = new_model(seed=1)
    fresh.load_state_dict(model.state_dict())
    batch = toy_documents().batch(np.arange(40))
    with torch.inference_mode():
        found, expected = (m.eval()(*batch[:2]).logits for m in (model, fresh))
    assert torch.equal(found, expected)


@pytest.mark.parametrize("stopped", [False, True])
def test_a_network_trained_again_is_in_bfloat16_again(stopped):
    model, seen = new_model(), []
    model.classifier.register_forward_hook(lambda *call: seen.append(call[2].dtype))

    def stop(history):
        raise KeyboardInterrupt

    config = replace(CONFIG, epochs=1, precision="bf16")
    with pytest.raises(KeyboardInterrupt) if stopped else nullcontext():
        fit(model, data(), config, after_epoch=stop if stopped else None)
    assert set(seen) == {torch.bfloat16}
    model(*toy_documents().batch(np.arange(4))[:2])
    assert seen[-1] == torch.float32
    seen.clear()
    fit(model, data(), config)
    assert set(seen) == {torch.bfloat16}
