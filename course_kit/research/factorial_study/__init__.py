"""When is attention faithful? Encoders × attentions × corpora × seeds, by one battery of measures.

The plan is ``notebooks/experiments/faithful/plan.md``; the author's command ``faithful`` runs
cells.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules=["analysis", "exploratory"])
