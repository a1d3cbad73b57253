"""Networks changed by what the papers left open, and what readings of them show."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "context_han": ["ContextHAN", "ContextHANConfig"],
    },
)
