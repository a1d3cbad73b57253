"""Look inside documents: what a trained system predicts for them, and what it attended to.

Every function takes a finished run, or any object with the protocol of a system."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "erasing": ["ErasingView", "PressView", "explore_erasing", "press_words"],
        "heads": ["explore_heads"],
        "layers": ["SELECTION_RULES", "explore_layers", "layer_phrases"],
        "moving": ["MovingView", "explore_moving"],
        "pairs": ["explore_sums"],
        "reading": ["read_rows", "read_text", "reading_order"],
        "steps": ["explore_penalties", "step_map"],
        "touched": ["TouchedView", "explore_gates", "explore_query"],
        "writing": ["explore_hiding", "explore_next_word"],
        "views": ["explore_documents", "explore_seeds", "explore_text", "explore_values"],
    },
)
