"""Audit the attention of any classifier: may it be believed, on texts of your own?

``audit`` measures, ``AuditReport`` says what was found; ``HubModel`` and ``ModuleModel`` adapt
networks of transformers and of PyTorch.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "adapters": ["HubModel", "ModuleModel"],
        "asking": ["AuditError"],
        "audit_report": ["AuditReport"],
        "auditing": ["audit"],
    },
)
