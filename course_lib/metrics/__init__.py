"""Numbers that describe predictions and attention, and checks that any model must pass."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=["composition", "invariants"],
    submod_attrs={
        "attention": [
            "describe_attention",
            "diagonality",
            "gini",
            "row_entropy",
            "row_gini",
            "uniform_diagonality",
        ],
        "classification": ["Predictions", "classification_metrics", "sampling_error"],
        "composition": ["CompositionTest", "composition_test", "phrases", "rise_and_fall"],
        "statistics": [
            "Estimate",
            "combined",
            "constant_loss",
            "crossed",
            "detectable_difference",
            "grouped_correlation",
            "holm",
            "mcnemar",
            "power",
            "prior_corrected",
            "rank_correlation",
        ],
        "steps": ["describe_steps"],
    },
)
