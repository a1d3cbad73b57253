"""Training: it learns, repeats, keeps its best epoch, and goes on after being killed anywhere.

Run as a program, this file is the training that the tests kill (see ``main``).
"""

import math
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from accelerate import Accelerator
from safetensors.torch import load_file, save_file
from strategies import every_device, tiny_han, toy_batches, toy_documents, toy_vocabulary

from course_lib.data.batches import Batches
from course_lib.training import loop as training
from course_lib.training.loop import (
    Checkpoints,
    Epoch,
    History,
    TrainingConfig,
    TrainingError,
    choose_device,
    choose_precision,
    fit,
    flushed_denormals,
    make_optimizer,
    predict,
    slices,
    use_threads,
)

CPU = torch.device("cpu")
CONFIG = TrainingConfig(epochs=3, learning_rate=2e-2, patience=9, checkpoint_seconds=0)
STEPS = 5  # a full epoch of ``data()``


def new_model(seed=0):
    return tiny_han(seed, vocabulary=len(toy_vocabulary()), dropout=0.3)


def data(seed=0):
    """80 documents to learn from, 40 to validate on."""
    return toy_batches("train", 40, 120, 16, seed), toy_batches("train", 0, 40, 40)


def short_data():
    """Three steps an epoch, for trainings that are killed and repeated many times."""
    return toy_batches("train", 40, 88, 16, 0), toy_batches("train", 0, 40, 40)


def without_seconds(history):
    return [replace(epoch, seconds=0.0) for epoch in history.epochs]


def same_weights(state, other):
    return state.keys() == other.keys() and all(
        torch.equal(state[name], other[name]) for name in state
    )


@every_device
def test_the_loss_falls_on_the_toy_corpus(device):
    sizes = {"embedding": 16, "hidden": 8, "attention": 16}
    model = tiny_han(vocabulary=len(toy_vocabulary()), **sizes)
    train, validation = toy_batches("train", 60, 600, 32, 0), toy_batches("train", 0, 60, 60)
    config = replace(CONFIG, epochs=4, learning_rate=1e-2)
    history = fit(model, train, validation, config, torch.device(device))
    losses = [epoch.train_loss for epoch in history.epochs]
    assert losses[0] == pytest.approx(math.log(2), abs=0.15)  # two classes, nothing known
    assert losses[-1] < 0.35
    assert history.epochs[-1].validation_accuracy > 0.85
    assert history.epochs[-1].seconds > 0


def test_an_epochs_figures_are_those_of_the_model_on_the_data():
    """With one batch an epoch the training loss is that of the weights before the step."""
    documents = toy_documents("train", 0, 40)
    batches = Batches(documents, 40, seed=0)
    model = tiny_han(vocabulary=len(toy_vocabulary()))
    before = predict(model, batches)
    history = fit(model, batches, batches, replace(CONFIG, epochs=1), CPU)
    after = predict(model, batches)
    for (probabilities, labels), loss, accuracy in (
        (before, history.epochs[0].train_loss, history.epochs[0].train_accuracy),
        (after, history.epochs[0].validation_loss, history.epochs[0].validation_accuracy),
    ):
        rows = probabilities[torch.arange(40), labels].numpy()
        assert loss == pytest.approx(-np.log(rows).mean(), abs=1e-5)
        assert accuracy == pytest.approx(((rows > 0.5).mean()), abs=1e-6)


def test_dropout_acts_in_every_training_step_and_in_no_validation():
    model, modes = new_model(), []
    model.register_forward_pre_hook(lambda *_: modes.append({m.training for m in model.modules()}))
    fit(model, *data(), replace(CONFIG, epochs=2), CPU)
    assert modes == 2 * (STEPS * [{True}] + [{False}])


def test_predictions_stand_in_the_order_of_the_data():
    model, documents = new_model(), toy_documents("train", 0, 40)
    found = predict(model.train(), Batches(documents, 7))
    assert torch.equal(found.labels, torch.from_numpy(documents.labels))
    for row in (0, 17, 39):
        batch = documents.batch(np.array([row]))
        expected = model.eval()(batch.tokens, batch.mask).logits.softmax(1)
        torch.testing.assert_close(found.probabilities[row], expected[0])


