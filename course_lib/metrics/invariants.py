"""Checks that any model with attention must pass, ours or yours; their errors give the numbers.

A model here is anything that maps ``(tokens, mask)`` to an output with ``logits``
``(batch, classes)``. Tokens and mask are ``(batch, length)`` or ``(batch, sentences, words)``, True
is real. An ``nn.Module`` is checked in evaluation mode and gets its mode back. A pooling is a
module that maps ``(h, mask)``, ``(n, length, hidden)`` and ``(n, length)``, to what it pooled
``(n, hidden)`` and its attention, ``(n, length)`` or per hop ``(n, hops, length)``. Tolerances are
for float32 on a CPU; on a GPU, or in half precision, pass wider ones. Example::

    check_padding(model, tokens, mask)  # nothing, or an InvariantError with the largest change
    check_attention(model(tokens, mask).attention, mask)
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from course_lib.models.layers import visible

Model = Callable[[Tensor, Tensor], Any]


class InvariantError(AssertionError):
    """Something that must always hold does not; the message says where and by how much."""


def check_attention(attention: Tensor, mask: Tensor, tolerance: float = 1e-5) -> None:
    """Attention is a distribution over the real tokens: 0 on padding, all 0 without real tokens.

    ``attention`` ``(…, length)``, ``mask`` of the same or a broadcastable shape. Raises
    ``InvariantError`` for a number that is not finite, a weight outside [0, 1], a weight on padding
    or a row that does not sum to 1.
    """
    mask = mask.expand_as(attention)
    wild = ~attention.isfinite()
    if wild.any():
        raise InvariantError(f"attention at {first_place(wild)} is {attention[wild][0].item()}")
    padded = (attention != 0) & ~mask
    if padded.any():
        heaviest = attention[padded].abs().max().item()
        raise InvariantError(
            f"padding has attention, up to {heaviest:.3g}: see {first_place(padded)}"
        )
    outside = (attention < 0) | (attention > 1 + tolerance)
    if outside.any():
        weight = attention[outside][0].item()
        raise InvariantError(f"attention at {first_place(outside)} is {weight:.3g}, not in [0, 1]")
    sums = attention.double().sum(-1)
    wrong = mask.any(-1) & ((sums - 1).abs() > tolerance)
    if wrong.any():
        raise InvariantError(
            f"{int(wrong.sum())} of {int(mask.any(-1).sum())} rows do not sum to 1: row "
            f"{first_place(wrong)} sums to {sums[wrong][0].item():.6g}"
        )


def check_steps(attention: Tensor, mask: Tensor, tolerance: float = 1e-5) -> None:
    """Each step attends only to its document's words and to the summaries of earlier steps.

    ``attention`` ``(batch, T, length + T − 1)`` with the summaries last, ``mask``
    ``(batch, length)``. Raises ``InvariantError`` for another number of columns, for a step that
    looks at a summary not yet written, which it names, or as ``check_attention`` does.
    """
    batch, steps, columns = attention.shape
    if mask.shape != (batch, columns - steps + 1):
        raise InvariantError(
            f"attention {tuple(attention.shape)} over {steps} steps needs {steps - 1} columns "
            f"after those of the mask {tuple(mask.shape)}"
        )
    ahead = attention[:, :, mask.shape[1] :].triu()
    if ahead.count_nonzero():
        _, step, summary = first_place(ahead != 0)
        raise InvariantError(
            f"step {step + 1} attends to the summary of step {summary + 1}, not yet written: "
            f"{ahead[ahead != 0][0].item():.3g}"
        )
    check_attention(attention, visible(mask, steps), tolerance)


def check_padding(
    model: Model, tokens: Tensor, mask: Tensor, extra: int = 3, tolerance: float = 1e-6
) -> None:
    """Predictions do not change with ``extra`` padded words, or sentences where there are any.

    Raises ``InvariantError`` with the largest change of a logit.
    """
    axes = {"words": (0, extra)}
    if tokens.dim() == 3:
        axes |= {"sentences": (0, 0, 0, extra), "words and sentences": (0, extra, 0, extra)}
    with evaluating(model):
        expected = model(tokens, mask).logits
        for name, widths in axes.items():
            padded = (nn.functional.pad(tensor, widths) for tensor in (tokens, mask))
            _compare(f"{extra} padded {name}", model(*padded).logits, expected, tolerance)


def check_neighbours(model: Model, tokens: Tensor, mask: Tensor, tolerance: float = 1e-6) -> None:
    """A document's prediction is the same alone, in this batch, and in this batch in another order.

    Alone it is padded to its own length only, as it would be in a batch of one.
    Raises ``InvariantError`` with the largest change of a logit.
    """
    with evaluating(model):
        expected = model(tokens, mask).logits
        for row in range(len(tokens)):
            alone = model(*_trimmed(tokens[row : row + 1], mask[row : row + 1])).logits
            _compare(f"document {row} alone", alone, expected[row : row + 1], tolerance)
        places = torch.arange(len(tokens), device=tokens.device)
        for name, order in {"reversed": places.flip(0), "rotated": places.roll(1)}.items():
            logits = model(tokens[order], mask[order]).logits
            _compare(f"the batch {name}", logits, expected[order], tolerance)


def check_stateless(model: Model, tokens: Tensor, mask: Tensor, tolerance: float = 1e-6) -> None:
    """A second call predicts the same, and so does one after another batch.

    Raises ``InvariantError`` with the largest change of a logit.
    """
    with evaluating(model):
        expected = model(tokens, mask).logits
        _compare("a second call", model(tokens, mask).logits, expected, tolerance)
        model(_reversed(tokens, mask), mask)
        after = model(tokens, mask).logits
        _compare("a call after another batch", after, expected, tolerance)


def check_gradients(model: nn.Module, tokens: Tensor, mask: Tensor) -> None:
    """The loss moves every parameter: each gets a finite gradient that is not zero everywhere.

    Give it documents with several words (and sentences): a single word always has attention 1,
    which no parameter can change. Raises ``InvariantError`` with the parameters' names.
    """
    parameters = {name: value for name, value in model.named_parameters() if value.requires_grad}
    # cuDNN's recurrent layers have no backward pass in evaluation mode
    with evaluating(model), torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):
        logits = model(tokens, mask).logits
        labels = torch.arange(len(logits), device=logits.device) % logits.shape[1]
        loss = nn.functional.cross_entropy(logits, labels)
        values = torch.autograd.grad(loss, list(parameters.values()), allow_unused=True)
    gradients = dict(zip(parameters, values, strict=True))
    unused = [name for name, gradient in gradients.items() if gradient is None]
    if unused:
        raise InvariantError(f"no gradient reaches {', '.join(unused)}")
    wild = [name for name, gradient in gradients.items() if not gradient.isfinite().all()]
    if wild:
        raise InvariantError(f"loss {loss.item():.3g}: no finite gradient in {', '.join(wild)}")
    still = [name for name, gradient in gradients.items() if not gradient.any()]
    if still:
        raise InvariantError(f"the gradient is zero everywhere in {', '.join(still)}")


def check_permutation(
    model: Model, tokens: Tensor, mask: Tensor, matters: bool, tolerance: float = 1e-6
) -> None:
    """If word order ``matters``, it changes the predictions; if not, it changes none of them.

    The real words of each sentence are reversed. Raises ``InvariantError`` with the largest change
    of a logit.
    """
    with evaluating(model):
        expected = model(tokens, mask).logits
        logits = model(_reversed(tokens, mask), mask).logits
    if not matters:
        return _compare("each sentence reversed", logits, expected, tolerance)
    change = (logits - expected).abs().max().item()
    if not change > tolerance * _scale(expected):
        raise InvariantError(f"sentences reversed: logits change by {change:.3g}; order is lost")


def check_order_blindness(
    model: Model, tokens: Tensor, mask: Tensor, seed: int = 0, tolerance: float = 1e-6
) -> None:
    """The model ignores word order: after a shuffle of the words the logits are the same, each
    word has the same attention, and equal words of a document have equal attention.

    ``tokens`` and ``mask`` ``(batch, length)``; the output has ``attention`` ``(batch, length)`` or
    ``(batch, …, length)``. Raises ``InvariantError`` with the largest change.
    """
    keys = torch.rand(mask.shape, generator=torch.Generator().manual_seed(seed)).to(mask.device)
    order = keys.masked_fill(~mask, 2).argsort(1)  # padding last
    with evaluating(model):
        original = model(tokens, mask)
        shuffled = model(tokens.gather(1, order), mask.gather(1, order))
    _compare("words shuffled", shuffled.logits, original.logits, tolerance)
    before, after = (  # (batch, rows, length)
        output.attention.reshape(len(mask), -1, mask.shape[1]) for output in (original, shuffled)
    )
    expected = before.take_along_dim(order.unsqueeze(1), 2)
    same = (tokens.unsqueeze(2) == tokens.unsqueeze(1)) & mask.unsqueeze(2) & mask.unsqueeze(1)
    apart = (before.unsqueeze(3) - before.unsqueeze(2)).abs() * same.unsqueeze(1)
    for what, change in (
        ("attention stays behind when words move", (after - expected).abs()),
        ("equal words have unequal attention", apart),
    ):
        if not change.max() <= tolerance:
            raise InvariantError(
                f"{what}: it differs by up to {change.max().item():.3g}, first in document "
                f"{first_place(~(change <= tolerance))[0]}"
            )


def check_pooling(pooling: nn.Module, h: Tensor, mask: Tensor, tolerance: float = 1e-5) -> None:
    """A pooling returns Σ α h, the mean of the states weighted by the attention that it returns.

    Raises ``InvariantError`` with the largest difference.
    """
    with evaluating(pooling):
        pooled, alpha = pooled_with(pooling, h, mask)
        mean = (alpha.mean(1, keepdim=True).to(h.dtype) @ h).squeeze(1)
    if pooled.shape != mean.shape:
        raise InvariantError(f"pooled has shape {tuple(pooled.shape)}, Σ α h {tuple(mean.shape)}")
    wrong = ~((pooled - mean).abs() <= tolerance * _scale(mean))
    if wrong.any():
        difference = (pooled - mean).abs().max().item()
        raise InvariantError(
            f"pooled differs from Σ α h by up to {difference:.3g}, first at {first_place(wrong)}"
        )


def pooled_with(pooling: nn.Module, h: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Pool, and return the pooled states and the attention as ``(n, hops, length)``."""
    pooled, alpha = pooling(h, mask)
    return pooled, alpha if alpha.dim() == 3 else alpha.unsqueeze(1)


