"""Dot-product attention with a learned query and key (Vaswani et al. 2017)."""

from torch import Tensor, nn

from course_lib.models.layers import masked_softmax


class QueryKey(nn.Module):
    """α = softmax(q · k_i / √width), q = W_q h̄ + b of the mean state h̄ and k_i = W_k h_i.

    A dot product with the state itself has scores near 0 at the start and needs long to leave
    them. Here b starts with the standard deviation 1, so the scores are as large as the keys.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.query, self.key = nn.Linear(width, width), nn.Linear(width, width, bias=False)
        nn.init.normal_(self.query.bias)

    def forward(self, h: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """``h`` ``(n, length, width)``, ``mask`` ``(n, length)`` → pooled ``(n, width)`` and α
        ``(n, 1, length)``."""
        real = mask.unsqueeze(2)
        mean = h.masked_fill(~real, 0).sum(1, keepdim=True) / real.sum(1, keepdim=True).clamp(min=1)
        scores = self.query(mean) @ self.key(h).mT / h.shape[-1] ** 0.5
        alpha = masked_softmax(scores, mask.unsqueeze(1))
        return (alpha @ h).squeeze(1), alpha
