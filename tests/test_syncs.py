"""How often a training step reads a value from its device, which makes a GPU wait; and what can be
known of a model without any values.

Counted on a CPU, where the ways are those of ``x.device.type == "cpu"``. A count may fall; one that
rises needs a reason.
"""

from contextlib import contextmanager
from dataclasses import replace

import pytest
import torch
from torch import nn

from course_lib.data.corpus import load_corpus
from course_lib.runs.settings import with_overrides
from course_lib.runs.systems import Network, known_systems
from course_lib.training.loop import fit

READS = ("item", "tolist", "cpu", "numpy", "nonzero", "__bool__", "__int__", "__float__")
# the step's own reading, and those of packing sequences and of leaving padding out
OF_THE_LOOP = 1
OF_A_MODEL = {
    **{"han": 6, "sanet": 0, "iram": 1, "agt": 0, "bilstm": 2},
}


@contextmanager
def counted():
    """The names of all readings in the block, in their order."""
    seen = []

    def counting(name, read):
        def called(tensor, *arguments, **options):
            seen.append(name)
            return read(tensor, *arguments, **options)

        return called

    with pytest.MonkeyPatch.context() as patch:
        for name in READS:
            patch.setattr(torch.Tensor, name, counting(name, getattr(torch.Tensor, name)))
        yield seen


def built(name):
    system = known_systems()[name](
        known_systems()[name].presets["small"], ("negative", "positive"), "untrained"
    )
    rows = load_corpus("toy").splits["train"].select(range(64))
    system.build(dict.fromkeys(("train", "validation", "test"), rows), seed=0)
    return system, rows


class Mean(nn.Module):
    """Nothing that reads a value."""

    def __init__(self):
        super().__init__()
        self.embedding, self.out = nn.Embedding(10_000, 4), nn.Linear(4, 2)

    def forward(self, tokens, mask):
        logits = self.out((self.embedding(tokens) * mask.unsqueeze(-1)).mean(1))
        return type("Output", (), {"logits": logits})


def readings_a_step(system, rows):
    """How often one step of an epoch reads, by the difference of two epochs of unequal length."""
    config = replace(system.settings.training, epochs=1, batch_size=16, precision="no")
    held_out, counts = system.encode(rows.select(range(16))), []
    for count in (32, 64):  # 2 steps, then 4
        documents = system.encode(rows.select(range(count)))
        with counted() as seen:
            fit(system.model, documents, held_out, config, device=torch.device("cpu"))
        counts.append(len(seen))
    return (counts[1] - counts[0]) / 2


def test_the_loop_reads_once_a_step():
    system, rows = built("agt")
    system.model = Mean()
    assert readings_a_step(system, rows) == OF_THE_LOOP


@pytest.mark.parametrize("name", OF_A_MODEL)
def test_a_model_reads_no_more_than_its_sequences_need(name):
    assert readings_a_step(*built(name)) == OF_THE_LOOP + OF_A_MODEL[name]


def test_every_network_is_counted():
    networks = {name for name, system in known_systems().items() if issubclass(system, Network)}
    assert networks == set(OF_A_MODEL)


@pytest.mark.parametrize("name", [name for name, reads in OF_A_MODEL.items() if not reads])
def test_what_reads_nothing_can_be_traced_without_any_value(name):
    """On the device that has shapes alone, forward and backward. What packs sequences cannot: the
    number of its words is a value. ``test_elsewhere`` tries all networks, with values."""
    # PyTorch finds the rows of a sparse gradient by their values
    settings = with_overrides(known_systems()[name].presets["small"], {"model.sparse": False})
    system = known_systems()[name](settings, ("a", "b", "c"))
    system.vocabulary = range(50)
    with torch.device("meta"):
        model = system.network(None)
        tokens = torch.ones(4, 7, dtype=torch.long)
    output = model(tokens, tokens.bool())  # outside, or whatever is made would follow the block
    assert output.logits.shape == (4, 3) and output.logits.is_meta
    output.logits.sum().backward()
    assert all(parameter.grad.is_meta for parameter in model.parameters())
