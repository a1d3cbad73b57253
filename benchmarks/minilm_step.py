"""Reading and training MiniLM's encoder, beside ``transformers``' own with its fused attention.

Both get the same random weights, the same classifier on the mean of the last states, and must give
the same logits first. Batches of random pieces, a tenth of each row padding: 32 × 64 and 8 × 256
pieces. Ratios are ours over theirs.
"""

import time
from collections.abc import Callable

import torch
from common import arguments, interleave, ratio, show, spread, write
from torch import Tensor, nn
from transformers import BertConfig, BertModel

from course_lib.models import bert
from course_lib.models.transformer import Transformer
from course_lib.training.devices import choose_device, use_threads

SHAPES = {"32 × 64": (32, 64), "8 × 256": (8, 256)}
PIECES = 30_522
CONFIG = bert.BertConfig()


def encoders(device: torch.device) -> dict[str, tuple[nn.Module, Callable[..., Tensor]]]:
    """Both networks, and their logits as functions of tokens and mask."""
    settings = BertConfig(  # its other sizes are MiniLM's, as are a GELU and both dropouts of 0.1
        hidden_size=CONFIG.width,
        num_hidden_layers=CONFIG.layers,
        intermediate_size=CONFIG.feed_forward,
        attn_implementation="sdpa",
    )
    theirs = BertModel(settings, add_pooling_layer=False).to(device).eval()
    ours = Transformer(CONFIG, PIECES, 2).to(device).eval()
    ours.load_state_dict(ours.state_dict() | bert.from_bert(theirs.state_dict()))

    def classify(states: Tensor, mask: Tensor) -> Tensor:
        return ours.classifier(ours.pool(states, mask))

    return {
        "ours": (ours, lambda tokens, mask: ours(tokens, mask).logits),
        "theirs": (theirs, lambda tokens, mask: classify(theirs(tokens, mask)[0], mask)),
    }


def main() -> None:
    """Measure, show, write."""
    parser = arguments(__doc__, rounds=5, steps=8, threads=2)
    parser.add_argument("--device", default="auto")
    chosen = parser.parse_args()
    device, threads = choose_device(chosen.device), use_threads(chosen.threads)
    torch.manual_seed(chosen.seed)
    networks, ways = encoders(device), {}
    for shape, (rows, length) in SHAPES.items():
        tokens = torch.randint(1, PIECES, (rows, length), device=device)
        mask = torch.ones_like(tokens, dtype=torch.bool)
        mask[:, -length // 10 :] = False
        with torch.inference_mode():
            found = [logits(tokens, mask) for _, logits in networks.values()]
        torch.testing.assert_close(*found, atol=1e-4, rtol=0)
        for name, (network, logits) in networks.items():
            for work in ("forward", "training step"):
                ways[f"{work}, {shape}, {name}"] = timed(
                    network, logits, (tokens, mask), work == "training step", chosen.steps
                )
    for way in ways.values():
        way(0)
    found = interleave(ways, chosen.rounds)
    pairs = {name.removesuffix(", ours"): name for name in found if name.endswith("ours")}
    ratios = {
        pair: spread(ratio(found[ours], found[f"{pair}, theirs"])) for pair, ours in pairs.items()
    }
    show({f"ms, {name}": spread(values) for name, values in found.items()} | ratios)
    figures = {"milliseconds": {n: spread(v) for n, v in found.items()}, "ratios": ratios}
    write(f"minilm_step_{device.type}", figures, chosen.seed, "", threads, "made up", device)


def timed(
    network: nn.Module,
    logits: Callable[..., Tensor],
    batch: tuple[Tensor, Tensor],
    training: bool,
    steps: int,
) -> Callable[[int], float]:
    """Milliseconds of a pass over a batch, or of a step of training (AdamW, a mean as the loss)."""
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-6, fused=True)

    def measure(_: int) -> float:
        network.train(training)
        wait(batch[0].device)
        began = time.perf_counter()
        for _ in range(steps):
            with torch.inference_mode(not training):
                loss = logits(*batch).mean()
            if training:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        wait(batch[0].device)
        return 1e3 * (time.perf_counter() - began) / steps

    return measure


def wait(device: torch.device) -> None:
    """Until a GPU has done what it was told."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


if __name__ == "__main__":
    main()