def _reversed(tokens: Tensor, mask: Tensor) -> Tensor:
    """Reverse the real words of each row; padding stays where it is."""
    turned = tokens.clone(memory_format=torch.contiguous_format)
    for row, real in zip(turned.flatten(0, -2), mask.flatten(0, -2), strict=True):
        row[real] = row[real].flip(0)
    return turned


def _trimmed(tokens: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Cut the positions at the end of an axis that are padding in every row."""
    for axis in range(1, mask.dim()):
        real = mask.movedim(axis, 0).flatten(1).any(1).nonzero()
        length = int(real.max()) + 1 if len(real) else 1
        tokens, mask = tokens.narrow(axis, 0, length), mask.narrow(axis, 0, length)
    return tokens, mask


@contextmanager
def evaluating(model: Model) -> Iterator[None]:
    """Switch to evaluation mode without gradients; afterwards each module has its mode back."""
    modules = list(model.modules()) if isinstance(model, nn.Module) else []
    training = [module.training for module in modules]
    try:
        for module in modules:
            module.training = False
        with torch.no_grad():
            yield
    finally:
        for module, mode in zip(modules, training, strict=True):
            module.training = mode


def _scale(logits: Tensor) -> float:
    return max(1.0, logits.abs().max().item())


def _compare(what: str, logits: Tensor, expected: Tensor, tolerance: float) -> None:
    change = (logits - expected).abs()
    limit = tolerance * _scale(expected)
    wrong = ~(change <= limit)  # a NaN is wrong, too
    if wrong.any():
        raise InvariantError(
            f"{what}: logits change by up to {change.max().item():.3g} (allowed: {limit:.1g}), "
            f"first at {first_place(wrong)}"
        )


def first_place(wrong: Tensor) -> tuple[int, ...]:
    """Index of the first True."""
    return tuple(wrong.nonzero()[0].tolist())
