"""Tokens and arrays, drawn: heatmaps to look into, tinted text, figures. No models here."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=["drawings", "plots"],
    submod_attrs={
        "colours": ["ACCENT", "ATTENTION", "INK", "MUTED", "SECOND"],
        "heatmap": ["AttentionHeatmap", "AttentionText", "same_scale"],
        "panels": [
            "bar_panels",
            "dot_panels",
            "heatmap_panels",
            "lines",
            "lines_over_layers",
            "ranked_columns",
            "sign_panels",
        ],
        "reading": ["Attention", "Reading"],
        "reading_view": ["Stack", "show_attention", "show_reading", "text_table"],
    },
)
