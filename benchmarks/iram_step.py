"""A training step of IRAM: with the padding in front, packed, and padded throughout.

All ways are the same vanilla model in float32 (and once in bfloat16, where the processor computes
in it) on phrases of the treebank, trained as ``course_lib`` trains it. "Packed" runs ``nn.LSTM`` on
packed sequences; "padded" runs it over the padding, too, and so computes something else: its
backward direction reads the padding first. "Unsorted" pads batches that are not bucketed by length.
"""

from dataclasses import asdict
from typing import Any

import datasets
import torch
from common import CPU, arguments, first_batches, ratio, show, spread, stepper, time_steps, write
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from course_lib.data.batches import POOL, Batch, Documents
from course_lib.data.corpus import Corpus, load_corpus
from course_lib.data.vocabulary import Vocabulary
from course_lib.models.iram import IRAM
from course_lib.runs.run import split_rows
from course_lib.runs.settings import Settings
from course_lib.runs.systems.iram_system import IRAMSystem
from course_lib.training.devices import choose_precision, use_threads

WORDS = 20_000
PRESETS = IRAMSystem.presets


class TorchLayer(nn.Module):
    """``nn.LSTM``, packed or over the padding, in the place of ``LSTMLayer``."""

    def __init__(self, inputs: int, hidden: int, packed: bool) -> None:
        super().__init__()
        self.lstm = nn.LSTM(inputs, hidden // 2, batch_first=True, bidirectional=True)
        self.packed = packed

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """As ``LSTMLayer``."""
        if self.packed:
            packed = pack_padded_sequence(x, mask.sum(1), batch_first=True, enforce_sorted=False)
            states, last = self.lstm(packed)
            h = pad_packed_sequence(states, batch_first=True, total_length=mask.shape[1])[0]
        else:
            h, last = self.lstm(x)
        return h, *(part.transpose(0, 1).flatten(1) for part in last)


def system_over(vocabulary: Vocabulary, settings: Settings) -> IRAMSystem:
    """A system of two classes that knows these words and has no network yet."""
    system = IRAMSystem(settings, ("negative", "positive"))
    system.vocabulary = vocabulary
    return system


def build(settings: Settings, vocabulary: Vocabulary, seed: int) -> IRAM:
    """An untrained network over random vectors."""
    torch.manual_seed(seed)
    embedding = torch.randn(len(vocabulary), settings.model.embedding)
    return system_over(vocabulary, settings).network(embedding).train()


def with_torch_layers(model: IRAM, packed: bool) -> IRAM:
    """The model with ``nn.LSTM`` for its layers, of the same weights."""
    for number, layer in enumerate(model.encoder.layers):
        inputs, half = layer.forwards.input_size - 1, layer.forwards.hidden_size
        theirs = TorchLayer(inputs, 2 * half, packed)
        state = {}
        for ours, suffix in ((layer.forwards, ""), (layer.backwards, "_reverse")):
            state[f"weight_ih_l0{suffix}"] = ours.weight_ih_l0[:, :-1]
            state[f"bias_ih_l0{suffix}"] = ours.weight_ih_l0[:, -1]
            state[f"weight_hh_l0{suffix}"] = ours.weight_hh_l0
            state[f"bias_hh_l0{suffix}"] = torch.zeros(4 * half)
        theirs.lstm.load_state_dict(state)
        model.encoder.layers[number] = theirs
    return model


def encoded(corpus: Corpus, settings: Settings, rows: int) -> tuple[Vocabulary, Documents]:
    """The first rows to train on, and their words."""
    chosen: datasets.Dataset = split_rows(corpus)["train"].select(range(rows))
    vocabulary = Vocabulary.build(chosen, WORDS)
    return vocabulary, system_over(vocabulary, settings).encode(chosen)


def unsorted(documents: Documents, size: int, count: int, seed: int) -> list[Batch]:
    """As ``first_batches``, drawn without regard to length."""
    order = torch.randperm(len(documents), generator=torch.Generator().manual_seed(seed)).numpy()
    return [documents.batch(order[k * size : (k + 1) * size]) for k in range(count)]


def time_ways(
    documents: Documents, vocabulary: Vocabulary, seed: int, steps: int, rounds: int
) -> dict[str, list[float]]:
    """Milliseconds of a step of every way, round by round."""
    settings = PRESETS["vanilla"]
    size = settings.training.batch_size
    data, mixed = (draw(documents, size, steps, seed) for draw in (first_batches, unsorted))

    def model() -> IRAM:
        return build(settings, vocabulary, seed)

    with torch.inference_mode():
        logits = [
            m.eval()(*data[0][:2]).logits for m in (model(), with_torch_layers(model(), True))
        ]
        torch.testing.assert_close(*logits, rtol=1e-4, atol=1e-6)
    config = settings.training
    ways = {
        "ours": (stepper(model(), config), data),
        "packed": (stepper(with_torch_layers(model(), True), config), data),
        "padded": (stepper(with_torch_layers(model(), False), config), data),
        "padded, unsorted": (stepper(with_torch_layers(model(), False), config), mixed),
    }
    if choose_precision("native", CPU) == "bf16":  # elsewhere PyTorch has no such LSTM
        ways["ours, bfloat16"] = (stepper(model(), config, "bf16"), data)
    return time_steps(ways, rounds)


def main() -> None:
    """Measure, show, write."""
    parser = arguments(__doc__, rounds=5, steps=30, threads=1)
    parser.add_argument("--dataset", default="sst2", help="phrases or sentences; movies2 will do")
    chosen = parser.parse_args()
    threads = use_threads(chosen.threads)
    corpus, vanilla = load_corpus(chosen.dataset), PRESETS["vanilla"]
    rows = 2 * POOL * vanilla.training.batch_size
    phrases = encoded(corpus, vanilla, rows)
    found = time_ways(phrases[1], phrases[0], chosen.seed, chosen.steps, chosen.rounds)
    figures: dict[str, Any] = {
        "settings": asdict(vanilla),
        "words_a_phrase": float(phrases[1].lengths.mean()),
        "step_milliseconds": {name: spread(values) for name, values in found.items()},
    }
    table = {f"ms a step, {name}": row for name, row in figures["step_milliseconds"].items()}
    for other in list(found)[1:]:
        name = f"ours / {other}"
        figures[name] = table[name] = spread(ratio(found["ours"], found[other]))
    show(table)
    write("iram_step", figures, chosen.seed, corpus.provenance.content, threads, chosen.dataset)


if __name__ == "__main__":
    main()
