"""What the side notes of ``notebooks/further`` measure of recorded networks."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=["iram_behaviours"],
    submod_attrs={
        "agt_dictionaries": ["compare_dictionaries", "count_words", "dictionary_panels"],
        "agt_selections": [
            "composition_test",
            "rise_and_fall",
            "select_words",
            "weight_histograms",
        ],
        "repeated_words": ["count_repeats"],
    },
)