def test_two_runs_with_one_seed_are_equal_bit_for_bit_and_two_seeds_are_not():
    runs = []
    for seed in (3, 3, 4):
        model = new_model()
        history = fit(model, *data(seed), replace(CONFIG, epochs=2, seed=seed), CPU)
        runs.append((model.state_dict(), without_seconds(history)))
    assert same_weights(runs[0][0], runs[1][0]) and runs[0][1] == runs[1][1]
    assert not same_weights(runs[0][0], runs[2][0])


def test_checkpoints_change_nothing(tmp_path):
    models = [new_model(), new_model()]
    histories = [fit(model, *data(), CONFIG, CPU, folder)
                 for model, folder in zip(models, (None, tmp_path / "run"))]  # fmt: skip
    assert same_weights(models[0].state_dict(), models[1].state_dict())
    assert without_seconds(histories[0]) == without_seconds(histories[1])


@pytest.mark.parametrize("on_disk", [True, False])
def test_it_stops_early_and_keeps_the_best_epoch(tmp_path, on_disk):
    """A learning rate this high gets worse soon; validation documents have their labels wrong."""
    train, validation = data()
    labels = validation.documents.labels.copy()
    labels[::3] = 1 - labels[::3]
    validation = Batches(replace(validation.documents, labels=labels), 40)
    model = new_model()
    seen = []
    config = replace(CONFIG, epochs=40, learning_rate=3e-2, patience=3)
    history = fit(model, train, validation, config, CPU, tmp_path if on_disk else None,
                  lambda history: seen.append(len(history.epochs)))  # fmt: skip
    losses = [epoch.validation_loss for epoch in history.epochs]
    assert history.best == int(np.argmin(losses))
    assert len(losses) == history.best + 1 + 3 < 40
    assert seen == list(range(1, len(losses) + 1))
    probabilities, labels = predict(model, validation)
    loss = torch.nn.functional.nll_loss(probabilities.log(), labels).item()
    assert loss == min(losses)
    assert loss != losses[-1]


def test_the_best_epoch_may_be_chosen_by_accuracy():
    figures = [(0.6, 0.7), (0.5, 0.8), (0.4, 0.8), (0.3, 0.75)]
    epochs = [Epoch(0.0, 0.0, loss, accuracy, 0.0) for loss, accuracy in figures]
    assert History(epochs, best_by="accuracy").best == 1
    assert History(epochs).best == 3


class OneWord(torch.nn.Module):
    """An embedding and a classifier of its mean: small enough to update by hand."""

    def __init__(self, sparse=False):
        super().__init__()
        torch.manual_seed(3)
        self.embedding = torch.nn.Embedding(len(toy_vocabulary()), 4, sparse=sparse)
        self.classifier = torch.nn.Linear(4, 2)

    def forward(self, tokens, mask):
        summed = (self.embedding(tokens) * mask.unsqueeze(-1)).sum((1, 2))
        logits = self.classifier(summed / mask.sum((1, 2)).unsqueeze(1))
        return SimpleNamespace(logits=logits)


SGD = replace(CONFIG, optimizer="sgd", momentum=0.9, embedding_rate=0.1, clip_norm=0.0, epochs=1,
              decay=False)  # fmt: skip


def by_hand(model, train, config):
    """Two-group SGD as PyTorch defines it: v = 0.9 v + g and w −= rate · v; plain for the words."""
    velocity = {name: 0.0 for name, _ in model.named_parameters()}
    for number in range(config.epochs):
        for batch in train.epoch(number):
            model.zero_grad()
            logits = model(batch.tokens, batch.mask).logits
            torch.nn.functional.cross_entropy(logits, batch.labels).backward()
            for name, parameter in model.named_parameters():
                words = name.startswith("embedding")
                kept, rate = (0.0, 0.1) if words else (0.9, 1.0)
                velocity[name] = kept * velocity[name] + parameter.grad
                with torch.no_grad():
                    parameter -= rate * config.learning_rate * velocity[name]
    return model.state_dict()


@pytest.mark.parametrize("sparse", [False, True])
def test_sgd_with_momentum_spares_the_embedding(sparse):
    model, (train, validation) = OneWord(sparse), data()
    expected = by_hand(OneWord(), train, SGD)
    fit(model, train, validation, SGD, CPU)
    for name, value in model.state_dict().items():
        torch.testing.assert_close(value, expected[name])


