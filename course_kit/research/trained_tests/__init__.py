"""Tests of attention that need a training: guided, adversarial, avoiding, retrained, randomised.

What erasure and gradients cannot tell apart, a network that is trained for it can: whether other
attention would do as well, and whether the words that a ranking names are needed."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=["adversary", "avoidance", "guided", "randomisation", "roar"],
    submod_attrs={
        "ground": ["Ground", "Texts", "made_up", "planted", "sentences"],
        "networks": ["WordMLP", "attention_of"],
        "record": ["TESTS", "record_test"],
    },
)
