"""The studies: what was trained, recorded and tabulated around the four papers."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=["encoder_record"],
)
