"""The states that a pre-trained network gives to words of any texts, with its weights frozen."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from safetensors.torch import load_file
from torch import nn

from course_lib.data.pieces import load_pieces
from course_lib.data.pretrained import fetch_network
from course_lib.faithfulness.documents import length_batches
from course_lib.front_end import progress
from course_lib.models.bert import Bert, BertConfig, from_bert

UNUSED, UNKNOWN = "[unused1]", "[UNK]"
AT_ONCE = 2048  # pieces


class WordStates:
    """MiniLM in bfloat16; a word's state is the mean of its pieces' states after the last block.

    ``stands_for`` maps words to a piece of the network, such as ``[MASK]``; the piece ``UNUSED``
    has the mean of all pieces' vectors. Example: ``WordStates()([["a", "fine", "film"]])``.
    """

    def __init__(self, stands_for: Mapping[str, str] | None = None) -> None:
        folder = fetch_network()
        self.splitter, self.stands_for = load_pieces(folder), stands_for or {}
        self._known: dict[str, list[int]] = {}
        self.network = Bert(BertConfig(), len(self.splitter.vocabulary), 2)
        weights = from_bert(load_file(folder / "model.safetensors"))
        table = weights["embedding.weight"]
        table[self.splitter.vocabulary.encode([UNUSED])[0]] = table.mean(0)
        self.network.load_state_dict(self.network.state_dict() | weights)
        self.network.to(torch.bfloat16).eval()

    @torch.inference_mode()
    def __call__(self, texts: Sequence[Sequence[str]], what: str = "") -> list[np.ndarray]:
        """``(words, 384)`` float16 of each text; with ``what`` a bar shows how far it is."""
        pieces = [[self._ids(word) for word in text] for text in texts]
        lengths = np.array([sum(map(len, words)) for words in pieces])
        found = [np.empty((0, self.network.config.width), np.float16)] * len(texts)
        with progress(total=len(texts), desc=what, disable=not what) as bar:
            for places in length_batches(lengths, AT_ONCE):
                filled = [n for n in places if lengths[n]]
                for place, states in zip(filled, self._states([pieces[n] for n in filled])):
                    found[place] = states
                bar.update(len(places))
        return found

    def _states(self, texts: list[list[list[int]]]) -> list[np.ndarray]:
        if not texts:
            return []
        ids = [torch.tensor([i for word in text for i in word]) for text in texts]
        tokens = nn.utils.rnn.pad_sequence(ids, batch_first=True)
        mask = torch.arange(tokens.shape[1]) < torch.tensor([len(i) for i in ids])[:, None]
        last = self.network(tokens, mask, return_states=True).states[:, -1].float().numpy()
        found = []
        for text, states in zip(texts, last, strict=True):
            counts = np.array([len(word) for word in text])
            sums = np.add.reduceat(states[: counts.sum()], counts.cumsum() - counts)
            found.append((sums / counts[:, None]).astype(np.float16))
        return found

    def _ids(self, word: str) -> list[int]:
        """The ids of a word's pieces, at least one."""
        if word not in self._known:
            piece = self.stands_for.get(word)
            pieces = [piece] if piece else self.splitter.split([word])[0] or [UNKNOWN]
            self._known[word] = self.splitter.vocabulary.encode(pieces).tolist()
        return self._known[word]


def principal(states: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The mean of states ``(words, width)`` and the ``count`` directions in which they vary most,
    ``(width, count)``, scaled alike so that the mean square along them is 1."""
    states = states.astype(np.float64)
    values, vectors = np.linalg.eigh(np.cov((states - states.mean(0)).T))
    vectors = vectors[:, ::-1][:, :count]
    signs = np.sign(vectors[np.abs(vectors).argmax(0), np.arange(count)])
    return states.mean(0), vectors * signs / np.sqrt(values[::-1][:count].mean())
