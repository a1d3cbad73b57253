"""The small Transformer of lesson 10, and what five seeds of it show."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "transformer_record": [
            "RANKINGS",
            "hits",
            "over_seeds",
            "plain_mean_hits",
            "seed_interval",
            "train_variant",
        ],
    },
)
