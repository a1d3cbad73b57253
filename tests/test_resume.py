"""A training that is killed anywhere continues from its own last checkpoint, and from no other.

Run as a program, this file is the training that the tests kill (see ``main``).
"""

import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from accelerate import Accelerator
from safetensors.torch import load_file, save_file
from strategies import files_below, tiny_han, toy_vocabulary
from trainings import (
    CONFIG,
    OneWord,
    data,
    fit,
    new_model,
    same_weights,
    short_data,
    without_seconds,
)

from course_lib.metrics.classification import Predictions
from course_lib.training import loop
from course_lib.training.config import TrainingError
from course_lib.training.devices import use_threads
from course_lib.training.loop import predict


def interrupt(*arguments, **options):
    raise KeyboardInterrupt


def interrupted(folder, model=None, config=CONFIG):
    """Begin a training and leave it after its first epoch."""
    with pytest.raises(KeyboardInterrupt):
        fit(model or new_model(), data(), config, folder=folder, after_epoch=interrupt)


@pytest.mark.full
@pytest.mark.parametrize("optimizer", ["adam", "amsgrad", "adadelta", "sgd"])
def test_every_optimizer_learns_and_resumes(optimizer, tmp_path):
    config = replace(
        CONFIG,
        optimizer=optimizer,
        epochs=2,
        learning_rate={"adadelta": 5.0, "sgd": 1.0}.get(optimizer, 2e-2),
    )
    straight = new_model()
    history = fit(straight, data(), config)
    assert history.epochs[-1].train_loss < history.epochs[0].train_loss
    interrupted(tmp_path, config=config)
    again = new_model(seed=5)
    fit(again, data(), config, folder=tmp_path)
    assert same_weights(straight.state_dict(), again.state_dict())


def test_a_training_that_has_ended_is_read_and_not_trained_again(tmp_path, monkeypatch):
    first, second = new_model(), new_model(seed=9)
    history = fit(first, data(), CONFIG, folder=tmp_path)
    monkeypatch.setattr(loop, "_train_epoch", None)
    again = fit(second, data(), CONFIG, folder=tmp_path)
    assert again == history
    assert same_weights(first.state_dict(), second.state_dict())


def test_the_last_checkpoint_alone_is_kept_and_what_is_the_users(tmp_path):
    mine = [tmp_path / name for name in ("notes 1", "best.safetensors", "checkpoint-1", "000002")]
    for path in mine:
        path.mkdir()
    fit(new_model(), data(), CONFIG, folder=tmp_path)
    assert {*tmp_path.iterdir()} == {*mine, tmp_path / "checkpoint-000003"}


class Odd(OneWord):
    """Two parameters without elements, as a stack of no layers has, and two names for one."""

    def __init__(self):
        super().__init__()
        self.gates = torch.nn.Parameter(torch.zeros(0, 4, 4))
        self.biases = torch.nn.Parameter(torch.zeros(0, 4))
        self.again = self.classifier


def test_empty_and_shared_tensors_are_resumed(tmp_path):
    straight, again = Odd(), Odd()
    fit(straight, data(), CONFIG)
    interrupted(tmp_path, Odd())
    with torch.no_grad():
        again.classifier.weight.zero_()
    fit(again, data(), CONFIG, folder=tmp_path)
    assert same_weights(straight.state_dict(), again.state_dict())


def flip(documents):
    return replace(documents, labels=1 - documents.labels)


TRAIN, VALIDATION = data()
OTHERS = {
    "config": {"config": replace(CONFIG, learning_rate=1e-3)},
    "model": {"model": {"dropout": 0.4}},
    "seed": {"seed": 1},
    "training labels": {"documents": (flip(TRAIN), VALIDATION)},
    "validation labels": {"documents": (TRAIN, flip(VALIDATION))},
    "halves": {"documents": (VALIDATION, TRAIN)},
}


def attempt(folder, documents=(TRAIN, VALIDATION), config=CONFIG, seed=0, model=None):
    model = tiny_han(vocabulary=len(toy_vocabulary()), **{"dropout": 0.3} | (model or {}))
    return fit(model, documents, config, folder=folder, seed=seed)


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """The folder of a training that was interrupted."""
    folder = tmp_path_factory.mktemp("begun")
    interrupted(folder)
    return folder


@pytest.mark.parametrize("other", OTHERS)
def test_a_checkpoint_of_another_training_is_refused(begun, other):
    kept = {path: path.read_bytes() for path in begun.rglob("*") if path.is_file()}
    with pytest.raises(TrainingError, match="checkpoint of another training"):
        attempt(begun, **OTHERS[other])
    assert kept == {path: path.read_bytes() for path in begun.rglob("*") if path.is_file()}


