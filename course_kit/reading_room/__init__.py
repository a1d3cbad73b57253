"""The reading room: trained networks in one page, computed by plain JavaScript in any browser.

``engine/`` states each network a third time, after the paper's equations and PyTorch: one function
a model, for one document, equal to PyTorch's. ``bundle`` packs what it reads."""

import lazy_loader

MARK = '<meta name="generator" content="attention-course room">'  # in each page of ours

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "pack": ["PRETRAINED", "ROOM", "bundle", "open_runs"],
        "page.build": ["write_page"],
        "page.examples": ["EXAMPLES"],
        "script": ["engine"],
    },
)
