"""When is attention faithful? Encoders × attentions × corpora × seeds, by one battery of measures.

The plan is ``notebooks/experiments/faithful/plan.md``. The study is finished: this package reads
its tables, and ``results/README.md`` names the commit whose code trains and measures its networks.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules=["analysis", "exploratory"])
