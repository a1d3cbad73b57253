"""Sanity checks: networks that must show what the papers claim, on synthetic texts made for it.

A null finding on real text counts only if the same instrument finds the thing where it exists."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "synthetic": ["encode_texts", "vocabulary_of", "write_splits", "write_texts"],
        "word_by_word": ["SumOfWords", "WordByWordEncoder", "with_held_query"],
    },
)
