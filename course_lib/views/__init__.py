"""Tokens and arrays, drawn: heatmaps to look into, tinted text, figures. No models here."""

from course_lib.fronts import front

__all__, __getattr__ = front(
    __name__,
    {
        "AttentionHeatmap": "heatmap",  # matrices of attention to look into
        "AttentionText": "heatmap",  # words tinted by attention
        "same_scale": "heatmap",  # one colour scale for heatmaps that are compared
        "Attention": "reading",  # named weights of a reading
        "Reading": "reading",  # what a system read: tokens, attention, probabilities
        "show_reading": "reading_view",  # a reading as tinted words, its looks as heatmaps
        "show_attention": "reading_view",  # one attention of a reading as a heatmap
        "text_table": "reading_view",  # a table of plain texts
        "Stack": "reading_view",  # widgets one above the other, without a kernel too
        "plots": "plots",  # figures in one style
        "heatmap_panels": "panels",  # matrices side by side, one a setting, on one scale
        "head_grid": "panels",  # the matrices of every head, a row of panels for each layer
        "histograms": "panels",  # several over the same bins
        "bar_panels": "panels",  # bars one above the other, one panel a setting
        "dot_panels": "panels",  # a dot a run over settings, one panel a quantity
        "drawings": "drawings",  # how data flows through each model
        "figures": "figures",  # the larger figures of lessons 01 and 02
        "layered": "layered",  # the figures of lesson 06, over the layers of a deep network
        "ACCENT": "colours",  # the colour of what matters in a figure
        "ATTENTION": "colours",  # the map of attention, zero is white
        "INK": "colours",  # the colour of text and lines
        "MUTED": "colours",  # the colour of what stands back
        "SECOND": "colours",  # the colour of a second series
    },
)
