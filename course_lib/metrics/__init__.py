"""Numbers that describe predictions and attention, and checks that any model must pass."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=["composition", "invariants"],
    submod_attrs={
        "attention": ["diagonality", "gini", "row_entropy", "row_gini", "uniform_diagonality"],
        "classification": ["Predictions", "classification_metrics", "sampling_error"],
        "composition": ["phrases"],
        "statistics": [
            "Estimate",
            "constant_loss",
            "crossed",
            "detectable_difference",
            "holm",
            "mcnemar",
            "power",
            "rank_correlation",
        ],
        "steps": ["describe_steps"],
    },
)
