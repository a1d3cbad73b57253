"""The paper of *When does sparse attention help?*, written from its template, tables and records.

Read in this order: ``sources`` (what is read), ``figures`` (every number, by name), ``numbers``
(how it is printed), ``tables``, ``picture`` and ``paper``. It stands outside of
``crossover_study``, whose code records name by its digest: what is said about the results may be
corrected without touching what made them. The command is ``crossover paper``. Elsewhere figures are
asked for by ``Numbers(Sources())``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__, submod_attrs={"numbers": ["Numbers"], "sources": ["Sources"]}
)
