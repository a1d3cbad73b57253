"""What the heads of a Transformer attend to, and what hangs on one of them.

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
    """The mean share of weight that a text's own pieces give to each of the ``special`` tokens, and
    to the next and the previous piece, by name, ``(layers, heads)`` (Clark et al. 2019).

    ``attention`` ``(batch, layers, heads, length, length)``, ``mask`` ``(batch, length)``, whose
    last columns are the special tokens. The means are over all pieces of the batch. The first
    piece has no previous one and the last no next one: they count as pieces that give it nothing.
    """
    pieces = attention.shape[-1] - len(special)
    rows = mask[:, :pieces]
    weights = attention[..., :pieces, :].masked_fill(~rows[:, None, None, :, None], 0)
    among = weights[..., :pieces]
    found = dict(zip(special, weights[..., pieces:].unbind(-1), strict=True))
    found |= {"next": among.diagonal(1, -2, -1), "previous": among.diagonal(-1, -2, -1)}
    return {name: share.sum((0, -1)) / rows.sum() for name, share in found.items()}


@contextmanager
def changed_heads(model: Transformer, change: Change) -> Iterator[None]:
    """While it lasts, ``change(layer, heads)`` replaces what the heads of each layer hand to W_O,
    ``(batch, length, heads, size)``; both count from 0."""

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
    """Logits of one text when one head takes what it hands on from another text, for each head:
    ``(layers, heads, classes)``.

    ``tokens``, ``mask`` and ``donor`` are ``(1, length)``: both texts have as many pieces. The head
    is changed at all positions, and what lies above it computes on (Vig et al. 2020).
    """
    given: dict[int, Tensor] = {}

    def remember(layer: int, heads: Tensor) -> Tensor:
        return given.setdefault(layer, heads)

    with changed_heads(model, remember):
        model(donor, mask)
    layers, count = len(model.blocks), model.config.heads
    rows = torch.arange(layers * count, device=tokens.device)  # a copy of the text for each head

    def give(layer: int, heads: Tensor) -> Tensor:
        own = (rows == layer * count + torch.arange(count, device=rows.device)[:, None]).T
        return torch.where(own[:, None, :, None], given[layer], heads)

    with changed_heads(model, give):
        logits = model(tokens.expand(len(rows), -1), mask.expand(len(rows), -1)).logits
    return logits.unflatten(0, (layers, count))
