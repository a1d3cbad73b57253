"""A training step of SANet: ours against the obvious way and against PyTorch's encoder.

Time at 128 × 48 tokens: ours is as it trains here, with gradients of the batch's own words alone
and in bfloat16 where the processor multiplies it; the obvious way, written out below, keeps the
softmax, updates every word vector and stays in float32; PyTorch's encoder layer has the same width
and one head.
"""

from dataclasses import asdict
from typing import Any

import torch
from common import arguments, first_batches, ratio, show, spread, stepper, time_steps, write
from torch import Tensor, nn

from course_lib.data.corpus import Corpus, load_corpus
from course_lib.models.layers import positions
from course_lib.models.sanet import SANet, SANetConfig
from course_lib.runs.run import split_rows
from course_lib.runs.settings import with_overrides
from course_lib.runs.systems.sanet_system import BASE, SANetSystem
from course_lib.training.devices import use_threads

LENGTH, BATCH, WORDS = 48, 128, 40_000
TEXT = {"text.max_tokens": LENGTH, "text.vocabulary_limit": WORDS, "text.vectors": "none"}
SETTINGS = with_overrides(BASE, TEXT | {"text.vocabulary_from": "train"})


class ObviousBlock(nn.Module):
    """The paper's block, written down as it stands."""

    def __init__(self, hidden: int, dropout: float) -> None:
        super().__init__()
        self.w_qk = nn.Linear(hidden, hidden, bias=False)
        self.w_v = nn.Linear(hidden, hidden, bias=False)
        self.w_1, self.w_2 = nn.Linear(hidden, hidden), nn.Linear(hidden, hidden)
        self.norm_1, self.norm_2 = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """``(batch, length, hidden)`` → the same."""
        scores = torch.matmul(self.w_qk(x), x.transpose(1, 2))
        alpha = scores.masked_fill(~mask.unsqueeze(1), -1e9).softmax(-1)
        x = self.norm_1(x + self.dropout(torch.matmul(alpha, self.w_v(x))))
        return self.norm_2(x + self.dropout(self.w_2(torch.relu(self.w_1(x)))))


class TorchBlock(nn.Module):
    """One layer of PyTorch's transformer encoder, of the same width."""

    def __init__(self, hidden: int, dropout: float) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(hidden, 1, hidden, dropout, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """``(batch, length, hidden)`` → the same."""
        return self.encoder(x, src_key_padding_mask=~mask)


class PlainNetwork(nn.Module):
    """What surrounds a block of either kind: words and positions below it, the maximum above."""

    def __init__(self, block: type[nn.Module], config: SANetConfig) -> None:
        super().__init__()
        self.embedding = nn.Embedding(WORDS, config.embedding, padding_idx=0)
        self.projection = nn.Linear(config.embedding, config.hidden)
        self.block = block(config.hidden, config.dropout)
        self.classifier = nn.Linear(config.hidden, 2)

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Token ids and mask ``(batch, length)`` → logits ``(batch, 2)``."""
        x = self.embedding(tokens)
        x = self.projection(x + positions(x.shape[1], x.shape[2]))
        x = self.block(x, mask).masked_fill(~mask.unsqueeze(2), -1e9)
        return self.classifier(x.max(1).values)


def load_twin(ours: SANet, obvious: PlainNetwork, tokens: Tensor, mask: Tensor) -> None:
    """Give the obvious way our weights; ``AssertionError`` if it computes anything else."""
    places = {"norms.0": "norm_1", "norms.1": "norm_2", "mixer.": "", "feed_forward.": ""}
    state = {}
    for name, value in ours.state_dict().items():
        name = name.replace("blocks.0", "block")
        for old, new in places.items():
            name = name.replace(old, new)
        state[name] = value
    obvious.load_state_dict(state)
    with torch.inference_mode():
        expected = ours.eval()(tokens, mask).logits
        torch.testing.assert_close(obvious.eval()(tokens, mask), expected, rtol=1e-4, atol=1e-5)


def ways(seed: int) -> dict[str, tuple[nn.Module, str]]:
    """The networks, each with its precision."""
    torch.manual_seed(seed)
    config = SETTINGS.model
    return {
        "obvious": (PlainNetwork(ObviousBlock, config), "no"),
        "ours": (SANet(config, WORDS, 2), SETTINGS.training.precision),
        "ours, float32": (SANet(config, WORDS, 2), "no"),
        "nn.TransformerEncoder": (PlainNetwork(TorchBlock, config), "no"),
    }


def batches(corpus: Corpus, length: int, count: int, seed: int) -> list[Any]:
    """That many batches of reviews cut to ``length`` tokens."""
    rows = split_rows(corpus, max(1000, count * BATCH * 2))["train"]
    system = SANetSystem(with_overrides(SETTINGS, {"text.max_tokens": length}), corpus.card.classes)
    system.build({"train": rows}, seed)
    return first_batches(system.encode(rows), BATCH, count, seed)


def measure(corpus: Corpus, rounds: int, steps: int, seed: int) -> dict[str, Any]:
    """Milliseconds of a step of every way, and its ratio to the obvious one, round by round."""
    data = batches(corpus, LENGTH, steps, seed)
    networks = ways(seed)
    load_twin(networks["ours"][0], networks["obvious"][0], *data[0][:2])
    most = {"ours", "ours, float32"}
    config = SETTINGS.training
    found = time_steps(
        {
            name: (stepper(model, config, precision, config.most_tokens * (name in most)), data)
            for name, (model, precision) in networks.items()
        },
        rounds,
    )
    return {
        "step_milliseconds": {name: spread(values) for name, values in found.items()},
        "ratio_to_obvious": spread(ratio(found["ours"], found["obvious"])),
        "float32_ratio_to_obvious": spread(ratio(found["ours, float32"], found["obvious"])),
        "ratio_to_encoder": spread(ratio(found["ours"], found["nn.TransformerEncoder"])),
        "parameters": {
            name: sum(p.numel() for p in model.parameters())
            for name, (model, _) in networks.items()
        },
    }


def main() -> None:
    """Measure, show, write."""
    chosen = arguments(__doc__, rounds=5, steps=20, threads=2).parse_args()
    threads = use_threads(chosen.threads)
    corpus = load_corpus("imdb")
    figures = measure(corpus, chosen.rounds, chosen.steps, chosen.seed)
    figures |= {"settings": asdict(SETTINGS), "batch": BATCH, "tokens": LENGTH}
    table = {f"ms a step, {name}": row for name, row in figures["step_milliseconds"].items()}
    table["ours / obvious"] = figures["ratio_to_obvious"]
    table["ours / nn.TransformerEncoder"] = figures["ratio_to_encoder"]
    show(table)
    write("sanet_step", figures, chosen.seed, corpus.provenance.content, threads)


if __name__ == "__main__":
    main()
