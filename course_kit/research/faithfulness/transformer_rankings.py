"""Rankings of words that only a Transformer has: norms, value zeroing, flow, positive relevance.

All measures take a ``Transformer`` (or a ``Bert``, whose [CLS] and [SEP] are the last two of
``length``) and its output; masks are boolean, True = real, with the special tokens in them.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial

import numpy as np
import torch
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow
from torch import Tensor
from torch.nn.functional import cosine_similarity

from course_lib.faithfulness import Document, words_of
from course_lib.faithfulness.document_model import log_odds
from course_lib.faithfulness.documents import length_batches
from course_lib.models.layers import real_weights
from course_lib.models.transformer import Transformer, TransformerOutput
from course_lib.runs.systems.transformer_system import TransformerSystem

PAIRED = 256  # words in a batch where each pair of words is measured: padding costs its square
SHORT = 64  # places; the time that attention flow takes grows with their fourth power
PARTS = 1_000_000  # of a weight, in whole numbers


def transformer_rankings(
    system: TransformerSystem, documents: Sequence[Document], classes: np.ndarray
) -> dict[str, list[np.ndarray]]:
    """Importances for the log-odds of each document's class, by name; one that some document is
    too long for is left out."""
    found: list[dict[str, np.ndarray]] = [{} for _ in documents]
    for places in length_batches(np.array([len(words_of(d)) for d in documents]), PAIRED):
        tokens, mask = system.batch([[words_of(documents[place])] for place in places])
        score = partial(log_odds, classes=classes[places])
        for name, words in _importances(system, tokens, mask, score).items():
            for place, row, real in zip(places, words, mask, strict=True):
                found[place][name] = row[real].detach().double().cpu().numpy()
    names = [name for name in found[0] if all(name in one for one in found)] if found else ()
    return {name: [one[name] for one in found] for name in names}


def _importances(
    system: TransformerSystem, tokens: Tensor, mask: Tensor, score: Callable[[Tensor], Tensor]
) -> dict[str, Tensor]:
    """Norms of the top layer, value zeroing, attention flow up to ``SHORT`` places, and the
    positive part of α · slope rolled out; the readout is the mean of all places."""
    real, model = system.places(mask), system.model
    with torch.no_grad():
        output = model(tokens, mask, return_attention=True, return_states=True)
        norms = weighted_norms(model, output, layer=-1).masked_fill(~real[..., None], 0)
        turned = [value_zeroing(model, output, layer) for layer in range(len(model.blocks))]
    turned = zeroing_words(torch.stack(turned, 1), real)
    found = {"norms": norms.sum(1), "value zeroing": turned}
    if real.shape[1] <= SHORT:
        found["attention flow"] = attention_flow(output.attention.mean(2), real)
    slopes = attention_slopes(model, tokens, mask, score)
    found["(α · ∇α)⁺, rolled out"] = positive_rollout(*slopes, real)
    return {name: words[:, : mask.shape[1]] for name, words in found.items()}


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


def attention_flow(attention: Tensor, mask: Tensor) -> Tensor:
    """The mean over all places i above of the most that can flow there from word j, ``(batch,
    length)`` (Abnar and Zuidema 2020).

    ``attention`` as for ``rollout``, whose Ā_ij is the capacity from place j below a block to place
    i above it. They take one place above; here the mean of all is classified. That is a problem for
    each pair of places, half a second for 24 and four for 49.
    """
    blocks, places = attention.shape[1:3]
    weights = real_weights(attention, _pairs(mask).expand_as(attention))
    capacity = (weights + torch.diag_embed(mask.to(weights.dtype))[:, None]) / 2
    nodes = np.arange((blocks + 1) * places).reshape(blocks + 1, places)
    above, below = np.broadcast_arrays(nodes[1:, :, None], nodes[:-1, None])
    flows = torch.zeros(mask.shape, dtype=torch.double)
    for text, real in enumerate(mask.cpu().numpy()):
        whole = (PARTS * capacity[text]).round().int().cpu().numpy()  # what SciPy takes
        graph = csr_array((whole.ravel(), (below.ravel(), above.ravel())), shape=[nodes.size] * 2)
        for j in real.nonzero()[0]:
            to = (maximum_flow(graph, j, top).flow_value for top in nodes[-1, real])
            flows[text, j] = sum(to) / PARTS
    return (flows / flows.sum(1, keepdim=True).clamp(min=1e-12)).to(attention)


def zeroing_words(turned: Tensor, mask: Tensor) -> Tensor:
    """``value_zeroing`` of all blocks, ``(batch, blocks, length, length)``, rolled out: the
    mean over all places above of the product of its rows, each divided by its sum. What a block
    hands past attention is in these distances, so no identity is added (Mohebbi et al. 2023)."""
    shares = turned.masked_fill(~_pairs(mask), 0)
    shares = shares / shares.sum(-1, keepdim=True).clamp(min=1e-12)
    mixed = torch.diag_embed(mask.to(shares.dtype))
    for share in shares.unbind(1):
        mixed = share @ mixed
    return mixed.sum(1) / mask.sum(1, keepdim=True).clamp(min=1)


def positive_rollout(attention: Tensor, slopes: Tensor, mask: Tensor) -> Tensor:
    """Which words speak for a class through attention, ``(batch, length)`` (Chefer et al. 2021).

    ``attention`` and its ``slopes`` ``(batch, blocks, heads, length, length)``
    (``attention_slopes``). Of each block, Ā is the heads' mean of the positive part of
    α · slope, and R ← R + Ā R from R = I on. They read the row of [CLS]; here it is the mean over
    all places above. It sums to 1.
    """
    positive = (attention * slopes).clamp(min=0).mean(2).masked_fill(~_pairs(mask), 0)
    mixed = torch.diag_embed(mask.to(positive.dtype))
    for alpha in positive.unbind(1):
        mixed = mixed + alpha @ mixed
    return mixed.sum(1) / mixed.sum((1, 2))[:, None].clamp(min=1e-12)


def _pairs(mask: Tensor) -> Tensor:
    """Which pairs of places are real, ``(batch, 1, length, length)``."""
    return (mask.unsqueeze(1) & mask.unsqueeze(2)).unsqueeze(1)
