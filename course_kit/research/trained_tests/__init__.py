"""Tests of attention that need a training: guided, adversarial, retrained.

What erasure and gradients cannot tell apart, a network that is trained for it can: whether other
attention would do as well, and whether the words that a ranking names are needed."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "protocols": ["distance"],
        "training_setup": ["attention_of", "setup_of", "uniform"],
    },
)
