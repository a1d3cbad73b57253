"""A SANet that knows how far two words stand apart, and one with several heads in a block."""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from course_kit.research.extensions.ordered_agt import presets_for
from course_lib.checking import check_whole, refusal
from course_lib.models.layers import masked_softmax, renormalised
from course_lib.models.sanet import SANet, SANetConfig, SANetOutput, masked_maximum
from course_lib.runs.systems.sanet_system import SANetSystem
from course_lib.views.reading import Attention


@dataclass(frozen=True)
class NearSANetConfig(SANetConfig):
    """A SANet's sizes; how many ``heads`` a block has, which share W_V's columns out; up to which
    distance a score gets a learned bias of its own, ``relative`` (0: none). ``ValueError`` for a
    wrong value, or without attention."""

    heads: int = 1
    relative: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole(self, "heads")
        check_whole(self, "relative", least=0)
        if not self.attention or self.hidden % self.heads:
            raise refusal(self, "heads", f"a divisor of hidden = {self.hidden}, with attention")


class NearAttention(nn.Module):
    """softmax(X W_QK Xᵀ + bias of the distance) X W_V, head by head (Vaswani et al. 2017; Shaw et
    al. 2018 add a learned vector where we add a number, as Raffel et al. 2020 do)."""

    def __init__(self, config: NearSANetConfig) -> None:
        super().__init__()
        hidden, self.heads, self.relative = config.hidden, config.heads, config.relative
        self.w_qk = nn.Linear(hidden, self.heads * hidden, bias=False)
        self.w_v = nn.Linear(hidden, hidden, bias=False)
        self.scale = hidden**-0.5 if config.scaled else 1.0
        self.bias = None
        if self.relative:
            self.bias = nn.Embedding(2 * self.relative + 1, self.heads)
            nn.init.zeros_(self.bias.weight)  # it starts as a SANet

    def forward(
        self, x: Tensor, mask: Tensor, attention: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """As ``SelfAttention``, with weights ``(batch, heads, length, length)``."""
        if attention is None:
            q = self.w_qk(x).unflatten(2, (self.heads, -1)).transpose(1, 2)
            scores = q @ x.mT.unsqueeze(1) * self.scale
            if self.bias is not None:
                place = torch.arange(x.shape[1], device=x.device)
                apart = (place - place[:, None]).clamp(-self.relative, self.relative)
                scores = scores + self.bias(apart + self.relative).permute(2, 0, 1)
            pairs = mask.unsqueeze(1) & mask.unsqueeze(2)
            attention = masked_softmax(scores, pairs.unsqueeze(1))
        v = self.w_v(x).unflatten(2, (self.heads, -1)).transpose(1, 2)
        return (attention.to(x.dtype) @ v).transpose(1, 2).flatten(2), attention


class NearSANet(SANet):
    """A SANet with ``NearAttention`` in its blocks."""

    def __init__(self, config: NearSANetConfig, *sizes: Any) -> None:
        """As ``SANet``."""
        super().__init__(config, *sizes)
        for block in self.blocks:
            block.mixer = NearAttention(config)

    def forward(
        self,
        tokens: Tensor,
        mask: Tensor,
        attention: Tensor | None = None,
        return_attention: bool = False,
    ) -> SANetOutput:
        """As ``SANet``, with attention ``(batch, blocks · heads, length, length)``."""
        heads = [None] * len(self.blocks)
        if attention is not None:
            pairs = (mask.unsqueeze(1) & mask.unsqueeze(2)).unsqueeze(1)
            rows = pairs.expand(-1, self.config.heads * len(heads), -1, -1)
            heads = renormalised(attention, rows).split(self.config.heads, 1)
        x, matrices = self.embed(tokens), []
        for block, weights in zip(self.blocks, heads, strict=True):
            x, alpha = block(x, mask, weights, with_weights=True)
            matrices.append(alpha)
        pooled, pooled_from = masked_maximum(x, mask, self.config.masked_pooling)
        shown = torch.cat(matrices, 1) if return_attention or attention is not None else None
        return SANetOutput(self.classifier(pooled), pooled_from, shown)


class NearSANetSystem(SANetSystem):
    """One sequence of words, read by a SANet with distances or several heads."""

    network_of: ClassVar = NearSANet
    presets: ClassVar = presets_for(SANetSystem, NearSANetConfig, "base", "compact", "small")

    def scorers(self, model: NearSANet) -> list[nn.Module]:
        """Each block's W_QK and its bias of distances; uniform as SANet's."""
        parts = [(block.mixer.w_qk, block.mixer.bias) for block in model.blocks]
        return [part for both in parts for part in both if part is not None]

    def figures(self, output: SANetOutput, mask: Tensor) -> dict[str, Tensor]:
        """As SANet's, head by head."""
        return {self.by_head(name): part for name, part in super().figures(output, mask).items()}

    def views(
        self, output: SANetOutput, words: tuple[str, ...], lengths: tuple[int, ...]
    ) -> dict[str, Attention]:
        """As SANet's, head by head."""
        seen = super().views(output, words, lengths)
        return {self.by_head(name): attention for name, attention in seen.items()}

    def by_head(self, name: str) -> str:
        """A name of SANet's block n as that of head n, counted through the blocks."""
        return name.replace("block", "head") if self.settings.model.heads > 1 else name

    def word_attention(self, output: SANetOutput, mask: Tensor) -> dict[str, Tensor]:
        """As SANet's, of each block's mean over its heads."""
        attention = output.attention.unflatten(1, (-1, self.settings.model.heads)).mean(2)
        return super().word_attention(output._replace(attention=attention), mask)