def flip_bit(path):
    whole = bytearray(path.read_bytes())
    whole[len(whole) // 2] ^= 16
    path.write_bytes(whole)


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@pytest.mark.parametrize(
    ("damage", "name"),
    [
        (flip_bit, "optimizer.bin"),
        (cut, "custom_checkpoint_0.pkl"),
        (cut, "training.json"),
        (Path.unlink, "random_states_0.pkl"),
        (Path.unlink, "training.json"),
    ],
)
def test_a_damaged_file_is_named(begun, tmp_path, damage, name):
    shutil.copytree(begun, tmp_path, dirs_exist_ok=True)
    checkpoint = tmp_path / "checkpoint-000001"
    damage(checkpoint / name)
    with pytest.raises(TrainingError, match=f"{name}: damaged") as raised:
        fit(new_model(), data(), CONFIG, folder=tmp_path)
    assert f"Delete {checkpoint} and train again" in str(raised.value)


@pytest.mark.parametrize(
    ("place", "error"),
    [
        ("accelerate.Accelerator.load_state", torch.OutOfMemoryError("out of memory")),
        ("course_lib.training.checkpoints.file_digest", PermissionError("not allowed")),
    ],
)
def test_another_trouble_is_no_damage(tmp_path, monkeypatch, place, error):
    """The advice to delete the checkpoint would cost what was trained."""

    def fail(*arguments):
        raise error

    interrupted(tmp_path)
    kept = files_below(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(place, fail)
        with pytest.raises(type(error)):
            fit(new_model(), data(), CONFIG, folder=tmp_path)
    assert files_below(tmp_path) == kept
    fit(new_model(), data(), CONFIG, folder=tmp_path)


def test_weights_of_an_epoch_that_is_trained_again_do_not_replace_the_best(tmp_path, monkeypatch):
    """Killed before an epoch's checkpoint was complete, a training may find on a GPU that this
    epoch is not the best."""
    first, again = new_model(), new_model(seed=5)
    interrupted(tmp_path, first)
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(Accelerator, "save_state", interrupt)
        fit(new_model(), data(), CONFIG, folder=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint-000001"]

    def all_wrong(*arguments):
        labels = predict(*arguments).labels
        return Predictions(1.0 - torch.nn.functional.one_hot(labels), labels)

    monkeypatch.setattr(loop, "predict", all_wrong)
    assert fit(again, data(), CONFIG, folder=tmp_path).best == 0
    assert same_weights(again.state_dict(), first.state_dict())


# Kills come at file events, between which the disk does not change: a file that is half written has
# a temporary name. Each is a percentage of the events of a training that is left alone.
KILLS = [*map(str, range(2, 100, 5)), "99", "24 16 11 6"]


def strike(number, count):
    """Have this process killed when it opens, renames, lists or removes something in the training's
    folder for the ``number``-th time; ``count`` grows with every such event."""

    def watch(event, arguments):
        if event == "os.remove" or "/killed-" in str(arguments[:2]):
            count.append(event)
            if len(count) == number:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)


def train_in(folder):
    """So high a learning rate that the second epoch is better than the first and the last."""
    model = new_model(seed=5)
    history = fit(model, short_data(), replace(CONFIG, learning_rate=0.4), folder=folder)
    return model.state_dict(), without_seconds(history)


def killed_or_done(folder, kill=None):
    """The signal that ended a training in a process of its own, 0 when it came to its end."""
    child, events = os.fork(), []
    if child == 0:
        try:
            strike(kill, events)
            state, epochs = train_in(folder)
            count = len(events)
            save_file(state, folder / "result.safetensors")
            (folder / "epochs.txt").write_text(repr(epochs))
            (folder / "events.txt").write_text(str(count))
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitpid(child, 0)[1]


def main(root):
    """Kill a training at each of ``KILLS``, then let it end; says how each process ended."""
    use_threads(1)
    short_data()  # read, and import what the optimiser imports, before the processes part
    torch.optim.Adam(new_model().parameters())
    assert killed_or_done(root / "killed-never") == 0
    events = int((root / "killed-never/events.txt").read_text())
    for number, kills in enumerate(KILLS):
        folder = root / f"killed-{number}"
        ends = [killed_or_done(folder, int(kill) * events // 100) for kill in kills.split()]
        (folder / "ends.txt").write_text(repr([*ends, killed_or_done(folder)]))


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """The folders of the trainings that were killed and resumed, by what killed them."""
    root = tmp_path_factory.mktemp("kills")
    path = [str(Path(loop.__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, __file__, root],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(path), "PYTHONHASHSEED": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return {kills: root / f"killed-{number}" for number, kills in enumerate(KILLS)}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    before = torch.get_num_threads()
    use_threads(1)
    result = train_in(tmp_path_factory.mktemp("undisturbed"))
    torch.set_num_threads(before)
    return result


@pytest.mark.full
@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills need POSIX processes")
@pytest.mark.parametrize("kills", KILLS)
def test_a_killed_training_resumes_to_the_same_weights_and_history(killed, undisturbed, kills):
    folder = killed[kills]
    assert (folder / "ends.txt").read_text() == repr(
        [signal.SIGKILL.value] * len(kills.split()) + [0]
    )
    weights, epochs = undisturbed
    losses = [epoch.validation_loss for epoch in epochs]
    assert losses[1] < min(losses[0], losses[2])  # as the kills assume
    assert {path.name for path in folder.glob("[!.]*") if path.suffix != ".txt"} == {
        "checkpoint-000003",
        "result.safetensors",
    }
    assert same_weights(load_file(folder / "result.safetensors"), weights)
    assert (folder / "epochs.txt").read_text() == repr(epochs)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
