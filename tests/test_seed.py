"""The seed decides document order, dropout and first weights, and so the trained weights bit for
bit on a CPU; a run's is tested in ``test_runs``."""

from dataclasses import replace

import torch
from networks import VARIANTS, new
from strategies import toy_documents
from trainings import CONFIG, OneWord, data, fit, new_model, same_weights


def documents_seen(seed):
    """The words of every batch that a training and its validation saw, and which of the two."""
    model, seen = OneWord(), []
    model.register_forward_pre_hook(lambda _, inputs: seen.append((model.training, inputs[0])))
    fit(model, data(), replace(CONFIG, epochs=2, batch_size=6), seed=seed)
    return [(training, tokens.tolist()) for training, tokens in seen]


def test_the_seed_decides_the_order_of_the_training_documents_alone():
    runs = [documents_seen(seed) for seed in (3, 3, 4)]
    assert runs[0] == runs[1]
    orders, validations = (
        [[tokens for training, tokens in run if training is wanted] for run in runs]
        for wanted in (True, False)
    )
    assert orders[0][:14] != orders[2][:14]
    assert orders[0][:14] != orders[0][14:]  # the epochs of a run differ as well
    assert validations[0] == validations[2]


def test_the_seed_decides_what_dropout_drops():
    """One training document has but one order."""
    states = []
    for seed in (3, 3, 4):
        model = new_model()
        fit(model, (toy_documents("train", 0, 1), data()[1]), CONFIG, seed=seed)
        states.append(model.state_dict())
    assert same_weights(states[0], states[1]) and not same_weights(states[0], states[2])


def test_the_seed_decides_the_final_weights_of_a_training_on_many_documents():
    """Order and dropout both act here; first weights are the same, numbers drawn before are not."""
    states = []
    for seed in (3, 3, 4):
        model = new_model()
        torch.rand(len(states))
        fit(model, data(), replace(CONFIG, epochs=2), seed=seed)
        states.append(model.state_dict())
    assert same_weights(states[0], states[1]) and not same_weights(states[0], states[2])


def test_the_seed_decides_the_first_weights_of_every_network():
    for variant in VARIANTS:
        first, again, other = (new(variant, seed).state_dict() for seed in (3, 3, 4))
        assert same_weights(first, again) and not same_weights(first, other), variant
        assert all(value.isfinite().all() for value in first.values() if torch.is_tensor(value))
