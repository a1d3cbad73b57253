"""What the heads of a Transformer attend to, and what relies on one of them.

Masks are boolean, True = real, and hold special tokens too: a ``Bert``'s [CLS] and [SEP] are the
last two of ``length``.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

import torch
from torch import Tensor

from course_lib.models.bert import SPECIAL
from course_lib.models.transformer import Transformer

Change = Callable[[int, Tensor], Tensor]


def head_shares(
    attention: Tensor, mask: Tensor, special: Sequence[str] = SPECIAL
) -> dict[str, Tensor]:
    """Mean share of weight that a text's own pieces give to each of the ``special`` tokens, to the
    next and to the previous piece, by name, ``(layers, heads)`` each (Clark et al. 2019).

    ``attention`` ``(batch, layers, heads, length, length)``, ``mask`` ``(batch, length)``, whose
    last columns are the special tokens. The means are over all pieces of the batch. The first
    piece has no previous one and the last no next one: they count as pieces that give it nothing.
    """
    pieces = attention.shape[-1] - len(special)
    rows = mask[:, :pieces]
    weights = attention[..., :pieces, :].masked_fill(~rows[:, None, None, :, None], 0)
    among = weights[..., :pieces]
    given = dict(zip(special, weights[..., pieces:].unbind(-1), strict=True))
    given |= {"next": among.diagonal(1, -2, -1), "previous": among.diagonal(-1, -2, -1)}
    return {name: weight.sum((0, -1)) / rows.sum() for name, weight in given.items()}


@contextmanager
def changed_heads(model: Transformer, change: Change) -> Iterator[None]:
    """Replace, while the context lasts, what the heads of each layer pass on to W_O.

    ``change(layer, heads)`` returns the new values; ``heads`` ``(batch, length, heads, size)`` are
    the network's own. Layers count from 0.
    """

    def hook(layer: int) -> Callable:
        def changed(_: object, inputs: tuple[Tensor, ...]) -> Tensor:
            heads = inputs[0].unflatten(2, (model.config.heads, -1))
            return change(layer, heads).flatten(2)

        return changed

    with ExitStack() as stack:
        for layer, block in enumerate(model.blocks):
            stack.enter_context(block.attention.output.register_forward_pre_hook(hook(layer)))
        yield


@torch.no_grad()
def patched(model: Transformer, tokens: Tensor, mask: Tensor, donor: Tensor) -> Tensor:
    """For each head, the logits of a text when that head's output comes from the donor text:
    ``(layers, heads, classes)``.

    ``tokens``, ``mask`` and ``donor`` are ``(1, length)``: both texts have the same number of
    pieces. The head is changed at all positions, and the layers above it read the changed output
    (Vig et al. 2020).
    """
    of_donor: dict[int, Tensor] = {}

    def remember(layer: int, heads: Tensor) -> Tensor:
        return of_donor.setdefault(layer, heads)

    with changed_heads(model, remember):
        model(donor, mask)
    layers, count = len(model.blocks), model.config.heads
    rows = torch.arange(layers * count, device=tokens.device)  # a copy of the text for each head

    def replace_one(layer: int, heads: Tensor) -> Tensor:
        own = (rows == layer * count + torch.arange(count, device=rows.device)[:, None]).T
        return torch.where(own[:, None, :, None], of_donor[layer], heads)

    with changed_heads(model, replace_one):
        logits = model(tokens.expand(len(rows), -1), mask.expand(len(rows), -1)).logits
    return logits.unflatten(0, (layers, count))