@pytest.mark.parametrize("optimizer", ["adam", "amsgrad", "adadelta", "sgd"])
def test_every_optimizer_learns_and_resumes(optimizer, tmp_path):
    config = replace(CONFIG, optimizer=optimizer, epochs=2,
                     learning_rate={"adadelta": 5.0, "sgd": 1.0}.get(optimizer, 2e-2))  # fmt: skip
    straight = new_model()
    history = fit(straight, *data(), config, CPU)
    assert history.epochs[-1].train_loss < history.epochs[0].train_loss
    resumed = new_model()
    with pytest.raises(KeyboardInterrupt):
        fit(resumed, *data(), config, CPU, tmp_path, after_epoch=_interrupt)
    again = new_model(seed=5)
    fit(again, *data(), config, CPU, tmp_path)
    assert same_weights(straight.state_dict(), again.state_dict())


def _interrupt(history):
    raise KeyboardInterrupt


@pytest.mark.parametrize("optimizer", ["adam", "amsgrad", "adadelta"])
def test_epsilon_is_the_optimisers_own_unless_given(optimizer):
    config = replace(CONFIG, optimizer=optimizer)
    usual, given = (
        make_optimizer(new_model(), replace(config, epsilon=epsilon), CPU).param_groups[0]["eps"]
        for epsilon in (0.0, 0.25)
    )
    assert 0 < usual < 1e-5 and given == 0.25


def test_an_unknown_optimizer_is_named():
    with pytest.raises(ValueError, match="no optimizer 'adagrad'; there are: adam, amsgrad"):
        fit(new_model(), *data(), replace(CONFIG, optimizer="adagrad"), CPU)


@pytest.mark.parametrize(
    ("asked", "processor", "expected"),
    [
        ("no", {"avx512_bf16": True}, "no"),
        ("bf16", {}, "bf16"),
        ("auto", {"avx512_bf16": True}, "no"),
        ("native", {"avx512_bf16": True}, "bf16"),
        ("native", {"amx_bf16": True, "avx512_bf16": False}, "bf16"),
        ("native", {"avx2": True}, "no"),
    ],
)
def test_bfloat16_on_a_cpu_is_asked_for_and_native(monkeypatch, asked, processor, expected):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: processor)
    assert choose_precision(asked, CPU) == expected


def test_slices_are_the_batch_in_order_and_none_is_too_large():
    batch = toy_documents().batch(np.arange(7))
    each = batch.tokens[0].numel()
    for most, sizes in ((0, [7]), (7 * each, [7]), (7 * each - 1, [6, 1]), (3 * each, [3, 3, 1]),
                        (1, [1] * 7)):  # fmt: skip
        parts = slices(batch, most)
        assert [len(part.labels) for part in parts] == sizes
        for whole, *pieces in zip(batch, *parts, strict=True):
            assert torch.equal(whole, torch.cat(pieces))


def test_a_batch_in_slices_learns_what_the_whole_batch_does():
    states = []
    for most_tokens in (0, 300):
        model = new_model()
        model.config = replace(model.config, dropout=0.0)
        for part in model.modules():
            if hasattr(part, "rate"):
                part.rate = 0.0
            if isinstance(part, torch.nn.Dropout):
                part.p = 0.0
        train, validation = data()
        assert any(len(slices(batch, 300)) > 2 for batch in train.epoch())
        config = replace(CONFIG, epochs=1, optimizer="sgd", most_tokens=most_tokens)
        history = fit(model, train, validation, config, CPU)
        states.append((model.state_dict(), history.epochs[0].train_loss))
    for name, value in states[0][0].items():
        torch.testing.assert_close(value, states[1][0][name], atol=1e-6, rtol=1e-5)
    assert states[0][1] == pytest.approx(states[1][1], rel=1e-5)


def test_clip_norm_zero_clips_nothing():
    weights = []
    for clip_norm in (0.0, 1e9):
        model = new_model()
        fit(model, *data(), replace(CONFIG, clip_norm=clip_norm, epochs=1), CPU)
        weights.append(model.state_dict())
    assert same_weights(*weights)


def test_the_best_epoch_is_the_first_of_the_lowest():
    epochs = [Epoch(0, 0, loss, 0, 0) for loss in (0.5, 0.2, 0.3, 0.2)]
    assert History(epochs).best == 1
    assert History().best == -1


