"""The small Transformer of lesson 10, and what five seeds of it show."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "transformer_record": [
            "changed",
            "hits",
            "over_seeds",
            "plain_mean_hits",
            "rankings",
            "seed_interval",
            "shuffled",
            "tau_with_leave_one_out",
            "train_variant",
            "without_each_head",
            "without_scores",
        ],
    },
)
