"""Attention to look into: ``AttentionHeatmap`` of matrices, ``AttentionText`` over words.

Three forms of both, drawn from one definition of colours and layout:

- **live**, a widget: linked to the kernel, so that ``view.selected`` and ``view.zoom`` can be
  observed and set, and linked to other widgets in the browser (``jslink``);
- **static**, ``view.to_html()``: a sandboxed frame that holds the data and the same module, and
  works without a kernel and without a network;
- **png**, ``view.to_png()``: a picture, for code hosts and committed notebooks.

A view that ends a cell shows itself live where a Jupyter front end started the kernel, and static
(with the picture as its alternative) under papermill, nbconvert and nbval. The environment variable
``COURSE_HEATMAP`` decides otherwise: ``live``, ``static`` or ``png``. Set it where notebooks are
executed from within a notebook, because they inherit what tells the front end.

Where it works
--------------
Tested in JupyterLab with Chromium, and the static form in Chromium from a file with every request
blocked. VS Code and Google Colab show it by construction, through anywidget, but it was not tried
there. If Colab shows nothing, run this once in the notebook::

    from google.colab import output; output.enable_custom_widget_manager()

A browser needs ``DecompressionStream``: Chromium 80, Firefox 113, Safari 16.4 or newer. A live view
leaves its static form in a saved notebook, which JupyterLab shows when that is opened anew."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={"widget": ["AttentionHeatmap", "AttentionText", "PressableText", "same_scale"]},
)
