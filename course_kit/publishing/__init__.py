"""Running notebooks, learners' copies and progress, and the site."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=["contents", "executing", "lessons", "preparing", "site", "workspace"],
    submod_attrs={"exercise_progress": ["as_text", "read_progress", "show_progress"]},
)