def test_a_loss_that_is_not_finite_names_epoch_and_batch():
    config = replace(CONFIG, learning_rate=1e38)
    says = rf"loss is (nan|inf) in epoch 1, batch 2 of {STEPS} \(documents \["
    with pytest.raises(TrainingError, match=says):
        fit(new_model(), *data(), config, CPU)


def test_weights_that_explode_in_the_last_step_are_noticed():
    """No later batch would show it: its loss came before the step."""
    batches = Batches(toy_documents("train", 0, 40), 40, seed=0)
    config = replace(CONFIG, epochs=1, learning_rate=1e38)
    with pytest.raises(TrainingError, match=r"validation loss is nan after epoch 1, .* batch 1\."):
        fit(new_model(), batches, batches, config, CPU)


def test_a_confident_mistake_costs_much_but_not_infinity():
    """A probability that underflows to 0 would, and strict JSON cannot hold that."""
    model = new_model()
    with torch.no_grad():
        model.classifier.bias.copy_(torch.tensor([500.0, -500.0]))
    history = fit(model, *data(), replace(CONFIG, epochs=1, learning_rate=1e-9), CPU)
    assert 40 < history.epochs[0].validation_loss < 90


def test_gradients_are_clipped():
    """Adam is blind to the gradients' scale until they are far below its epsilon, 1e-8."""
    moved = []
    for clip_norm in (1.0, 1e-14):
        model = new_model()
        before = model.classifier.weight.detach().clone()
        fit(model, *data(), replace(CONFIG, epochs=1, clip_norm=clip_norm), CPU)
        moved.append((model.classifier.weight - before).abs().max().item())
    assert moved[0] > 1e-3 and moved[1] < 1e-6


def test_the_penalty_is_part_of_the_loss():
    models = [tiny_han(vocabulary=len(toy_vocabulary()), hops=2, penalty=p) for p in (0.0, 5.0)]
    for model in models:
        fit(model, *data(), replace(CONFIG, epochs=1), CPU)
    overlap = []
    batch = next(data()[1].epoch())
    for model in models:
        hops = model.words.pooling.contexts.detach()
        overlap.append(torch.cosine_similarity(hops[0], hops[1], 0).item())
    assert not same_weights(*(model.state_dict() for model in models))
    assert overlap[1] < overlap[0]
    assert (models[1](batch.tokens, batch.mask).penalty > 0).all()


def test_one_process_can_train_in_several_precisions():
    histories = [
        fit(new_model(), *data(), replace(CONFIG, epochs=1, precision=precision), CPU)
        for precision in ("no", "bf16", "auto")
    ]
    losses = [history.epochs[0].train_loss for history in histories]
    assert losses[0] == losses[2] != losses[1]
    assert losses[1] == pytest.approx(losses[0], abs=0.02)


def test_a_network_trained_in_bfloat16_goes_on_in_float32():
    model, (train, validation) = new_model(), data()
    fit(model, train, validation, replace(CONFIG, epochs=1, precision="bf16"), CPU)
    fresh = new_model(seed=1)
    fresh.load_state_dict(model.state_dict())
    batch = next(iter(validation.epoch()))
    with torch.inference_mode():
        found, expected = (m.eval()(*batch[:2]).logits for m in (model, fresh))
    assert torch.equal(found, expected)


def test_a_device_that_is_not_there_is_an_error():
    assert choose_device("cpu") == CPU
    assert choose_device("auto").type in ("cuda", "mps", "cpu")
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    absent = [name for name, available in there.items() if not available]
    for name in [*absent, "nope", "abacus:1", ""]:
        with pytest.raises(TrainingError, match=f"device '{name}' is not available here"):
            choose_device(name)


def test_threads_are_set_and_told():
    before = torch.get_num_threads()
    try:
        assert use_threads(1) == torch.get_num_threads() == 1
        assert use_threads(None) == 1
        assert use_threads(10_000) <= os.cpu_count()
    finally:
        torch.set_num_threads(before)


