"""Equal weights, the baseline of learned ones."""

from torch import Tensor


def equal(scores: Tensor, mask: Tensor) -> Tensor:
    """1 / n at each of n real words, whatever the scores. Arguments as ``masked_softmax``."""
    return mask.expand_as(scores) / mask.sum(-1, keepdim=True).clamp(min=1)
