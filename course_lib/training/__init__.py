"""One training loop for every model: any device, resumable after each epoch, best epoch kept."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "config": ["TrainingConfig", "TrainingError"],
        "devices": ["choose_device", "use_threads"],
        "history": ["History"],
        "loop": ["fit", "measure", "predict"],
    },
)
