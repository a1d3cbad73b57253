"""Running notebooks, learners' copies, progress, and the site."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=["desk", "lesson_tables", "lessons", "progress", "students"],
    submod_attrs={
        "progress": ["show_progress"],
    },
)
