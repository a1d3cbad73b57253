"""What the heads of a Transformer attend to, how much they hand on, and what hangs on one of them.

All take a ``Transformer`` (or a ``Bert``, whose [CLS] and [SEP] are the last two of ``length``) and
its output. Masks are boolean, True = real, with the special tokens in them.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity

from course_lib.models.bert import SPECIAL
from course_lib.models.transformer import Transformer, TransformerOutput

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


def weighted_norms(model: Transformer, output: TransformerOutput, layer: int) -> Tensor:
    """‖Σ_h α_ij^h f^h(x_j)‖, what position i takes from position j in a layer, ``(batch, length,
    length)``; f^h(x) = v^h W_O^h are the head's values as they are written (Kobayashi et al. 2020).

    ``output`` holds attention and values (``return_attention``, ``return_states``).
    """
    written = _written(model, output, layer)
    return torch.einsum("bhij,bhjw->bijw", output.attention[:, layer], written).norm(dim=-1)


def _written(model: Transformer, output: TransformerOutput, layer: int) -> Tensor:
    of_heads = model.blocks[layer].attention.output.weight.unflatten(1, (model.config.heads, -1))
    return torch.einsum("bhjd,whd->bhjw", output.values[:, layer], of_heads)


@torch.no_grad()
def value_zeroing(model: Transformer, output: TransformerOutput, layer: int) -> Tensor:
    """How far the state of position i above a block turns when the value of position j is zero in
    all its heads, 1 − cos, ``(batch, length, length)`` (Mohebbi et al. 2023). ``output`` as for
    ``weighted_norms``."""
    block, written = model.blocks[layer], _written(model, output, layer)
    alpha, below = output.attention[:, layer], output.states[:, layer]
    mixed = torch.einsum("bhij,bhjw->biw", alpha, written) + block.attention.output.bias
    turned = []
    for j in range(alpha.shape[-1]):
        without = mixed - torch.einsum("bhi,bhw->biw", alpha[..., j], written[:, :, j])
        state = block.above(below, without)
        turned.append(1 - cosine_similarity(state, output.states[:, layer + 1], dim=2))
    return torch.stack(turned, 2).clamp(min=0)


def attention_slopes(
    model: Transformer, tokens: Tensor, mask: Tensor, score: Callable[[Tensor], Tensor]
) -> tuple[Tensor, Tensor]:
    """All weights of attention, ``(batch, layers, heads, length, length)``, and in the same shape
    the slopes of ``score(logits)`` ``(batch,)``, for each weight alone: its row keeps no sum."""
    seen: list[Tensor] = []
    with ExitStack() as stack, torch.enable_grad():
        # without any weight that learns, the slopes come from the vectors
        hook = model.embedding.register_forward_hook(lambda _, __, x: x.requires_grad_())
        stack.callback(hook.remove)
        for block in model.blocks:
            hook = block.attention.register_forward_hook(lambda _, __, out: seen.append(out[1]))
            stack.callback(hook.remove)
        logits = model(tokens, mask, return_attention=True).logits
        slopes = torch.autograd.grad(score(logits).sum(), seen)
    return torch.stack(seen, 1).detach(), torch.stack(slopes, 1)


@contextmanager
def changed_heads(model: Transformer, change: Change) -> Iterator[None]:
    """While it lasts, ``change(layer, heads)`` replaces what the heads of each layer hand to W_O,
    ``(batch, length, heads, size)``; both count from 0."""

    def hook(layer: int) -> Callable:
        def changed(_: object, inputs: tuple[Tensor, ...]) -> Tensor:
            heads = inputs[0].transpose(0, 1).unflatten(2, (model.config.heads, -1))
            return change(layer, heads).flatten(2).transpose(0, 1)

        return changed

    with ExitStack() as stack:
        for layer, block in enumerate(model.blocks):
            handle = block.attention.output.register_forward_pre_hook(hook(layer))
            stack.callback(handle.remove)
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
