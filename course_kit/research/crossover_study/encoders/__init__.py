"""The encoders, by name. Another encoder is a file beside this one and a line below.

Each maker takes the width of the word vectors and returns a module that takes vectors
``(n, length, width)`` and mask ``(n, length)`` and returns states of the same shape. ``frozen``
names those whose states are computed before training.

``blocks1-window4`` is a Transformer of one block in which a word sees four neighbours on either
side; ``bilstm-mix0.25`` mixes a quarter of the BiLSTM's state with the projected word.
"""

from collections.abc import Callable
from functools import partial

from torch import nn

from course_kit.research.crossover_study.encoders.bilstm import BiLSTM
from course_kit.research.crossover_study.encoders.mixed import Mixed
from course_kit.research.crossover_study.encoders.transformer import Blocks
from course_kit.research.crossover_study.encoders.words import Projected, Unchanged

MINILM = "minilm"
ENCODERS: dict[str, Callable[[int], nn.Module]] = {
    "projected": Projected,
    "bilstm": BiLSTM,
    "transformer": Blocks,
    MINILM: Unchanged,
    "blocks0": partial(Blocks, blocks=0),
    **{
        f"blocks{blocks}-window{window}": partial(Blocks, blocks=blocks, window=window)
        for blocks in (1, 2)
        for window in (0, 1, 4)
    },
    "blocks1": partial(Blocks, blocks=1),
    **{
        f"{name}-mix{share}": partial(Mixed, encoder, share)
        for name, encoder in (("bilstm", BiLSTM), ("transformer", Blocks))
        for share in (0.0, 0.25, 0.5, 0.75)
    },
}
