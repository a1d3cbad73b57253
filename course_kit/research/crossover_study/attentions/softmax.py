"""Softmax at another temperature, which makes attention more or less concentrated."""

from collections.abc import Callable

from torch import Tensor

from course_lib.models.layers import masked_softmax


def softmax_at(temperature: float) -> Callable[[Tensor, Tensor], Tensor]:
    """Create α = softmax(s / temperature), in the place of ``masked_softmax``."""

    def weights(scores: Tensor, mask: Tensor) -> Tensor:
        return masked_softmax(scores / temperature, mask)

    return weights
