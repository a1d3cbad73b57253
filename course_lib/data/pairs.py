"""Made-up texts whose pairs repeat: each name is followed by the same thing in the whole text.

``Ann tea Ben rice Ann tea Cleo soup Ben rice``. The pairs are drawn anew for each text, so nothing
but the text itself says what follows a name.
"""

from typing import NamedTuple

import torch
from torch import Tensor

NAMES = ("Ann", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gus", "Hana", "Ida", "Jon", "Kim", "Leo")
THINGS = ("tea", "rice", "soup", "milk", "cake", "plums", "bread", "beans", "honey", "figs", "corn")
THINGS += ("nuts",)
WORDS = NAMES + THINGS
PEOPLE, PAIRS = 6, 12  # in a text


class PairTexts(NamedTuple):
    """``tokens`` ``(texts, 24)``, ids of ``WORDS``: a name, a thing, a name, …; ``earlier``
    ``(texts, 24, 24)``, True where the column's name is the row's, further left."""

    tokens: Tensor
    earlier: Tensor

    @property
    def repeated(self) -> Tensor:
        """Where a name stands that stood before, ``(texts, 24)``: its thing can be known."""
        return self.earlier.any(2)


def pair_texts(count: int, source: torch.Generator) -> PairTexts:
    """Draw texts of ``PAIRS`` pairs about ``PEOPLE`` names, each with a thing of its own."""
    names, things = (
        torch.rand(count, len(of), generator=source).argsort(1)[:, :PEOPLE]
        for of in (NAMES, THINGS)
    )
    pick = torch.randint(PEOPLE, (count, PAIRS), generator=source)
    pairs = torch.stack([names.gather(1, pick), len(NAMES) + things.gather(1, pick)], 2)
    tokens = pairs.flatten(1)
    same = (tokens.unsqueeze(2) == tokens.unsqueeze(1)).tril(-1)
    return PairTexts(tokens, same & (tokens < len(NAMES)).unsqueeze(2))


def ids_of(words: str) -> Tensor:
    """A text of ``WORDS`` as ids ``(1, length)``; ``ValueError`` names a word that is none."""
    split = words.split()
    if strange := [word for word in split if word not in WORDS]:
        raise ValueError(f"unknown word {strange[0]!r}; the texts have {', '.join(WORDS)}")
    return torch.tensor([[WORDS.index(word) for word in split]])
