"""A dial between a word's own vector and its contextual state."""

from collections.abc import Callable

from torch import Tensor, nn


class Mixed(nn.Module):
    """h′ = λ h + (1 − λ) W x: the encoder's state for λ = 1, a word alone for λ = 0."""

    def __init__(self, encoder: Callable[[int], nn.Module], share: float, width: int) -> None:
        super().__init__()
        self.encoder, self.share = encoder(width), share
        self.word = nn.Linear(width, width, bias=False)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Vectors and mask → mixed states."""
        return self.share * self.encoder(x, mask) + (1 - self.share) * self.word(x)
