"""Tests of whether importances of words say what a classifier uses; for any model of documents."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=["word_attention"],
    submod_attrs={
        "agreement": [
            "conicity",
            "jensen_shannon",
            "kendall",
            "mean_over_documents",
            "total_variation",
        ],
        "bounds": ["limits", "normalised_aopc"],
        "document_model": ["DocumentModel"],
        "documents": ["Document", "Model", "Variant", "ask", "whole", "without", "words_of"],
        "erasure": ["SHARES", "aopc", "comprehensiveness", "sufficiency", "words_to_flip"],
        "heads": ["changed_heads", "head_shares", "patched"],
        "interventions": [
            "adversarial_attention",
            "adversarial_attention_together",
            "permutation_change",
            "zeroed",
        ],
        "rankers": [
            "attention_times_gradient",
            "gradient_times_input",
            "integrated_gradients",
            "leave_one_out",
            "magnitude",
            "random_importance",
            "with_sign",
        ],
    },
)
