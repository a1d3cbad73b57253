"""An IRAM that decides for itself how many steps it takes."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from course_kit.research.extensions.ordered_agt import presets_for
from course_lib.checking import check_choice, check_number, check_share, check_whole
from course_lib.faithfulness.word_attention import iram_steps
from course_lib.models.iram import IRAM, IRAMConfig, step_penalty
from course_lib.runs.systems.iram_system import IRAMSystem
from course_lib.views.reading import Attention

ENOUGH = 0.01  # ε: a sum of halting probabilities this near 1 ends the steps


@dataclass(frozen=True)
class AdaptiveIRAMConfig(IRAMConfig):
    """An IRAM's sizes with at most ``steps`` steps, and what ends them.

    ``halting="probability"``: a unit reads each summary and says how likely it is enough; each step
    costs ``ponder`` in the loss (Graves 2016). ``"overlap"``: no step is taken that looks where an
    earlier one has looked, at a cosine above ``most_overlap``. ``ValueError`` if wrong.
    """

    steps: int = 5
    halting: str = "probability"
    ponder: float = 0.01
    most_overlap: float = 0.9

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole(self, "steps")
        check_choice(self, "halting", ("probability", "overlap"))
        check_number(self, "ponder")
        check_share(self, "most_overlap")
        if self.has_extras:
            raise ValueError(
                "ngrams, embedding_highway and query_highway take 0 without a FullIRAM"
            )


class AdaptiveIRAMOutput(NamedTuple):
    """As ``IRAMOutput``, with the attention of all steps; ``halting`` ``(batch, steps)`` is how
    much the summary of each counts, sums to 1, and is 0 after the last step taken."""

    logits: Tensor
    attention: Tensor
    penalty: Tensor
    summaries: Tensor
    halting: Tensor


class AdaptiveIRAM(IRAM):
    """An IRAM that classifies as soon as it has read enough."""

    def __init__(self, config: AdaptiveIRAMConfig, *sizes: Any) -> None:
        """As ``IRAM``."""
        super().__init__(config, *sizes)
        self.halt = None
        if config.halting == "probability":
            self.halt = nn.Linear(config.hidden, 1)
            nn.init.constant_(self.halt.bias, -1.0)  # it starts with about four steps

    def forward(
        self, tokens: Tensor, mask: Tensor, attention: Tensor | None = None
    ) -> AdaptiveIRAMOutput:
        """As ``IRAM``; all steps are computed, and those after the last one taken do not count."""
        h, _, cell = self.encoder(self.dropout(self.embed(tokens)), mask)
        s, attention = self.steps(h, self.first_query(cell), mask, attention)
        if self.halt is None:
            p = halt_by_overlap(attention, self.config.most_overlap)
            price = p.new_zeros(len(p))
        else:
            p, price = halt_by_probability(torch.sigmoid(self.halt(s)).squeeze(2))
        overlap = step_penalty(attention * taken(p).unsqueeze(2))
        penalty = self.config.penalty * overlap + self.config.ponder * price
        read = (p.to(s.dtype).unsqueeze(1) @ s).squeeze(1)  # Σ p_t s_t
        return AdaptiveIRAMOutput(self.classifier(read), attention, penalty, s, p)


def halt_by_probability(h: Tensor) -> tuple[Tensor, Tensor]:
    """Adaptive computation time (Graves 2016, §2): halting probabilities of the steps ``(n, T)`` →
    how much each step counts, p ``(n, T)``, and the price N + R ``(n,)``.

    N is the first step at which the sum of h reaches 1 − ε, at most T. Steps before it count h_t,
    and step N counts the rest, R; through R the price has a gradient.
    """
    h = h.to(torch.promote_types(h.dtype, torch.float32))
    until = h.cumsum(1)
    before = until - h
    running = before < 1 - ENOUGH
    last = running & (until >= 1 - ENOUGH)
    last[:, -1] = running[:, -1]
    p = torch.where(last, 1 - before, h) * running
    return p, running.sum(1) + (p * last).sum(1)


def halt_by_overlap(attention: Tensor, most: float) -> Tensor:
    """1 for the last step before one whose attention has a cosine above ``most`` with an earlier
    one's, 0 for the others: attention ``(n, T, columns)`` → ``(n, T)``."""
    rows = nn.functional.normalize(attention.detach(), dim=2)
    nearest = (rows @ rows.mT).tril(-1).amax(2)  # (n, T): to any earlier step
    fresh = (nearest > most).long().cumsum(1) == 0  # no step up to this one looks again
    return nn.functional.one_hot(fresh.sum(1) - 1, rows.shape[1]).to(rows.dtype)


def taken(halting: Tensor) -> Tensor:
    """Which steps are taken, those up to the last that counts: ``(n, T)`` → bool ``(n, T)``."""
    return halting.flip(1).cumsum(1).flip(1) > 0


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