def test_denormals_are_zeros_in_training_alone():
    tiny = torch.tensor([1e-39])
    if not torch.set_flush_denormal(False) or not (tiny * 1).item():
        pytest.skip("this processor does not tell them apart")
    with flushed_denormals():
        assert (tiny * 1).item() == 0
    assert (tiny * 1).item() > 0
    seen, model = [], new_model()
    model.register_forward_hook(lambda *_: seen.append((model.training, (tiny * 1).item() == 0)))
    fit(model, *data(), replace(CONFIG, epochs=1), CPU)
    assert set(seen) == {(True, True), (False, False)}


def only_checkpoint(folder):
    (found,) = folder.glob("checkpoint-*")
    return found


def test_a_finished_training_is_read_not_repeated(tmp_path, monkeypatch):
    first, second = new_model(), new_model(seed=9)
    history = fit(first, *data(), CONFIG, CPU, tmp_path)
    monkeypatch.setattr(training, "_train_epoch", None)
    again = fit(second, *data(), CONFIG, CPU, tmp_path)
    assert again.epochs == history.epochs
    assert same_weights(first.state_dict(), second.state_dict())
    assert {path.name for path in tmp_path.iterdir()} == {
        "best.safetensors",
        only_checkpoint(tmp_path).name,
    }


def change_config(config, model, train):
    return replace(config, learning_rate=1e-3), model, train


def change_batches(config, model, train):
    return config, model, Batches(train.documents, 8, 0)


def change_documents(config, model, train):
    return config, model, Batches(toy_documents("train", 41, 121), 16, 0)


def change_model(config, model, train):
    return config, tiny_han(vocabulary=len(toy_vocabulary()), dropout=0.4), train


@pytest.mark.parametrize("change", [change_config, change_batches, change_documents, change_model])
def test_a_checkpoint_of_another_training_is_refused(tmp_path, change):
    train, validation = data()
    config = replace(CONFIG, epochs=1)
    fit(new_model(), train, validation, config, CPU, tmp_path)
    kept = (tmp_path / "best.safetensors").read_bytes()
    config, model, train = change(config, new_model(), train)
    with pytest.raises(TrainingError, match="checkpoint of another configuration"):
        fit(model, train, validation, config, CPU, tmp_path)
    assert (tmp_path / "best.safetensors").read_bytes() == kept


