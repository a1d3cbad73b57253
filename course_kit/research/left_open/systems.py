"""What the papers left open, as systems that can be run, with the settings of the networks that
they change."""

from dataclasses import asdict, replace
from typing import ClassVar

from torch import Tensor, nn

from course_kit.research.left_open.agt import OrderedAGT, OrderedAGTConfig
from course_kit.research.left_open.context_han_system import ContextHANSystem
from course_kit.research.left_open.iram import (
    AdaptiveIRAM,
    AdaptiveIRAMConfig,
    AdaptiveIRAMOutput,
    taken,
)
from course_kit.research.left_open.sanet import NearSANet, NearSANetConfig
from course_lib.faithfulness.attention import iram_steps
from course_lib.models.sanet import SANetOutput
from course_lib.runs.settings import Settings
from course_lib.runs.systems import register
from course_lib.runs.systems.agt import AGTSystem
from course_lib.runs.systems.iram import IRAMSystem
from course_lib.runs.systems.network import Network
from course_lib.runs.systems.sanet import SANetSystem
from course_lib.views.reading import Attention


def presets_for(system: type[Network], config: type, *names: str) -> dict[str, Settings]:
    """Some presets of a system for a variant of its network, whose ``config`` has more fields."""
    chosen = {name: system.presets[name] for name in names}
    return {name: replace(s, model=config(**asdict(s.model))) for name, s in chosen.items()}


class OrderedAGTSystem(AGTSystem):
    """One sequence of words, read by an AGT that sees their order."""

    network_of: ClassVar = OrderedAGT
    presets: ClassVar = presets_for(AGTSystem, OrderedAGTConfig, "paper", "compact", "small")


class AdaptiveIRAMSystem(IRAMSystem):
    """One sequence of words, read by an IRAM in as many steps as it needs."""

    network_of: ClassVar = AdaptiveIRAM
    presets: ClassVar = presets_for(IRAMSystem, AdaptiveIRAMConfig, "vanilla", "compact", "small")

    def figures(self, output: AdaptiveIRAMOutput, mask: Tensor) -> dict[str, Tensor]:
        """How many steps each document takes."""
        return {"steps taken": taken(output.halting).sum(1).float()}

    def views(
        self, output: AdaptiveIRAMOutput, words: tuple[str, ...], lengths: tuple[int, ...]
    ) -> dict[str, Attention]:
        """As IRAM's; each row says how much its summary counts."""
        steps = super().views(output, words, lengths)["steps"]
        counts = zip(steps.rows, output.halting[0].tolist(), strict=True)
        return {"steps": steps._replace(rows=tuple(f"{row} × {p:.2f}" for row, p in counts))}

    def word_attention(self, output: AdaptiveIRAMOutput, mask: Tensor) -> dict[str, Tensor]:
        """As IRAM's, the summaries weighted by how much they count."""
        unrolled = iram_steps(output.attention, mask)
        read = output.halting.to(unrolled.dtype).unsqueeze(1) @ unrolled
        return super().word_attention(output, mask) | {"attention": read.squeeze(1)}


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


def register_all() -> None:
    """Make these systems known to ``course_lib``, which finds this through an entry point."""
    register("adaptive_iram", AdaptiveIRAMSystem)
    register("context_han", ContextHANSystem)
    register("near_sanet", NearSANetSystem)
    register("ordered_agt", OrderedAGTSystem)