@pytest.mark.parametrize("damage", ["empty", "half", "missing"])
@pytest.mark.parametrize(
    "name",
    ["model.safetensors", "optimizer.bin", "random_states_0.pkl", "custom_checkpoint_0.pkl",
     "identity.txt", "../best.safetensors"],
)  # fmt: skip
def test_a_damaged_checkpoint_is_named(finished, tmp_path, name, damage):
    folder = tmp_path / "copy"
    shutil.copytree(finished, folder)
    path = only_checkpoint(folder) / name
    whole = path.read_bytes()
    path.unlink()
    if damage != "missing":
        path.write_bytes(whole[: 0 if damage == "empty" else len(whole) // 2])
    with pytest.raises(TrainingError, match=r"damaged|another configuration") as raised:
        fit(new_model(), *data(), replace(CONFIG, epochs=1), CPU, folder)
    assert str(folder) in str(raised.value)
    assert "Delete" in str(raised.value) or "delete" in str(raised.value)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished")
    fit(new_model(), *data(), replace(CONFIG, epochs=1), CPU, folder)
    return folder


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def nth_call(number, then):
    """A function that runs ``then`` with its arguments, at its ``number``-th call alone."""
    calls = iter(range(1, 1_000_000))
    return lambda *arguments: then(*arguments) if next(calls) == number else None


def before(owner, name, moment):
    """Have ``moment`` run before each call of a function, with its arguments."""
    original = getattr(owner, name)

    def patched(*arguments, **named):
        moment(*arguments)
        return original(*arguments, **named)

    setattr(owner, name, patched)


def after(owner, name, moment):
    """Have ``moment`` run after each call of a function, with its arguments."""
    original = getattr(owner, name)

    def patched(*arguments, **named):
        result = original(*arguments, **named)
        moment(*arguments)
        return result

    setattr(owner, name, patched)


def before_step(number):
    before(torch.optim.Adam, "step", nth_call(number, lambda *_: die()))


def after_step(number):
    """Weights have moved on, no checkpoint knows."""
    before(Checkpoints, "due", nth_call(number, lambda *_: die()))


def in_checkpoint(number):
    """Half of the weights are written, under the temporary name."""

    def write_half(accelerator, folder):
        weights = Path(folder) / "model.safetensors"
        weights.write_bytes(weights.read_bytes()[:100])
        die()

    after(Accelerator, "save_state", nth_call(number, write_half))


def before_rename(number):
    """All is written, nothing has its final name."""
    before(Path, "replace", nth_call(number, lambda *_: die()))


def among_old_checkpoints(number):
    """The new checkpoint has its name; of the one before a file is gone already."""

    def lose_a_file(folder):
        (folder / "model.safetensors").unlink()
        die()

    lose = nth_call(number, lose_a_file)
    old = lambda folder, *_: lose(folder) if folder.name.startswith("checkpoint-") else None  # noqa: E731
    before(shutil, "rmtree", lambda folder, *_: old(Path(folder)))


def in_validation(number):
    before(training, "predict", nth_call(number, lambda *_: die()))


def before_best(number):
    before(Checkpoints, "keep_best", nth_call(number, lambda *_: die()))


def after_best(number):
    after(Checkpoints, "keep_best", nth_call(number, lambda *_: die()))


def before_the_end(number):
    before(Checkpoints, "load_best", nth_call(number, lambda *_: die()))


def at_file_event(number):
    """Python is about to open, rename, list or remove something in the training's folder."""
    moment = nth_call(number, lambda *_: die())
    sys.addaudithook(
        lambda event, arguments: moment() if "/killed-" in str(arguments[:2]) else None
    )


KILLS = [
    "before_step:1",
    "after_step:1",
    "before_step:8",
    "after_step:8",
    "in_checkpoint:1",
    "in_checkpoint:7",
    "before_rename:4",
    "before_rename:6",
    "among_old_checkpoints:1",
    "among_old_checkpoints:9",
    "in_validation:1",
    "in_validation:3",
    "before_best:1",
    "after_best:2",
    "before_the_end:1",
    *(f"at_file_event:{number}" for number in (4, 37, 74, 111, 148, 182)),
    "before_step:2 in_checkpoint:2 among_old_checkpoints:2 before_rename:4 in_validation:1",
]


def train_in(folder):
    """So high a learning rate that the second epoch is better than the first and the last."""
    model = new_model(seed=5)
    history = fit(model, *short_data(), replace(CONFIG, learning_rate=0.15), CPU, folder)
    return model.state_dict(), without_seconds(history)


def killed_or_done(folder, kill=None):
    """The signal that ended a training in a process of its own, 0 when it came to its end."""
    child = os.fork()
    if child == 0:
        try:
            if kill:
                name, number = kill.split(":")
                globals()[name](int(number))
            state, epochs = train_in(folder)
            save_file(state, folder / "result.safetensors")
            (folder / "epochs.txt").write_text(repr(epochs))
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitpid(child, 0)[1]


def main(root):
    """Kill a training at each of ``KILLS``, then let it end; says how each process ended."""
    use_threads(1)
    short_data()  # read, and import what the optimiser imports, before the processes part
    torch.optim.Adam(new_model().parameters())
    for number, kills in enumerate(KILLS):
        folder = root / f"killed-{number}"
        ends = [killed_or_done(folder, kill) for kill in (*kills.split(), None)]
        (folder / "ends.txt").write_text(repr(ends))


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """The folders of the trainings that were killed and resumed, by what killed them."""
    root = tmp_path_factory.mktemp("kills")
    path = [str(Path(training.__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, __file__, root],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(path), "PYTHONHASHSEED": "1"},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return {kills: root / f"killed-{number}" for number, kills in enumerate(KILLS)}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    before = torch.get_num_threads()
    use_threads(1)
    result = train_in(tmp_path_factory.mktemp("undisturbed"))
    torch.set_num_threads(before)
    return result


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills need POSIX processes")
@pytest.mark.parametrize("kills", KILLS)
def test_a_killed_training_resumes_to_the_same_weights_and_history(killed, undisturbed, kills):
    folder = killed[kills]
    assert (folder / "ends.txt").read_text() == repr(
        [signal.SIGKILL.value] * len(kills.split()) + [0]
    )
    weights, epochs = undisturbed
    assert same_weights(load_file(folder / "result.safetensors"), weights)
    assert (folder / "epochs.txt").read_text() == repr(epochs)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
